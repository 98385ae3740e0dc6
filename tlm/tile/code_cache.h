// Decoded code, a page of 4 KiB at a time. One page serves every tile that holds the same bytes at the same address in
// the same role; a tile that writes into decoded code gets a page of its own, decoded again word by word.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "hw/generated/isa.h"
#include "hw/types.h"

namespace tessera {

/// Who executes: the supervisor has no F, workers have no supervisor control.
enum class Role : std::uint8_t { supervisor = 0, worker = 1 };

/// The operation table: one instruction as every interpreter of the tile reads it. Illegal for this role: op 0.
struct Decoded {
  std::uint16_t op = 0;
  std::uint8_t rd = 0, rs1 = 0, rs2 = 0, rs3 = 0;
  std::uint8_t slots = 1;
  std::uint8_t flags = 0;  ///< bits 2:0 rounding field, kPair
  std::int32_t imm = 0;    ///< immediate, CSR number or zone
  std::uint32_t word = 0;

  static constexpr std::uint8_t kPair = 32;
  [[nodiscard]] unsigned rm() const { return flags & 7u; }
  /// Word 0 of a doubleword that issues together with word 1.
  [[nodiscard]] bool pair() const { return (flags & kPair) != 0; }
};

/// The same instruction as threaded code: the address of its handler, and what the handler needs.
struct FastOp {
  const void* handler = nullptr;
  std::int32_t imm = 0;
  std::uint8_t rd = 0, rs1 = 0, rs2 = 0, rs3 = 0;
};

inline constexpr unsigned kLongestBody = 64;  ///< doublewords of an x.rpt
inline constexpr unsigned kPageBits = 12, kPageBytes = 1u << kPageBits, kPageWords = kPageBytes / 4;

/// Decodes one word for a role (without pairing).
[[nodiscard]] Decoded decode_word(std::uint32_t word, Role role);
/// Decodes an aligned doubleword and sets the pair mark.
void decode_pair(const std::uint8_t* bytes, Role role, Decoded* out);

struct CodePage {
  std::array<Decoded, kPageWords> decoded;
  std::array<FastOp, kPageWords + 1> fast;  ///< the last one leads to the next page
  /// Where an x.rpt body may end before a word: the handler proper of that word, whose place a test for the end takes.
  std::array<const void*, kPageWords + 1> behind{};
  std::uint32_t longest = 0;  ///< upper bound of the slots from any word to the next jump out of a straight line
  Role role = Role::supervisor;
  bool shared = false;
  std::array<bool, kPageWords / 2> decoded_pair{};  ///< doublewords that stand decoded
  Address address = 0;

  /// Decodes the whole page.
  void decode_all(const std::uint8_t* page_bytes);
  /// Decodes the doubleword that holds word `index`.
  void decode(const std::uint8_t* page_bytes, unsigned index);
  /// Marks the doubleword that holds word `index` as to be decoded before it runs.
  void forget(unsigned index);
  [[nodiscard]] bool known(unsigned index) const { return decoded_pair[index / 2]; }
  /// From now on the end of an x.rpt body is looked for before word `index` (0..kPageWords).
  void mark(unsigned index);

 private:
  void put(unsigned index, const FastOp& op);
  /// Makes the operation of a decoded word anew, from it and what stands around it.
  void refresh(unsigned index);
  /// The same for repeats and groups in the `words` words before `index`, and for the last of them.
  void refresh_before(unsigned index, unsigned words);
  /// The body of the x.rpt in word `index` lies in this page, decoded, without transfers of control.
  [[nodiscard]] bool repeats_in_place(unsigned index) const;
  /// The handler of words `index` and `index` + 1 as one operation; null if they are none. `proper` is that of the
  /// first.
  [[nodiscard]] const void* fused(unsigned index, const void* proper) const;
  /// x.ld2st with x.amp.f16 of phases 0 to 3 from word `index` on.
  [[nodiscard]] bool starts_amp_group(unsigned index) const;
};

/// Pages shared by the tiles of a process; a chip gives one to all its tiles. Safe for several threads.
class CodeCache {
 public:
  /// The page at `address` (4 KiB aligned) with these bytes.
  std::shared_ptr<CodePage> find(Role role, Address address, const std::uint8_t* bytes);
  /// Pages decoded so far.
  [[nodiscard]] std::size_t pages() const;

 private:
  struct Entry {
    std::vector<std::uint8_t> bytes;
    std::shared_ptr<CodePage> page;
  };
  void drop_unused();

  static constexpr std::size_t kPurgeAbove = 4096;  // pages; more are kept only while tiles use them
  mutable std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, Entry> pages_;
  std::size_t purge_at_ = kPurgeAbove;
};

}  // namespace tessera
