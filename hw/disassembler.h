// Words to assembly text: RISC-V syntax with ABI register names, no pseudo-instructions; Xtile names for Xtile.
#pragma once

#include <cstdint>
#include <string>

#include "hw/types.h"

namespace tessera {

/// Text of one instruction, mnemonic and operands separated by one blank, e.g. "addi a0,a0,-1". Branch and jump targets
/// are absolute (pc + offset). Instructions that the table holds but that are not implemented are named too; any other
/// word is ".word 0x........".
[[nodiscard]] std::string disassemble(std::uint32_t word, Address pc);

/// ABI names, "zero".."t6" and "ft0".."ft11".
[[nodiscard]] const char* x_register_name(unsigned number);
[[nodiscard]] const char* f_register_name(unsigned number);

}  // namespace tessera
