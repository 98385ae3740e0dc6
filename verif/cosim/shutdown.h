// How a run ends when a signal or a fatal error ends it: files are closed and readable first.
//
// SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGXCPU, and SIGABRT from another process, only set a flag that run loops look at
// (check() throws Interrupted, the stack unwinds, the command ends with 128+n); a second one while the first is still
// being obeyed closes the files at once. abort() and std::terminate close the registered files from the handler: best
// effort, since the program's state is unknown. The registry is the process's: signals are.
#pragma once

#include <csignal>
#include <exception>
#include <functional>

namespace tessera {

/// Thrown by Shutdown::check(): the user asked the run to end. Not an Error: nobody made a mistake.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  [[nodiscard]] int signal() const { return signal_; }
  [[nodiscard]] int exit_code() const { return 128 + signal_; }
  [[nodiscard]] const char* what() const noexcept override { return "the run was ended by a signal"; }

 private:
  int signal_;
};

class Shutdown {
 public:
  /// Installs the handlers; once is enough, more do no harm.
  static void install();
  /// The signal that asked for an end; 0 if none has.
  [[nodiscard]] static int requested() noexcept;
  /// Throws Interrupted if one has. For run loops, between steps of bounded length.
  static void check() {
    if (const int signal = requested()) throw Interrupted(signal);
  }
  /// Forgets a request (tests).
  static void clear() noexcept;

  /// While alive, `close` is called on an abnormal end, at most once. It must not throw and must not wait for locks
  /// that the interrupted thread may hold. `discard`, if there is one, is called instead when nothing can be written
  /// any more (a full disk under a mapped file), and takes away what is half done.
  class Registration {
   public:
    explicit Registration(std::function<void()> close, std::function<void()> discard = {});
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    std::function<void()> close_, discard_;
    Registration* next_ = nullptr;
    friend class Shutdown;
  };

  /// Calls every registered close, and takes away what hw/unfinished.h lists; what the handlers do.
  static void close_all() noexcept;
  /// Calls every registered discard instead.
  static void discard_all() noexcept;

 private:
  static void end_all(bool close) noexcept;
  static void on_request(int signal);
  static void on_abort(int signal, siginfo_t* info, void* context);
};

}  // namespace tessera
