// Programs as supersteps in a tree of control: compute sets bound, copies planned, streams laid out, dynamic slices
// made addressable by xbase1.
#pragma once

#include "host/codelets/codelet.h"
#include "host/compiler/ir.h"

namespace tessera::compiler {

void lower(Ir& ir, const CodeletLibrary& library);

/// dst = src[index] or dst[index] = src (k rows at once): see lower_dynamic.cpp.
[[nodiscard]] Node lower_dynamic(Ir& ir, const CodeletLibrary& library, const graph::Tensor& whole,
                                 const graph::Tensor& index, const graph::Tensor& part, bool update,
                                 const std::string& path, const std::string& name);

/// Streams of one host step.
struct StreamUse {
  std::uint32_t stream = 0;
  graph::Tensor tensor;
  bool input = true;
};

/// Lays out host buffers and lowers host steps. Each stream has one layout; a tensor that does not fit word to word, or
/// one of several of its stream, goes through a buffer variable on the same tiles.
class StreamLowering {
 public:
  StreamLowering(Ir& ir, const CodeletLibrary& library);
  [[nodiscard]] Node lower(const std::vector<StreamUse>& uses, const std::string& path);

 private:
  void scan(const graph::Program& program);
  void note(std::uint32_t stream, const graph::Tensor& tensor);
  [[nodiscard]] bool direct(const graph::Tensor& tensor) const;
  void lay_out(std::uint32_t stream, const graph::Tensor& tensor);
  [[nodiscard]] graph::Tensor buffer_for(std::uint32_t stream, const graph::Tensor& tensor);

  Ir& ir_;
  const CodeletLibrary& library_;
  std::vector<std::vector<graph::Tensor>> tensors_;  // distinct ones, by stream
  std::vector<graph::Tensor> buffers_;               // by stream; not valid: none yet
};

/// Marks host steps that need no host: inputs alone in the first one of an entry, outputs alone in its last one, if
/// they are reached exactly once a run and no other step uses their streams.
void find_unattended(Ir& ir);

}  // namespace tessera::compiler
