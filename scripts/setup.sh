#!/usr/bin/env bash
# Installs everything that building, testing and running Tessera needs on Debian 12. Safe to run any number of times:
# packages that are present are left alone, and nothing is downloaded when all are.
# With --training also what scripts/train_digits.py needs (the digits data set, NumPy, ONNX for Python).
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config ccache python3 git ca-certificates
  libsystemc-dev verilator yosys gtkwave
  gcc-riscv64-unknown-elf binutils-riscv64-unknown-elf qemu-user gdb-multiarch
  libboost-dev libtbb-dev nlohmann-json3-dev libcli11-dev libfmt-dev libelf-dev libdw-dev zlib1g-dev libpng-dev
  libonnx-dev libprotobuf-dev protobuf-compiler libonnx-testdata libdnnl-dev dataset-fashion-mnist
  libgtest-dev libgmock-dev libbenchmark-dev librapidcheck-dev libmpfr-dev
  clang-format clang-tidy
)
if [ "${1:-}" = "--training" ]; then
  packages+=(python3-numpy python3-onnx python3-sklearn)
elif [ $# -gt 0 ]; then
  echo "usage: scripts/setup.sh [--training]" >&2
  exit 2
fi

if [ ! -r /etc/debian_version ]; then
  echo "scripts/setup.sh: this is not a Debian system. Tessera is built and tested on Debian 12; install the packages" >&2
  echo "named in this script by hand and go on with cmake --preset release." >&2
  exit 2
fi

missing=()
for package in "${packages[@]}"; do
  if [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" != installed ]; then
    missing+=("$package")
  fi
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} packages are present" >&2
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "scripts/setup.sh: needs root to install: ${missing[*]}" >&2
    exit 2
  fi
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
echo "setup: done" >&2
