#!/usr/bin/env bash
# The RTL as Yosys sees it: reads all of it, fails on latches and combinational loops of the whole tile, then maps block
# by block to simple gates and prints cells, flip-flops and longest logic depth of each. A block is counted without the
# blocks inside it. Writes BUILD/synthesis/table.txt and a log a block.
#
# usage: scripts/synth.sh [--build DIR] [--check] [BLOCK ...]     the tile: all blocks, or these; --check: no mapping
#        scripts/synth.sh --check --top MODULE FILE ...           another design: latches and loops only
set -euo pipefail
cd "$(dirname "$0")/.."

# Blocks, each with its instances in a tile. Everything else belongs to the block that contains it.
blocks=(tile tile_core tile_sram tile_fetch tile_read tile_decode tile_decode_fp tile_xregs tile_fregs tile_supervisor
        tile_execute tile_csr tile_memory tile_streams tile_write tile_lanes fpu tile_div fpu_divsqrt tile_vector
        xtile_rng xtile_simd xtile_transcendental xtile_amp xtile_amp_engine tile_engines tile_exchange tile_packet)
declare -A instances=([xtile_amp_engine]=8)

build=build check=no top=tile files=() wanted=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --build) build="$2"; shift 2 ;;
    --check) check=yes; shift ;;
    --top) top="$2"; shift 2 ;;
    *.sv) files+=("$1"); shift ;;
    -*) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    *) wanted+=("$1"); shift ;;
  esac
done
if [[ ${#files[@]} -eq 0 ]]; then
  generated="$build/generated/rtl"
  if [[ ! -e "$generated/tessera_pkg.sv" ]]; then
    echo "synth: no generated sources in $build: build first (scripts/build.sh)" >&2
    exit 2
  fi
  files=("$generated/tessera_pkg.sv" rtl/*_pkg.sv)
  for file in "$generated"/*.sv rtl/*.sv; do
    [[ "$file" == *_pkg.sv ]] || files+=("$file")
  done
fi
out="$build/synthesis"
mkdir -p "$out"

# run NAME WHAT COMMANDS: Yosys; its log is kept, its errors are shown under WHAT.
run() {
  if ! yosys -q -l "$out/$1.log" -p "$3" > "$out/$1.out" 2>&1; then
    echo "synth: $1: $2" >&2
    grep -h -e '^ERROR' -e '^Warning: found logic loop' -A 3 "$out/$1.log" "$out/$1.out" | sort -u | head -20 >&2
    exit 1
  fi
}

# Its memories stay memories: at least ten in the tile.
memories=""
[[ "$top" == tile ]] && memories="; select -assert-min 10 t:\$mem_v2"
# Latches first: a design with both says so. `check` finds loops, multiple drivers and wires without one.
design="$out/$top.il"
run "$top" "not readable" "read_verilog -sv ${files[*]}; hierarchy -check -top $top; proc; write_rtlil $design"
run "$top" "latches" "read_rtlil $design; select -assert-none t:\$dlatch t:\$adlatch t:\$dlatchsr t:\$sr"
run "$top" "combinational loops or bad drivers" \
    "read_rtlil $design; hierarchy -top $top; flatten; opt_clean; memory_collect; opt_clean; check -assert$memories"
echo "synth: $top: no latches, no combinational loops, every wire driven once"
[[ "$check" == yes ]] && exit 0

[[ ${#wanted[@]} -eq 0 ]] && wanted=("${blocks[@]}")
table="$out/table.txt"
row='%-22s %4s %9s %9s %7s %6s\n'
{
  printf "$row" block inst cells flops memory depth
  total_cells=0 total_flops=0
  for block in "${wanted[@]}"; do
    others=()
    for other in "${blocks[@]}"; do
      [[ "$other" == "$block" ]] || others+=("$other" "*\\$other")
    done
    memories="memory_collect; memory_map"
    [[ "$block" == tile_sram ]] && memories="opt_clean"  # the SRAM stays a memory
    # A module with parameters has a derived name. The blocks inside are taken out before depths are measured: they would
    # count as one gate from every input to every output, and so as loops.
    name=$(grep -o -m 1 -E "^module (\\\\|.*\\\\)$block\$" "$design" | cut -d' ' -f2-)
    run "$block" "mapping failed" "read_rtlil $design; hierarchy -check -top $name; blackbox ${others[*]}; flatten;
        opt -fast; $memories; opt -fast; techmap; opt -fast; abc -fast -g simple; opt_clean;
        tee -q -o $out/$block.stat stat; delete c:* t:\$_* %d t:\$mem* %d;
        tee -q -o $out/$block.ltp ltp -noff"
    read -r cells flops memory < <(awk '
      /^ +\$_S?DFF|^ +\$_ALDFF|^ +\$_DFF|^ +\$_SDFF/ { flops += $NF; next }
      /^ +Number of memory bits:/ { memory = $NF; next }
      /^ +\$_/ { cells += $NF }
      END { print cells + 0, flops + 0, memory + 0 }' "$out/$block.stat")
    depth=$(sed -n 's/.*length=\([0-9]*\).*/\1/p' "$out/$block.ltp" | sort -n | tail -1)
    n=${instances[$block]:-1}
    printf "$row" "$block" "$n" "$cells" "$flops" "$memory" "${depth:-0}"
    total_cells=$((total_cells + n * cells)) total_flops=$((total_flops + n * flops))
  done
  printf "$row" total "" "$total_cells" "$total_flops" "" ""
} | tee "$table"
