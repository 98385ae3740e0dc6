// Collecting the steps of a program: run lists checked, exchange phases scheduled and proved, packet tables encoded.
// Putting it together is in assembly.cpp.
#include "host/demo/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "host/demo/codelets.h"
#include "host/demo/program.h"
#include "host/exchange/checker.h"
#include "hw/error.h"
#include "hw/generated/machine.h"

namespace tessera::demo {

namespace {

constexpr std::size_t kMostLoops = 10;  // s2..s11

unsigned chosen(unsigned wanted, unsigned have, const char* what, const Platform& platform) {
  if (wanted <= have) return wanted == 0 ? have : wanted;
  throw Error(Category::usage, fmt::format("{} {} are wanted, platform {} has {}", wanted, what, platform.name, have));
}

/// All words that the machine's tables can say are proved; throws Error(internal) for the first problem.
void prove(const exchange::Messages& messages, const exchange::Delays& delays, const exchange::Schedule& schedule,
           const Platform& platform, const std::string& name) {
  std::vector<const exchange::TileTables*> tables;
  for (const exchange::Phase& p : schedule.phases) tables.push_back(&p.tables);
  exchange::CheckOptions options;
  options.earliest = kExchangeFirstStart;
  options.sram_bytes = platform.sram_bytes;
  const exchange::CheckReport report = exchange::check(messages, delays, tables, options);
  if (report.ok()) return;
  throw Error(
      Category::internal,
      "an exchange schedule is wrong: " + (report.problems.empty() ? "it moves nothing" : report.problems.front()),
      name);
}

}  // namespace

Builder::Builder(std::string name, const Platform& platform, unsigned ipus, unsigned tiles)
    : name_(std::move(name)),
      platform_(platform),
      ipus_(chosen(ipus, platform.ipus(), "IPUs", platform)),
      tiles_(chosen(tiles, platform.tiles, "tiles", platform)),
      lowest_(platform.sram_end()) {}

Builder::~Builder() = default;

Address Builder::allocate(std::uint32_t words, unsigned align) {
  lowest_ = (lowest_ - std::int64_t{4} * words) / align * align;
  if (lowest_ < static_cast<std::int64_t>(kSramBase)) {
    throw Error(Category::does_not_fit,
                fmt::format("a tile needs more than its {} bytes of SRAM for data alone", platform_.sram_bytes), name_,
                "move less, or take a platform with more SRAM");
  }
  return static_cast<Address>(lowest_);
}

void Builder::initial(const std::string& name, std::vector<Initial> pieces) {
  initials_.emplace_back(name, std::move(pieces));
}

void Builder::tensor(const std::string& name, executable::Type type, Address address, std::uint64_t per_tile) {
  std::vector<executable::TensorRun> runs;
  const auto bytes = static_cast<std::int32_t>(graph::size_of(type));
  for (unsigned t = 0; t < tiles_; ++t) runs.push_back({t, address, bytes, t * per_tile, per_tile});
  tensor(name, type, {tiles_, per_tile}, std::move(runs));
}

void Builder::tensor(const std::string& name, executable::Type type, std::vector<std::uint64_t> shape,
                     std::vector<executable::TensorRun> runs) {
  tensors_.push_back({name, "", type, std::move(shape), std::move(runs)});
}

Code Builder::codelet(const std::string& name) {
  for (std::uint32_t i = 0; i < codes_.size(); ++i)
    if (codes_[i].name == name && codes_[i].words.empty()) return {i};
  codes_.push_back({name, {}, codelets().at(name).stack_bytes});
  return {static_cast<std::uint32_t>(codes_.size() - 1)};
}

Code Builder::code(const std::string& name, std::vector<std::uint32_t> words, std::uint32_t stack) {
  if (words.empty()) throw std::logic_error("code without an instruction");
  codes_.push_back({name, std::move(words), stack});
  return {static_cast<std::uint32_t>(codes_.size() - 1)};
}

Builder::Step& Builder::add(Step step) {
  steps_.push_back(std::move(step));
  return steps_.back();
}

void Builder::compute(const std::string& name, std::vector<Call> calls) {
  Step step;
  step.kind = Step::Kind::compute;
  step.name = name;
  step.calls = std::move(calls);
  for (const Call& c : step.calls) {
    if (c.tile.ipu >= ipus_ || c.tile.tile >= tiles_ || c.code.index >= codes_.size() || c.count == 0 ||
        c.stride >= 0x8000 || (c.workers & ~kAllWorkers) != 0)
      throw std::logic_error("a call that no run list can say: " + name);
  }
  std::stable_sort(step.calls.begin(), step.calls.end(), [](const Call& a, const Call& b) { return a.tile < b.tile; });
  add(std::move(step));
}

namespace {

std::vector<std::uint64_t> words_sent(const exchange::Messages& messages, std::size_t phases) {
  std::vector<std::uint64_t> sent(phases, 0);  // of a step that is cut: told with its first phase
  for (const exchange::Messages::Message& m : messages.list()) sent[0] += std::uint64_t{m.words} * m.sources;
  return sent;
}

}  // namespace

void Builder::exchange(const std::string& name, const exchange::Messages& messages, exchange::Schedule schedule) {
  const exchange::Delays delays = exchange::delays_of(platform_);
  prove(messages, delays, schedule, platform_, name);
  auto phases = std::make_shared<Phases>();
  phases->sent = words_sent(messages, schedule.phases.size());
  for (exchange::Phase& p : schedule.phases) {
    p.tables.resize(tiles_);
    phases->tables.push_back(std::move(p.tables));
  }
  phases->schedule = std::move(schedule);
  Step step;
  step.kind = Step::Kind::exchange;
  step.name = name;
  step.phases = static_cast<std::uint32_t>(phases->tables.size());
  step.exchanges.assign(ipus_, phases);
  add(std::move(step));
}

void Builder::exchange(const std::string& name, const exchange::Messages& messages) {
  exchange::Options options;
  options.earliest = kExchangeFirstStart;  // x.exchange stands right behind x.sync
  exchange(name, messages, exchange::schedule(messages, exchange::delays_of(platform_), options));
}

void Builder::exchange(const std::string& name, const std::vector<exchange::Messages>& by_ipu) {
  if (by_ipu.size() != ipus_) throw std::logic_error("messages of another number of IPUs: " + name);
  Step all;
  for (const exchange::Messages& messages : by_ipu) {
    if (messages.list().empty()) {
      all.exchanges.push_back(std::make_shared<Phases>());
      continue;
    }
    exchange(name, messages);
    all.exchanges.push_back(steps_.back().exchanges.front());
    all.phases = std::max(all.phases, steps_.back().phases);
    steps_.pop_back();
  }
  all.kind = Step::Kind::exchange;
  all.name = name;
  add(std::move(all));
}

namespace {

void encode(const PacketMove& m, std::vector<std::uint64_t>& table, const std::string& name) {
  PacketDescriptor d;
  d.kind = kPacketWrite;
  d.words = m.words;
  d.local_base = m.local_base;
  d.remote_base = m.remote_base;
  d.local = (m.from_address - (m.local_base == 0 ? kSramBase : 0)) / 4;
  PacketRemote remote;
  remote.kind = kRemoteTile;
  remote.ipu = m.to.ipu;
  remote.tile = m.to.tile;
  remote.offset = m.to_address - kSramBase;
  if (!d.fits() || !remote.fits() || m.from_address % 4 != 0 || m.to_address % 4 != 0)
    throw std::logic_error("words that no packet descriptor can say: " + name);
  table.push_back(d.pack());
  table.push_back(remote.pack());
}

}  // namespace

void Builder::packets(const std::string& name, const std::vector<PacketMove>& moves) {
  Step step;
  step.kind = Step::Kind::packets;
  step.name = name;
  step.packets.assign(ipus_, std::vector<std::vector<std::uint64_t>>(tiles_));
  std::vector<std::vector<std::uint64_t>> expected(ipus_, std::vector<std::uint64_t>(tiles_, 0));
  const auto known = [&](TileRef t) { return t.ipu < ipus_ && t.tile < tiles_; };
  for (const PacketMove& m : moves) {
    if (m.words == 0) continue;
    if (!known(m.from) || !known(m.to) || m.from.ipu == m.to.ipu)
      throw std::logic_error("packets go from tiles to tiles of other IPUs: " + name);
    std::vector<std::uint64_t>& table = step.packets[m.from.ipu][m.from.tile];
    if (table.empty()) table.push_back(0);
    encode(m, table, name);
    expected[m.to.ipu][m.to.tile] += m.words;
  }
  for (unsigned i = 0; i < ipus_; ++i) {
    for (unsigned t = 0; t < tiles_; ++t) {
      std::vector<std::uint64_t>& table = step.packets[i][t];
      if (table.empty() && expected[i][t] == 0) continue;
      if (table.empty()) table.push_back(0);
      PacketHeader header;
      header.descriptors = (table.size() - 1) / 2;
      header.expected = expected[i][t];
      if (!header.fits()) {
        throw Error(Category::does_not_fit,
                    fmt::format("tile {} of IPU {} has {} packet descriptors and expects {} words in one phase", t, i,
                                header.descriptors, header.expected),
                    name, "do it in several phases");
      }
      table[0] = header.pack();
    }
  }
  add(std::move(step));
}

void Builder::sync(Zone zone) {
  if (zone != Zone::internal && zone != Zone::group1) throw std::logic_error("a sync that stands for nothing");
  Step step;
  step.kind = Step::Kind::sync;
  step.name = zone == Zone::internal ? "sync internal" : "sync group 1";
  step.zone = zone;
  add(std::move(step));
}

void Builder::begin_repeat(std::uint32_t count) {
  if (count == 0 || open_repeats_ == kMostLoops) throw std::logic_error("a loop that cannot be");
  ++open_repeats_;
  Step step;
  step.kind = Step::Kind::repeat;
  step.name = fmt::format("repeat {}", count);
  step.value = count;
  add(std::move(step));
}

void Builder::end_repeat() {
  if (open_repeats_ == 0) throw std::logic_error("the end of no loop");
  --open_repeats_;
  Step step;
  step.kind = Step::Kind::end;
  add(std::move(step));
}

void Builder::set_offset(std::uint32_t bytes) {
  Step step;
  step.kind = Step::Kind::set_offset;
  step.name = "offset";
  step.value = bytes;
  add(std::move(step));
}

void Builder::add_offset(std::int32_t bytes) {
  Step step;
  step.kind = Step::Kind::add_offset;
  step.name = "offset";
  step.distance = bytes;
  add(std::move(step));
}

void Builder::set_xbase(unsigned which, const std::function<Address(TileRef)>& value) {
  if (which < 1 || which > 3) throw std::logic_error("xbase1..3");
  Step step;
  step.kind = Step::Kind::set_xbase;
  step.name = fmt::format("xbase{}", which);
  step.value = which;
  for (unsigned i = 0; i < ipus_; ++i) {
    step.values.emplace_back();
    for (unsigned t = 0; t < tiles_; ++t)
      step.values.back().push_back(value({static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(t)}));
  }
  add(std::move(step));
}

void Builder::add_xbase(unsigned which, std::int32_t bytes) {
  if (which < 1 || which > 3) throw std::logic_error("xbase1..3");
  Step step;
  step.kind = Step::Kind::add_xbase;
  step.name = fmt::format("xbase{}", which);
  step.value = which;
  step.distance = bytes;
  add(std::move(step));
}

void Builder::supervisor(const std::string& name, std::function<void(Assembler&)> emit) {
  Step step;
  step.kind = Step::Kind::supervisor;
  step.name = name;
  step.emit = std::move(emit);
  add(std::move(step));
}

}  // namespace tessera::demo
