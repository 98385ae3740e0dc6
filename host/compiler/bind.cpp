// Binding of vertices to codelets and data.
#include "host/compiler/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

#include "host/codelets/amp_record.h"
#include "hw/error.h"

namespace tessera::compiler {

namespace {

graph::Type graph_type(FieldType type) { return static_cast<graph::Type>(static_cast<unsigned>(type) - 1); }

[[noreturn]] void bad(const std::string& what, const std::string& where, const std::string& advice = {}) {
  throw Error(Category::usage, what, where, advice);
}

std::string describe(const graph::Graph& g, const graph::Tensor& t) {
  return fmt::format("{} ({}{})", g.names(t), graph::name_of(t.type()), graph::to_string(t.shape()));
}

/// A range of elements that a vertex touches.
struct Access {
  std::uint32_t variable = 0;
  std::uint64_t begin = 0, end = 0;
  bool write = false;
  std::uint32_t vertex = 0;
  std::uint64_t member = 0;
};

/// Data that is brought to the vertex's tile, or written there and taken away.
struct Request {
  std::uint32_t tile = 0;
  graph::Tensor tensor;
  bool in = false, out = false;
  std::uint64_t elements = 0;  ///< padded
  std::uint64_t first = 0;     ///< in the staging variable
};

using RunKey = std::vector<std::tuple<std::uint32_t, std::int64_t, std::int64_t, std::uint64_t>>;

RunKey key_of(const std::vector<graph::Run>& runs) {
  RunKey key;
  for (const graph::Run& r : runs) key.emplace_back(r.variable.index, r.first, r.stride, r.count);
  return key;
}

class Binder {
 public:
  Binder(Ir& ir, const CodeletLibrary& library, std::uint32_t set, const std::string& path)
      : ir_(ir), library_(library), set_(ir.graph.compute_sets()[set]), path_(path) {}

  BoundSet run() {
    step_.path = path_;
    step_.name = set_.name;
    for (const std::uint32_t v : set_.vertices) bind_family(v);
    check_races();
    make_staging();
    finish();
    return std::move(result_);
  }

 private:
  void bind_family(std::uint32_t vertex) {
    const graph::VertexFamily& family = ir_.graph.vertices()[vertex];
    const CodeletInfo* info = library_.find(family.codelet);
    if (info == nullptr) {
      try {
        (void)library_.at(family.codelet);  // knows the nearest name
      } catch (const Error& e) {
        bad(e.message(), ir_.graph.vertex_name(vertex), e.advice());
      }
    }
    check_fields(vertex, family, *info);
    const auto name = static_cast<std::uint32_t>(ir_.vertex_names.size());
    ir_.vertex_names.push_back({family.name, family.codelet, set_.name});
    ir_.vertex_count += family.members();
    ir_.edge_count += family.members() * family.fields.size();
    std::uint64_t member = 0;
    for (const graph::TileMembers& tile : family.tiles) {
      if (tile.count == 0) continue;
      Calls calls;
      calls.tile = tile.tile;
      calls.codelet = info;
      calls.name = name;
      calls.first = member;
      calls.count = tile.count;
      calls.states.resize(tile.count * (info->state_bytes / 4));
      for (const tessera::Field& field : info->fields) bind_field(vertex, family, *info, field, calls);
      if (info->amp) check_sets(vertex, family, calls);
      calls.cycles = family.cycles ? *family.cycles : vertex_cycles(*info, calls.states.data());
      step_.calls.push_back(std::move(calls));
      member += tile.count;
    }
  }

  /// As many words of offsets as sets of weights.
  void check_sets(std::uint32_t vertex, const graph::VertexFamily& family, const Calls& calls) const {
    const auto& weights = std::get<graph::Tensor>(connected(family, "weights").value);
    const std::uint64_t bytes =
        (family.family ? weights[calls.first] : weights).elements() * graph::size_of(weights.type());
    const std::uint64_t sets = calls.states[2].value;
    if (sets != 0 && bytes == sets * kAmpSetBytes) return;
    bad(fmt::format("field weights has {} bytes, but {} words of offsets go with {}", bytes, sets, sets * kAmpSetBytes),
        ir_.graph.vertex_name(vertex), "one set of 256 bytes and one word of offsets for each round, at least one");
  }

