// Transfers: messages put together so that one descriptor a port moves as much as possible. Internal to the scheduler.
//
// A transfer is n x count1 x count2 words in one go without a gap. All its ports walk the same shape, each with strides
// of its own. A sweep is many senders one after another into the same receivers.
#pragma once

#include <cstdint>
#include <vector>

#include "host/exchange/messages.h"

namespace tessera::exchange {

struct Port {
  std::uint16_t tile = 0;
  std::uint8_t base = 0;
  bool two_words = false;  ///< its descriptor takes two table words
  std::uint32_t address = 0;
  std::int32_t stride1 = 0;  ///< inner, start to start; of a sweep's receivers: from source to source
  std::int32_t stride2 = 0;  ///< outer
};

struct Transfer {
  std::uint32_t first_port = 0;  ///< senders, then receivers, in Transfers::ports
  std::uint32_t senders = 1;
  std::uint32_t receivers = 1;
  std::uint32_t n = 0, count1 = 1, count2 = 1;
  bool sweep = false;            ///< sender k sends n words at offset k x n; receivers see n x senders words
  bool selected = false;         ///< all senders send at once; receivers take the one in xsource
  std::int32_t source_step = 0;  ///< of a sweep
  /// Cycles on a receiver's port.
  [[nodiscard]] std::uint32_t words() const { return sweep ? n * senders : n * count1 * count2; }
  /// Cycles on a sender's port, and when they start.
  [[nodiscard]] std::uint32_t send_words() const { return sweep ? n : words(); }
  [[nodiscard]] std::uint32_t send_offset(std::uint32_t sender) const { return sweep ? n * sender : 0; }
};

struct Transfers {
  std::vector<Transfer> list;
  std::vector<Port> ports;
  [[nodiscard]] const Port* senders(const Transfer& t) const { return ports.data() + t.first_port; }
  [[nodiscard]] const Port* receivers(const Transfer& t) const { return ports.data() + t.first_port + t.senders; }
};

/// Calls f(port, two_words, offset, cycles) for every port of a transfer: which one (receivers are numbered from
/// `tiles` up), whether its descriptor takes two words, when it is busy after the transfer's start, and for how long.
template <typename F>
void each_port(const Transfers& all, const Transfer& t, unsigned tiles, F&& f) {
  const Port* senders = all.senders(t);
  for (std::uint32_t k = 0; k < t.senders; ++k)
    f(senders[k].tile, senders[k].two_words, t.send_offset(k), t.send_words());
  const Port* receivers = all.receivers(t);
  for (std::uint32_t k = 0; k < t.receivers; ++k) f(tiles + receivers[k].tile, receivers[k].two_words, 0u, t.words());
}

/// Merges contiguous pieces and recognises blocks (regular strides). With `sweeps`, also one-word pieces from tiles at
/// regular distances into regular addresses of the same receivers.
[[nodiscard]] Transfers gather(const Messages& messages, bool sweeps);

/// The same transfers cut so that none has more than `grain` words (at most 4096), except sweeps.
[[nodiscard]] Transfers cut(const Transfers& transfers, std::uint32_t grain);

/// The same transfers with sweeps cut so that none has more than `senders` senders.
[[nodiscard]] Transfers cut_sweeps(const Transfers& transfers, std::uint32_t senders);

/// Appends words [first, first + words) of transfer t, which is no sweep, to `to`: in order, at most five pieces.
void slice(const Transfers& from, const Transfer& t, std::uint32_t first, std::uint32_t words, Transfers& to);

/// The same transfers with at most `group` receivers each: the sender repeats itself, receivers wait less for each
/// other.
[[nodiscard]] Transfers regroup(const Transfers& transfers, std::uint32_t group);

/// A port's walk as its descriptor says it: runs that touch are joined; count1 = count2 = 1 is linear.
struct Walk {
  std::uint32_t n, count1, count2;
  std::int32_t stride1, stride2;
};
[[nodiscard]] Walk walk_of(const Transfer& transfer, const Port& port);

}  // namespace tessera::exchange
