// The packet engine of an interval-based tile during one x.packet: which packets it offers when, what comes back, when
// the window is complete, which fault ends it. To the cycle as docs/machine/packets.md; lanes and hosts are not here.
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
};

class PacketWindow {
 public:
  explicit PacketWindow(const PacketInputs& inputs);

  /// Cycle in which the first word of the next packet is offered; nothing if no more packets come.
  [[nodiscard]] std::optional<Cycle> next_offer() const;
  /// The next packet, with the words as they stand in the SRAM.
  [[nodiscard]] Packet next_packet() const;
  /// The lane takes the first word of the next packet in `first` and the others in the cycles after.
  void taken(Cycle first);
  /// A packet whose first header word stands on the port in `first`: payload goes to the SRAM. False: it faults.
  bool deliver(Cycle first, const Packet& packet);

  /// All is sent, answered and received, or a fault has ended it.
  [[nodiscard]] bool complete() const;
  [[nodiscard]] Cycle completion() const;  ///< C
  /// Payload words of writes that arrived.
  [[nodiscard]] std::uint32_t received() const { return received_; }
  struct Fault {
    std::uint32_t cause = 0, tval = 0;
    Cycle cycle = 0;
  };
  [[nodiscard]] const std::optional<Fault>& fault() const { return fault_; }
  [[nodiscard]] const PacketTraffic& traffic() const { return traffic_; }
  [[nodiscard]] std::pair<Address, std::size_t> last_written() const { return last_written_; }

 private:
  /// Reads descriptor after descriptor until one has something to send in `now`, or is bad.
  void open_descriptor(Cycle now);
  void fail(std::uint32_t cause, std::uint32_t tval, Cycle cycle);
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
  bool sending_ = false, bad_table_ = false;
  Cycle last_ = 0;                            // latest word taken or delivered that counts for C
  std::uint64_t awaited_ = 0, answered_ = 0;  // words of reads
  std::uint32_t received_ = 0;
  std::optional<Fault> fault_;
  PacketTraffic traffic_;
  std::pair<Address, std::size_t> last_written_{0, 0};
};

}  // namespace tessera
