#include "host/nn/graph_interpreter.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "firmware/codelets/host_codelets.h"

namespace tessera::nn {

using graph::Program;
using graph::Tensor;

namespace {

[[noreturn]] void wrong(const graph::VertexFamily& vertex, const std::string& field, const std::string& what) {
  throw std::logic_error(fmt::format("vertex {} ({}), field {}: {}", vertex.name, vertex.codelet, field, what));
}

}  // namespace

GraphInterpreter::GraphInterpreter(const graph::Graph& graph) : graph_(graph) {
  for (std::size_t i = 0; const tessera_host_codelet* codelet = tessera_host_codelet_at(i); ++i)
    codelets_[codelet->head->name] = codelet;
  for (const graph::Variable& variable : graph.variables()) {
    // What nobody has written must not look like a result.
    const std::size_t bytes = variable.elements() * size_of(variable.type);
    std::vector<std::uint8_t> memory(variable.data ? 0 : bytes, 0xA5);
    while (memory.size() < bytes) memory.insert(memory.end(), variable.data->begin(), variable.data->end());
    memory_.push_back(std::move(memory));
    memory_.back().resize(memory_.back().size() + 8);  // an address exists for empty variables too
  }
}

void GraphInterpreter::run(const std::string& entry) {
  for (const graph::Entry& candidate : graph_.entries())
    if (candidate.name == entry) return step(candidate.program);
  throw std::logic_error("no entry " + entry);
}

std::vector<std::uint8_t> GraphInterpreter::read(const Tensor& tensor) const {
  const std::size_t size = size_of(tensor.type());
  std::vector<std::uint8_t> bytes(tensor.elements() * size);
  tensor.for_each_run([&](const graph::Run& run) {
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const auto from = static_cast<std::size_t>(run.first + static_cast<std::int64_t>(i) * run.stride);
      std::memcpy(bytes.data() + (run.begin + i) * size, memory_[run.variable.index].data() + from * size, size);
    }
  });
  return bytes;
}

void GraphInterpreter::write(const Tensor& tensor, const std::vector<std::uint8_t>& bytes) {
  const std::size_t size = size_of(tensor.type());
  tensor.for_each_run([&](const graph::Run& run) {
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const auto to = static_cast<std::size_t>(run.first + static_cast<std::int64_t>(i) * run.stride);
      std::memcpy(memory_[run.variable.index].data() + to * size, bytes.data() + (run.begin + i) * size, size);
    }
  });
}

void GraphInterpreter::step(const Program& program) {
  if (const auto* sequence = std::get_if<Program::Sequence>(&program.node())) {
    for (const Program& part : sequence->steps) step(part);
  } else if (const auto* set = std::get_if<Program::Execute>(&program.node())) {
    execute(set->compute_set.index);
  } else if (const auto* copy = std::get_if<Program::Copy>(&program.node())) {
    write(copy->dst, read(copy->src));
  } else if (const auto* repeat = std::get_if<Program::Repeat>(&program.node())) {
    for (std::uint32_t i = 0; i < repeat->count; ++i) step(*repeat->body);
  } else if (std::get_if<Program::Tap>(&program.node()) != nullptr) {
    return;
  } else if (const auto* call = std::get_if<Program::Call>(&program.node())) {
    const graph::Function& function = graph_.functions().at(call->function.index);
    for (std::size_t i = 0; i < function.parameters.size(); ++i)
      memory_[function.parameters[i].index] = memory_[call->arguments.at(i).index];
    step(function.body);
  } else if (const auto* in = std::get_if<Program::StreamIn>(&program.node())) {
    std::vector<std::uint8_t> bytes(in->dst.elements() * size_of(in->dst.type()));
    sources_.at(graph_.streams().at(in->stream.index).name)(stream_steps_[in->stream.index]++, bytes.data());
    write(in->dst, bytes);
  } else if (const auto* out = std::get_if<Program::StreamOut>(&program.node())) {
    const std::vector<std::uint8_t> bytes = read(out->src);
    sinks_.at(graph_.streams().at(out->stream.index).name)(stream_steps_[out->stream.index]++, bytes.data());
  } else if (std::get_if<Program::WriteUndef>(&program.node()) == nullptr) {
    throw std::logic_error("a step that the interpreter does not know");
  }
}

