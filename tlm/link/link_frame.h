// What travels on an IPU-Link: a packet between sequence number and CRC, as bytes and as a TLM-2.0 transaction.
//
// Bytes: sequence word (23:0 number, 31:24 round of the sender), zeros up to the platform's frame_bytes less 8, 4
// header words, payload, CRC-32 (IEEE 802.3) of all before it; words are little-endian. A frame that nothing has
// touched is not turned into bytes: its CRC is right by construction (link_frame_test shows that nothing else can come
// out).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <tlm>
#include <vector>

#include "hw/types.h"
#include "tlm/link/packet.h"

namespace tessera {

inline constexpr std::uint32_t kSequenceMask = 0xffffff;

struct FrameContent {
  std::uint32_t sequence = 0;  ///< word 0
  Packet packet;
};

/// `padding`: bytes between sequence word and header.
[[nodiscard]] std::vector<std::uint8_t> encode_frame(std::uint32_t sequence, const Packet& packet, unsigned padding);
/// Nothing if the CRC is wrong, or if it is right and the length is no packet's.
[[nodiscard]] std::optional<FrameContent> decode_frame(const std::vector<std::uint8_t>& bytes, unsigned padding);

/// The part of a transaction that a generic payload has no place for. The payload's data are the packet's words as they
/// left; address is the packet's remote address.
struct LinkFrame : tlm::tlm_extension<LinkFrame> {
  std::shared_ptr<const Packet> packet;
  std::uint32_t sequence = 0;       ///< word 0
  std::vector<std::uint8_t> bytes;  ///< as they arrive, if an error touched them; else empty
  Cycle sent = 0;                   ///< the transmitter is done with it in this cycle: END_REQ
  Cycle arrival = 0;                ///< it is whole at the receiver
  std::uint64_t session = 0;        ///< of the sender
  // The answer, with BEGIN_RESP. The response status is OK if the frame is not wanted again.
  std::uint32_t expected = 0;  ///< number that the receiver waits for: all before it are acknowledged
  bool refused = false;        ///< send again from `expected`

  tlm::tlm_extension_base* clone() const override { return new LinkFrame(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const LinkFrame&>(other); }
};

/// Memory manager of an end's transactions; a payload goes back to the pool with its last reference.
class FramePool : public tlm::tlm_mm_interface {
 public:
  FramePool() = default;
  ~FramePool() override;
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;
  /// With one reference, no response and its LinkFrame, which keeps what it held.
  tlm::tlm_generic_payload& get();
  void free(tlm::tlm_generic_payload* payload) override;
  [[nodiscard]] std::size_t in_use() const { return all_.size() - idle_.size(); }

 private:
  struct Slot {
    explicit Slot(tlm::tlm_mm_interface* manager) : payload(manager) { payload.set_extension(&frame); }
    tlm::tlm_generic_payload payload;
    LinkFrame frame;
  };
  std::vector<std::unique_ptr<Slot>> all_;
  std::vector<tlm::tlm_generic_payload*> idle_;
};

}  // namespace tessera
