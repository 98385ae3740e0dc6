// See driver.h.
#include "host/driver/driver.h"

#include <algorithm>
#include <utility>

#include "host/driver/driver_impl.h"

namespace tessera::driver {

bool Driver::Impl::note(const Interrupt& interrupt) {
  const std::uint64_t ipu = (interrupt.address - pcie::kMessageBase) / 0x1000;
  if (interrupt.address < pcie::kMessageBase || ipu >= devices.size() || interrupt.data >= kCauses)
    throw Error(Category::device_exception, fmt::format("an interrupt that nobody asked for: address 0x{:x}, data {}",
                                                        interrupt.address, interrupt.data));
  if (!devices[ipu].claimed && interrupt.data != kMailbox) return false;  // a card is nobody's alone
  devices[ipu].pending |= 1u << interrupt.data;
  return true;
}

bool Driver::Impl::wait_for_interrupt(std::uint64_t limit_ns) {
  // What is meant for other drivers on this transport waits for them.
  struct Foreign {
    Transport& transport;
    std::vector<Interrupt> list{};
    ~Foreign() {
      for (auto i = list.rbegin(); i != list.rend(); ++i) transport.hand_back(*i);
    }
  } foreign{t};
  const std::uint64_t begin = t.now_ns();
  for (;;) {
    const bool forever = limit_ns == ~std::uint64_t{0};
    const std::uint64_t spent = t.now_ns() - begin;
    const auto interrupt = t.wait_interrupt(forever ? limit_ns : limit_ns - std::min(spent, limit_ns));
    if (!interrupt) return false;
    if (note(*interrupt)) return true;
    foreign.list.push_back(*interrupt);
  }
}

/// Nothing if the cause is gone: an interrupt of a run that was reset.
std::optional<Event> Driver::Impl::event_of(unsigned ipu, unsigned cause) {
  Device& d = devices[ipu];
  Event event;
  event.ipu = ipu;
  switch (cause) {
    case kHostSync: {
      const std::uint32_t status = read(d, chip::kSyncStatus);
      if (chip::kSyncStatusWaiting.get(status) == 0) return std::nullopt;
      event.kind = Event::Kind::host_sync;
      event.code = static_cast<std::uint32_t>(chip::kSyncStatusCode.get(status));
      event.vote = chip::kSyncStatusVote.get(status) != 0;
      d.in_host_sync = true;
      return event;  // the chip takes the cause back with the release
    }
    case kException:
      event.kind = Event::Kind::exception;
      if (const auto info = exception(ipu))
        event.exception = *info;
      else
        return std::nullopt;
      break;
    default:
      event.kind = Event::Kind::stopped;
  }
  write(d, chip::kInterruptStatus, 1u << cause);
  return event;
}

std::optional<Event> Driver::Impl::take_event() {
  // An exception matters more than what else has come.
  for (unsigned cause : {kException, kHostSync, kStopped})
    for (unsigned ipu = 0; ipu < devices.size(); ++ipu)
      if ((devices[ipu].pending >> cause & 1) != 0) {
        devices[ipu].pending &= ~(1u << cause);
        if (auto event = event_of(ipu, cause)) return event;
      }
  return std::nullopt;
}

Counters& Counters::operator+=(const Counters& other) {
  cycles = std::max(cycles, other.cycles);
  instructions += other.instructions;
  host_syncs += other.host_syncs;
  refused_accesses += other.refused_accesses;
  words_sent += other.words_sent;
  words_received += other.words_received;
  words_unheard += other.words_unheard;
  packets += other.packets;
  link_packets += other.link_packets;
  link_words += other.link_words;
  return *this;
}

Counters Counters::since(const Counters& earlier) const {
  Counters c;
  c.cycles = cycles - earlier.cycles;
  c.instructions = instructions - earlier.instructions;
  c.host_syncs = host_syncs - earlier.host_syncs;
  c.refused_accesses = refused_accesses - earlier.refused_accesses;
  c.words_sent = words_sent - earlier.words_sent;
  c.words_received = words_received - earlier.words_received;
  c.words_unheard = words_unheard - earlier.words_unheard;
  c.packets = packets - earlier.packets;
  c.link_packets = link_packets - earlier.link_packets;
  c.link_words = link_words - earlier.link_words;
  return c;
}

Driver::Driver(Transport& transport, std::string client)
    : impl_(std::make_unique<Impl>(transport, std::move(client))) {}
Driver::~Driver() = default;

unsigned Driver::cards() const { return static_cast<unsigned>(impl_->cards.size()); }
CardController& Driver::card(unsigned card) {
  if (card >= impl_->cards.size())
    throw Error(Category::usage, fmt::format("there is no card {}: the machine has {}", card, impl_->cards.size()));
  return impl_->cards[card];
}
unsigned Driver::ipus() const { return static_cast<unsigned>(impl_->devices.size()); }
const IpuInfo& Driver::info(unsigned ipu) const { return impl_->at(ipu).info; }

void Driver::set_active(unsigned ipu, const std::vector<bool>& active) {
  Device& d = impl_->own(ipu);
  std::vector<std::uint32_t> words((d.info.tiles + 31) / 32);
  for (std::size_t t = 0; t < std::min<std::size_t>(active.size(), d.info.tiles); ++t)
    words[t / 32] |= std::uint32_t{active[t]} << (t % 32);
  for (std::size_t i = 0; i < words.size(); ++i)
    impl_->write(d, chip::kActive + static_cast<std::uint32_t>(4 * i), words[i]);
}

void Driver::set_classes(unsigned ipu, const std::vector<std::uint8_t>& classes) {
  Device& d = impl_->own(ipu);
  std::vector<std::uint32_t> words((d.info.tiles + 7) / 8);
  for (std::size_t t = 0; t < std::min<std::size_t>(classes.size(), d.info.tiles); ++t)
    words[t / 8] |= std::uint32_t{classes[t] & 0xfu} << (4 * (t % 8));
  for (std::size_t i = 0; i < words.size(); ++i)
    impl_->write(d, chip::kClass + static_cast<std::uint32_t>(4 * i), words[i]);
}

void Driver::set_groups(unsigned ipu, bool group1, bool group2, unsigned set1, unsigned set2) {
  constexpr unsigned kSets = 256;
  if (set1 >= kSets || set2 >= kSets)
    throw Error(Category::usage, fmt::format("there is no set {} of a sync group", std::max(set1, set2)), "",
                "sets have numbers 0 to 255");
  std::uint64_t groups = chip::kGroupsGs1.set(0, group1);
  groups = chip::kGroupsGs2.set(groups, group2);
  groups = chip::kGroupsGs1Id.set(groups, set1);
  groups = chip::kGroupsGs2Id.set(groups, set2);
  impl_->write(impl_->own(ipu), chip::kGroups, static_cast<std::uint32_t>(groups));
}

std::uint8_t* Driver::attach_buffer(unsigned ipu, unsigned index, std::size_t bytes, bool read, bool write) {
  Device& d = impl_->own(ipu);
  if (index >= chip::kBufferBytesCount || bytes == 0 || bytes > 0xffffffff || d.buffers.count(index) != 0)
    throw Error(Category::usage, fmt::format("buffer {} of {} bytes cannot be attached", index, bytes), impl_->name(d),
                fmt::format("indices are 0..{}, each once; sizes 1..2^32-1", chip::kBufferBytesCount - 1));
  const Buffer buffer{impl_->heap.allocate(bytes), bytes};
  d.buffers[index] = buffer;
  const std::uint32_t entry = index * chip::kBufferBytesStride;
  impl_->write(d, chip::kBufferAddressLow + entry, static_cast<std::uint32_t>(buffer.address));
  impl_->write(d, chip::kBufferAddressHigh + entry, static_cast<std::uint32_t>(buffer.address >> 32));
  impl_->write(
      d, chip::kBufferControl + entry,
      static_cast<std::uint32_t>(chip::kBufferControlRead.set(0, read) | chip::kBufferControlWrite.set(0, write)));
  impl_->write(d, chip::kBufferBytes + entry, static_cast<std::uint32_t>(bytes));
  return impl_->heap.data(buffer.address);
}

std::uint8_t* Driver::buffer(unsigned ipu, unsigned index) {
  Device& d = impl_->at(ipu);
  if (d.buffers.count(index) == 0)
    throw Error(Category::usage, fmt::format("there is no buffer {}", index), impl_->name(d));
  return impl_->heap.data(d.buffers[index].address);
}

std::size_t Driver::buffer_bytes(unsigned ipu, unsigned index) const {
  const Device& d = impl_->at(ipu);
  return d.buffers.count(index) == 0 ? 0 : d.buffers.at(index).bytes;
}

void Driver::start(const std::vector<Boot>& boots) {
  impl_->drain_links();
  for (const Boot& boot : boots) {
    const Device& d = impl_->own(boot.ipu);
    if (chip::kStatusRunning.get(impl_->read(d, chip::kStatus)) != 0)
      throw Error(Category::usage, "the IPU runs already", impl_->name(d), "reset it first");
    impl_->write(d, chip::kBootPc, boot.pc);
  }
  Cycle at = 0;  // as soon as the chip hears of it
  if (boots.size() > 1) {
    // What is written below is there in less time than as many reads take, each a way there and back.
    const Device& d = impl_->at(boots.front().ipu);
    const Cycle before = impl_->read_wide(d, chip::kCycleLow);
    const Cycle after = impl_->read_wide(d, chip::kCycleLow);
    at = after + (after - before) * (3 * boots.size() + 2);
  }
  for (const Boot& boot : boots) {
    Device& d = impl_->at(boot.ipu);
    if (at != 0 || d.boots_later) {
      impl_->write(d, chip::kBootCycleLow, static_cast<std::uint32_t>(at));
      impl_->write(d, chip::kBootCycleHigh, static_cast<std::uint32_t>(at >> 32));
      d.boots_later = at != 0;
    }
    impl_->write(d, chip::kBoot, 1);
  }
}

Event Driver::wait(std::uint64_t limit_ns) {
  const bool forever = limit_ns == ~std::uint64_t{0};
  const std::uint64_t begin = impl_->t.now_ns();
  for (;;) {
    if (auto event = impl_->take_event()) return *event;
    const std::uint64_t spent = impl_->t.now_ns() - begin;
    if (!forever && spent >= limit_ns) return {};
    const auto check_all = [this] {
      for (const Device& d : impl_->devices)
        if (d.claimed) impl_->check_alive(d);
    };
    try {
      if (impl_->wait_for_interrupt(forever ? limit_ns : limit_ns - spent)) continue;
    } catch (const Error& error) {
      if (error.category() == Category::no_progress) check_all();  // it waits for a device that is lost
      throw;
    }
    check_all();
    return {};
  }
}

void Driver::acknowledge(unsigned ipu, bool vote, std::uint64_t service_ns) {
  Device& d = impl_->at(ipu);
  if (service_ns != 0) impl_->t.elapse(service_ns);
  // Known from the event, nothing is read again: if an exception has come meanwhile, the chip takes no notice of the
  // write, and wait() tells.
  if (!std::exchange(d.in_host_sync, false) && chip::kSyncStatusWaiting.get(impl_->read(d, chip::kSyncStatus)) == 0) {
    if (chip::kStatusException.get(impl_->read(d, chip::kStatus)) != 0)
      return;  // what happened meanwhile: wait() tells
    throw Error(Category::usage, "no host sync waits to be acknowledged", impl_->name(d));
  }
  impl_->write(d, chip::kSyncAck, static_cast<std::uint32_t>(chip::kSyncAckVote.set(0, vote)));
}

void Driver::check_writes(unsigned ipu) {
  const Device& d = impl_->at(ipu);
  const PciAddress root_port{0, static_cast<std::uint8_t>(d.info.card), 0};
  const unsigned aer = find_extended_capability(impl_->t, root_port, pcie::kExtCapAer);
  if (aer == 0) return;
  if ((impl_->t.config_read(root_port, aer + pcie::kAerUncorrectable, 4) & pcie::kAerPoisoned) == 0) return;
  throw Error(
      Category::device_exception, "data that the IPU's card wrote to host memory came marked as bad and were dropped",
      fmt::format("{}; {}", impl_->name(d), impl_->logged(d)), "what the program put out is not whole: run it again");
}

Counters Driver::counters(unsigned ipu) {
  Device& d = impl_->at(ipu);
  Counters c;
  c.cycles = impl_->read_wide(d, chip::kCycleLow);
  c.instructions = impl_->read_wide(d, chip::kInstructionsLow);
  c.host_syncs = impl_->read(d, chip::kSyncCount);
  c.refused_accesses = impl_->read(d, chip::kRefusedAccesses);
  c.words_sent = impl_->read_wide(d, chip::kWordsSentLow);
  c.words_received = impl_->read_wide(d, chip::kWordsReceivedLow);
  c.words_unheard = impl_->read_wide(d, chip::kWordsUnheardLow);
  c.packets = impl_->read(d, chip::kPackets);
  impl_->add_links(d, c);
  return c;
}

std::uint32_t Driver::read_register(unsigned ipu, std::uint32_t offset) { return impl_->read(impl_->at(ipu), offset); }
void Driver::write_register(unsigned ipu, std::uint32_t offset, std::uint32_t value) {
  impl_->write(impl_->own(ipu), offset, value);
}

}  // namespace tessera::driver
