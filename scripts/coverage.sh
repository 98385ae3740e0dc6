#!/usr/bin/env bash
# Coverage of the tile, with one command: builds the RTL with line counters in build-coverage, runs the tests concerned,
# merges what they reached, prints the plan's points by group with every miss by name and the RTL's lines by file, and
# writes build-coverage/coverage/{points,lines}.html. Exit code 1 if a point is missed, if less than 95 % of the lines
# are covered, or if a waiver (verif/coverage/waivers.toml) is not needed.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build-coverage
folder=$PWD/$build/coverage
tests=(directed_rtl_test random_rtl_test network_rtl_test random_debug_test rtl_packet_test rtl_time_test debug_test)

cmake --preset coverage >/dev/null
cmake --build --preset coverage --target "${tests[@]}" tessera-coverage
rm -rf "$folder"
mkdir -p "$folder"
export TESSERA_COVERAGE_DIR=$folder

# Each test program once, as many at a time as there are cores. A test that fails shows its end and ends the run.
printf '%s\n' "${tests[@]}" | xargs -P "$(nproc)" -I{} sh -c \
  "$build/tests/{} >'$folder/{}.log' 2>&1 || { echo '{} fails:'; tail -n 40 '$folder/{}.log'; exit 255; }"

status=0
"$build/tools/tessera-coverage" report "$folder" --html "$folder/points.html" || status=1
echo
scripts/coverage_lines.py "$folder" verif/coverage/waivers.toml "$folder/lines.html" || status=1
echo
echo "pages: $folder/points.html, $folder/lines.html"
exit $status
