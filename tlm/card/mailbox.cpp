// See mailbox.h.
#include "tlm/card/mailbox.h"

#include "hw/generated/registers.h"

namespace tessera {

using namespace reg::chip;

std::uint32_t Mailbox::host_read(std::uint32_t offset) const {
  if (offset == kMailboxCommand) return command_;
  if (offset == kMailboxResponse) return response_;
  if (offset >= kMailboxArgument && offset < kMailboxArgument + 4 * arguments_.size())
    return arguments_[(offset - kMailboxArgument) / 4];
  if (offset >= kMailboxResult && offset < kMailboxResult + 4 * results_.size())
    return results_[(offset - kMailboxResult) / 4];
  return 0;
}

bool Mailbox::host_write(std::uint32_t offset, std::uint32_t value, bool ready) {
  if (offset == kMailboxDoorbell) {
    if ((value & 1) == 0) return false;
    refused_ = busy_ || !ready;
    if (refused_) return false;
    busy_ = true;
    done_ = false;
    response_ = 0;
    results_ = {};
    return true;
  }
  if (busy_) return false;
  if (offset == kMailboxCommand) command_ = value & 0xffff;
  if (offset >= kMailboxArgument && offset < kMailboxArgument + 4 * arguments_.size())
    arguments_[(offset - kMailboxArgument) / 4] = value;
  return false;
}

bool Mailbox::answer(std::uint32_t error) {
  if (!busy_) return false;
  busy_ = false;
  done_ = true;
  response_ = static_cast<std::uint32_t>(kMailboxResponseError.set(command_, error));
  if (spoiled_ != 0) {
    --spoiled_;
    response_ = static_cast<std::uint32_t>(kMailboxResponseTag.set(response_, ~kMailboxResponseTag.get(response_)));
  }
  return true;
}

}  // namespace tessera