  void check_fields(std::uint32_t vertex, const graph::VertexFamily& family, const CodeletInfo& info) const {
    const std::string where = ir_.graph.vertex_name(vertex);
    for (const graph::Field& f : family.fields) {
      const tessera::Field* field = info.field(f.name);
      if (field == nullptr) {
        std::string known;
        for (const tessera::Field& k : info.fields) known += (known.empty() ? "" : ", ") + k.name;
        bad(fmt::format("codelet {} has no field {}", info.name, f.name), where, "its fields are: " + known);
      }
      const auto* tensor = std::get_if<graph::Tensor>(&f.value);
      if (std::holds_alternative<graph::Field::Spans>(f.value)) {
        bad(fmt::format("field {} takes one tensor, not a list of them", f.name), where);
      }
      if (field->is_value() != (tensor == nullptr)) {
        bad(field->is_value()
                ? fmt::format("field {} is a value, {} is connected to it", f.name, describe(ir_.graph, *tensor))
                : fmt::format("field {} takes a tensor, a value is set", f.name),
            where);
      }
      if (tensor == nullptr) continue;
      const bool bits = info.amp && field->offset == 0;  // sets of weights may have any type
      if (tensor->type() != graph_type(field->type) && !bits) {
        bad(fmt::format("field {} is {}, {} is connected to it", f.name, field_type_name(field->type),
                        describe(ir_.graph, *tensor)),
            where, "convert the tensor, or use the codelet of its type");
      }
      if (field->writes()) check_writable(f, *tensor, where);
    }
    for (const tessera::Field& k : info.fields) {
      const bool found = std::any_of(family.fields.begin(), family.fields.end(),
                                     [&](const graph::Field& f) { return f.name == k.name; });
      if (!found) bad(fmt::format("field {} of codelet {} is not connected", k.name, info.name), where);
    }
  }

  void check_writable(const graph::Field& f, const graph::Tensor& tensor, const std::string& where) const {
    for (const graph::Box& box : tensor.boxes()) {
      const graph::Variable& v = ir_.graph.variable(box.variable);
      if (v.constant() && !v.initial)
        bad(fmt::format("field {} writes constant {}", f.name, v.name), where, "use a variable");
      if (v.parameter) bad(fmt::format("field {} writes parameter {}", f.name, v.name), where, "use a variable");
    }
  }

  static const graph::Field& connected(const graph::VertexFamily& family, const std::string& name) {
    for (const graph::Field& f : family.fields) {
      if (f.name == name) return f;
    }
    throw std::logic_error("field vanished");
  }

  /// Fills one field in all states of `calls`.
  void bind_field(std::uint32_t vertex, const graph::VertexFamily& family, const CodeletInfo& info,
                  const tessera::Field& field, Calls& calls) {
    const graph::Field& source = connected(family, field.name);
    const std::size_t words = info.state_bytes / 4;
    for (std::uint64_t i = 0; i < calls.count; ++i) {
      const std::uint64_t member = calls.first + i;
      StateWord* state = &calls.states[i * words];
      if (field.is_value()) {
        set_value(field, source, member, state);
        continue;
      }
      const auto& whole = std::get<graph::Tensor>(source.value);
      const graph::Tensor tensor = family.family ? whole[member] : whole;
      if (tensor.elements() < field.minimum && !(info.amp && field.offset == 0)) {
        bad(fmt::format("field {} needs at least {} elements, {} has {}", field.name, field.minimum,
                        describe(ir_.graph, tensor), tensor.elements()),
            ir_.graph.vertex_name(vertex));
      }
      StateWord* at = state + field.offset / 4;
      at[0] = locate(vertex, member, field, tensor, calls.tile, {step_.calls.size(), i * words + field.offset / 4});
      if (field.is_span()) at[1] = {static_cast<std::uint32_t>(tensor.elements())};
    }
  }

