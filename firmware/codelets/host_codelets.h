/* The codelets as host functions: the bit-exact reference of what a tile computes. */
#ifndef TESSERA_CODELETS_HOST_CODELETS_H_
#define TESSERA_CODELETS_HOST_CODELETS_H_

#include "tessera/vertex.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The codelet of that index, in no particular order; NULL past the last. Its fields' offsets are those of the host's
 * state struct (pointers of the host, spans of pointer and 32-bit count). */
const struct tessera_host_codelet* tessera_host_codelet_at(size_t index);

#ifdef __cplusplus
}
#endif

#endif /* TESSERA_CODELETS_HOST_CODELETS_H_ */
