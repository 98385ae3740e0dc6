// The RTL tile that counts the lines it executes (option TESSERA_RTL_COVERAGE). Every tile has its own counters; when
// it ends they are added to those of one model that lives as long as the process and writes them at the end, into the
// folder TESSERA_COVERAGE_DIR. That model is the only object of the project that all tiles of a process share.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <mutex>

#include "Vtile_core.h"
#include "Vtile_core__Syms.h"
#include "Vtile_core___024root.h"
#include "verif/cosim/count_once.h"
#include "verif/cosim/rtl_tile_model.h"

namespace {
const VerilatedCovContext* registry = nullptr;  // set while the model that sums up is made
}
const VerilatedCovContext* tessera_line_registry() { return registry; }

namespace tessera {

namespace {

class Sum {
 public:
  static Sum& get() {
    static Sum sum;
    return sum;
  }
  ~Sum() {
    if (const char* folder = std::getenv("TESSERA_COVERAGE_DIR")) {
      context_.coveragep()->write(fmt::format("{}/{}.dat", folder, ::getpid()).c_str());
    }
  }
  void add(Vtile_core& model) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& sums = model_->rootp->vlSymsp->__Vcoverage;
    const auto& counts = model.rootp->vlSymsp->__Vcoverage;
    static_assert(sizeof sums == sizeof counts);
    for (std::size_t n = 0; n < sizeof sums / sizeof sums[0]; ++n) {
      const std::uint64_t sum = std::uint64_t{sums[n]} + counts[n];
      sums[n] = static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, UINT32_MAX));
    }
  }

 private:
  Sum() {
    registry = context_.coveragep();
    model_ = std::make_unique<Vtile_core>(&context_);
    registry = nullptr;
  }
  VerilatedContext context_;
  std::unique_ptr<Vtile_core> model_;
  std::mutex mutex_;
};

}  // namespace

template <>
struct CountsLines<Vtile_core> : std::true_type {
  static void add(Vtile_core& model) { Sum::get().add(model); }
};

std::unique_ptr<RtlTile> make_rtl_tile(const TileConfig& config) {
  return std::make_unique<RtlTileModel<Vtile_core>>(config);
}

}  // namespace tessera
