// Inside of Driver: what it knows of each IPU, register access with all that can go wrong on the way. For the sources
// of this folder only.
#pragma once

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/driver/driver.h"
#include "host/driver/enumerate.h"
#include "host/driver/host_heap.h"
#include "hw/error.h"
#include "hw/generated/machine.h"
#include "hw/generated/registers.h"
#include "hw/pcie.h"

namespace tessera::driver {

namespace chip = reg::chip;

constexpr std::uint32_t kSignature = 0x54455353;  // register id
constexpr unsigned kHostSync = 0, kException = 1, kLoader = 2, kStopped = 3, kMailbox = 4, kDmaDone = 5, kDmaFailed = 6,
                   kCauses = 7;
constexpr std::size_t kWordsAtOnce = 1024;  // of one access to tile memory
/// From so many words on the DMA engine is faster than accesses to tile memory, each a way there and back.
constexpr std::size_t kDmaWords = 4096;
/// Simulated time that a reset may take: far beyond a chip's quantum.
constexpr std::uint64_t kResetLimitNs = 50'000'000;
/// A load may take this long, and as long again for each MiB; links carry a MiB in well under a millisecond.
constexpr std::uint64_t kLoadLimitNs = 100'000'000;  // longer than completions may take, so that their loss is told

struct Buffer {
  std::uint64_t address = 0;
  std::size_t bytes = 0;
};

struct Device {
  IpuInfo info;
  PciFunction function;  ///< with the addresses of its BARs
  std::map<unsigned, Buffer> buffers;
  std::uint32_t pending = 0;                   ///< causes whose interrupts have come and were not yet handed on
  bool claimed = false;                        ///< by this driver
  bool in_host_sync = false;                   ///< told of it, and not acknowledged yet
  std::optional<std::vector<unsigned>> ports;  ///< with a link, once asked for
  bool boots_later = false;                    ///< boot_cycle is not 0
  bool cut_short = false;                      ///< reset in its program: packets of it may be on links
};

class Driver::Impl {
 public:
  Impl(Transport& transport, std::string client);
  ~Impl() { t.detach(heap); }

  Device& at(unsigned ipu) {
    if (ipu >= devices.size())
      throw Error(Category::usage, fmt::format("there is no IPU {}: the machine has {}", ipu, devices.size()));
    return devices[ipu];
  }
  /// The same, claimed by this driver: now, if nobody has.
  Device& own(unsigned ipu) {
    Device& d = at(ipu);
    if (!d.claimed) claim(d);
    return d;
  }

  [[nodiscard]] unsigned number(const Device& d) const { return static_cast<unsigned>(&d - devices.data()); }
  [[nodiscard]] std::string name(const Device& d) const {
    return fmt::format("IPU {} ({:02x}:{:02x}.{})", number(d), d.info.function.bus, d.info.function.device,
                       d.info.function.function);
  }

  // Registers (device.cpp).
  std::uint32_t read(const Device& d, std::uint32_t offset);
  void write(const Device& d, std::uint32_t offset, std::uint32_t value);
  std::uint64_t read_wide(const Device& d, std::uint32_t low) {
    const std::uint64_t bits = read(d, low);  // reading the low word latches the high one
    return bits | std::uint64_t{read(d, low + 4)} << 32;
  }
  void check(const Device& d, PciStatus status, std::uint32_t offset);
  /// "PCI Express logged: ..." of the functions on the way to an IPU, which is cleared; empty if nothing.
  [[nodiscard]] std::string logged(const Device& d);
  /// All ones may be a value or a device that is gone: the signature tells. Throws Error(device_exception) if it is.
  void check_alive(const Device& d);

  // Devices and claims (device.cpp).
  void add(const PciFunction& f);
  /// A controller for each card, reached through its first IPU.
  void find_cards();
  /// Waits until a controller is ready and answers.
  void boot(CardController& card);
  /// What an IPU tells once its card's controller lets it.
  void identify(Device& d);
  void turn_on(const PciFunction& f);
  void enable_msix(const Device& d);
  void claim(Device& d);
  [[nodiscard]] std::optional<Claim> holder(const Device& d);
  /// control.reset, until the chip has taken it. Throws Error(no_progress) if it does not.
  void stop(Device& d);
  void forget_buffers(Device& d);
  /// Writes who holds an IPU into it.
  void write_owner(const Device& d, std::uint32_t holder_tag, const std::string& holder_name);

  // Recovery (recover.cpp).
  /// Takes an IPU that answers: configuration, controller, owner, reset.
  void take_back(Device& d);
  /// Resets a card by the bridge above it and sets it up again: bridges, functions, firmware, links to other cards, and
  /// the owners of its IPUs. Throws Error(device_exception) if it does not come back.
  void reset_card(unsigned card);
  void train_links(unsigned card);
  /// Number of an IPU on its card.
  [[nodiscard]] unsigned on_card(const Device& d) const;
  /// BARs, memory space, bus mastering and MSI-X as they were, if the function has lost them.
  void restore(const Device& d);

  // Links (links.cpp).
  LinkInfo link(const Device& d, unsigned port);
  LinkInfo::State state(const Device& d, unsigned port);
  const std::vector<unsigned>& ports(Device& d);
  void add_links(Device& d, Counters& counters);
  /// After programs that were cut short: lets their packets leave the links, and gives links that were given up another
  /// chance. Throws Error(no_progress) that names a link where packets stay.
  void drain_links();
  /// Packets that wait at ports of claimed IPUs, and how many were sent so far.
  struct Traffic {
    std::uint64_t waiting = 0, sent = 0;
    unsigned ipu = 0, port = 0;  ///< where the first of them wait
  };
  Traffic traffic();
  bool revive(Device& d, unsigned port);

  // Memory (memory.cpp).
  void access_tile(unsigned ipu, unsigned tile, Address address, std::uint32_t* words, std::size_t count, bool write);
  /// The same words by the chip's DMA engine, from a byte of tile memory on; of a claimed IPU.
  void move_by_dma(Device& d, std::uint64_t tile_byte, std::uint32_t* words, std::size_t count, bool write);
  /// Waits for one of the interrupts, up to `limit_ns` of simulated time; takes them. Throws Error(no_progress).
  void await(Device& d, std::uint32_t causes, std::uint64_t limit_ns, const char* what);
  void check_records(const Device& d, const std::vector<LoadRecord>& records) const;
  bool loader_done(Device& d, std::uint64_t limit_ns);

  // What ended a run (exceptions.cpp).
  std::optional<ExceptionInfo> exception(unsigned ipu);
  std::vector<Stand> where_tiles_stand(const Device& d);

  // Events (driver.cpp).
  std::optional<Event> take_event();
  std::optional<Event> event_of(unsigned ipu, unsigned cause);
  /// Waits for an interrupt of a claimed IPU and notes it; false if the time passed.
  bool wait_for_interrupt(std::uint64_t limit_ns);
  bool note(const Interrupt& interrupt);

  Transport& t;
  HostHeap heap;
  std::vector<Device> devices;
  std::vector<CardController> cards;
  std::string client;
  std::uint32_t tag = 0;  ///< who this driver is in owner registers
};

}  // namespace tessera::driver
