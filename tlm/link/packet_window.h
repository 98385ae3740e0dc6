// The packet engine of an interval-based tile during one x.packet: which packets it offers when, what comes back, when
// the window is complete, which fault ends it, what comes too late. To the cycle as docs/machine/packets.md; lanes and
// hosts are not here.
//
// The owner tells it everything in order of time: before finished(to), all offers taken before `to` and all packets
// whose first word stands on the port before `to`.
#pragma once

#include <array>
#include <optional>

#include "tlm/link/packet.h"
#include "tlm/tile/tile_model.h"

namespace tessera {

struct PacketInputs {
  std::uint8_t* sram = nullptr;  ///< byte 0 is kSramBase
  std::uint32_t sram_bytes = 0;
  Address table = 0;  ///< 8-byte aligned with its header inside the SRAM
  Cycle issue = 0;    ///< P
  std::array<std::uint32_t, 3> xbase{};
  unsigned tile = 0, ipu = 0;
  bool traffic = true;  ///< keep all words for a tile that checks them
};

class PacketWindow {
 public:
  explicit PacketWindow(const PacketInputs& inputs);

  /// Cycle in which the first word of the next packet is offered; nothing if no more packets come.
  [[nodiscard]] std::optional<Cycle> next_offer() const;
  /// The next packet, with the words as they stand in the SRAM.
  [[nodiscard]] Packet next_packet() const;
  /// The lane takes the first word of the next packet, `packet`, in `first` and the others in the cycles after.
  void taken(Cycle first, const Packet& packet);
  /// A packet whose first header word stands on the port in `first`: payload goes to the SRAM. False: not all of it.
  bool deliver(Cycle first, const Packet& packet);

  /// Once everything before this cycle is known, finished() holds; nothing if that depends on packets to come.
  [[nodiscard]] std::optional<Cycle> decided() const;
  /// All is sent, answered and received, or a fault has ended it, as known from everything before `to`. Settles which
  /// fault it was.
  [[nodiscard]] bool finished(Cycle to);
  [[nodiscard]] Cycle completion() const;  ///< C
  /// Payload words of writes that arrived.
  [[nodiscard]] std::uint32_t received() const { return received_; }
  struct Fault {
    std::uint32_t cause = 0, tval = 0;
    Cycle cycle = 0;
  };
  [[nodiscard]] const std::optional<Fault>& fault() const { return fault_; }
  /// A write that came behind the end of the window: first such address and the cycle of its word (of word 1 of its
  /// header, if all of it came too late).
  struct Stray {
    Address address = 0;
    Cycle cycle = 0;
  };
  [[nodiscard]] const std::optional<Stray>& stray() const { return stray_; }
  [[nodiscard]] const PacketTraffic& traffic() const { return traffic_; }
  [[nodiscard]] std::pair<Address, std::size_t> last_written() const { return last_written_; }
  /// "2 packets to send, 12 words of reads, 40 of 100 expected words": what it waits for.
  [[nodiscard]] std::string describe() const;

 private:
  /// Reads descriptor after descriptor until one has something to send in `now`, or is bad.
  void open_descriptor(Cycle now);
  void fail(std::uint32_t cause, std::uint32_t tval, Cycle cycle);
  [[nodiscard]] bool complete() const { return !sending_ && answered_ == awaited_ && received_ == expected_; }
  /// If complete: first cycle whose words find the window closed.
  [[nodiscard]] Cycle closed_from() const;
  [[nodiscard]] Cycle floor() const { return in_.issue + 12; }
  [[nodiscard]] unsigned piece_words() const;
  [[nodiscard]] std::uint64_t word64(Address address) const;

  PacketInputs in_;
  std::uint32_t descriptors_ = 0, expected_ = 0;
  std::uint32_t index_ = 0;  // descriptor under way
  PacketDescriptor descriptor_;
  Address local_ = 0;  // of the next packet's first word
  std::uint64_t remote_ = 0;
  std::uint32_t left_ = 0;  // words of the descriptor not yet sent
  Cycle offer_ = 0;
  bool sending_ = false;
  Cycle last_taken_ = 0, last_arrived_ = 0;
  std::uint64_t awaited_ = 0, answered_ = 0;  // words of reads
  std::uint32_t received_ = 0;
  std::uint32_t early_ = 0;    // words of writes before P + 12, not yet compared
  Address early_last_ = 0;     // address of the last of them
  std::optional<Fault> over_;  // first word beyond the expected: a fault, unless the window was closed by then
  std::optional<Fault> fault_;
  std::optional<Stray> stray_;
  PacketTraffic traffic_;
  std::pair<Address, std::size_t> last_written_{0, 0};
};

}  // namespace tessera
