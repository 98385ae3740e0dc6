// Places codelets and firmware at tile addresses: what GNU ld does for a static RV32 image, for chosen roots only.
//
// A root is a function (codelet or firmware symbol). Its section and all that is reached from it by relocations are
// placed once, 8-byte aligned, in the order of first need. The same input gives the same bytes. No relaxation.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/codelets/codelet.h"
#include "hw/types.h"

namespace tessera {

/// Firmware entry points in the built-in library.
inline constexpr char kFirmwareBoot[] = "tessera_boot";          ///< supervisor: sets CSRs, gp, s1, sp; goes to control
inline constexpr char kFirmwareDispatch[] = "tessera_dispatch";  ///< worker: runs the records of a run list
inline constexpr char kFirmwareExit[] = "tessera_exit";          ///< worker: x.exit, where vertices return to (xwra)
inline constexpr char kFirmwareAmp[] = "tessera_amp";  ///< supervisor: runs a list of AMP records (amp_record.h)

inline constexpr char kFirmwareRebase[] = "tessera_rebase";  ///< worker: turns run lists to other arguments (rebase.S)

/// A piece of the image that is either present on a tile or not: one section with its relocations applied.
struct LinkedBlob {
  std::string name;  ///< section name, for reports
  Address address = 0;
  std::vector<std::uint8_t> bytes;
};

struct LinkedSymbol {
  std::string name;
  Address address = 0;
  std::uint32_t size = 0;
  bool function = false;
};

/// Where an instruction comes from.
struct SourceLine {
  std::string function;  ///< empty if unknown
  std::string file;      ///< empty if unknown
  unsigned line = 0;
};

struct LinkedImage {
  Address base = 0;
  Address end = 0;                    ///< first address behind the last blob, 8-byte aligned
  std::vector<LinkedBlob> blobs;      ///< ascending addresses
  std::vector<LinkedSymbol> symbols;  ///< ascending addresses; global and local functions and objects
  /// For each root the indices of the blobs it needs, ascending.
  std::map<std::string, std::vector<std::size_t>> needs;

  struct Line {
    Address address = 0;
    std::uint32_t file = 0;  ///< index into files
    std::uint32_t line = 0;  ///< 0 ends a sequence
  };
  std::vector<std::string> files;
  std::vector<Line> lines;  ///< ascending addresses

  /// Address of a symbol. Throws std::logic_error if it was not linked.
  [[nodiscard]] Address address_of(const std::string& symbol) const;
  /// Function (and line, if there is debug information) at `pc`.
  [[nodiscard]] SourceLine locate(Address pc) const;
};

/// Links `roots` (in this order) from `base` (8-byte aligned). `extra` gives addresses of symbols that the library does
/// not define. Throws Error (usage) for an unknown root or an undefined symbol, std::logic_error for a relocation that
/// does not reach.
[[nodiscard]] LinkedImage link(const CodeletLibrary& library, const std::vector<std::string>& roots, Address base,
                               const std::map<std::string, Address>& extra = {});

}  // namespace tessera