  static void set_value(const tessera::Field& field, const graph::Field& source, std::uint64_t member,
                        StateWord* state) {
    std::uint32_t value = 0;
    if (const auto* affine = std::get_if<graph::Field::Affine>(&source.value)) {
      value = affine->base + static_cast<std::uint32_t>(member) * affine->stride;
    } else {
      value = std::get<graph::Field::Values>(source.value)[member];
    }
    const std::uint32_t bits = 8 * field_type_bytes(field.type);
    if (bits < 32) value &= (1U << bits) - 1;
    state[field.offset / 4].value |= value << (8 * (field.offset % 4));
  }

  /// One staging variable for each type and alignment.
  using StagingKey = std::pair<graph::Type, std::uint32_t>;

  struct Patch {
    std::size_t call = 0, word = 0;
    StagingKey type;
    std::size_t request = 0;
  };

  /// Address of the data for a field: where it stands, or in staging (patched later).
  StateWord locate(std::uint32_t vertex, std::uint64_t member, const tessera::Field& field, const graph::Tensor& tensor,
                   std::uint32_t tile, std::pair<std::size_t, std::size_t> word) {
    const std::vector<graph::Run> runs = tensor.runs();
    note_accesses(vertex, member, field, runs);
    if (runs.empty()) return {0, kNone};
    const unsigned bytes = graph::size_of(tensor.type());
    if (const auto offset = in_place(runs, bytes, tile); offset && *offset % field.align == 0) {
      const std::uint32_t variable = runs[0].variable.index;
      ir_.alignment[variable] = std::max(ir_.alignment[variable], field.align);
      return {*offset, variable};
    }
    // Storage type, if the view reinterprets.
    const StagingKey type{ir_.graph.variable(runs[0].variable).type, std::max(field.align, kIntervalAlign)};
    std::vector<Request>& requests = requests_[type];
    if (!field.writes()) {
      const auto [at, fresh] = shared_.try_emplace({type, tile, key_of(runs)}, requests.size());
      if (!fresh) {
        patches_.push_back({word.first, word.second, type, at->second});
        return {};
      }
    }
    const std::uint64_t grain = type.second / bytes;
    const std::uint64_t padded = (tensor.elements() + grain - 1) / grain * grain;
    patches_.push_back({word.first, word.second, type, requests.size()});
    requests.push_back({tile, tensor, field.reads(), field.writes(), padded, 0});
    return {};
  }

  /// Offset in its block of a view whose elements stand one behind the other on the tile, maybe over several intervals.
  [[nodiscard]] std::optional<std::uint32_t> in_place(const std::vector<graph::Run>& runs, unsigned bytes,
                                                      std::uint32_t tile) const {
    const std::uint32_t variable = runs[0].variable.index;
    std::uint32_t start = 0, next = 0;
    for (const graph::Run& run : runs) {
      if (run.variable.index != variable || (run.count > 1 && run.stride != 1)) return std::nullopt;
      auto element = static_cast<std::uint64_t>(run.first);
      for (const std::uint64_t end = element + run.count; element < end;) {
        const Layout::Interval& interval = ir_.layout.at(variable, element);
        const auto offset = static_cast<std::uint32_t>(interval.offset + (element - interval.begin) * bytes);
        const bool first = &run == &runs[0] && element == static_cast<std::uint64_t>(run.first);
        if (interval.tile != tile || (!first && offset != next)) return std::nullopt;
        if (first) start = offset;
        const std::uint64_t count = std::min(end, interval.end) - element;
        next = static_cast<std::uint32_t>(offset + count * bytes);
        element += count;
      }
    }
    return start;
  }

  void note_accesses(std::uint32_t vertex, std::uint64_t member, const tessera::Field& field,
                     const std::vector<graph::Run>& runs) {
    for (const graph::Run& r : runs) {
      step_touch(r.variable.index, field);
      const bool dense = r.count == 1 || r.stride == 1;
      if (field.writes() && r.stride == 0 && r.count > 1) {
        bad(fmt::format("field {} writes one element of {} at {} places of its view", field.name,
                        ir_.graph.variable(r.variable).name, r.count),
            ir_.graph.vertex_name(vertex));
      }
      const std::uint64_t n = dense ? 1 : r.stride == 0 ? 1 : r.count;
      for (std::uint64_t i = 0; i < n; ++i) {
        const auto first = static_cast<std::uint64_t>(r.first + static_cast<std::int64_t>(i) * r.stride);
        accesses_.push_back({r.variable.index, first, first + (dense ? r.count : 1), field.writes(), vertex, member});
      }
    }
  }

