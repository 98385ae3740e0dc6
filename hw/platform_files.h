// Texts of the built-in platform files, embedded at build time.
#pragma once

#include <string>
#include <vector>

namespace tessera::detail {

struct PlatformFile {
  std::string name;
  std::string text;
};

/// By name, in alphabetical order.
const std::vector<PlatformFile>& platform_files();

}  // namespace tessera::detail
