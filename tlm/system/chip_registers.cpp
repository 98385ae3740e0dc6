// Chip registers (BAR0) and host access to tile memory (BAR2); see chip.h and hw/registers/chip.toml.
#include <algorithm>
#include <cstring>
#include <utility>

#include "hw/generated/machine.h"
#include "hw/generated/registers.h"
#include "tlm/system/chip.h"

namespace tessera {

using namespace reg::chip;

namespace {

bool is_mailbox(std::uint32_t offset) {
  return offset >= kMailboxStatus && offset < kMailboxResult + 4 * kMailboxResultCount;
}

/// What a chip answers that its card holds.
bool answers_held(std::uint64_t offset) {
  return offset == kId || offset == kVersion || offset == kStatus || offset == kInterruptStatus ||
         is_mailbox(static_cast<std::uint32_t>(offset));
}

}  // namespace

bool Chip::held_back(unsigned bar, std::uint64_t offset, std::size_t count) {
  if (!lines_.held()) return false;
  bool answered = bar == pcie::kBarRegisters;
  for (std::size_t i = 0; answered && i < count; i += 4) answered = answers_held(offset + i);
  if (!answered) ++refused_;
  return !answered;
}

std::uint32_t Chip::counter_low(std::uint64_t value) {
  latched_high_ = static_cast<std::uint32_t>(value >> 32);
  return static_cast<std::uint32_t>(value);
}

std::uint32_t Chip::read_register(std::uint32_t offset, Cycle at) {
  if (LinkRegisters::covers(offset)) return link_registers_.read(offset, latched_high_);
  const auto field = [](const reg::Field& f, std::uint64_t value) {
    return static_cast<std::uint32_t>(f.set(0, value));
  };
  if (offset >= kTileState && offset < kTileState + 4 * ipu_.tiles()) {
    const unsigned t = (offset - kTileState) / 4;
    const auto& arrival = ipu_.sync().arrival(t);
    return field(kTileStateStatus, static_cast<unsigned>(ipu_.status(t))) |
           field(kTileStateZone, arrival ? static_cast<unsigned>(arrival->zone) : 0) |
           field(kTileStateActive, ipu_.active(t));
  }
  if (offset >= kTilePc && offset < kTilePc + 4 * ipu_.tiles()) return ipu_.tile((offset - kTilePc) / 4).context(0).pc;
  if (DmaEngine::owns(offset)) return dma_.read(offset);
  if (is_mailbox(offset)) return state_.card != nullptr ? state_.card->mailbox_read(state_.index, offset) : 0;
  const FabricCounters& words = ipu_.fabric().counters();
  switch (offset) {
    case kTiles:
      return ipu_.tiles();
    case kSramBytes:
      return ipu_.sram_bytes();
    case kStatus:
      return field(kStatusRunning, running() || in_host_sync() || in_host_wait()) |
             field(kStatusHostSync, in_host_sync() || in_host_wait()) |
             field(kStatusException, (exception_.cause >> 31) != 0) | field(kStatusLoaderBusy, loader_busy_) |
             field(kStatusLoaderError, loader_error_);
    case kSyncStatus:
      if (!in_host_sync()) return 0;
      return field(kSyncStatusWaiting, 1) | field(kSyncStatusVote, sync_vote_) | field(kSyncStatusCode, sync_code_);
    case kSyncCount:
      return host_syncs_;
    case kExceptionCause:
      return exception_.cause;
    case kExceptionPc:
      return exception_.pc;
    case kExceptionValue:
      return exception_.value;
    case kExceptionCycleLow:
      return static_cast<std::uint32_t>(exception_.cycle);
    case kExceptionCycleHigh:
      return static_cast<std::uint32_t>(exception_.cycle >> 32);
    case kExceptionSource:
      if (!exception_.packet) return 0;
      return field(kExceptionSourceTile, exception_.packet->tile) | field(kExceptionSourceIpu, exception_.packet->ipu) |
             field(kExceptionSourceWords, exception_.packet->words) | field(kExceptionSourceValid, 1);
    case kExceptionSourceLocal:
      return exception_.packet ? exception_.packet->local : 0;
    case kExceptionRemoteLow:
      return exception_.packet ? static_cast<std::uint32_t>(exception_.packet->remote) : 0;
    case kExceptionRemoteHigh:
      return exception_.packet ? static_cast<std::uint32_t>(exception_.packet->remote >> 32) : 0;
    case kCycleLow:
      return counter_low(at);
    case kInstructionsLow:
      return counter_low(ipu_.retired());
    case kWordsSentLow:
      return counter_low(words.words_sent - words_before_.words_sent);
    case kWordsReceivedLow:
      return counter_low(words.words_received - words_before_.words_received);
    case kWordsUnheardLow:
      return counter_low(words.words_unheard - words_before_.words_unheard);
    case kCycleHigh:
    case kInstructionsHigh:
    case kWordsSentHigh:
    case kWordsReceivedHigh:
    case kWordsUnheardHigh:
      return latched_high_;
    case kInterruptStatus:
      return interrupt_status_;
    case kPackets:
      return static_cast<std::uint32_t>(ipu_.packets() - packets_before_);
    case kRefusedAccesses:
      return refused_;
    case kOwnerTicket:
      return ++owner_tickets_;
    default:
      return shadow(offset);
  }
}

void Chip::write_register(std::uint32_t offset, std::uint32_t value, const sc_core::sc_time& delay) {
  if (LinkRegisters::covers(offset)) return link_registers_.write(offset, value, delay);
  if (DmaEngine::owns(offset)) return dma_.write(offset, value);
  if (is_mailbox(offset)) {
    if (state_.card != nullptr) state_.card->mailbox_write(state_.index, offset, value, delay);
    return;
  }
  switch (offset) {
    case kControl:
      if ((value & kControlReset.mask()) != 0) reset_request_ = true, command_.notify(delay);
      return;
    case kBoot:
      if ((value & 1) != 0) boot_request_ = true, command_.notify(delay);
      return;
    case kLoaderGo:
      if ((value & 1) != 0) loader_request_ = loader_busy_ = true, command_.notify(delay);
      return;
    case kSyncAck:
      if (!in_host_sync()) return;
      acknowledged_ = true;
      acknowledge_vote_ = (value & kSyncAckVote.mask()) != 0;
      command_.notify(delay);
      return;
    case kInterruptStatus:
      interrupt_status_ &= ~value;
      return;
    case kOwner:
      if (value == 0 || shadow(offset) == 0) shadow(offset) = value;  // the first to claim has it
      return;
    default:
      shadow(offset) = (shadow(offset) & ~writable_[offset / 4]) | (value & writable_[offset / 4]);
      // At once, not at boot: a chip that boots first must wait for those that boot later.
      if (offset == kGroups) join_groups();
  }
}

void Chip::join_groups() {
  const std::uint32_t groups = shadow(kGroups);
  const auto set = [groups](const reg::Field& in, const reg::Field& number) {
    return in.get(groups) != 0 ? std::optional<unsigned>(static_cast<unsigned>(number.get(groups))) : std::nullopt;
  };
  network_.set_member(config_.ipu.ipu, set(kGroupsGs1, kGroupsGs1Id), set(kGroupsGs2, kGroupsGs2Id));
}

std::uint64_t Chip::tile_bytes() const { return std::uint64_t{ipu_.sram_bytes()} * ipu_.tiles(); }

void Chip::read_tiles(std::uint64_t offset, std::uint8_t* bytes, std::size_t count) {
  const std::uint64_t sram = ipu_.sram_bytes();
  for (std::size_t done = 0; done < count;) {
    const std::uint64_t at = offset + done;
    const std::size_t piece = std::min<std::uint64_t>(count - done, sram - at % sram);
    const TileModel& tile = std::as_const(ipu_).tile(static_cast<unsigned>(at / sram));
    tile.read_memory(static_cast<Address>(kSramBase + at % sram), bytes + done, piece);
    done += piece;
  }
}

void Chip::write_tiles(std::uint64_t offset, const std::uint8_t* bytes, std::size_t count) {
  const std::uint64_t sram = ipu_.sram_bytes();
  for (std::size_t done = 0; done < count;) {
    const std::uint64_t at = offset + done;
    const std::size_t piece = std::min<std::uint64_t>(count - done, sram - at % sram);
    const auto address = static_cast<Address>(kSramBase + at % sram);
    // Whole words: a tile's memory has no narrower port.
    const Address first = address & ~3u, end = (address + static_cast<Address>(piece) + 3) & ~3u;
    TileModel& tile = ipu_.tile(static_cast<unsigned>(at / sram));
    std::vector<std::uint8_t> words(end - first);
    tile.read_memory(first, words.data(), words.size());
    std::memcpy(words.data() + (address - first), bytes + done, piece);
    tile.write_memory(first, words.data(), words.size());
    done += piece;
  }
}

pcie::Completion Chip::access_tiles(bool write, std::uint64_t offset, std::uint8_t* bytes, std::size_t count) {
  if (offset + count > tile_bytes()) return pcie::Completion::unsupported_request;
  if (!tiles_accessible()) {
    ++refused_;
    return pcie::Completion::completer_abort;
  }
  if (write)
    write_tiles(offset, bytes, count);
  else
    read_tiles(offset, bytes, count);
  return pcie::Completion::ok;
}

pcie::Completion Chip::bar_read(unsigned bar, std::uint64_t offset, std::uint8_t* bytes, std::size_t count,
                                sc_core::sc_time& delay) {
  if (held_back(bar, offset, count)) return pcie::Completion::completer_abort;
  if (bar == pcie::kBarTiles) return access_tiles(false, offset, bytes, count);
  const Cycle at = clock_.cycle_at(sc_core::sc_time_stamp() + delay);
  for (std::size_t i = 0; i < count; i += 4) {
    const std::uint32_t value = read_register(static_cast<std::uint32_t>(offset + i), at);
    std::memcpy(bytes + i, &value, 4);
  }
  return pcie::Completion::ok;
}

pcie::Completion Chip::bar_write(unsigned bar, std::uint64_t offset, const std::uint8_t* bytes, std::size_t count,
                                 sc_core::sc_time& delay) {
  if (held_back(bar, offset, count)) return pcie::Completion::completer_abort;
  if (bar == pcie::kBarTiles) return access_tiles(true, offset, const_cast<std::uint8_t*>(bytes), count);
  for (std::size_t i = 0; i < count; i += 4) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes + i, 4);
    write_register(static_cast<std::uint32_t>(offset + i), value, delay);
  }
  return pcie::Completion::ok;
}

std::size_t Chip::debug(unsigned bar, bool write, std::uint64_t offset, std::uint8_t* bytes, std::size_t count) {
  const std::uint64_t sram = ipu_.sram_bytes();
  if (bar != pcie::kBarTiles || offset >= sram * ipu_.tiles()) return 0;
  count = std::min<std::uint64_t>(count, sram - offset % sram);
  TileModel& tile = ipu_.tile(static_cast<unsigned>(offset / sram));
  const auto address = static_cast<Address>(kSramBase + offset % sram);
  if (write)
    tile.write_memory(address, bytes, count);
  else
    tile.read_memory(address, bytes, count);
  return count;
}

}  // namespace tessera
