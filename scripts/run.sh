#!/usr/bin/env bash
# The main job: sets up, builds, and classifies real handwritten digits on the modelled machine with tile 0 in lockstep
# between SystemVerilog and TLM, checked against an independent reference.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh
mkdir -p build/digits
exec build/bin/tessera run host/examples/digits/digits.onnx --inputs host/examples/digits --platform pocket \
  --lockstep 0 --check --labels host/examples/digits/labels.pb --wave build/digits/digits.fst --wave-to superstep=5 \
  --report build/digits --json build/digits/result.json "$@"