  void step_touch(std::uint32_t variable, const tessera::Field& field) {
    if (field.reads()) touched_reads_.insert(variable);
    if (field.writes()) touched_writes_.insert(variable);
  }

  std::string member_name(const Access& a) const {
    const graph::VertexFamily& f = ir_.graph.vertices()[a.vertex];
    return f.family ? fmt::format("member {} of {}", a.member, ir_.graph.vertex_name(a.vertex))
                    : ir_.graph.vertex_name(a.vertex);
  }

  /// No element is written by two vertices, or written by one and read by another.
  void check_races() {
    std::sort(accesses_.begin(), accesses_.end(), [](const Access& a, const Access& b) {
      return std::tie(a.variable, a.begin, a.end, a.write, a.vertex, a.member) <
             std::tie(b.variable, b.begin, b.end, b.write, b.vertex, b.member);
    });
    // Sorted by begin, so what overlaps at a point is found among the farthest-reaching: one write (two of different
    // vertices would be a conflict already), and two reads of different vertices.
    const Access* write = nullptr;
    const Access* read = nullptr;
    const Access* other = nullptr;
    const auto reaches = [](const Access* past, const Access& a) {
      // One vertex may read what it writes (in place), but not write an element twice.
      return past != nullptr && past->variable == a.variable && past->end > a.begin &&
             (!same_vertex(*past, a) || (past->write && a.write));
    };
    for (const Access& a : accesses_) {
      if (reaches(write, a)) conflict(*write, a);
      if (a.write) {
        if (reaches(read, a)) conflict(*read, a);
        if (reaches(other, a)) conflict(*other, a);
        if (write == nullptr || write->variable != a.variable || write->end < a.end) write = &a;
        continue;
      }
      if (read == nullptr || read->variable != a.variable) {
        read = &a;
        other = nullptr;
      } else if (same_vertex(*read, a)) {
        if (a.end > read->end) read = &a;
      } else if (a.end >= read->end) {
        other = read;
        read = &a;
      } else if (other == nullptr || other->end < a.end) {
        other = &a;
      }
    }
  }

  static bool same_vertex(const Access& a, const Access& b) { return a.vertex == b.vertex && a.member == b.member; }

  [[noreturn]] void conflict(const Access& a, const Access& b) const {
    const Access& writer = a.write ? a : b;
    const Access& other = a.write ? b : a;
    const graph::Variable& v = ir_.graph.variables()[a.variable];
    bad(fmt::format("element {} of {} is written by {} and {} by {}", std::max(a.begin, b.begin), v.name,
                    member_name(writer), other.write ? "written" : "read", member_name(other)),
        "compute set " + set_.name, "put one of them into another compute set");
  }

  void make_staging() {
    for (auto& [key, requests] : requests_) {
      const graph::Type type = key.first;
      std::vector<graph::TileInterval> mapping;
      std::vector<std::size_t> order(requests.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return requests[a].tile < requests[b].tile; });
      std::uint64_t at = 0;
      for (const std::size_t i : order) {
        requests[i].first = at;
        mapping.push_back({at, at + requests[i].elements, requests[i].tile});
        at += requests[i].elements;
      }
      if (at == 0) continue;
      ir_.staging_bytes += at * graph::size_of(type);
      const graph::Tensor staging = ir_.add_variable(type, at, set_.name + " (staging)", mapping);
      const std::uint32_t variable = staging.boxes().front().variable.index;
      staging_[key] = variable;
      ir_.alignment[variable] = std::max(ir_.alignment[variable], key.second);
      for (const Request& r : requests) {
        const graph::Tensor tensor = r.tensor.flatten().reinterpret(type);
        const graph::Tensor part = staging.slice(r.first, r.first + tensor.elements());
        if (r.in) result_.before.emplace_back(tensor, part);
        if (r.out) result_.after.emplace_back(part, tensor);
      }
    }
    for (const Patch& p : patches_) {
      const Request& r = requests_.at(p.type).at(p.request);
      const Place place = ir_.layout.place(staging_.at(p.type), r.first);
      step_.calls[p.call].states[p.word] = {place.offset, place.variable};
    }
  }

