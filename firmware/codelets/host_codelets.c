/* The list of codelets built for the host. */
#include "host_codelets.h"

/* Every source of codelets, so that its object is linked. */
#define ANCHOR(source) extern const char tessera_anchor_##source;
#include "host_anchors.inc"
#undef ANCHOR
#define ANCHOR(source) &tessera_anchor_##source,
extern const char* const tessera_host_anchors[];
const char* const tessera_host_anchors[] = {
#include "host_anchors.inc"
};

/* Bounds of the section that VERTEX puts entries into; the linker makes these names. */
extern const struct tessera_host_codelet* const __start_tessera_codelets[];
extern const struct tessera_host_codelet* const __stop_tessera_codelets[];

const struct tessera_host_codelet* tessera_host_codelet_at(size_t index) {
  const size_t count = (size_t)(__stop_tessera_codelets - __start_tessera_codelets);
  return index < count ? __start_tessera_codelets[index] : NULL;
}
