#include "host/nn/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/nn/chunk.h"
#include "host/nn/lowering.h"
#include "hw/error.h"

namespace tessera::nn {

using graph::Program;
using graph::Tensor;
using model::Model;
using model::Node;
using model::Value;
using model::ValueId;

namespace {

Binding binding(const Value& whole, const Value& step, bool batched) {
  Binding result;
  result.name = whole.name;
  result.type = whole.type;
  result.declared = whole.declared;
  result.shape = whole.shape;
  if (batched) result.rows = step.shape[0];
  return result;
}

/// The program around the nodes: streams in, the loop, streams out.
class Assembly {
 public:
  Assembly(const Model& whole, const Model& step, const Options& options, Lowered& lowered)
      : whole_(whole), step_(step), lowered_(lowered), lowering_(step, options, lowered.graph) {}

  void run() {
    inputs();
    lowering_.run();
    outputs();
    std::vector<Program> round = std::move(round_in_);
    for (Program& step : lowering_.builder().steps()) round.push_back(std::move(step));
    for (Program& step : round_out_) round.push_back(std::move(step));
    Program body = Program::sequence(std::move(round));
    if (lowered_.batch > 0) body = Program::repeat(lowered_.steps, std::move(body), "batch");
    before_.push_back(std::move(body));
    lowered_.graph.add_entry("main", Program::sequence(std::move(before_)));
    for (const ValueId id : lowering_.tapped())
      lowered_.taps.push_back(binding(whole_.value(id), step_.value(id), lowered_.batch > 0));
    lowered_.notes = std::move(lowering_.notes());
    lowered_.places = lowering_.places();
    lowered_.least_memory = lowering_.least_memory();
  }

 private:
  [[nodiscard]] bool batched(std::uint32_t input) const {
    return lowered_.batch > 0 && std::any_of(whole_.symbolic.begin(), whole_.symbolic.end(), [&](const auto& symbolic) {
             return symbolic.input == input && symbolic.axis == 0;
           });
  }
  [[nodiscard]] bool used(ValueId id) const {
    return std::any_of(step_.nodes.begin(), step_.nodes.end(),
                       [&](const Node& node) { return std::count(node.inputs.begin(), node.inputs.end(), id) != 0; }) ||
           std::count(step_.outputs.begin(), step_.outputs.end(), id) != 0;
  }

  void inputs() {
    for (std::uint32_t i = 0; i < whole_.inputs.size(); ++i) {
      const ValueId id = whole_.inputs[i];
      const Value& value = step_.value(id);
      Binding input = binding(whole_.value(id), value, batched(i));
      const Tensor tensor = lowering_.builder().linear(type_of(value.type), shape_of(value.shape), value.name);
      lowering_.view(id) = tensor;
      if (tensor.elements() > 0 && used(id)) {
        input.stream = "in/" + value.name;
        const auto stream = lowered_.graph.add_input_stream(input.stream, tensor.type(), tensor.elements());
        (batched(i) ? round_in_ : before_).push_back(Program::stream_in(stream, tensor.flatten()));
      }
      lowered_.inputs.push_back(std::move(input));
    }
  }

  void outputs() {
    for (std::size_t i = 0; i < whole_.outputs.size(); ++i) {
      const ValueId id = whole_.outputs[i];
      const Value& value = step_.value(id);
      Binding output = binding(whole_.value(id), value, lowered_.batch > 0);
      if (value.constant)
        output.known = *value.constant;
      else if (model::element_count(value.shape) == 0)
        output.known = model::Tensor(whole_.value(id).type, whole_.value(id).shape);
      else
        stream_out(output, value, lowering_.view(id), i);
      lowered_.outputs.push_back(std::move(output));
    }
  }

  /// Results leave from a variable of their own in row-major order, unless they stand in one already.
  void stream_out(Binding& output, const Value& value, const Tensor& view, std::size_t position) {
    Builder& builder = lowering_.builder();
    output.stream = "out/" + value.name;
    for (const Binding& other : lowered_.outputs)  // the same value named twice as output
      if (other.stream == output.stream) output.stream += fmt::format("/{}", position);
    Tensor source = view;
    if (!builder.whole(view) || !view.contiguous()) {
      source = builder.linear(view.type(), view.shape(), value.name + " result");
      builder.copy(view, source, value.name + " result");
    }
    const auto stream = lowered_.graph.add_output_stream(output.stream, view.type(), view.elements());
    round_out_.push_back(Program::stream_out(source.flatten(), stream));
  }

  const Model& whole_;
  const Model& step_;
  Lowered& lowered_;
  Lowering lowering_;
  std::vector<Program> before_, round_in_, round_out_;
};

}  // namespace

Lowered lower(const Model& model, const Options& options) {
  Lowered lowered{graph::Graph(options.tiles), 1, 0, 0, 1, {}, {}, {}, {}};
  const std::optional<Chunking> chunking = choose_chunk(model, options);
  if (chunking) {
    lowered.batch = chunking->batch;
    lowered.chunk = chunking->chunk;
    lowered.replicas = chunking->replicas;
    lowered.steps = static_cast<std::uint32_t>(chunking->rounds());
    lowered.notes.push_back({"batch", chunking->text});
  }
  if (!chunking && options.replicas > 1)
    throw Error(Category::unsupported, "the rows of this model cannot be shared between replicas",
                "model " + model.name, "its batch is fixed, or rows depend on each other: run it on one IPU");
  if (!chunking && options.chunk > 0)
    throw Error(Category::usage, "--chunk has no effect: this model has no batch that could be cut into steps",
                "model " + model.name, "leave it out: the batch is fixed, or rows depend on each other");
  const Model step = chunking ? with_batch(model, chunking->chunk) : model;
  const std::vector<PlanNote> batch_note = lowered.notes;
  Assembly(model, step, options, lowered).run();
  lowered.notes.insert(lowered.notes.begin(), batch_note.begin(), batch_note.end());
  return lowered;
}

}  // namespace tessera::nn
