// Building of graphs: identities, names, tile mapping. What can be checked at the call is checked here, what needs the
// whole graph in validate.cpp.
#include "host/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "hw/error.h"

namespace tessera::graph {

namespace {

[[noreturn]] void bad_graph(const std::string& what, const std::string& where, const std::string& advice = {}) {
  throw Error(Category::usage, what, where, advice);
}

/// Calls f(first, count) for the ascending element ranges of a run: one if its stride is 1 or -1, else one an element.
template <typename F>
void for_each_range(const Run& run, F&& f) {
  if (run.count == 1 || run.stride == 1) {
    f(static_cast<std::uint64_t>(run.first), run.count);
  } else if (run.stride == -1) {
    f(static_cast<std::uint64_t>(run.first) - run.count + 1, run.count);
  } else if (run.stride == 0) {
    f(static_cast<std::uint64_t>(run.first), std::uint64_t{1});
  } else {
    for (std::uint64_t i = 0; i < run.count; ++i) {
      f(static_cast<std::uint64_t>(run.first + static_cast<std::int64_t>(i) * run.stride), std::uint64_t{1});
    }
  }
}

void append_interval(std::vector<TileInterval>& intervals, TileInterval next) {
  if (!intervals.empty() && intervals.back().end == next.begin && intervals.back().tile == next.tile) {
    intervals.back().end = next.end;
  } else {
    intervals.push_back(next);
  }
}

/// First interval that ends behind `element`.
std::vector<TileInterval>::const_iterator find_interval(const std::vector<TileInterval>& mapping,
                                                        std::uint64_t element) {
  return std::upper_bound(mapping.begin(), mapping.end(), element,
                          [](std::uint64_t e, const TileInterval& i) { return e < i.end; });
}

}  // namespace

Graph::Graph(unsigned tiles) : tiles_(tiles) {
  if (tiles == 0) bad_graph("a graph for no tiles", "graph");
}

void Graph::check_tile(unsigned tile, const std::string& what) const {
  if (tile >= tiles_) bad_graph(fmt::format("tile {} of a graph for {} tiles", tile, tiles_), what);
}

void Graph::check_tensor(const Tensor& tensor, const std::string& what) const {
  if (!tensor.valid()) bad_graph("a tensor that was never made", what);
  for (const Box& box : tensor.boxes()) {
    if (box.variable.index >= variables_.size()) bad_graph("a tensor of another graph", what);
  }
}

Tensor Graph::add_variable(Type type, Shape shape, std::string name) {
  const VariableId id{static_cast<std::uint32_t>(variables_.size())};
  Variable variable;
  variable.name = std::move(name);
  variable.type = type;
  variable.shape = shape;
  variables_.push_back(std::move(variable));
  return {type, std::move(shape), id};
}

Tensor Graph::add_constant(Type type, Shape shape, std::vector<std::uint8_t> data, std::string name) {
  if (data.size() != element_count(shape) * size_of(type)) {
    bad_graph(fmt::format("{} bytes of data for {}{}", data.size(), name_of(type), to_string(shape)),
              "constant " + name);
  }
  Tensor tensor = add_variable(type, std::move(shape), std::move(name));
  variables_.back().data = std::make_shared<const std::vector<std::uint8_t>>(std::move(data));
  return tensor;
}

Tensor Graph::whole(VariableId id) const {
  const Variable& v = variables_.at(id.index);
  return {v.type, v.shape, id};
}

Tensor Graph::add_like(VariableId id, std::vector<std::uint8_t> data, std::string name) {
  const Variable original = variables_.at(id.index);
  // What became a variable no longer says that its leading axis counts equal copies: the data do.
  Shape one = original.shape;
  const std::uint64_t bytes = original.elements() * size_of(original.type);
  const std::uint64_t copies = data.empty() ? 1 : bytes / data.size();
  if (copies != 1) one.erase(one.begin());
  (void)add_constant(original.type, one, std::move(data), std::move(name));
  Variable& v = variables_.back();
  v.shape = original.shape;
  v.copies = copies;
  v.mapping = original.mapping;
  return whole({static_cast<std::uint32_t>(variables_.size() - 1)});
}

void Graph::make_variable(VariableId id) {
  variables_.at(id.index).data.reset();
  variables_.at(id.index).copies = 1;
}

void Graph::make_initial(VariableId id) {
  if (!variables_.at(id.index).constant())
    bad_graph("no contents to begin with", "variable " + variables_[id.index].name);
  variables_[id.index].initial = true;
}

Tensor Graph::add_repeated_constant(Type type, Shape shape, std::vector<std::uint8_t> data, std::uint64_t copies,
                                    std::string name) {
  if (copies == 0) bad_graph("no copy of a constant", "constant " + name);
  const std::size_t variable = variables_.size();
  (void)add_constant(type, shape, std::move(data), std::move(name));
  Variable& v = variables_[variable];
  shape.insert(shape.begin(), copies);
  v.shape = shape;
  v.copies = copies;
  return {type, std::move(shape), VariableId{static_cast<std::uint32_t>(variable)}};
}

void Graph::keep(const Tensor& tensor) {
  check_tensor(tensor, "keep");
  for (const Box& box : tensor.boxes()) variables_[box.variable.index].keep = true;
}

void Graph::map_interval(VariableId id, std::uint64_t begin, std::uint64_t end, unsigned tile) {
  std::vector<TileInterval>& mapping = variables_[id.index].mapping;
  if (mapping.empty() || mapping.back().end <= begin) {
    append_interval(mapping, {begin, end, tile});
    return;
  }
  // Only the intervals that touch begin .. end are rebuilt.
  auto first = std::lower_bound(mapping.begin(), mapping.end(), begin,
                                [](const TileInterval& i, std::uint64_t b) { return i.end < b; });
  auto last = first;
  std::vector<TileInterval> fresh;
  std::vector<TileInterval> behind;
  for (; last != mapping.end() && last->begin <= end; ++last) {
    if (last->begin < begin) append_interval(fresh, {last->begin, std::min(last->end, begin), last->tile});
    if (last->end > end) behind.push_back({std::max(last->begin, end), last->end, last->tile});
  }
  append_interval(fresh, {begin, end, tile});
  for (const TileInterval& interval : behind) append_interval(fresh, interval);
  const auto at = mapping.erase(first, last);
  mapping.insert(at, fresh.begin(), fresh.end());
}

void Graph::map(const Tensor& tensor, unsigned tile) {
  check_tensor(tensor, "tile mapping");
  check_tile(tile, "mapping of " + names(tensor));
  tensor.for_each_run([&](const Run& run) {
    for_each_range(
        run, [&](std::uint64_t first, std::uint64_t count) { map_interval(run.variable, first, first + count, tile); });
  });
}

std::vector<TileInterval> Graph::map_linear(const Tensor& tensor, std::uint64_t grain, std::uint64_t minimum,
                                            unsigned first, unsigned tiles_used) {
  check_tensor(tensor, "tile mapping");
  check_tile(first, "mapping of " + names(tensor));
  const unsigned tiles = tiles_used == 0 ? tiles_ - first : tiles_used;
  check_tile(first + tiles - 1, "mapping of " + names(tensor));
  const std::uint64_t count = tensor.elements();
  grain = std::max<std::uint64_t>(grain, 1);
  std::uint64_t share = std::max<std::uint64_t>((count + tiles - 1) / tiles, std::max<std::uint64_t>(minimum, 1));
  share = (share + grain - 1) / grain * grain;
  std::vector<TileInterval> intervals;
  for (std::uint64_t begin = 0; begin < count; begin += share) {
    const auto tile = static_cast<std::uint32_t>(first + begin / share);
    intervals.push_back({begin, std::min(begin + share, count), tile});
  }
  std::size_t k = 0;
  tensor.for_each_run([&](const Run& run) {
    std::uint64_t done = 0;
    while (done < run.count) {
      while (intervals[k].end <= run.begin + done) ++k;
      Run part = run;
      part.first += static_cast<std::int64_t>(done) * run.stride;
      part.count = std::min(run.count - done, intervals[k].end - run.begin - done);
      for_each_range(part, [&](std::uint64_t from, std::uint64_t n) {
        map_interval(run.variable, from, from + n, intervals[k].tile);
      });
      done += part.count;
    }
  });
  return intervals;
}

void Graph::map_like(const Tensor& dst, const Tensor& src) {
  check_tensor(dst, "tile mapping");
  if (dst.shape() != src.shape()) {
    bad_graph(fmt::format("mapping of {} like {}", to_string(dst.shape()), to_string(src.shape())),
              names(dst) + " and " + names(src));
  }
  const Tensor flat = dst.flatten();
  for (const TileInterval& interval : mapping(src)) map(flat.slice(interval.begin, interval.end), interval.tile);
}

std::vector<TileInterval> Graph::mapping(const Tensor& tensor) const {
  check_tensor(tensor, "tile mapping");
  std::vector<TileInterval> result;
  tensor.for_each_run([&](const Run& run) {
    const std::vector<TileInterval>& map = variables_[run.variable.index].mapping;
    std::uint64_t done = 0;
    while (done < run.count) {
      const auto element = static_cast<std::uint64_t>(run.first + static_cast<std::int64_t>(done) * run.stride);
      const auto at = find_interval(map, element);
      if (at == map.end() || at->begin > element) {
        bad_graph(fmt::format("element {} is on no tile", element), "variable " + variables_[run.variable.index].name,
                  "map every element of the variable to a tile");
      }
      std::uint64_t count = run.count - done;
      if (run.stride > 0) {
        const auto stride = static_cast<std::uint64_t>(run.stride);
        count = std::min(count, (at->end - element + stride - 1) / stride);
      } else if (run.stride < 0) {
        count = std::min(count, (element - at->begin) / static_cast<std::uint64_t>(-run.stride) + 1);
      }
      append_interval(result, {run.begin + done, run.begin + done + count, at->tile});
      done += count;
    }
  });
  return result;
}

ComputeSetId Graph::add_compute_set(std::string name) {
  compute_sets_.push_back({std::move(name), {}});
  return {static_cast<std::uint32_t>(compute_sets_.size() - 1)};
}

VertexId Graph::add_vertex(ComputeSetId set, std::string codelet, unsigned tile, std::string name) {
  const VertexId id = add_family(set, std::move(codelet), {{tile, 1}}, std::move(name));
  vertices_.back().family = false;
  return id;
}

VertexId Graph::add_family(ComputeSetId set, std::string codelet, std::vector<TileMembers> tiles, std::string name) {
  if (set.index >= compute_sets_.size()) bad_graph("vertex in a compute set that is not there", "vertex " + name);
  VertexFamily family;
  family.name = name.empty() ? codelet : std::move(name);
  family.codelet = std::move(codelet);
  family.compute_set = set.index;
  family.tiles = std::move(tiles);
  family.family = true;
  std::set<std::uint32_t> seen;
  for (const TileMembers& t : family.tiles) {
    check_tile(t.tile, "vertex " + family.name);
    if (!seen.insert(t.tile).second) bad_graph(fmt::format("tile {} listed twice", t.tile), "vertex " + family.name);
  }
  const VertexId id{static_cast<std::uint32_t>(vertices_.size())};
  compute_sets_[set.index].vertices.push_back(id.index);
  vertices_.push_back(std::move(family));
  return id;
}

namespace {

/// What a field holds, as the user named it.
std::string holds(const Graph& graph, const std::decay_t<decltype(Field::value)>& value) {
  if (const auto* tensor = std::get_if<Tensor>(&value))
    return fmt::format("tensor {} ({}{})", graph.names(*tensor), name_of(tensor->type()), to_string(tensor->shape()));
  if (const auto* spans = std::get_if<Field::Spans>(&value))
    return spans->empty() ? "no spans" : fmt::format("{} spans, first {}", spans->size(), graph.names(spans->front()));
  if (const auto* values = std::get_if<Field::Values>(&value)) return fmt::format("{} values", values->size());
  return fmt::format("value {}", std::get<Field::Affine>(value).base);
}

/// A field that is connected already: the error names both sides.
void refuse_second(const Graph& graph, const VertexFamily& family, const std::string& field,
                   const std::decay_t<decltype(Field::value)>& value, const std::string& vertex) {
  for (const Field& f : family.fields)
    if (f.name == field)
      bad_graph(fmt::format("field {} is connected twice: to {}, and to {}", field, holds(graph, f.value), holds(graph, value)),
                vertex, "connect every field once");
}

}  // namespace

Field& Graph::new_field(VertexId vertex, std::string field) {
  VertexFamily& family = vertices_.at(vertex.index);
  family.fields.push_back({std::move(field), {}});
  return family.fields.back();
}

void Graph::connect(VertexId vertex, std::string field, Tensor tensor) {
  refuse_second(*this, vertices_.at(vertex.index), field, tensor, vertex_name(vertex.index));
  Field& f = new_field(vertex, std::move(field));
  const VertexFamily& family = vertices_[vertex.index];
  check_tensor(tensor, "field " + f.name + " of " + vertex_name(vertex.index));
  if (family.family && (tensor.rank() == 0 || tensor.dim(0) != family.members())) {
    bad_graph(fmt::format("tensor {} ({}{}) for a family of {} vertices: its first axis must be that long",
                          names(tensor), name_of(tensor.type()), to_string(tensor.shape()), family.members()),
              "field " + f.name + " of " + vertex_name(vertex.index));
  }
  f.value = std::move(tensor);
}

void Graph::connect(VertexId vertex, std::string field, std::vector<Tensor> spans) {
  refuse_second(*this, vertices_.at(vertex.index), field, spans, vertex_name(vertex.index));
  Field& f = new_field(vertex, std::move(field));
  for (const Tensor& span : spans) check_tensor(span, "field " + f.name + " of " + vertex_name(vertex.index));
  f.value = std::move(spans);
}

void Graph::set_value(VertexId vertex, std::string field, std::uint32_t value) {
  set_affine(vertex, std::move(field), value, 0);
}

void Graph::set_value(VertexId vertex, std::string field, std::int32_t value) {
  set_value(vertex, std::move(field), static_cast<std::uint32_t>(value));
}

void Graph::set_value(VertexId vertex, std::string field, float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  set_value(vertex, std::move(field), bits);
}

void Graph::set_affine(VertexId vertex, std::string field, std::uint32_t base, std::uint32_t stride) {
  const Field::Affine value{base, stride};
  refuse_second(*this, vertices_.at(vertex.index), field, value, vertex_name(vertex.index));
  new_field(vertex, std::move(field)).value = value;
}

void Graph::set_values(VertexId vertex, std::string field, std::vector<std::uint32_t> values) {
  refuse_second(*this, vertices_.at(vertex.index), field, values, vertex_name(vertex.index));
  Field& f = new_field(vertex, std::move(field));
  const VertexFamily& family = vertices_[vertex.index];
  if (values.size() != family.members()) {
    bad_graph(fmt::format("{} values for {} vertices", values.size(), family.members()),
              "field " + f.name + " of " + vertex_name(vertex.index));
  }
  f.value = std::move(values);
}

void Graph::set_cycles(VertexId vertex, std::uint64_t cycles) { vertices_.at(vertex.index).cycles = cycles; }

FunctionId Graph::add_function(Program body, std::string name, std::vector<VariableId> parameters) {
  for (const VariableId id : parameters) {
    Variable& v = variables_.at(id.index);
    if (v.constant()) bad_graph(fmt::format("constant {} as a parameter", v.name), "function " + name);
    if (v.parameter) bad_graph(fmt::format("{} as a parameter twice", v.name), "function " + name);
    v.parameter = true;
  }
  functions_.push_back({std::move(name), std::move(body), std::move(parameters)});
  return {static_cast<std::uint32_t>(functions_.size() - 1)};
}

StreamId Graph::add_input_stream(std::string name, Type type, std::uint64_t elements) {
  streams_.push_back({std::move(name), true, type, elements});
  return {static_cast<std::uint32_t>(streams_.size() - 1)};
}

StreamId Graph::add_output_stream(std::string name, Type type, std::uint64_t elements) {
  streams_.push_back({std::move(name), false, type, elements});
  return {static_cast<std::uint32_t>(streams_.size() - 1)};
}

void Graph::add_entry(std::string name, Program program) {
  for (const Entry& e : entries_) {
    if (e.name == name) bad_graph("two entry points of one name", "entry " + name);
  }
  entries_.push_back({std::move(name), std::move(program)});
}

void Graph::expose(std::string name, const Tensor& tensor, std::string node) {
  check_tensor(tensor, "exposed tensor " + name);
  for (const Exposed& e : exposed_) {
    if (e.name == name) bad_graph("two exposed tensors of one name", "tensor " + name);
  }
  keep(tensor);
  exposed_.push_back({std::move(name), tensor, std::move(node)});
}

std::string Graph::names(const Tensor& tensor) const {
  if (!tensor.valid()) return "(no tensor)";
  std::vector<VariableId> seen;
  std::string text;
  for (const Box& box : tensor.boxes()) {
    if (std::find(seen.begin(), seen.end(), box.variable) != seen.end()) continue;
    seen.push_back(box.variable);
    if (seen.size() == 4) return text + ", ..";
    if (!text.empty()) text += ", ";
    text += variables_.at(box.variable.index).name;
  }
  return text.empty() ? "(empty)" : text;
}

std::string Graph::vertex_name(std::uint32_t vertex) const {
  const VertexFamily& family = vertices_.at(vertex);
  const std::string& set = compute_sets_.at(family.compute_set).name;
  if (family.name == family.codelet) return fmt::format("vertex {} in compute set {}", family.name, set);
  return fmt::format("vertex {} ({}) in compute set {}", family.name, family.codelet, set);
}

}  // namespace tessera::graph
