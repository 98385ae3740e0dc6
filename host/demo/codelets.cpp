// Puts the object of firmware/demo into the read-only data of the program (codelets.h).
#include "host/demo/codelets.h"

#include <cstdint>
#include <vector>

__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "tessera_demo_codelets: .incbin \"" TESSERA_DEMO_CODELETS_OBJECT
    "\"\n"
    "tessera_demo_codelets_end:\n"
    ".popsection\n");

extern "C" {
extern const std::uint8_t tessera_demo_codelets[], tessera_demo_codelets_end[];
}

namespace tessera::demo {

const CodeletLibrary& codelets() {
  static const CodeletLibrary library = [] {
    CodeletLibrary all = CodeletLibrary::builtin();
    all.add(std::vector<std::uint8_t>(tessera_demo_codelets, tessera_demo_codelets_end), "codelets of demonstrations");
    return all;
  }();
  return library;
}

}  // namespace tessera::demo
