// Codelet notes and the embedded library (codelet.h).
#include "host/codelets/codelet.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "host/codelets/analysis.h"
#include "host/codelets/embedded.h"
#include "host/codelets/object.h"
#include "host/codelets/riscv.h"
#include "hw/error.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 10> kTypeNames = {"",    "bool", "i8",  "u8",  "i16",
                                                         "u16", "i32",  "u32", "f16", "f32"};
constexpr std::array<std::uint32_t, 10> kTypeBytes = {0, 1, 1, 1, 2, 2, 4, 4, 2, 4};

// Layout of the note (firmware/include/tessera/vertex.h).
constexpr std::size_t kOwnerBytes = 8, kHeadBytes = 64, kHeadNameBytes = 48, kFieldBytes = 36, kFieldNameBytes = 24;
constexpr std::uint32_t kNoteType = 1, kNoteVersion = 1, kNoteMulti = 1, kNoteAmp = 2;
constexpr std::uint8_t kKindElementwise = 0x80;

std::string fixed_string(const std::vector<std::uint8_t>& bytes, std::size_t at, std::size_t count) {
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  return {begin, std::find(begin, begin + static_cast<std::ptrdiff_t>(count), 0)};
}

[[noreturn]] void bad_note(const std::string& section, const std::string& origin) {
  throw Error(Category::usage, "The codelet note " + section + " is malformed.", origin,
              "include tessera/vertex.h of this version");
}

/// The fields that VERTEX_AMP puts first, where tessera_amp's records take them from.
bool begins_with_sets(const CodeletInfo& info) {
  return info.multi && info.fields.size() >= 2 && info.fields[0].name == "weights" &&
         info.fields[0].kind == FieldKind::in && info.fields[0].offset == 0 && info.fields[1].name == "offsets" &&
         info.fields[1].kind == FieldKind::in_span && info.fields[1].offset == 4;
}

CodeletInfo read_note(const ObjectNote& note, const std::string& origin) {
  using riscv::load32;
  const auto& b = note.bytes;
  const std::size_t head = 12 + kOwnerBytes;
  if (b.size() < head + kHeadBytes || load32(b, 0) != kOwnerBytes || load32(b, 8) != kNoteType ||
      fixed_string(b, 12, kOwnerBytes) != "Tessera" || load32(b, head) != kNoteVersion)
    bad_note(note.section, origin);
  CodeletInfo info;
  info.multi = (load32(b, head + 4) & kNoteMulti) != 0;
  info.amp = (load32(b, head + 4) & kNoteAmp) != 0;
  info.state_bytes = load32(b, head + 8);
  info.name = fixed_string(b, head + 16, kHeadNameBytes);
  const std::uint32_t count = load32(b, head + 12);
  if (info.name.empty() || count == 0 || b.size() != head + kHeadBytes + std::size_t{count} * kFieldBytes)
    bad_note(note.section, origin);
  std::uint32_t end = 0;
  for (std::size_t i = 0, at = head + kHeadBytes; i < count; ++i, at += kFieldBytes) {
    const std::uint8_t marked = b[at + kFieldNameBytes], kind = marked & ~kKindElementwise,
                       type = b[at + kFieldNameBytes + 1];
    if (kind < 1 || kind > 7 || type < 1 || type >= kTypeBytes.size()) bad_note(note.section, origin);
    Field field;
    field.name = fixed_string(b, at, kFieldNameBytes);
    field.kind = static_cast<FieldKind>(kind);
    field.type = static_cast<FieldType>(type);
    field.offset = load32(b, at + kFieldNameBytes) >> 16;
    field.elementwise = marked != kind;
    field.align = load32(b, at + 28);
    field.minimum = load32(b, at + 32);
    if (field.name.empty() || field.offset < end || field.align == 0 || (field.align & (field.align - 1)) != 0)
      bad_note(note.section, origin);
    end = field.offset + field.state_bytes();
    info.fields.push_back(std::move(field));
  }
  if (end > info.state_bytes) bad_note(note.section, origin);
  if (info.amp && !begins_with_sets(info)) bad_note(note.section, origin);
  return info;
}

/// Number of single-character edits between two names.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::uint32_t field_type_bytes(FieldType type) { return kTypeBytes.at(static_cast<std::size_t>(type)); }
std::string_view field_type_name(FieldType type) { return kTypeNames.at(static_cast<std::size_t>(type)); }

const Field* CodeletInfo::field(std::string_view field_name) const {
  for (const auto& f : fields)
    if (f.name == field_name) return &f;
  return nullptr;
}

CodeletLibrary::CodeletLibrary() : objects_(std::make_shared<ObjectSet>()) {}

void CodeletLibrary::add(std::vector<std::uint8_t> elf, const std::string& origin) {
  auto grown = std::make_shared<ObjectSet>(*objects_);  // copies of this library keep what they had
  std::vector<CodeletInfo> fresh;
  for (const auto& note : grown->add(elf, origin)) fresh.push_back(read_note(note, origin));
  CodeAnalyser analyser(*grown, origin);
  for (auto& info : fresh) {
    const auto symbol = grown->global(info.name);
    if (find(info.name) != nullptr)
      throw Error(Category::usage, "There are two codelets named " + info.name + ".", origin, "rename one");
    if (!symbol) throw Error(Category::usage, "Codelet " + info.name + " has a note but no function.", origin);
    const auto& at = grown->symbols()[*symbol];
    info.stack_bytes = analyser.stack_bytes(at.section, at.value);
    for (const int section : reachable_sections(*grown, at.section, nullptr)) {
      const auto& used = grown->sections()[static_cast<std::size_t>(section)];
      info.code_bytes += static_cast<std::uint32_t>(used.code ? (used.bytes.size() + 7) / 8 * 8 : used.bytes.size());
    }
    info.code_bytes = (info.code_bytes + 7) / 8 * 8;
  }
  objects_ = std::move(grown);
  codelets_.insert(codelets_.end(), fresh.begin(), fresh.end());
  std::sort(codelets_.begin(), codelets_.end(),
            [](const CodeletInfo& a, const CodeletInfo& b) { return a.name < b.name; });
}

const CodeletInfo* CodeletLibrary::find(std::string_view name) const {
  const auto it = std::lower_bound(codelets_.begin(), codelets_.end(), name,
                                   [](const CodeletInfo& c, std::string_view n) { return c.name < n; });
  return it != codelets_.end() && it->name == name ? &*it : nullptr;
}

const CodeletInfo& CodeletLibrary::at(std::string_view name) const {
  if (const auto* found = find(name)) return *found;
  std::string advice;
  std::size_t best = ~std::size_t{0};
  for (const auto& codelet : codelets_) {
    if (const std::size_t distance = edit_distance(name, codelet.name); distance < best) {
      best = distance;
      advice = "the nearest name is " + codelet.name;
    }
  }
  throw Error(Category::usage, fmt::format("There is no codelet {}.", name), {}, advice);
}

const CodeletLibrary& CodeletLibrary::builtin() {
  static const CodeletLibrary library = [] {
    CodeletLibrary built;
    built.add(embedded_codelets(), "built-in codelets");
    return built;
  }();
  return library;
}

}  // namespace tessera
