// DWARF line programs (line_table.h): DWARF 5 section 6.2.
#include "host/codelets/line_table.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace tessera {
namespace {

/// Reads little-endian values; throws std::out_of_range past the end.
class Cursor {
 public:
  Cursor(const std::vector<std::uint8_t>& bytes, std::size_t at, std::size_t end)
      : bytes_(bytes), at_(at), end_(std::min(end, bytes.size())) {}
  [[nodiscard]] bool more() const { return at_ < end_; }
  [[nodiscard]] std::size_t at() const { return at_; }
  void go(std::size_t at) { at_ = at; }
  std::uint8_t u8() {
    if (at_ >= end_) throw std::out_of_range("line table ends early");
    return bytes_[at_++];
  }
  std::uint32_t u(unsigned count) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < count; ++i) {
      const std::uint32_t byte = u8();
      if (i < 4) value |= byte << (8 * i);
    }
    return value;
  }
  std::uint32_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t byte = u8();
      if (shift < 57) value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return static_cast<std::uint32_t>(value);
    }
  }
  std::int32_t sleb() {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (;;) {
      const std::uint8_t byte = u8();
      if (shift < 57) value |= std::uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int32_t>(value);
    }
  }
  std::string text() {
    std::string result;
    while (const std::uint8_t c = u8()) result.push_back(static_cast<char>(c));
    return result;
  }

 private:
  const std::vector<std::uint8_t>& bytes_;
  std::size_t at_, end_;
};

struct Header {
  unsigned version = 0, minimum_length = 1, line_range = 1, opcode_base = 13;
  int line_base = 0;
  std::vector<unsigned> operands;
  std::vector<std::string> files;  // by the number that the program uses
};

/// A version 5 list of directories or files: formats, then entries.
std::vector<std::pair<std::string, std::uint32_t>> read_entries(Cursor& c, const LineTable& table) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> formats(c.u8());
  for (auto& [content, form] : formats) content = c.uleb(), form = c.uleb();
  std::vector<std::pair<std::string, std::uint32_t>> entries(c.uleb());
  for (auto& [name, directory] : entries) {
    for (const auto& [content, form] : formats) {
      std::string text;
      std::uint32_t number = 0;
      switch (form) {
        case 0x08:
          text = c.text();
          break;      // string
        case 0x1f: {  // line_strp
          const std::uint32_t offset = c.u(4);
          text = Cursor(table.strings, offset, table.strings.size()).text();
          break;
        }
        case 0x0b:
          number = c.u(1);
          break;
        case 0x05:
          number = c.u(2);
          break;
        case 0x06:
          number = c.u(4);
          break;
        case 0x0f:
          number = c.uleb();
          break;
        case 0x1e:
          c.u(16);
          break;  // MD5
        default:
          throw std::out_of_range("form of a line table entry is not known");
      }
      if (content == 1) name = text;
      if (content == 2) directory = number;
    }
  }
  return entries;
}

void read_files(Cursor& c, const LineTable& table, Header& header) {
  const auto join = [](const std::string& directory, const std::string& name) {
    return directory.empty() || directory == "." || name.rfind('/', 0) == 0 ? name : directory + "/" + name;
  };
  if (header.version >= 5) {
    const auto directories = read_entries(c, table);
    for (const auto& [name, directory] : read_entries(c, table))
      header.files.push_back(
          join(directory == 0 || directory >= directories.size() ? "" : directories[directory].first, name));
    return;
  }
  std::vector<std::string> directories{""};
  for (std::string text = c.text(); !text.empty(); text = c.text()) directories.push_back(text);
  header.files.emplace_back();
  for (std::string name = c.text(); !name.empty(); name = c.text()) {
    const std::uint32_t directory = c.uleb();
    c.uleb(), c.uleb();
    header.files.push_back(join(directory < directories.size() ? directories[directory] : "", name));
  }
}

/// Runs one line program; `base` maps its file numbers to image.files.
void run_program(Cursor& c, const Header& h, std::uint32_t base, LinkedImage& image) {
  std::uint32_t address = 0, file = 1, line = 1;
  bool placed = false;
  const auto row = [&](bool end) {
    if (placed && file < h.files.size()) image.lines.push_back({address, base + file, end ? 0 : line});
  };
  while (c.more()) {
    const unsigned op = c.u8();
    if (op >= h.opcode_base) {
      const unsigned adjusted = op - h.opcode_base;
      address += adjusted / h.line_range * h.minimum_length;
      line += static_cast<std::uint32_t>(h.line_base + static_cast<int>(adjusted % h.line_range));
      row(false);
    } else if (op == 0) {
      const std::uint32_t length = c.uleb();
      const std::size_t next = c.at() + length;
      const unsigned extended = length == 0 ? 0 : c.u8();
      if (extended == 1) {
        row(true);
        address = 0, file = 1, line = 1, placed = false;
      } else if (extended == 2) {
        address = c.u(4);
        placed = address != 0;
      }
      c.go(next);
    } else {
      switch (op) {
        case 1:
          row(false);
          break;
        case 2:
          address += c.uleb() * h.minimum_length;
          break;
        case 3:
          line += static_cast<std::uint32_t>(c.sleb());
          break;
        case 4:
          file = c.uleb();
          break;
        case 8:
          address += (255 - h.opcode_base) / h.line_range * h.minimum_length;
          break;
        case 9:
          address += c.u(2);
          break;
        default:
          for (unsigned i = 0; i < h.operands.at(op - 1); ++i) c.uleb();
      }
    }
  }
}

}  // namespace

void decode_lines(const LineTable& table, const SymbolValue& value, LinkedImage& image) {
  LineTable fixed = table;
  // String offsets refer to a section that has no address: their symbols count 0, so the addend is the offset.
  relocate(fixed.bytes, 0, fixed.relocations, value);
  try {
    for (std::size_t at = 0; at + 4 < fixed.bytes.size();) {
      Cursor c(fixed.bytes, at, fixed.bytes.size());
      const std::size_t end = at + 4 + c.u(4);
      Header h;
      h.version = c.u(2);
      if (h.version >= 5) c.u(2);
      const std::uint32_t header_bytes = c.u(4);
      const std::size_t program = c.at() + header_bytes;
      h.minimum_length = c.u8();
      if (h.version >= 4) c.u8();
      c.u8();
      h.line_base = static_cast<std::int8_t>(c.u8());
      h.line_range = std::max<unsigned>(1, c.u8());
      h.opcode_base = c.u8();
      for (unsigned i = 1; i < h.opcode_base; ++i) h.operands.push_back(c.u8());
      read_files(c, fixed, h);
      const auto base = static_cast<std::uint32_t>(image.files.size());
      image.files.insert(image.files.end(), h.files.begin(), h.files.end());
      Cursor body(fixed.bytes, program, end);
      run_program(body, h, base, image);
      at = end;
    }
  } catch (const std::out_of_range&) {
    return;  // lines are for reports only: what was read so far stands
  }
}

}  // namespace tessera
