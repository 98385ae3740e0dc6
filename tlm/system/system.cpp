// See system.h.
#include "tlm/system/system.h"

#include <fmt/format.h>

#include <utility>

#include "hw/generated/registers.h"

namespace tessera {

FabricTiming fabric_timing(const Platform& platform) {
  FabricTiming timing = FabricTiming::of(platform);
  // Words of a phase must be gone before anybody can listen in the next: the last is on its way at L, the tile syncs at
  // L + 10 at the earliest and listens from Z + 12 on.
  if (timing.largest() > platform.sync.internal + 22)
    throw Error(Category::usage,
                fmt::format("exchange delay of {} cycles outlives an internal sync of {}", timing.largest(),
                            platform.sync.internal),
                "platform " + platform.name, "make sync.internal at least the largest delay less 22");
  if (timing.base == 0) throw Error(Category::usage, "exchange.base is 0", "platform " + platform.name);
  return timing;
}

namespace {
pcie::RootConfig root_config(const Platform& p) {
  return {p.cards, p.pcie.max_payload_bytes, p.pcie.max_read_request_bytes,
          sc_core::sc_time(p.pcie.completion_timeout_us, sc_core::SC_US)};
}
}  // namespace

System::System(const sc_core::sc_module_name& name, const SystemConfig& config)
    : sc_module(name),
      config_(config),
      pool_(config.threads),
      topology_(config.platform),
      network_(config.platform.sync, topology_),
      root_("root", root_config(config.platform)) {
  const Platform& p = config_.platform;
  CardConfig card;
  card.ipus = p.ipus_per_card;
  card.register_bytes = reg::chip::kSize;
  card.tile_bytes = std::uint64_t{p.tiles} * p.sram_bytes;
  card.link.bytes_per_cycle = p.pcie.card_bytes_per_cycle;
  card.link.clock_hz = p.clock_hz;
  card.link.latency = sc_core::sc_time(p.pcie.latency_ns, sc_core::SC_NS);
  card.link.max_payload = p.pcie.max_payload_bytes;
  card.max_read_request = p.pcie.max_read_request_bytes;
  card.outstanding = p.pcie.outstanding;
  card.completion_timeout = sc_core::sc_time(p.pcie.completion_timeout_us, sc_core::SC_US);
  ChipConfig chip;
  chip.platform = p;
  chip.topology = &topology_;
  chip.train_links = config_.train_links && !config_.controllers;
  chip.quantum = config_.quantum;
  chip.max_cycles = config_.max_cycles;
  chip.max_idle_cycles = config_.max_idle_cycles;
  chip.symbolizer = config_.symbolizer;
  chip.hooks.events = config_.events;
  chip.hooks.released = config_.released;
  chip.hooks.poll = [this](Cycle cycle) {
    if (config_.progress) config_.progress(cycle);
    if (config_.stop && config_.stop()) throw RunStopped();
  };
  chip.ipu.tiles = p.tiles;
  chip.ipu.sram_bytes = p.sram_bytes;
  chip.ipu.fabric = fabric_timing(p);
  chip.ipu.lanes = {p.tiles,
                    p.tiles_per_column,
                    p.packet.lanes_per_column,
                    p.packet.lane_words_per_cycle,
                    p.packet.lane_latency,
                    p.packet.buffer_packets};
  for (unsigned c = 0; c < p.cards; ++c) {
    cards_.push_back(std::make_unique<C2Card>(fmt::format("card{}", c).c_str(), card));
    cards_[c]->bind(root_, c);
    for (unsigned i = 0; i < p.ipus_per_card; ++i) {
      const auto ipu = static_cast<unsigned>(chips_.size());
      chip.ipu.ipu = ipu;
      chip.ipu.modes = ipu < config_.modes.size() ? config_.modes[ipu] : std::vector<TileMode>{};
      chips_.push_back(std::make_unique<Chip>(fmt::format("ipu{}", ipu).c_str(), chip, config_.factory, pool_, network_,
                                              cards_[c]->endpoint(i)));
      chips_.back()->failed = [this, ipu](std::exception_ptr failure) {
        if (failure_ || failure_told_) return;
        failure_ = with_others(std::move(failure), ipu);
        sc_core::sc_pause();
      };
      chips_.back()->started = [this] { failure_told_ = false; };
      chips_.back()->report = [this](unsigned at, const Chip::Fault& fault) {
        return at < chips_.size() && chips_[at]->note(fault);
      };
    }
  }
  join_links();
  if (config_.controllers) make_controllers();
  std::vector<Injection> injections = config_.injections;
  for (const std::string& text : p.faults) injections.push_back(parse_injection(text, "platform " + p.name));
  for (const Injection& injection : injections)
    if (injection.sort == "pcie")
      inject_pcie(injection);
    else if (injection.sort == "card")
      inject_card(injection);
    else if (injection.sort == "link")
      inject_link(injection);
    else
      throw Error(Category::usage, fmt::format("there are no faults of '{}'", injection.sort), injection.text,
                  "faults are of link, pcie or card");
}

void System::inject_link(const Injection& injection) {
  // What concerns both ends is one fault of a link, not two.
  const bool whole = injection.kind == "down" || injection.kind == "lanes";
  std::string names;
  bool found = false;
  for (unsigned ipu = 0; ipu < ipus(); ++ipu)
    for (unsigned port = 0; port < chips_[ipu]->links(); ++port) {
      names = fmt::format("0.0 to {}", Topology::name(ipu, port));
      const bool all = injection.place == "*" && !(whole && topology_.ports(ipu)[port].ipu < ipu);
      if (!all && injection.place != Topology::name(ipu, port)) continue;
      chips_[ipu]->link(port).inject(injection, config_.seed);
      found = true;
    }
  if (!found)
    throw Error(Category::usage, fmt::format("there is no link {}", injection.place), injection.text,
                names.empty() ? "this machine has no links"
                              : fmt::format("links are {}, or * for all (docs/machine/links.md)", names));
}

void System::inject_pcie(const Injection& injection) {
  const Platform& p = config_.platform;
  const pcie::Fault fault = pcie::fault_of(injection, p.clock_hz);
  const auto strike = [&](unsigned ipu) { cards_[ipu / p.ipus_per_card]->inject(ipu % p.ipus_per_card, fault); };
  if (injection.place == "*") {
    for (unsigned ipu = 0; ipu < p.ipus(); ++ipu) strike(ipu);
    return;
  }
  const bool number = !injection.place.empty() && injection.place.size() < 5 &&
                      injection.place.find_first_not_of("0123456789") == std::string::npos;
  if (!number || std::stoul(injection.place) >= p.ipus())
    throw Error(Category::usage, fmt::format("there is no IPU \"{}\" on PCI Express", injection.place), injection.text,
                fmt::format("0..{}, or * for all", p.ipus() - 1));
  strike(static_cast<unsigned>(std::stoul(injection.place)));
}

void System::join_links() {
  for (unsigned ipu = 0; ipu < ipus(); ++ipu)
    for (unsigned port = 0; port < chips_[ipu]->links(); ++port) {
      const Topology::Port& peer = topology_.ports(ipu)[port];
      if (ipu < peer.ipu) LinkPort::join(chips_[ipu]->link(port), chips_[peer.ipu]->link(peer.port));
    }
}

void System::make_controllers() {
  const Platform& p = config_.platform;
  for (unsigned c = 0; c < p.cards; ++c) {
    std::vector<CardTarget*> targets;
    for (unsigned i = 0; i < p.ipus_per_card; ++i) targets.push_back(chips_[c * p.ipus_per_card + i].get());
    controllers_.push_back(
        std::make_unique<CardController>(fmt::format("controller{}", c).c_str(), p, c, targets, config_.card_firmware));
    cards_[c]->on_hot_reset([this, c] { controllers_[c]->reset_card(); });
    for (unsigned i = 0; i < p.ipus_per_card; ++i)
      chips_[c * p.ipus_per_card + i]->attach_card(controllers_[c]->port(), i);
  }
}

void System::inject_card(const Injection& injection) {
  bool found = false;
  for (unsigned c = 0; c < controllers_.size(); ++c) {
    if (injection.place != "*" && injection.place != std::to_string(c)) continue;
    controllers_[c]->inject(injection);
    found = true;
  }
  if (!found)
    throw Error(Category::usage, fmt::format("there is no card {}", injection.place), injection.text,
                fmt::format("the machine has {} of them, counted from 0", controllers_.size()));
}

Cycle System::now() const { return TileClock(config_.platform.clock_hz).cycle_at(sc_core::sc_time_stamp()); }

std::exception_ptr System::take_failure() {
  failure_told_ = failure_told_ || failure_;
  return std::exchange(failure_, nullptr);
}

Error System::no_progress() const {
  std::string where, advice = "start a program first";
  for (const auto& chip : chips_) {
    if (chip->in_host_sync()) advice = "a host sync waits: the host has to acknowledge it";
    if (!chip->running()) continue;  // a host wait is the root's host sync
    where += "\n" + chip->describe();
    advice = "a group sync needs all its IPUs: see which have stopped";
  }
  return Error(Category::no_progress, "deadlock: nothing can happen any more in the machine",
               network_.describe() + where + waiting_links(), advice, now());
}

std::exception_ptr System::with_others(std::exception_ptr failure, unsigned ipu) const {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    if (error.category() != Category::no_progress) return failure;
    // Sets of IPUs that sync with none of these are not concerned.
    const std::set<unsigned> joined = network_.joined(ipu);
    std::string where = error.where() + network_.describe(&joined);
    for (unsigned other : joined)
      if (other != ipu && chips_[other]->running()) where += "\n" + chips_[other]->describe();
    where += waiting_links();
    return std::make_exception_ptr(Error(error.category(), error.message(), where, error.advice(), error.cycle()));
  } catch (...) {
    return failure;
  }
}

std::string System::waiting_links() const {
  std::string text;
  for (const auto& chip : chips_)
    for (unsigned port = 0; port < chip->links(); ++port)
      if (chip->link(port).outstanding() != 0) text += "\n" + chip->link(port).describe();
  return text;
}

}  // namespace tessera
