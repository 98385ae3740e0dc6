// Included before all code that Verilator writes for the counting model: only the model that sums up names its counters
// to Verilator's registry, which is slow. The counters of the others are added to it when they end.
#pragma once

#include <verilated.h>
#include <verilated_cov.h>

/// The registry of the model that sums up (rtl_tile_counted.cpp); nullptr before there is one.
const VerilatedCovContext* tessera_line_registry();

#undef VL_COVER_INSERT
#define VL_COVER_INSERT(registry, counter, ...)          \
  do {                                                   \
    if ((registry) == tessera_line_registry()) {         \
      (registry)->_inserti(counter);                     \
      (registry)->_insertf(__FILE__, __LINE__);          \
      (registry)->_insertp("hier", name(), __VA_ARGS__); \
    }                                                    \
  } while (false)
