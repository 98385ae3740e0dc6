// A network on an IPU without its chip: releases come some cycles after the last arrival.
#include <fmt/format.h>

#include <map>

#include "hw/generated/machine.h"
#include "tlm/system/lone_ipu.h"
#include "verif/random/image.h"
#include "verif/random/network.h"

namespace tessera::random {
namespace {

/// Two host buffers, behind a link of some latency.
class Host final : public PacketHost {
 public:
  std::optional<Cycle> read(Cycle at, const Packet& request, std::vector<Word>& words) override {
    const PacketRemote remote = PacketRemote::unpack(request.remote);
    words.resize(request.words);
    for (unsigned k = 0; k < words.size(); ++k) {
      const std::uint64_t place = key(remote) + k;
      const auto found = written.find(place);
      words[k] = found != written.end() ? found->second : static_cast<Word>(place * 0x9e3779b1u ^ place >> 3);
    }
    return at + 25 + at % 17;
  }
  bool write(Cycle, const Packet& packet) override {
    const PacketRemote remote = PacketRemote::unpack(packet.remote);
    for (unsigned k = 0; k < packet.payload.size(); ++k) written[key(remote) + k] = packet.payload[k];
    return true;
  }
  std::map<std::uint64_t, Word> written;

 private:
  static std::uint64_t key(const PacketRemote& remote) { return remote.ipu << 40 | remote.offset / 4; }
};

}  // namespace

NetworkRun run_network(const Network& network, const std::vector<Program>& programs, const TileFactory& factory,
                       const std::vector<TileMode>& modes) {
  constexpr Cycle kLimit = 400'000;
  IpuConfig config;
  config.ipu = static_cast<unsigned>(network.seed % 3);
  config.tiles = static_cast<unsigned>(programs.size());
  config.sram_bytes = Program::kSramBytes;
  config.fabric = network.timing;
  config.modes = modes;
  config.group1 = true;
  TilePool pool(1);
  Host host;
  Ipu ipu(config, factory, pool);
  LoneIpu lone(config.ipu, ipu, &host);
  for (unsigned t = 0; t < programs.size(); ++t) {
    for (const Program::Block& block : programs[t].blocks) {
      ipu.tile(t).write_memory(block.at, reinterpret_cast<const std::uint8_t*>(block.words.data()),
                               4 * block.words.size());
    }
  }
  ipu.boot(kEntry, network.seed % 12);
  NetworkRun run;
  for (;;) {
    run.outcome = lone.advance(kLimit);
    if (run.outcome != Ipu::Outcome::arrived) break;
    const SyncResult& arrival = *ipu.arrival();
    lone.drain();
    if (run.releases.size() == network.steps.size()) break;
    run.releases.push_back(arrival.latest + 10 + network.seed % 37);
    run.votes.push_back(arrival.vote);
    ipu.release(run.releases.back(), arrival.vote);
  }
  run.words = ipu.fabric().counters().words_received;
  run.packets = ipu.packets();
  run.retired = ipu.retired();
  if (run.outcome != Ipu::Outcome::arrived) run.text = ipu.describe(nullptr);
  if (ipu.exception()) {
    run.failed_tile = ipu.exception()->tile;
    run.exception = ipu.exception()->exception;
    return run;  // the others stand where they stand
  }
  for (const auto& [place, word] : host.written) run.host.push_back(word);
  for (unsigned t = 0; t < programs.size(); ++t) {
    auto& states = run.states.emplace_back();
    for (ContextId c = 0; c < 7; ++c) states[c] = ipu.tile(t).context(c);
    auto& memory = run.memory.emplace_back(Program::kSramBytes);
    ipu.tile(t).read_memory(kSramBase, memory.data(), memory.size());
  }
  return run;
}

std::optional<std::string> difference(const NetworkRun& a, const NetworkRun& b) {
  if (a.outcome != b.outcome)
    return fmt::format("outcome {} or {}", static_cast<int>(a.outcome), static_cast<int>(b.outcome));
  if (a.releases != b.releases) {
    std::size_t n = 0;
    while (n < a.releases.size() && n < b.releases.size() && a.releases[n] == b.releases[n]) ++n;
    return fmt::format("release {}: cycle {} or {}", n, n < a.releases.size() ? a.releases[n] : 0,
                       n < b.releases.size() ? b.releases[n] : 0);
  }
  if (a.votes != b.votes) return "votes differ";
  if (a.exception.has_value() != b.exception.has_value()) return "one has an exception";
  if (a.exception) {
    const TileException &x = *a.exception, &y = *b.exception;
    if (a.failed_tile != b.failed_tile || x.cycle != y.cycle || x.context != y.context || x.cause != y.cause ||
        x.pc != y.pc || x.tval != y.tval) {
      return fmt::format(
          "exception: tile {} context {} cause {} in cycle {} pc {:#x}, or tile {} context {} cause {} in cycle {} pc "
          "{:#x}",
          a.failed_tile, x.context, x.cause, x.cycle, x.pc, b.failed_tile, y.context, y.cause, y.cycle, y.pc);
    }
    return std::nullopt;
  }
  if (a.host != b.host) return "the host was sent other words";
  for (std::size_t t = 0; t < a.states.size(); ++t) {
    for (unsigned c = 0; c < 7; ++c) {
      const ContextState &x = a.states[t][c], &y = b.states[t][c];
      for (unsigned n = 1; n < 32; ++n) {
        if (x.x[n] != y.x[n]) return fmt::format("tile {} context {} x{}: {:#x} or {:#x}", t, c, n, x.x[n], y.x[n]);
        if (x.f[n] != y.f[n]) return fmt::format("tile {} context {} f{}: {:#x} or {:#x}", t, c, n, x.f[n], y.f[n]);
      }
      if (x.run != y.run || x.pc != y.pc || x.fcsr != y.fcsr || x.mcause != y.mcause || x.mepc != y.mepc ||
          x.mtval != y.mtval) {
        return fmt::format("tile {} context {}: pc {:#x} or {:#x}, state {} or {}, mcause {} or {}", t, c, x.pc, y.pc,
                           static_cast<int>(x.run), static_cast<int>(y.run), x.mcause, y.mcause);
      }
    }
    for (std::size_t k = 0; k < a.memory[t].size(); ++k) {
      if (a.memory[t][k] != b.memory[t][k])
        return fmt::format("tile {} memory at {:#x}: {:#x} or {:#x}", t, kSramBase + k, a.memory[t][k], b.memory[t][k]);
    }
  }
  return std::nullopt;
}

}  // namespace tessera::random
