#!/usr/bin/env python3
"""Trains the 64-32-10 network of host/examples/digits on real handwritten digits and writes it as ONNX.

Data: the 1,797 8x8 images that Debian's python3-sklearn carries (digits.csv.gz; UCI optical recognition of handwritten
digits). Every third image is held out (599 images, those with index 2, 5, 8, ...); the others train.
The files written have the same bytes on every host: only element-wise IEEE operations in a fixed order are used (no BLAS,
no library exp). Needs scripts/setup.sh --training; takes a few seconds.
"""

import argparse
import gzip
import pathlib
import sys

sys.dont_write_bytecode = True

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PIXELS, HIDDEN, CLASSES = 64, 32, 10
DATA = "sklearn/datasets/data/digits.csv.gz"


def find_data():
    """Path of the data file inside the installed scikit-learn, which is not imported."""
    for folder in [*sys.path, "/usr/lib/python3/dist-packages"]:
        path = pathlib.Path(folder or ".") / DATA
        if path.is_file():
            return path
    sys.exit("train_digits: digits.csv.gz not found: run scripts/setup.sh --training")


def load(path):
    """Images f32 [1797, 64] with pixels 0..16, and labels int64 [1797]."""
    with gzip.open(path, "rt") as text:
        table = np.array([[int(float(x)) for x in line.split(",")] for line in text], dtype=np.int64)
    if table.shape != (1797, PIXELS + 1):
        sys.exit(f"train_digits: {path}: expected 1797 rows of 65 values, found {table.shape}")
    return table[:, :PIXELS].astype(np.float32), table[:, PIXELS]


def product(a, b):
    """a [m, k] times b [k, n] in float64, summed in index order: independent of BLAS, vector width and host."""
    result = a[:, 0:1] * b[0:1, :]
    for k in range(1, a.shape[1]):
        result = result + a[:, k : k + 1] * b[k : k + 1, :]
    return result


def column_sums(a):
    """Sum over rows in index order: [m, n] -> [1, n]."""
    result = a[0:1, :].copy()
    for row in range(1, a.shape[0]):
        result = result + a[row : row + 1, :]
    return result


def exponential(x):
    """exp(x) for x <= 0 as (1 + x/4096)^4096: exact enough for a gradient and the same on every host."""
    result = 1.0 + np.maximum(x, -60.0) / 4096.0
    for _ in range(12):
        result = result * result
    return result


def disturbed(images, random):
    """Images in 0..1 shifted by up to half a pixel each way (bilinear) with a little noise: the training's variety."""
    x = images.reshape(-1, 8, 8)
    for axis in (1, 2):
        shift = (random.random((len(x), 1, 1)) * 2.0 - 1.0) * 0.5
        padded = np.pad(x, [(0, 0)] + [(1, 1) if a == axis else (0, 0) for a in (1, 2)])
        before, after = (padded[:, :8], padded[:, 2:]) if axis == 1 else (padded[:, :, :8], padded[:, :, 2:])
        x = x * (1.0 - np.abs(shift)) + before * np.maximum(shift, 0.0) + after * np.maximum(-shift, 0.0)
    return x.reshape(-1, PIXELS) + 0.1 * (random.random((len(x), PIXELS)) * 2.0 - 1.0)


