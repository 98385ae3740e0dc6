#!/usr/bin/env bash
# Sets up (scripts/setup.sh), configures and builds the release preset. Used by run.sh and test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
cmake --preset release >&2  # also when there is a build: Verilator's list of sources is read here
cmake --build --preset release >&2
