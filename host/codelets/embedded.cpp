// Puts the library object and the vertex header into the read-only data of the program (embedded.h).
#include "host/codelets/embedded.h"

__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "tessera_embedded_codelets: .incbin \"" TESSERA_CODELETS_OBJECT
    "\"\n"
    "tessera_embedded_codelets_end:\n"
    "tessera_embedded_header: .incbin \"" TESSERA_VERTEX_HEADER
    "\"\n"
    "tessera_embedded_header_end:\n"
    ".popsection\n");

extern "C" {
extern const std::uint8_t tessera_embedded_codelets[], tessera_embedded_codelets_end[];
extern const char tessera_embedded_header[], tessera_embedded_header_end[];
}

namespace tessera {

std::vector<std::uint8_t> embedded_codelets() { return {tessera_embedded_codelets, tessera_embedded_codelets_end}; }
std::string embedded_vertex_header() { return {tessera_embedded_header, tessera_embedded_header_end}; }
std::string codelet_compiler_flags() { return TESSERA_CODELET_FLAGS; }

}  // namespace tessera