def train(images, labels, seed, epochs):
    """Adam on the cross entropy with weight decay; images in 0..1. Returns [w1, b1, w2, b2] in float64."""
    random = np.random.default_rng(seed)
    limits = [np.sqrt(6.0 / PIXELS), 0.0, np.sqrt(6.0 / HIDDEN), 0.0]
    shapes = [(PIXELS, HIDDEN), (1, HIDDEN), (HIDDEN, CLASSES), (1, CLASSES)]
    weights = [(random.random(shape) * 2.0 - 1.0) * limit for shape, limit in zip(shapes, limits)]
    first = [np.zeros(shape) for shape in shapes]
    second = [np.zeros(shape) for shape in shapes]
    target = (labels[:, None] == np.arange(CLASSES)[None, :]).astype(np.float64)
    decay1 = decay2 = 1.0
    batch = 64
    for epoch in range(epochs):
        rate = 0.01 * (1.0 - epoch / epochs)
        order = np.argsort(random.random(len(images)), kind="stable")
        for start in range(0, len(order) - batch + 1, batch):
            index = order[start : start + batch]
            x, w1, b1, w2, b2 = disturbed(images[index], random), *weights
            hidden = np.maximum(product(x, w1) + b1, 0.0)
            logits = product(hidden, w2) + b2
            power = exponential(logits - logits.max(axis=1, keepdims=True))
            total = column_sums(np.ascontiguousarray(power.T)).T
            error = (power / total - target[index]) / batch
            back = product(error, np.ascontiguousarray(w2.T)) * (hidden > 0.0)
            gradients = [product(x.T, back), column_sums(back), product(hidden.T, error), column_sums(error)]
            decay1, decay2 = decay1 * 0.9, decay2 * 0.999
            for i, gradient in enumerate(gradients):
                gradient = gradient + (1e-3 * weights[i] if i in (0, 2) else 0.0)
                first[i] = 0.9 * first[i] + 0.1 * gradient
                second[i] = 0.999 * second[i] + 0.001 * gradient * gradient
                step = (first[i] / (1.0 - decay1)) / (np.sqrt(second[i] / (1.0 - decay2)) + 1e-8)
                weights[i] = weights[i] - rate * step
    return weights


def build_model(weights):
    """The network as ONNX: images [N, 64] with pixels 0..16 -> logits [N, 10]."""
    w1, b1, w2, b2 = weights
    tensors = {"w1": w1 / 16.0, "b1": b1.reshape(-1), "w2": w2, "b2": b2.reshape(-1)}  # 1/16: pixels to 0..1, exact
    nodes = [
        helper.make_node("Gemm", ["images", "w1", "b1"], ["hidden_sum"], name="fc1"),
        helper.make_node("Relu", ["hidden_sum"], ["hidden"], name="relu1"),
        helper.make_node("Gemm", ["hidden", "w2", "b2"], ["logits"], name="fc2"),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["N", PIXELS])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", CLASSES])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in tensors.items()],
    )
    model = helper.make_model(
        graph, producer_name="tessera train_digits", opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def classify(model, images):
    """Classes by the stored f32 weights."""
    w = {t.name: numpy_helper.to_array(t).astype(np.float64) for t in model.graph.initializer}
    hidden = np.maximum(product(images.astype(np.float64), w["w1"]) + w["b1"], 0.0)
    return np.argmax(product(hidden, w["w2"]) + w["b2"], axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = pathlib.Path(__file__).resolve().parent.parent / "host/examples/digits"
    parser.add_argument("--out", type=pathlib.Path, default=default, help="folder to write (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=120)
    options = parser.parse_args()

    images, labels = load(find_data())
    held_out = np.arange(len(images)) % 3 == 2
    weights = train(images[~held_out].astype(np.float64) / 16.0, labels[~held_out], options.seed, options.epochs)
    model = build_model(weights)
    options.out.mkdir(parents=True, exist_ok=True)
    files = {
        "digits.onnx": model,
        "input_0.pb": numpy_helper.from_array(images[held_out], "images"),
        "labels.pb": numpy_helper.from_array(labels[held_out], "labels"),
    }
    for name, message in files.items():
        (options.out / name).write_bytes(message.SerializeToString(deterministic=True))
    for name, part in (("training", ~held_out), ("held out", held_out)):
        right = int(np.sum(classify(model, images[part]) == labels[part]))
        print(f"{name}: {right} of {int(np.sum(part))} images right ({100.0 * right / np.sum(part):.2f} %)")


if __name__ == "__main__":
    main()
