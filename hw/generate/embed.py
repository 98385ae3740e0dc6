"""Writes a C++ file with the texts of platform files: embed.py OUTPUT.cpp FILE.json ..."""

import sys
from pathlib import Path

output, files = Path(sys.argv[1]), sorted(map(Path, sys.argv[2:]))
lines = ["// Generated from hw/platforms; do not edit.", '#include "hw/platform_files.h"', "", "namespace tessera::detail {", "",
         "const std::vector<PlatformFile>& platform_files() {", "  static const std::vector<PlatformFile> files = {"]
for file in files:
    lines.append(f'      {{"{file.stem}", R"json({file.read_text()})json"}},')
lines += ["  };", "  return files;", "}", "", "}  // namespace tessera::detail", ""]
output.parent.mkdir(parents=True, exist_ok=True)
output.write_text("\n".join(lines))
