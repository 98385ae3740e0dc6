// The text instruction trace: one line for each retired instruction or trap, in retire order.
//
//   cycle context pc word  disassembly  what was written
//        18 w3 00044000 00150513  addi a0,a0,1  a0=00000007
#pragma once

#include <cstdio>
#include <string>

#include "hw/whole_file.h"
#include "tlm/tile/retire.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

class TraceWriter final : public RetireObserver {
 public:
  /// Throws Error(usage) if the file cannot be written.
  explicit TraceWriter(const std::string& path);
  ~TraceWriter() override = default;
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void retired(const RetireRecord& record) override;
  void exchanged(const ExchangeWord& word) override;
  /// Writes out what is buffered and gives the file its name; throws Error(usage), and leaves none, if the disk did not
  /// take it.
  void close();
  /// Throws that Error as soon as the disk has refused something: the rest of the run would be for nothing.
  void check() const;
  /// Lines written so far.
  [[nodiscard]] std::uint64_t lines() const { return lines_; }

 private:
  std::string path_;
  WholeFile whole_;
  std::FILE* file_;  ///< of whole_, until it is closed
  std::uint64_t lines_ = 0;
  Shutdown::Registration at_end_;
};

}  // namespace tessera::cli
