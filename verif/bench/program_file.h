// The benchmark programs, carried in the binary so that `tessera bench` works wherever it stands.
#pragma once

#include <string>

namespace tessera::bench {

/// An embedded file made readable by path for this process and those it starts. Throws std::runtime_error if the
/// system cannot.
class ProgramFile {
 public:
  enum class Which { tile, linux_user };
  explicit ProgramFile(Which which);
  ~ProgramFile();
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  int descriptor_ = -1;
  std::string path_;
};

}  // namespace tessera::bench
