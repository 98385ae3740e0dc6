#!/usr/bin/env python3
"""Trains the small convolutional network of host/examples/fashion on Fashion-MNIST and writes it as ONNX.

Data: Debian's dataset-fashion-mnist (60,000 training and 10,000 test images of 28x28 grey values, ten kinds of
clothing). The network: 5x5 convolution with stride 2 to 12 channels, 3x3 with stride 2 to 24, fully connected to 10;
Relu between. Only training images are looked at while it trains; the test images give the accuracy that is printed.
Needs scripts/setup.sh --training; takes minutes. The bytes written depend on the BLAS of the host, so the committed file
is the reference and this script tells how it was made.
"""

import argparse
import gzip
import pathlib
import sys

sys.dont_write_bytecode = True

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path("/usr/share/datasets/fashion-mnist")
CHANNELS1, CHANNELS2, CLASSES = 12, 24, 10


def load(kind):
    """Images f32 [N, 28, 28] in 0..1 and labels int64 [N]; kind: train or t10k."""
    try:
        with gzip.open(FOLDER / f"{kind}-images-idx3-ubyte.gz") as file:
            images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
        with gzip.open(FOLDER / f"{kind}-labels-idx1-ubyte.gz") as file:
            labels = np.frombuffer(file.read(), np.uint8, offset=8)
    except FileNotFoundError as error:
        sys.exit(f"train_fashion: {error.filename} not found: run scripts/setup.sh --training")
    return images.astype(np.float32) / 255.0, labels.astype(np.int64)


def windows(x, kernel, pad):
    """[N, H, W, C] -> [N, H/2, W/2, kernel * kernel * C]: what a convolution with stride 2 sees at each place."""
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    view = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), axis=(1, 2))[:, ::2, ::2]
    return np.ascontiguousarray(view.transpose(0, 1, 2, 4, 5, 3)).reshape(*view.shape[:3], -1)


def scatter(grad, kernel, pad, shape):
    """The transpose of windows(): gradients of the windows summed onto the image of `shape` [N, H, W, C]."""
    n, height, width, channels = shape
    result = np.zeros((n, height + 2 * pad + 1, width + 2 * pad + 1, channels), np.float32)
    grad = grad.reshape(*grad.shape[:3], kernel, kernel, channels)
    rows, columns = grad.shape[1:3]
    for i in range(kernel):
        for j in range(kernel):
            result[:, i : i + 2 * rows : 2, j : j + 2 * columns : 2] += grad[:, :, :, i, j]
    return result[:, pad : pad + height, pad : pad + width]


def forward(weights, images):
    w1, b1, w2, b2, w3, b3 = weights
    p1 = windows(images[..., None], 5, 2)
    a1 = np.maximum(p1 @ w1 + b1, 0)
    p2 = windows(a1, 3, 1)
    a2 = np.maximum(p2 @ w2 + b2, 0)
    return p1, a1, p2, a2, a2.reshape(len(images), -1) @ w3 + b3


def gradients(weights, images, labels):
    p1, a1, p2, a2, logits = forward(weights, images)
    power = np.exp(logits - logits.max(axis=1, keepdims=True))
    error = power / power.sum(axis=1, keepdims=True)
    error[np.arange(len(labels)), labels] -= 1
    error /= len(labels)
    flat = a2.reshape(len(images), -1)
    back2 = (error @ weights[4].T).reshape(a2.shape) * (a2 > 0)
    rows2, back2 = p2.reshape(-1, p2.shape[-1]), back2.reshape(-1, CHANNELS2)
    back1 = scatter((back2 @ weights[2].T).reshape(p2.shape), 3, 1, a1.shape) * (a1 > 0)
    rows1, back1 = p1.reshape(-1, p1.shape[-1]), back1.reshape(-1, CHANNELS1)
    return [rows1.T @ back1, back1.sum(0), rows2.T @ back2, back2.sum(0), flat.T @ error, error.sum(0)]


def accuracy(weights, images, labels):
    right = 0
    for start in range(0, len(images), 1000):
        part = slice(start, start + 1000)
        right += int((forward(weights, images[part])[-1].argmax(axis=1) == labels[part]).sum())
    return right / len(images)