  void finish() {
    // What is staged is read and written through staging, not by the vertices themselves; keeping the variables in the
    // set is safe only for reads, so both are told exactly.
    std::set<std::uint32_t> direct;
    for (const Calls& c : step_.calls) {
      for (const StateWord& w : c.states) {
        if (w.variable != kNone) direct.insert(w.variable);
      }
    }
    for (const std::uint32_t v : touched_reads_) {
      if (direct.count(v) != 0) step_.touch.reads.push_back(v);
    }
    std::vector<graph::Tensor> written = written_directly();
    for (const std::uint32_t v : touched_writes_) {
      if (direct.count(v) != 0) step_.touch.writes.push_back(v);
    }
    for (const auto& [type, variable] : staging_) {
      result_.staging.push_back(variable);
      step_.touch.reads.push_back(variable);
      step_.touch.writes.push_back(variable);
    }
    const std::vector<std::uint32_t> full = fully_written(ir_.graph, written);
    std::set<std::uint32_t> after;
    for (const auto& [part, tensor] : result_.after) {
      for (const graph::Box& box : tensor.boxes()) after.insert(box.variable.index);
    }
    for (const std::uint32_t v : full) {
      if (touched_reads_.count(v) != 0) continue;
      if (after.count(v) == 0) {
        step_.touch.kills.push_back(v);
      } else if (direct.count(v) == 0) {
        result_.after_kills.push_back(v);
      }
    }
    // Staging that nothing is brought to first is written by the vertices alone.
    if (result_.before.empty()) {
      step_.touch.reads.clear();
      for (const std::uint32_t v : touched_reads_) {
        if (direct.count(v) != 0) step_.touch.reads.push_back(v);
      }
      for (const auto& [type, variable] : staging_) step_.touch.kills.push_back(variable);
    }
    sort_unique(step_.touch.reads);
    sort_unique(step_.touch.writes);
    sort_unique(step_.touch.kills);
    std::stable_sort(step_.calls.begin(), step_.calls.end(),
                     [](const Calls& a, const Calls& b) { return a.tile < b.tile; });
    ir_.computes.push_back(std::move(step_));
    result_.compute = static_cast<std::uint32_t>(ir_.computes.size() - 1);
  }

  /// Output tensors of all vertices, for the question which variables are written wholly (no element twice: no races).
  std::vector<graph::Tensor> written_directly() const {
    std::vector<graph::Tensor> result;
    for (const std::uint32_t v : set_.vertices) {
      const graph::VertexFamily& family = ir_.graph.vertices()[v];
      const CodeletInfo& info = library_.at(family.codelet);
      for (const graph::Field& f : family.fields) {
        const tessera::Field* field = info.field(f.name);
        if (field->writes() && !field->reads()) result.push_back(std::get<graph::Tensor>(f.value));
      }
    }
    return result;
  }

  Ir& ir_;
  const CodeletLibrary& library_;
  const graph::ComputeSet set_;  // a copy: staging variables are added to the graph meanwhile
  std::string path_;
  ComputeStep step_;
  BoundSet result_;
  std::map<StagingKey, std::vector<Request>> requests_;
  std::map<std::tuple<StagingKey, std::uint32_t, RunKey>, std::size_t> shared_;
  std::vector<Patch> patches_;
  std::map<StagingKey, std::uint32_t> staging_;
  std::vector<Access> accesses_;
  std::set<std::uint32_t> touched_reads_, touched_writes_;
};

}  // namespace

BoundSet bind_compute_set(Ir& ir, const CodeletLibrary& library, std::uint32_t set, const std::string& path) {
  return Binder(ir, library, set, path).run();
}

}  // namespace tessera::compiler