void GraphInterpreter::execute(std::uint32_t compute_set) {
  for (const std::uint32_t vertex : graph_.compute_sets().at(compute_set).vertices) {
    run_vertex(graph_.vertices().at(vertex));
    ++vertices_run_;
  }
}

/// Where a field's data lies on the tile: in place if it is one run there, else a staging buffer, as the compiler has
/// it.
std::uint8_t* GraphInterpreter::place(const Tensor& tensor, std::uint32_t tile, std::vector<Staged>& staged) {
  bool here = tensor.contiguous();
  if (here)
    for (const graph::TileInterval& interval : graph_.mapping(tensor)) here = here && interval.tile == tile;
  if (here) {
    const auto [variable, element] = tensor.at(0);
    return memory_[variable.index].data() + element * size_of(tensor.type());
  }
  staged.push_back({tensor, read(tensor)});
  staged.back().bytes.resize(staged.back().bytes.size() + 8);
  return staged.back().bytes.data();
}

void GraphInterpreter::run_vertex(const graph::VertexFamily& vertex) {
  const auto found = codelets_.find(vertex.codelet);
  if (found == codelets_.end()) wrong(vertex, "all", "there is no such codelet");
  if (vertex.fields.size() != found->second->head->field_count) wrong(vertex, "all", "are not connected");
  std::uint64_t member = 0;
  for (const graph::TileMembers& tile : vertex.tiles)
    for (std::uint64_t i = 0; i < tile.count; ++i) run_member(vertex, *found->second, member++, tile.tile);
}

void GraphInterpreter::run_member(const graph::VertexFamily& vertex, const tessera_host_codelet& codelet,
                                  std::uint64_t member, std::uint32_t tile) {
  alignas(16) std::uint8_t state[512] = {};
  std::vector<Staged> staged;
  staged.reserve(vertex.fields.size());
  std::vector<std::size_t> written;
  for (const graph::Field& field : vertex.fields) {
    const tessera_note_field* note = nullptr;
    for (std::uint32_t i = 0; i < codelet.head->field_count; ++i)
      if (field.name == codelet.fields[i].name) note = &codelet.fields[i];
    if (note == nullptr) wrong(vertex, field.name, "does not exist");
    if (const auto* value = std::get_if<graph::Field::Affine>(&field.value)) {
      const auto bits = static_cast<std::uint32_t>(value->base + member * value->stride);
      std::memcpy(state + note->offset, &bits, sizeof bits);
      continue;
    }
    if (const auto* values = std::get_if<graph::Field::Values>(&field.value)) {
      std::memcpy(state + note->offset, &values->at(member), 4);
      continue;
    }
    const auto& whole = std::get<Tensor>(field.value);
    const Tensor tensor = vertex.family ? whole[member] : whole;
    // Sets of weights of an AMP vertex are bits of any type.
    const bool bits = (codelet.head->flags & TESSERA_NOTE_AMP) != 0 && note == codelet.fields;
    if (!bits && static_cast<unsigned>(tensor.type()) + 1 != note->type) wrong(vertex, field.name, "has another type");
    const std::size_t before = staged.size();
    const std::uint8_t* address = place(tensor, tile, staged);
    const bool writes = note->kind == TESSERA_KIND_OUT || note->kind == TESSERA_KIND_INOUT ||
                        note->kind == TESSERA_KIND_OUT_SPAN || note->kind == TESSERA_KIND_INOUT_SPAN;
    if (staged.size() > before && writes) written.push_back(before);
    std::memcpy(state + note->offset, &address, sizeof address);
    const auto count = static_cast<std::uint32_t>(tensor.elements());
    if (note->kind >= TESSERA_KIND_IN_SPAN && note->kind <= TESSERA_KIND_INOUT_SPAN)
      std::memcpy(state + note->offset + sizeof address, &count, sizeof count);
  }
  codelet.run(state, 0);
  for (const std::size_t i : written) write(staged[i].tensor, staged[i].bytes);
}

}  // namespace tessera::nn
