// Text of device exceptions: from addresses back to what the user wrote.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "host/codelets/amp_record.h"
#include "host/codelets/linker.h"
#include "host/engine/engine.h"
#include "hw/error.h"
#include "hw/generated/machine.h"

namespace tessera::engine {

using driver::ExceptionInfo;
using executable::Executable;
using executable::Program;

namespace {

const Program* program_of(const Executable& executable, unsigned ipu) {
  for (const executable::Instance& instance : executable.instances)
    if (instance.ipu == ipu) return &executable.programs.at(instance.program);
  return nullptr;
}

std::string place(const Program& program, Address pc) {
  const executable::Symbol* symbol = executable::find_symbol(program, pc);
  if (symbol == nullptr) return fmt::format("pc 0x{:05x}", pc);
  const std::string source = executable::find_source(program, pc);
  return fmt::format("pc 0x{:05x} ({}+0x{:x}{})", pc, symbol->name, pc - symbol->address,
                     source.empty() ? "" : ", " + source);
}

std::string step_text(const executable::Step& step) {
  return step.name.empty() ? step.path : fmt::format("{} ({})", step.path, step.name);
}

/// Doubleword that the loader puts at an address of a tile; the last that loads there wins.
std::optional<std::uint64_t> loaded(const Program& program, unsigned tile, Address address) {
  for (auto blob = program.blobs.rbegin(); blob != program.blobs.rend(); ++blob) {
    const std::vector<std::uint32_t>& words = program.contents.at(blob->content);
    const std::size_t index = (address - blob->address) / 4;
    if (blob->tile == tile && address >= blob->address && index + 1 < words.size())
      return words[index] | std::uint64_t{words[index + 1]} << 32;
  }
  return std::nullopt;
}

/// AMP vertices of the tile whose weights the supervisor was loading: its record says which sets are the vertex's. All
/// AMP vertices of the tile if the address is no vertex's (a record that was changed).
std::vector<const executable::VertexRecord*> loading_weights(const Program& program, const ExceptionInfo& info) {
  std::vector<const executable::VertexRecord*> all;
  std::vector<const executable::VertexRecord*> found;
  for (const executable::VertexRecord& record : program.vertices) {
    if (record.tile != info.tile || !record.amp()) continue;
    all.push_back(&record);
    const auto weights = loaded(program, info.tile, record.state);
    const auto sets = loaded(program, info.tile, record.state + 4);
    if (!weights || !sets) continue;
    const std::uint64_t begin = *weights & 0xFFFFFFFF;
    if (info.value >= begin && info.value < begin + (*sets >> 32) * kAmpSetBytes) found.push_back(&record);
  }
  return found.empty() ? all : found;
}

std::string vertices(const Program& program, const ExceptionInfo& info, const Look& look) {
  const executable::Symbol* symbol = executable::find_symbol(program, info.pc);
  const bool amp = info.context == 0 && symbol != nullptr && symbol->name == kFirmwareAmp;
  const auto registers = [&](unsigned context, Address pc) {
    Registers found = (look ? look(info.ipu, info.tile, context) : std::nullopt).value_or(Registers{});
    found.pc = pc;
    return found;
  };
  const Stand stand = narrowed(program, info.context,
                               amp ? loading_weights(program, info) : records_at(program, info.tile, info.context, info.pc),
                               registers(info.context, info.pc),
                               registers(0, info.context == 0 ? info.pc : info.supervisor_pc));
  std::set<std::string> names;
  for (const executable::VertexRecord* record : stand.records) {
    const executable::VertexName& name = program.vertex_names.at(record->name);
    names.insert(fmt::format("{} ({}) in compute set {}", name.vertex, name.codelet, name.compute_set));
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "\n  vertex: " : "\n      or: ") + name;
  if (stand.member && names.size() == 1) text += fmt::format(", number {} of its family", *stand.member);
  if (stand.step != nullptr) text += "\n  program: " + step_text(*stand.step);
  return text;
}

std::string program_path(const Program& program, const ExceptionInfo& info) {
  const executable::Step* step = info.context == 0 ? executable::find_step(program, info.pc) : nullptr;
  return step == nullptr ? std::string() : "\n  program: " + step_text(*step);
}

bool two_words(const ExchangeDescriptor& descriptor) {
  return descriptor.kind == kKindBlock || descriptor.kind == kKindSweep;
}

/// Number of the descriptor at `address` in its list.
unsigned number_in_list(const Program& program, unsigned tile, Address list, Address address) {
  unsigned number = 0;
  for (Address at = list; at < address; ++number) {
    const auto bits = loaded(program, tile, at);
    at += bits && two_words(ExchangeDescriptor::unpack(*bits)) ? 16 : 8;
  }
  return number;
}

/// Which words a descriptor moves, when, and with whom.
std::string descriptor_text(const Program& program, const executable::TileTable& table, Address address) {
  const auto header_bits = loaded(program, table.tile, table.begin);
  const auto bits = loaded(program, table.tile, address);
  if (!header_bits || !bits || address < table.begin + 8) return fmt::format("table + {}", address - table.begin);
  const Address receives = table.begin + 8 + 8 * static_cast<Address>(ExchangeHeader::unpack(*header_bits).sends);
  const bool receive = address >= receives;
  const auto d = ExchangeDescriptor::unpack(*bits);
  std::string text = fmt::format("{} descriptor {} (table + {})", receive ? "receive" : "send",
                                 number_in_list(program, table.tile, receive ? receives : table.begin + 8, address),
                                 address - table.begin);
  static constexpr std::array<const char*, 4> kKinds = {"", ", a block of pieces", ", a sweep over tiles",
                                                        ", of no known kind"};
  text += fmt::format(": {} words", d.words == 0 ? kExchangeMaxWords : d.words);
  if (receive) text += d.peer == kPeerFromCsr ? " from the tile in xsource" : fmt::format(" from tile {}", d.peer);
  text += fmt::format(", first in cycle {} of the phase,", d.start);
  if (d.base == 0) text += fmt::format("{} 0x{:05x}", receive ? " to" : " out of", kSramBase + 4 * d.address);
  return text + kKinds.at(d.kind);
}

/// Descriptors of one list of a table, with their addresses.
std::vector<std::pair<Address, ExchangeDescriptor>> list_of(const Program& program, const executable::TileTable& table,
                                                            bool receives) {
  std::vector<std::pair<Address, ExchangeDescriptor>> list;
  const auto bits = loaded(program, table.tile, table.begin);
  if (!bits) return list;
  const auto header = ExchangeHeader::unpack(*bits);
  Address at = table.begin + 8 + (receives ? 8 * static_cast<Address>(header.sends) : 0);
  const Address end = at + 8 * static_cast<Address>(receives ? header.receives : header.sends);
  while (at < end) {
    const auto word = loaded(program, table.tile, at);
    if (!word) break;
    list.emplace_back(at, ExchangeDescriptor::unpack(*word));
    at += two_words(list.back().second) ? 16 : 8;
  }
  return list;
}

/// What a tile that was listened to sends in the phase, if it is known: why there was no word.
std::string silent_source(const Program& program, const executable::TileTable& table, Address receive) {
  const auto bits = loaded(program, table.tile, receive);
  if (!bits) return {};
  const auto d = ExchangeDescriptor::unpack(*bits);
  if (d.peer == kPeerFromCsr || d.kind == kKindSweep) return {};
  const auto source = static_cast<std::uint32_t>(d.peer);
  const auto same_phase = [&](const executable::TileTable& t) { return t.tile == source && t.phase == table.phase; };
  const auto found = std::find_if(program.tables.begin(), program.tables.end(), same_phase);
  if (found == program.tables.end()) return fmt::format("\n  tile {} takes no part in this phase", source);
  const auto sends = list_of(program, *found, false);
  if (sends.empty()) return fmt::format("\n  tile {} sends nothing in this phase", source);
  std::string text = fmt::format("\n  tile {} sends {} times in this phase:", source, sends.size());
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < std::min(sends.size(), kShown); ++i) {
    const auto& send = sends[i].second;
    text += fmt::format("{} {} words from cycle {}", i == 0 ? "" : ",",
                        send.words == 0 ? kExchangeMaxWords : send.words, send.start);
  }
  return text + (sends.size() > kShown ? ", ..." : "") + " (before the delay to the listener)";
}

std::string exchange(const Program& program, const ExceptionInfo& info) {
  const executable::TileTable* table = executable::find_table(program, info.tile, info.value);
  if (table == nullptr) return {};
  constexpr std::uint32_t kUnderrun = 27;
  return fmt::format("\n  exchange: {}\n  {}", program.phases.at(table->phase).name,
                     descriptor_text(program, *table, info.value)) +
         (info.cause == kUnderrun ? silent_source(program, *table, info.value) : "");
}

std::string remote_text(const PacketRemote& remote) {
  switch (remote.kind) {
    case 0:
      return fmt::format("IPU {} tile {} offset 0x{:x}", remote.ipu, remote.tile, remote.offset);
    case 1:
      return fmt::format("chip registers of IPU {}, offset 0x{:x}", remote.ipu, remote.offset);
    case 2:
      return fmt::format("host buffer {} offset 0x{:x}", remote.ipu, remote.offset);
    default:
      return fmt::format("an address of kind {}, which does not exist", remote.kind);
  }
}

/// Descriptors of the tile's packet tables that may have made a packet for a remote address with this low word. Packets
/// are cut from a descriptor's words; an xbase may have been added to its remote offset.
std::string packet_text(const Program& program, unsigned tile, std::uint32_t remote_low) {
  std::string text;
  for (const executable::TileTable& table : program.tables) {
    if (table.tile != tile || text.size() > 2000) continue;
    const auto header_bits = loaded(program, tile, table.begin);
    if (!header_bits) continue;
    const auto header = PacketHeader::unpack(*header_bits);
    if (table.begin + 8 + 16 * static_cast<Address>(header.descriptors) > table.end) continue;  // no packet table
    for (unsigned i = 0; i < header.descriptors; ++i) {
      const Address at = table.begin + 8 + 16 * i;
      const auto bits = loaded(program, tile, at), remote_bits = loaded(program, tile, at + 8);
      if (!bits || !remote_bits) break;
      const auto d = PacketDescriptor::unpack(*bits);
      const auto remote = PacketRemote::unpack(*remote_bits);
      const auto low = static_cast<std::uint32_t>(remote.offset);
      if (d.remote_base == 0 && (remote_low < low || remote_low - low >= 4 * d.words)) continue;
      text += fmt::format("{} {}: descriptor {} of {} at 0x{:05x}, {} words to {}",
                          text.empty() ? "\n  packet" : "\n     or",
                          table.phase < program.phases.size() ? program.phases[table.phase].name : "", i,
                          header.descriptors, at, d.words, remote_text(remote));
      if (d.remote_base != 0) text += fmt::format(" + xbase{}", d.remote_base);
    }
  }
  return text.empty() ? fmt::format(", offset 0x{:x}", remote_low) : text;
}

bool is_exchange_fault(std::uint32_t cause) { return cause >= 27 && cause <= 30; }

}  // namespace

