// See transport.h. A SystemC process stands for the host's processor: it performs one operation after another, waits as
// long as each takes, and pauses the simulation when it is done.
#include "tlm/system/transport.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tessera {

/// Owns all it needs: an operation that a failure cut short is finished when time next passes.
struct InProcessTransport::Operation {
  enum class Kind : std::uint8_t { config, memory, wait_interrupt, elapse } kind;
  PciAddress function;
  std::uint64_t address = 0;
  unsigned size = 0;
  bool write = false;
  std::uint32_t value = 0;
  std::vector<std::uint8_t> bytes;
  std::uint64_t ns = 0;
  pcie::Completion status = pcie::Completion::ok;
  std::optional<Interrupt> interrupt;
  bool done = false;
  bool abandoned = false;  ///< a failure ended the call that asked for it
};

class InProcessTransport::Host : public sc_core::sc_module {
 public:
  Host(const sc_core::sc_module_name& name, pcie::RootComplex& root) : sc_module(name), root_(root) {
    SC_HAS_PROCESS(Host);
    SC_THREAD(process);
  }

  void post(std::shared_ptr<Operation> operation) {
    queue_.push_back(std::move(operation));
    posted_.notify(sc_core::SC_ZERO_TIME);
  }

 private:
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};

  void process() {
    for (;;) {
      while (queue_.empty()) wait(posted_);
      const std::shared_ptr<Operation> operation = queue_.front();
      queue_.pop_front();
      perform(*operation);
      operation->done = true;
      sc_core::sc_pause();
    }
  }

  void perform(Operation& op) {
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    switch (op.kind) {
      case Operation::Kind::config:
        op.value = root_.config(op.function.bus, op.function.device, op.function.function,
                                static_cast<unsigned>(op.address), op.size, op.write, op.value, delay);
        break;
      case Operation::Kind::memory:
        access(op, delay);
        break;
      case Operation::Kind::elapse:
        delay = sc_core::sc_time(static_cast<double>(op.ns), sc_core::SC_NS);
        break;
      case Operation::Kind::wait_interrupt:
        if (root_.messages.empty() && op.ns != 0) {
          // A new operation is posted while this one waits only if this one was abandoned.
          if (op.ns == kForever)
            wait(root_.message_arrived | posted_);
          else
            wait(sc_core::sc_time(static_cast<double>(op.ns), sc_core::SC_NS), root_.message_arrived | posted_);
        }
        if (root_.messages.empty() || op.abandoned) return;
        op.interrupt = Interrupt{root_.messages.front().address, root_.messages.front().data};
        root_.messages.pop_front();
        return;
    }
    if (delay != sc_core::SC_ZERO_TIME) wait(delay);
  }

  /// Cut at 4 KiB, as requests are; writes follow each other, reads wait for the last completion.
  void access(Operation& op, sc_core::sc_time& delay) {
    for (std::size_t done = 0; done < op.bytes.size();) {
      const std::size_t piece = std::min<std::size_t>(op.bytes.size() - done, 4096 - (op.address + done) % 4096);
      sc_core::sc_time local = sc_core::SC_ZERO_TIME;
      const pcie::Completion status = root_.memory(op.address + done, op.write, op.bytes.data() + done, piece, local);
      delay = std::max(delay, local);
      if (status != pcie::Completion::ok && op.status == pcie::Completion::ok) op.status = status;
      done += piece;
    }
  }

  pcie::RootComplex& root_;
  std::deque<std::shared_ptr<Operation>> queue_;
  sc_core::sc_event posted_;
};

InProcessTransport::InProcessTransport(System& system)
    : system_(system), host_(std::make_unique<Host>("host", system.root())) {}

InProcessTransport::~InProcessTransport() { system_.root().host_memory = nullptr; }

