// Compiles a user's codelet source with the compiler and flags of the built-in library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

/// The relocatable ELF of the C source at `path`, ready for CodeletLibrary::add. Results are kept in the cache folder
/// ($TESSERA_CACHE, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera) under a hash of source, headers, flags and
/// compiler, and are made anew if what is kept there is not whole. A signal that ends the process leaves nothing behind.
/// Throws Error (usage) with the compiler's text if it does not compile, or if the compiler is missing.
[[nodiscard]] std::vector<std::uint8_t> compile_user_codelets(const std::string& path);

}  // namespace tessera