namespace {

/// The error numbers of dma_status (hw/registers/chip.toml).
std::string pcie_failure(std::uint32_t error) {
  switch (error) {
    case 2:
      return "completer abort";
    case 3:
      return "no completion came in time";
    case 4:
      return "the data came marked as bad";
    case 9:
      return "the link is down";
    default:
      return fmt::format("error {}", error);
  }
}

/// What the chip found, and where all tiles stand in the program's terms.
std::string describe_fault(const Program* program, const ExceptionInfo& info) {
  std::string text;
  switch (info.kind) {
    case ExceptionInfo::Kind::zones_differ:
      text = fmt::format("tiles of IPU {} wait in different zones: tile {} made it so", info.ipu, info.tile);
      break;
    case ExceptionInfo::Kind::host_access:
      text =
          fmt::format("IPU {} tile {}: a packet to host address 0x{:x} was refused", info.ipu, info.tile, info.value);
      break;
    case ExceptionInfo::Kind::link_failed:
      text = fmt::format("IPU-Link {}.{} has failed: {}", info.value >> 8, info.value & 0xff,
                         info.detail.substr(0, info.detail.find('\n')));
      break;
    case ExceptionInfo::Kind::no_destination:
      text = fmt::format("IPU {} tile {}: a packet that nobody takes", info.ipu, info.tile);
      text += program == nullptr ? fmt::format(", offset 0x{:x}", info.value)
                                 : packet_text(*program, info.tile, info.value);
      break;
    case ExceptionInfo::Kind::card:
      text = fmt::format("the controller of IPU {}'s card has died: {}", info.ipu, info.reason);
      break;
    case ExceptionInfo::Kind::pcie:
      text =
          fmt::format("PCI Express or DMA error of IPU {}, tile {}: {}", info.ipu, info.tile, pcie_failure(info.value));
      if (!info.reason.empty()) text += "\n  " + info.reason;
      break;
    default:
      text = fmt::format("no tile of IPU {} can go on", info.ipu);
      break;
  }
  for (const driver::Stand& stand : info.stands) {
    text += "\n  " + stand.text;
    if (program == nullptr) {
      text += fmt::format(", pc 0x{:05x}", stand.pc);
      continue;
    }
    text += ", " + place(*program, stand.pc);
    if (const executable::Step* step = executable::find_step(*program, stand.pc)) text += ", " + step_text(*step);
  }
  return text;
}

}  // namespace