def train(images, labels, seed, epochs):
    """Adam on the cross entropy. Weights by rows of windows(): [k * k * C, M], biases [M]."""
    random = np.random.default_rng(seed)
    fans = [(25, CHANNELS1), (9 * CHANNELS1, CHANNELS2), (49 * CHANNELS2, CLASSES)]
    weights = []
    for fan, outputs in fans:
        weights += [(random.standard_normal((fan, outputs)) * np.sqrt(2 / fan)).astype(np.float32),
                    np.zeros(outputs, np.float32)]
    first, second = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    batch, steps, total = 100, 0, epochs * (len(images) // 100)
    for epoch in range(epochs):
        order = random.permutation(len(images))
        for start in range(0, len(order) - batch + 1, batch):
            index = order[start : start + batch]
            x = images[index]
            if random.random() < 0.5:
                x = x[:, :, ::-1]
            steps += 1
            rate = 2e-3 * (1 - steps / (total + 1))
            for i, gradient in enumerate(gradients(weights, x, labels[index])):
                first[i] = 0.9 * first[i] + 0.1 * gradient
                second[i] = 0.999 * second[i] + 0.001 * gradient * gradient
                mean, square = first[i] / (1 - 0.9**steps), second[i] / (1 - 0.999**steps)
                weights[i] = weights[i] - rate * mean / (np.sqrt(square) + 1e-8)
        print(f"epoch {epoch + 1}: {100 * accuracy(weights, images[:5000], labels[:5000]):.2f} % of 5000 training images",
              flush=True)
    return weights


def build_model(weights):
    """images f32 [N, 1, 28, 28] in 0..1 -> logits f32 [N, 10]."""
    w1, b1, w2, b2, w3, b3 = weights
    # Rows of windows() are [row][column][channel]; ONNX has [M, channel, row, column], and flattens [channel, row, column].
    tensors = {
        "conv1.weight": w1.reshape(5, 5, 1, CHANNELS1).transpose(3, 2, 0, 1), "conv1.bias": b1,
        "conv2.weight": w2.reshape(3, 3, CHANNELS1, CHANNELS2).transpose(3, 2, 0, 1), "conv2.bias": b2,
        "fc.weight": w3.reshape(7, 7, CHANNELS2, CLASSES).transpose(3, 2, 0, 1).reshape(CLASSES, -1), "fc.bias": b3,
    }
    conv = lambda number, kernel, pad, inputs, output: helper.make_node(
        "Conv", [inputs, f"conv{number}.weight", f"conv{number}.bias"], [output], name=f"conv{number}",
        kernel_shape=[kernel, kernel], strides=[2, 2], pads=[pad, pad, pad, pad])
    nodes = [
        conv(1, 5, 2, "images", "sum1"), helper.make_node("Relu", ["sum1"], ["hidden1"], name="relu1"),
        conv(2, 3, 1, "hidden1", "sum2"), helper.make_node("Relu", ["sum2"], ["hidden2"], name="relu2"),
        helper.make_node("Flatten", ["hidden2"], ["features"], name="flatten"),
        helper.make_node("Gemm", ["features", "fc.weight", "fc.bias"], ["logits"], name="fc", transB=1),
    ]
    graph = helper.make_graph(
        nodes, "fashion",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["N", 1, 28, 28])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", CLASSES])],
        [numpy_helper.from_array(np.ascontiguousarray(value.astype(np.float32)), name) for name, value in tensors.items()],
    )
    model = helper.make_model(graph, producer_name="tessera train_fashion",
                              opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = pathlib.Path(__file__).resolve().parent.parent / "host/examples/fashion/fashion.onnx"
    parser.add_argument("--out", type=pathlib.Path, default=default, help="file to write (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()
    weights = train(*load("train"), options.seed, options.epochs)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_bytes(build_model(weights).SerializeToString(deterministic=True))
    images, labels = load("t10k")
    print(f"test: {100 * accuracy(weights, images, labels):.2f} % of {len(images)} images right, "
          f"{100 * accuracy(weights, images[:1000], labels[:1000]):.2f} % of the first 1000")


if __name__ == "__main__":
    main()
