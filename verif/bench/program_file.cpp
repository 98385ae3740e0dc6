#include "verif/bench/program_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "tessera_iss_tile: .incbin \"" TESSERA_ISS_TILE_ELF
    "\"\n"
    "tessera_iss_tile_end:\n"
    "tessera_iss_linux: .incbin \"" TESSERA_ISS_LINUX_ELF
    "\"\n"
    "tessera_iss_linux_end:\n"
    ".popsection\n");

extern "C" {
extern const std::uint8_t tessera_iss_tile[], tessera_iss_tile_end[];
extern const std::uint8_t tessera_iss_linux[], tessera_iss_linux_end[];
}

namespace tessera::bench {

ProgramFile::ProgramFile(Which which) {
  const bool tile = which == Which::tile;
  const std::uint8_t* from = tile ? tessera_iss_tile : tessera_iss_linux;
  const std::uint8_t* end = tile ? tessera_iss_tile_end : tessera_iss_linux_end;
  descriptor_ = memfd_create("tessera-bench", 0);
  if (descriptor_ < 0) throw std::runtime_error("cannot make a memory file");
  while (from < end) {
    const ssize_t n = write(descriptor_, from, static_cast<std::size_t>(end - from));
    if (n <= 0) {
      close(descriptor_);
      throw std::runtime_error("cannot write a memory file");
    }
    from += n;
  }
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
}

ProgramFile::~ProgramFile() { close(descriptor_); }

}  // namespace tessera::bench