std::string describe(const Executable& executable, const ExceptionInfo& info, const Look& look) {
  const Program* program = program_of(executable, info.ipu);
  if (info.kind != ExceptionInfo::Kind::trap) return describe_fault(program, info);
  const std::string context = info.context == 0 ? "supervisor" : fmt::format("worker {}", info.context);
  std::string text = fmt::format("{} (cause {}, value 0x{:x}) on IPU {} tile {} {}", driver::cause_name(info.cause),
                                 info.cause, info.value, info.ipu, info.tile, context);
  if (program == nullptr) return text + fmt::format("\n  at: pc 0x{:05x}", info.pc);
  text += "\n  at: " + place(*program, info.pc) + vertices(*program, info, look) + program_path(*program, info);
  if (is_exchange_fault(info.cause)) text += exchange(*program, info);
  return text;
}

std::string describe_vertices(const Executable& executable, const ExceptionInfo& info) {
  const Program* program = program_of(executable, info.ipu);
  return program == nullptr ? std::string() : vertices(*program, info, {}) + program_path(*program, info);
}

std::string describe_descriptor(const Executable& executable, unsigned ipu, unsigned tile, Address descriptor) {
  const Program* program = program_of(executable, ipu);
  const executable::TileTable* table =
      program == nullptr ? nullptr : executable::find_table(*program, tile, descriptor);
  if (table == nullptr) return {};
  return fmt::format("\n  exchange: {}\n  {}", program->phases.at(table->phase).name,
                     descriptor_text(*program, *table, descriptor));
}

void Engine::raise(const ExceptionInfo& info) const {
  std::string text = describe(executable_, info, options_.look);
  if (options_.inspect) text += options_.inspect(info);
  const bool no_progress = info.kind == ExceptionInfo::Kind::no_progress;
  throw Error(no_progress ? Category::no_progress : Category::device_exception, text, "", "", info.cycle);
}

}  // namespace tessera::engine
