// The text instruction trace: one line for each retired instruction or trap, in retire order.
//
//   cycle context pc word  disassembly  what was written
//        18 w3 00044000 00150513  addi a0,a0,1  a0=00000007
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "tlm/tile/retire.h"

namespace tessera::cli {

class TraceWriter final : public RetireObserver {
 public:
  /// Throws Error(usage) if the file cannot be written.
  explicit TraceWriter(const std::string& path);
  ~TraceWriter() override;
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void retired(const RetireRecord& record) override;
  void exchanged(const ExchangeWord& word) override;
  /// Writes out what is buffered; throws Error(usage) if the disk did not take it.
  void close();
  /// Lines written so far.
  [[nodiscard]] std::uint64_t lines() const { return lines_; }

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
  std::uint64_t lines_ = 0;
};

}  // namespace tessera::cli
