// x.rpt in threaded code: whether a body may run there, and the marks at ends of bodies that cross a page. Bodies that
// lie in one page are marked when the page is decoded (threaded.cpp).
#include "hw/generated/machine.h"
#include "tlm/tile/threaded.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {

bool TlmTile::loop_ready(Address start, Address end) {
  if (start < kSramBase || end <= start || end - kSramBase > sram_.size()) return false;
  for (Address pc = start; pc != end; pc += 4) {
    CodePage* code = page(Role::worker, pc);
    const unsigned index = (pc & (kPageBytes - 1)) / 4;
    if (!code->known(index)) decode(*code, index);
    if (transfers_control(code->decoded[index])) return false;
  }
  // The word behind the body, as reached from its last one: for a body that ends a page, the way to the next.
  const Address last = end - 8;
  auto& slot = pages_[static_cast<unsigned>(Role::worker)][(last - kSramBase) >> kPageBits];
  const unsigned index = (last & (kPageBytes - 1)) / 4 + 2;
  if (slot->behind[index] != nullptr) return true;
  if (slot->shared) {
    slot = std::make_shared<CodePage>(*slot);
    slot->shared = false;
  }
  slot->mark(index);
  return true;
}

const fp::fast::AmpReady* TlmTile::ready_weights() {
  if (!amp_ready_) {
    amp_ready_ = std::make_unique<fp::fast::AmpReady>();
    make_ready(weights_, *amp_ready_);
  } else if (amp_ready_->loaded != weights_) {
    make_ready(weights_, *amp_ready_);
  }
  return amp_ready_.get();
}

}  // namespace tessera