void InProcessTransport::perform(const std::shared_ptr<Operation>& operation) {
  host_->post(operation);
  while (!operation->done) {
    sc_core::sc_start();
    if (const std::exception_ptr failure = system_.take_failure()) {
      operation->abandoned = true;
      std::rethrow_exception(failure);
    }
    if (sc_core::sc_get_status() != sc_core::SC_PAUSED) throw std::logic_error("transport: the simulation has ended");
    if (!operation->done && !sc_core::sc_pending_activity()) {
      operation->abandoned = true;
      throw system_.no_progress();
    }
  }
}

std::uint32_t InProcessTransport::config_read(PciAddress function, unsigned offset, unsigned size) {
  auto op = std::make_shared<Operation>();
  op->kind = Operation::Kind::config;
  op->function = function;
  op->address = offset;
  op->size = size;
  perform(op);
  return op->value;
}

void InProcessTransport::config_write(PciAddress function, unsigned offset, unsigned size, std::uint32_t value) {
  auto op = std::make_shared<Operation>();
  op->kind = Operation::Kind::config;
  op->function = function;
  op->address = offset;
  op->size = size;
  op->write = true;
  op->value = value;
  perform(op);
}

namespace {
PciStatus status_of(pcie::Completion completion) {
  switch (completion) {
    case pcie::Completion::ok:
      return PciStatus::ok;
    case pcie::Completion::completer_abort:
      return PciStatus::completer_abort;
    case pcie::Completion::timeout:
      return PciStatus::timeout;
    case pcie::Completion::poisoned:
      return PciStatus::poisoned;
    default:
      break;
  }
  return PciStatus::unsupported_request;
}
}  // namespace

PciStatus InProcessTransport::memory_read(std::uint64_t address, std::uint8_t* bytes, std::size_t count) {
  auto op = std::make_shared<Operation>();
  op->kind = Operation::Kind::memory;
  op->address = address;
  op->bytes.resize(count);
  perform(op);
  std::memcpy(bytes, op->bytes.data(), count);
  return status_of(op->status);
}

PciStatus InProcessTransport::memory_write(std::uint64_t address, const std::uint8_t* bytes, std::size_t count) {
  auto op = std::make_shared<Operation>();
  op->kind = Operation::Kind::memory;
  op->address = address;
  op->write = true;
  op->bytes.assign(bytes, bytes + count);
  perform(op);
  return status_of(op->status);
}

void InProcessTransport::attach(HostMemory& memory) {
  memories_.push_back(&memory);
  system_.root().host_memory = [this](bool write, std::uint64_t address, std::uint8_t* bytes, std::size_t count) {
    for (HostMemory* part : memories_)
      if (write ? part->dma_write(address, bytes, count) : part->dma_read(address, bytes, count)) return true;
    return false;
  };
}

void InProcessTransport::detach(HostMemory& memory) {
  memories_.erase(std::remove(memories_.begin(), memories_.end(), &memory), memories_.end());
}

std::optional<Interrupt> InProcessTransport::wait_interrupt(std::uint64_t limit_ns) {
  auto op = std::make_shared<Operation>();
  op->kind = Operation::Kind::wait_interrupt;
  op->ns = limit_ns;
  perform(op);
  return op->interrupt;
}

void InProcessTransport::hand_back(const Interrupt& interrupt) {
  system_.root().messages.push_front({interrupt.address, interrupt.data});
}

void InProcessTransport::elapse(std::uint64_t ns) {
  if (ns == 0) return;
  auto op = std::make_shared<Operation>();
  op->kind = Operation::Kind::elapse;
  op->ns = ns;
  perform(op);
}

std::uint64_t InProcessTransport::now_ns() const {
  return sc_core::sc_time_stamp().value() / sc_core::sc_time(1, sc_core::SC_NS).value();
}

std::size_t InProcessTransport::debug(std::uint64_t address, bool write, std::uint8_t* bytes, std::size_t count) {
  return system_.root().debug(address, write, bytes, count);
}

}  // namespace tessera
