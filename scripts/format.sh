#!/usr/bin/env bash
# Formats C, C++ headers and sources as .clang-format says. With --check nothing is changed; files that differ are named
# and the exit code is 1.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files '*.cpp' '*.h')
case "${1:-}" in
  --check) clang-format --dry-run --Werror "${files[@]}" ;;
  "") clang-format -i "${files[@]}" ;;
  *)
    echo "usage: scripts/format.sh [--check]" >&2
    exit 2
    ;;
esac
