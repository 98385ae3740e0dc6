// Puts the library object and the headers of codelets into the read-only data of the program (embedded.h).
#include "host/codelets/embedded.h"

__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "tessera_embedded_codelets: .incbin \"" TESSERA_CODELETS_OBJECT
    "\"\n"
    "tessera_embedded_codelets_end:\n"
    "tessera_embedded_vertex: .incbin \"" TESSERA_VERTEX_HEADER
    "\"\n"
    "tessera_embedded_vertex_end:\n"
    "tessera_embedded_machine: .incbin \"" TESSERA_MACHINE_HEADER
    "\"\n"
    "tessera_embedded_machine_end:\n"
    "tessera_embedded_xtile: .incbin \"" TESSERA_XTILE_HEADER
    "\"\n"
    "tessera_embedded_xtile_end:\n"
    ".popsection\n");

extern "C" {
extern const std::uint8_t tessera_embedded_codelets[], tessera_embedded_codelets_end[];
extern const char tessera_embedded_vertex[], tessera_embedded_vertex_end[];
extern const char tessera_embedded_machine[], tessera_embedded_machine_end[];
extern const char tessera_embedded_xtile[], tessera_embedded_xtile_end[];
}

namespace tessera {

std::vector<std::uint8_t> embedded_codelets() { return {tessera_embedded_codelets, tessera_embedded_codelets_end}; }
std::map<std::string, std::string> embedded_headers() {
  return {{"vertex.h", {tessera_embedded_vertex, tessera_embedded_vertex_end}},
          {"machine.h", {tessera_embedded_machine, tessera_embedded_machine_end}},
          {"xtile.h", {tessera_embedded_xtile, tessera_embedded_xtile_end}}};
}
std::string codelet_compiler_flags() { return TESSERA_CODELET_FLAGS; }

}  // namespace tessera
