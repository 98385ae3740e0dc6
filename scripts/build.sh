#!/usr/bin/env bash
# Sets up (scripts/setup.sh), configures and builds the release preset. Used by run.sh and test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
if [ ! -f build/build.ninja ]; then
  cmake --preset release >&2
fi
cmake --build --preset release >&2
