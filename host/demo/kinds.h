// The demonstrations, one function each; registry.cpp lists them.
#pragma once

#include "host/demo/demo.h"

namespace tessera::demo {

[[nodiscard]] Kind workers();     // workers.cpp
[[nodiscard]] Kind all_reduce();  // kind_allreduce.cpp
[[nodiscard]] Kind stencil();     // kind_stencil.cpp
[[nodiscard]] Kind all_to_all();  // alltoall.cpp

}  // namespace tessera::demo
