#!/usr/bin/env bash
# The main job: sets up, builds, and classifies real handwritten digits on the modelled machine with tile 0 in lockstep
# between SystemVerilog and TLM, checked against an independent reference. Options of `tessera run` may follow, such as
# --platform c2, dss8440 or a platform file (without: pocket). TESSERA_BUILT=1: run what is built.
set -euo pipefail
cd "$(dirname "$0")/.."
given() {  # given OPTION ARGUMENTS...: whether the option is among them
  local name=$1 argument
  for argument in "${@:2}"; do
    case $argument in "$name" | "$name"=*) return 0 ;; esac
  done
  return 1
}
options=()
if given --platform "$@"; then
  options+=(--wave-scope 'tile0.*')  # of thousands of tiles
else
  options+=(--platform pocket)
fi
given --replicas "$@" || options+=(--replicas all)
[[ ${TESSERA_BUILT:-0} = 1 ]] || scripts/build.sh
mkdir -p build/digits
exec build/bin/tessera run host/examples/digits/digits.onnx --inputs host/examples/digits "${options[@]}" \
  --lockstep 0 --check --labels host/examples/digits/labels.pb --wave build/digits/digits.fst --wave-to superstep=5 \
  --report build/digits --json build/digits/result.json "$@"
