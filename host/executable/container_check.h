// Whether what a container held makes sense. For container.cpp alone.
#pragma once

#include <string>

#include "host/executable/executable.h"

namespace tessera::executable {

/// Throws Error(usage): `origin` is no usable executable, with what is wrong and where.
[[noreturn]] void bad_file(const std::string& origin, const std::string& what, const std::string& where);

/// Indices, addresses and tiles of an executable that was read from `origin`: throws Error(usage) for what is out of
/// range.
void check_contents(const Executable& executable, const std::string& origin);

}  // namespace tessera::executable
