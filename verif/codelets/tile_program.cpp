// Builds and runs a tile image (tile_program.h).
#include "verif/codelets/tile_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "host/codelets/amp_record.h"
#include "hw/generated/machine.h"
#include "tlm/tile/assembler.h"

namespace tessera::testing {
namespace {
constexpr std::uint32_t kSramBytes = 262144, kStackBytes = 512;
constexpr unsigned kRa = 1, kGp = 3, kS1 = 9, kA0 = 10, kA1 = 11, kA2 = 12;
}  // namespace

TileProgram::TileProgram(const std::vector<std::string>& codelets, const CodeletLibrary& library)
    : sram_(kSramBytes, 0) {
  std::vector<std::string> roots{kFirmwareBoot, kFirmwareDispatch, kFirmwareExit, kFirmwareAmp};
  roots.insert(roots.end(), codelets.begin(), codelets.end());
  image_ = link(library, roots, kSramBase + start_region::kBytes);
  for (const auto& blob : image_.blobs) write(blob.address, blob.bytes.data(), blob.bytes.size());
  next_ = image_.end;
  control_ = allocate(64, 64);
  stacks_ = allocate(6 * kStackBytes + kSupervisorStackBytes, 64);
  stacks_end_ = next_;
}

Address TileProgram::allocate(std::size_t bytes, std::size_t align) {
  next_ = static_cast<Address>((next_ + align - 1) / align * align);
  const Address result = next_;
  next_ += static_cast<Address>(bytes);
  if (next_ > kSramBase + kSramBytes) throw std::logic_error("test program does not fit the tile");
  return result;
}

void TileProgram::write(Address address, const void* bytes, std::size_t count) {
  if (count != 0) std::memcpy(&sram_.at(address - kSramBase), bytes, count);
}

TileProgram::Vertex TileProgram::place(const CodeletInfo& codelet, const Bindings& bindings, unsigned skew) {
  Vertex vertex;
  std::vector<std::uint8_t> state(codelet.state_bytes, 0);
  for (const auto& field : codelet.fields) {
    const Binding& bound = bindings.at(field.name);
    if (field.is_value()) {
      std::memcpy(&state[field.offset], &bound.value, field_type_bytes(field.type));
      continue;
    }
    const Address start = allocate(bound.bytes.size() + std::size_t{skew} * field.align + 16, 16);
    const Address at = start + skew * field.align;
    write(at, bound.bytes.data(), bound.bytes.size());
    vertex.data[field.name] = at;
    std::memcpy(&state[field.offset], &at, 4);
    if (field.is_span()) std::memcpy(&state[field.offset + 4], &bound.count, 4);
  }
  vertex.state = allocate(state.size(), 8);
  write(vertex.state, state.data(), state.size());
  return vertex;
}

void TileProgram::record(unsigned worker, const std::string& codelet, Address state, unsigned count, unsigned stride,
                         const std::vector<std::uint32_t>& increments) {
  auto& list = lists_.at(worker);
  const auto high = increments.empty() ? stride : 0x8000u | static_cast<std::uint32_t>(increments.size());
  list.insert(list.end(), {image_.address_of(codelet), state, high << 16 | count});
  list.insert(list.end(), increments.begin(), increments.end());
}

void TileProgram::amp(const std::string& codelet, Address state) {
  const auto word = [&](Address at) {
    std::uint32_t value = 0;
    std::memcpy(&value, &sram_.at(at - kSramBase), 4);
    return value;
  };
  const AmpRecord record = amp_record(image_.address_of(codelet), state, word(state), word(state + 4), word(state + 8));
  amp_.insert(amp_.end(), record.begin(), record.end());
}

Cycle TileProgram::run(TileModel& tile, std::uint32_t offset) {
  const Address pointers = allocate(24, 8);
  for (unsigned w = 0; w < 6; ++w) {
    Address at = 0;
    if (!lists_[w].empty() || empty_[w]) {
      auto list = lists_[w];
      list.push_back(0);
      at = allocate(4 * list.size(), 8);
      write(at, list.data(), 4 * list.size());
    }
    write_word(pointers + 4 * w, at);
  }
  std::vector<std::uint32_t> code;
  const Address steps = allocate(8, 8);
  if (!amp_.empty()) {
    amp_.push_back(0);
    const Address records = allocate(4 * amp_.size(), 4);
    write(records, amp_.data(), 4 * amp_.size());
    write_word(steps + 4, records);
    code.push_back(i(Op::lw, kA0, kGp, 4));
    const Address at = control_ + 4 * static_cast<Address>(code.size());
    code.push_back(i(Op::jal, kRa, 0, static_cast<std::int32_t>(image_.address_of(kFirmwareAmp) - at)));
  }
  code.push_back(i(Op::lw, kA1, kGp, 0));  // the step table's only entry: the run list
  load_constant(code, kA2, offset);
  code.push_back(r(Op::x_run, 7, kS1, kA1, kA2));
  code.push_back(sync(0, 0, 1));
  write(control_, code.data(), 4 * code.size());
  write_word(steps, pointers);
  write_word(kSramBase + start_region::jump,
             i(Op::jal, 0, 0, static_cast<std::int32_t>(image_.address_of(kFirmwareBoot) - kSramBase)));
  write_word(kSramBase + start_region::control, control_);
  write_word(kSramBase + start_region::steps, steps);
  write_word(kSramBase + start_region::stacks, stacks_);
  write_word(kSramBase + start_region::stack_bytes, kStackBytes);

  tile.write_memory(kSramBase, sram_.data(), sram_.size());
  tile.start(kSramBase, 0);
  const TileStop stop = tile.run(Cycle{1} << 40, nullptr, nullptr);
  if (stop.kind != TileStop::Kind::sync) {
    std::string why = fmt::format("tile stopped with kind {} in cycle {}", static_cast<int>(stop.kind), stop.cycle);
    if (const auto e = tile.exception()) {
      const auto where = image_.locate(e->pc);
      why += fmt::format(", context {} cause {} pc {:#x} ({} {}:{}) tval {:#x}", e->context, e->cause, e->pc,
                         where.function, where.file, where.line, e->tval);
    }
    throw std::runtime_error(why);
  }
  return stop.cycle;
}

}  // namespace tessera::testing
