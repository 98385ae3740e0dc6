// Signal handlers and the registry of files to close. See shutdown.h for what is promised.
#include "verif/cosim/shutdown.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <mutex>

#include "hw/unfinished.h"

namespace tessera {
namespace {

// Signals reach the process, not an object: this state cannot belong to anybody else.
std::atomic<int> requested_signal{0};
std::atomic<bool> closing{false};
std::mutex registry_mutex;
Shutdown::Registration* registry = nullptr;
std::terminate_handler previous_terminate = nullptr;

/// A page of a mapped file that the disk has no room for.
void on_bus(int signal, siginfo_t* info, void* /*context*/) {
  if (info->si_code == BUS_ADRERR) {
    constexpr char kText[] = "tessera: a file could not grow: is the disk full?\n";
    [[maybe_unused]] const auto written = write(2, kText, sizeof kText - 1);
    Shutdown::discard_all();
    _exit(2);
  }
  Shutdown::close_all();
  _exit(128 + signal);
}

[[noreturn]] void on_terminate() {
  Shutdown::close_all();
  // The default handler names the exception and aborts; the abort handler finds everything closed.
  if (previous_terminate != nullptr) previous_terminate();
  std::abort();
}

}  // namespace

void Shutdown::on_request(int signal) {
  int none = 0;
  if (requested_signal.compare_exchange_strong(none, signal)) return;
  close_all();
  _exit(128 + signal);
}

void Shutdown::on_abort(int signal, siginfo_t* info, void* /*context*/) {
  // Sent by another process: nothing is wrong here, so the run ends in order.
  if (info->si_code == SI_USER && info->si_pid != getpid()) return on_request(signal);
  close_all();
  _exit(128 + signal);
}

void Shutdown::install() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = on_request;
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGQUIT, &action, nullptr);
    sigaction(SIGXCPU, &action, nullptr);
    struct sigaction before {};  // nohup: the terminal's end is none of the run's business
    if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = on_abort;
    sigaction(SIGABRT, &action, nullptr);
    action.sa_sigaction = on_bus;
    sigaction(SIGBUS, &action, nullptr);
    previous_terminate = std::set_terminate(on_terminate);
  });
}

int Shutdown::requested() noexcept { return requested_signal.load(std::memory_order_relaxed); }
void Shutdown::clear() noexcept { requested_signal = 0; }

void Shutdown::end_all(bool close) noexcept {
  if (closing.exchange(true)) return;
  // A thread that died while registering would hold the lock for ever: walk the list anyway.
  const bool locked = registry_mutex.try_lock();
  for (Registration* r = registry; r != nullptr; r = r->next_) {
    try {
      if (close) {
        r->close_();
      } else if (r->discard_) {
        r->discard_();
      }
    } catch (...) {
      // Nothing can be told any more; the next file may still close.
    }
  }
  Unfinished::remove_all();
  if (locked) registry_mutex.unlock();
  closing = false;
}

void Shutdown::close_all() noexcept { end_all(true); }
void Shutdown::discard_all() noexcept { end_all(false); }

Shutdown::Registration::Registration(std::function<void()> close, std::function<void()> discard)
    : close_(std::move(close)), discard_(std::move(discard)) {
  const std::lock_guard<std::mutex> lock(registry_mutex);
  next_ = registry;
  registry = this;
}

Shutdown::Registration::~Registration() {
  const std::lock_guard<std::mutex> lock(registry_mutex);
  Registration** at = &registry;
  while (*at != nullptr && *at != this) at = &(*at)->next_;
  if (*at == this) *at = next_;
}

}  // namespace tessera
