/* Every codelet, built for the host, and the list of them. One translation unit, so that the list is complete wherever
 * the library is linked. */
#include "host_codelets.h"

#include "binary.c"
#undef ADD
#undef MUL
#undef ADD_I
#undef MIN_I
#undef MAX_I
#include "copy.c"
#include "matmul.c"
#include "recurrent.c"
#include "reduce.c"
#include "unary.c"

/* Bounds of the section that VERTEX puts entries into; the linker makes these names. */
extern const struct tessera_host_codelet* const __start_tessera_codelets[];
extern const struct tessera_host_codelet* const __stop_tessera_codelets[];

const struct tessera_host_codelet* tessera_host_codelet_at(size_t index) {
  const size_t count = (size_t)(__stop_tessera_codelets - __start_tessera_codelets);
  return index < count ? __start_tessera_codelets[index] : NULL;
}
