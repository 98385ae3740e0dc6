#!/usr/bin/env bash
# Sets up, builds and runs all tests but those labelled `slow`; prints ctest's summary. Further arguments go to ctest:
#   scripts/test.sh -L unit            only one label
#   scripts/test.sh --preset slow      what takes longer than CI allows
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh
# Results in JSON, waves and reports of tests stay in the build folder.
case " $* " in
  *" --preset "*) exec ctest -j"$(nproc)" "$@" ;;
  *) exec ctest --preset release -j"$(nproc)" "$@" ;;
esac
