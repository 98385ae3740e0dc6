#!/usr/bin/env bash
# Runs the formal proofs of verif/formal, each with mutated designs that it must refute; prints a table.
#   scripts/formal.sh                  all
#   scripts/formal.sh --list           what is proved
#   scripts/formal.sh slot-arbiter     only that
set -euo pipefail
cd "$(dirname "$0")/.."
command -v yosys-abc >/dev/null || scripts/setup.sh
generated=build/generated
if [ ! -f "$generated/rtl/tessera_pkg.sv" ]; then
  generated=build/formal/generated
  mkdir -p "$generated"
fi
# Generated anew each time: the proofs are of the tables as they stand.
/usr/bin/python3 hw/generate/generate.py "$generated"
exec /usr/bin/python3 verif/formal/run.py --generated "$generated" "$@"
