// Programs: what the device does, as a tree of values. All control runs on the device; predicates are tensors of one
// element on one tile. Does not execute anything: host/compiler lowers it to supersteps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "host/graph/tensor.h"
#include "hw/types.h"

namespace tessera::graph {

struct ComputeSetId {
  std::uint32_t index = 0;
};
struct FunctionId {
  std::uint32_t index = 0;
};
struct StreamId {
  std::uint32_t index = 0;
};

class Program {
 public:
  struct Sequence {
    std::vector<Program> steps;
  };
  struct Execute {
    ComputeSetId compute_set;
  };
  /// Same type and shape. dst must not alias itself; dst and src may not overlap unless they are the same view.
  struct Copy {
    Tensor src, dst;
  };
  struct Repeat {
    std::uint32_t count = 0;
    std::shared_ptr<const Program> body;
  };
  /// while (condition program, then predicate != 0) body.
  struct RepeatWhile {
    std::shared_ptr<const Program> condition;
    Tensor predicate;
    std::shared_ptr<const Program> body;
  };
  struct If {
    Tensor predicate;
    std::shared_ptr<const Program> then_branch, else_branch;
  };
  /// Case i if selector == i, otherwise the fallback. The selector has one element, i32 or u32.
  struct Switch {
    Tensor selector;
    std::vector<Program> cases;
    std::shared_ptr<const Program> fallback;
  };
  /// arguments: a constant for each parameter of the function, of the same type, shape and mapping.
  struct Call {
    FunctionId function;
    std::vector<VariableId> arguments;
  };
  struct Sync {
    Zone zone = Zone::internal;
  };
  /// The next step of an input stream to dst (elements in row-major order).
  struct StreamIn {
    StreamId stream;
    Tensor dst;
  };
  /// src as the next step of an output stream.
  struct StreamOut {
    Tensor src;
    StreamId stream;
  };
  /// dst = src[index .. index + k] of axis 0, k = dst.dim(0); index (one element, i32 or u32) is clamped to
  /// 0 .. src.dim(0) - k on the device.
  struct DynamicSlice {
    Tensor src, index, dst;
  };
  /// dst[index .. index + k] of axis 0 = src, k = src.dim(0); index clamped likewise.
  struct DynamicUpdate {
    Tensor src, index, dst;
  };
  /// The contents are no longer needed.
  struct WriteUndef {
    Tensor tensor;
  };
  /// The host shows the tensor when the program gets here. A host step of its own: the machine stands in a host sync
  /// meanwhile, so it costs cycles but changes nothing.
  struct Print {
    Tensor tensor;
    std::string label;
  };
  /// Tools look at the tensor from outside when the program gets here (--check): neither memory nor, but for an
  /// internal sync where none follows at once, cycles of the machine are spent. `names`: what it stands for at the
  /// first, second,
  /// .. pass, then from the start again.
  struct Tap {
    Tensor tensor;
    std::vector<std::string> names;
  };
  /// Ends the run: Engine::run throws Error (wrong_result) with the message and the program path. Put it into a branch
  /// of If or Switch to abort on a condition. Nothing behind it runs; the program must be loaded again.
  struct Abort {
    std::string message;
  };
  using Node = std::variant<Sequence, Execute, Copy, Repeat, RepeatWhile, If, Switch, Call, Sync, StreamIn, StreamOut,
                            DynamicSlice, DynamicUpdate, WriteUndef, Print, Tap, Abort>;

  /// An empty sequence.
  Program();
  Program(Node node, std::string name = {});  // NOLINT: steps are written as Program::Copy{...} inside sequences

  [[nodiscard]] const Node& node() const { return *node_; }
  /// Path element for reports; may be empty (an Execute shows its compute set's name).
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Program named(std::string name) const;

  static Program sequence(std::vector<Program> steps, std::string name = {});
  static Program execute(ComputeSetId compute_set);
  static Program copy(Tensor src, Tensor dst, std::string name = {});
  static Program repeat(std::uint32_t count, Program body, std::string name = {});
  static Program repeat_while(Program condition, Tensor predicate, Program body, std::string name = {});
  static Program if_(Tensor predicate, Program then_branch, Program else_branch = {}, std::string name = {});
  static Program switch_(Tensor selector, std::vector<Program> cases, Program fallback = {}, std::string name = {});
  static Program call(FunctionId function, std::vector<VariableId> arguments = {});
  static Program sync(Zone zone = Zone::internal);
  static Program stream_in(StreamId stream, Tensor dst);
  static Program stream_out(Tensor src, StreamId stream);
  static Program dynamic_slice(Tensor src, Tensor index, Tensor dst, std::string name = {});
  static Program dynamic_update(Tensor src, Tensor index, Tensor dst, std::string name = {});
  static Program write_undef(Tensor tensor);
  static Program print(Tensor tensor, std::string label);
  static Program tap(Tensor tensor, std::vector<std::string> names);
  static Program abort(std::string message);

 private:
  std::shared_ptr<const Node> node_;
  std::string name_;
};

}  // namespace tessera::graph
