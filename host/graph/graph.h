// The graph of one IPU program: variables and constants with their tile mapping, vertices in compute sets, functions,
// host streams, entry points. What a model is lowered to, and what host/compiler turns into an executable.
//
// Vertices come in families: one record stands for n vertices of the same codelet whose fields are the n leading slices
// of a tensor (or affine values), so a graph of millions of vertices is a few records. A single vertex is the case n
// = 1.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "host/graph/program.h"
#include "host/graph/tensor.h"

namespace tessera::graph {

/// Elements begin .. end (flat, of a variable or of a view) on one tile.
struct TileInterval {
  std::uint64_t begin = 0, end = 0;
  std::uint32_t tile = 0;
  friend bool operator==(const TileInterval& a, const TileInterval& b) {
    return a.begin == b.begin && a.end == b.end && a.tile == b.tile;
  }
};

struct Variable {
  std::string name;
  Type type = Type::f32;
  Shape shape;
  std::vector<TileInterval> mapping;  ///< sorted, disjoint, neighbours on one tile merged
  /// Constants: contents of one copy, little endian, row-major; null for others. Copies of a graph share them.
  std::shared_ptr<const std::vector<std::uint8_t>> data;
  std::uint64_t copies = 1;  ///< of the data, one behind the other: the leading axis of a repeated constant
  bool keep = false;         ///< live from its first write (or load) to the end
  bool parameter = false;    ///< of a function: stands for another constant at each call
  bool initial = false;      ///< data is what it is loaded with: it may be written, and keeps its place throughout
  [[nodiscard]] bool constant() const { return data != nullptr; }
  [[nodiscard]] std::uint64_t elements() const { return element_count(shape); }
};

/// Handle of a vertex or of a family.
struct VertexId {
  std::uint32_t index = 0;
};

/// Members on one tile, in member order.
struct TileMembers {
  std::uint32_t tile = 0;
  std::uint64_t count = 1;
};

/// Contents of a field. For a family: tensors have a leading axis of n members; member i gets [i].
struct Field {
  struct Affine {
    std::uint32_t base = 0, stride = 0;  ///< raw 32 bits; member i: base + i * stride
  };
  using Values = std::vector<std::uint32_t>;  ///< raw 32 bits a member
  using Spans = std::vector<Tensor>;          ///< list of spans
  std::string name;
  std::variant<Tensor, Spans, Affine, Values> value;
};

struct VertexFamily {
  std::string name;  ///< user-level name; the codelet's if none was given
  std::string codelet;
  std::uint32_t compute_set = 0;
  std::vector<TileMembers> tiles;
  bool family = false;  ///< fields have a leading member axis (also if n = 1)
  std::vector<Field> fields;
  std::optional<std::uint64_t> cycles;  ///< estimate for one member, worker slots x 6; else the compiler estimates
  [[nodiscard]] std::uint64_t members() const {
    std::uint64_t n = 0;
    for (const TileMembers& t : tiles) n += t.count;
    return n;
  }
};

struct ComputeSet {
  std::string name;
  std::vector<std::uint32_t> vertices;  ///< indices of families
};

struct Function {
  std::string name;
  Program body;
  std::vector<VariableId> parameters;  ///< read by the body alone; Program::Call gives a constant for each
};

/// A host stream: each execution of a StreamIn or StreamOut moves one step of `elements` elements.
struct Stream {
  std::string name;
  bool input = true;  ///< host to device
  Type type = Type::f32;
  std::uint64_t elements = 0;
};

/// A tensor the host reads (results, --check) or writes by name while the machine stands.
struct Exposed {
  std::string name;
  Tensor tensor;
  std::string node;  ///< node of the model that made it; empty if none
};

struct Entry {
  std::string name;
  Program program;
};

class Graph {
 public:
  /// tiles: active tiles 0 .. tiles-1 of the IPU.
  explicit Graph(unsigned tiles);

  [[nodiscard]] unsigned tiles() const { return tiles_; }

  // Variables. Names need not be unique; they are what errors and reports say.
  Tensor add_variable(Type type, Shape shape, std::string name);
  /// data: element_count(shape) * size_of(type) bytes, little endian, row-major. bool: one byte, 0 or 1.
  Tensor add_constant(Type type, Shape shape, std::vector<std::uint8_t> data, std::string name);
  template <typename T>
  Tensor add_constant(Type type, Shape shape, const std::vector<T>& values, std::string name) {
    std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return add_constant(type, std::move(shape), std::move(bytes), std::move(name));
  }
  /// The whole of a variable.
  [[nodiscard]] Tensor whole(VariableId id) const;
  /// A constant of the type, shape, copies and mapping of another; data: one copy.
  Tensor add_like(VariableId id, std::vector<std::uint8_t> data, std::string name);
  /// Makes a variable of a constant: its contents are dropped, all else stays.
  void make_variable(VariableId id);
  /// Lets a constant be written: its data is what it is loaded with. It keeps its place for the whole program, so what
  /// is not written stays, also from run to run.
  void make_initial(VariableId id);
  /// A constant [copies, shape...] of equal copies whose data (one of them) is held once, here and in the executable:
  /// for weights and tables that stand on many tiles. copies >= 1.
  Tensor add_repeated_constant(Type type, Shape shape, std::vector<std::uint8_t> data, std::uint64_t copies,
                               std::string name);
  /// Keeps the variables of a view live from their first write to the end of the program.
  void keep(const Tensor& tensor);

  // Tile mapping. Later calls replace earlier ones for the same elements.
  void map(const Tensor& tensor, unsigned tile);
  /// Flat elements of the view, in order, over tiles first .. in equal shares: multiples of grain elements, at least
  /// `minimum` elements a tile (but the last). tiles_used 0: up to all tiles. Returns the intervals of the view.
  std::vector<TileInterval> map_linear(const Tensor& tensor, std::uint64_t grain = 1, std::uint64_t minimum = 1,
                                       unsigned first = 0, unsigned tiles_used = 0);
  /// dst gets the mapping of src, element by element of two views of one shape.
  void map_like(const Tensor& dst, const Tensor& src);
  /// Where the flat elements of a view lie, in order, neighbours merged. Unmapped elements: Error (usage) that names
  /// them.
  [[nodiscard]] std::vector<TileInterval> mapping(const Tensor& tensor) const;

  // Compute sets and vertices.
  ComputeSetId add_compute_set(std::string name);
  VertexId add_vertex(ComputeSetId set, std::string codelet, unsigned tile, std::string name = {});
  VertexId add_family(ComputeSetId set, std::string codelet, std::vector<TileMembers> tiles, std::string name = {});
  void connect(VertexId vertex, std::string field, Tensor tensor);
  void connect(VertexId vertex, std::string field, std::vector<Tensor> spans);
  void set_value(VertexId vertex, std::string field, std::uint32_t value);
  void set_value(VertexId vertex, std::string field, std::int32_t value);
  void set_value(VertexId vertex, std::string field, float value);
  /// Member i of a family: base + i * stride (raw 32-bit integers).
  void set_affine(VertexId vertex, std::string field, std::uint32_t base, std::uint32_t stride);
  void set_values(VertexId vertex, std::string field, std::vector<std::uint32_t> values);
  void set_cycles(VertexId vertex, std::uint64_t cycles);

  // Programs.
  /// parameters: variables that the body reads and nothing writes. Within a call each stands for the constant that the
  /// call gives, which has its type, shape and mapping.
  FunctionId add_function(Program body, std::string name, std::vector<VariableId> parameters = {});
  StreamId add_input_stream(std::string name, Type type, std::uint64_t elements);
  StreamId add_output_stream(std::string name, Type type, std::uint64_t elements);
  void add_entry(std::string name, Program program);
  /// Makes a tensor readable and writable by name from the host, and keeps it live to the end.
  void expose(std::string name, const Tensor& tensor, std::string node = {});

  // What was built.
  [[nodiscard]] const std::vector<Variable>& variables() const { return variables_; }
  [[nodiscard]] const Variable& variable(VariableId id) const { return variables_.at(id.index); }
  [[nodiscard]] const std::vector<ComputeSet>& compute_sets() const { return compute_sets_; }
  [[nodiscard]] const std::vector<VertexFamily>& vertices() const { return vertices_; }
  [[nodiscard]] const std::vector<Function>& functions() const { return functions_; }
  [[nodiscard]] const std::vector<Stream>& streams() const { return streams_; }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] const std::vector<Exposed>& exposed() const { return exposed_; }

  /// Names of the variables of a view, for messages: "a" or "a, b".
  [[nodiscard]] std::string names(const Tensor& tensor) const;
  /// "name (codelet) in compute set".
  [[nodiscard]] std::string vertex_name(std::uint32_t vertex) const;

 private:
  void map_interval(VariableId id, std::uint64_t begin, std::uint64_t end, unsigned tile);
  void check_tile(unsigned tile, const std::string& what) const;
  Field& new_field(VertexId vertex, std::string field);
  void check_tensor(const Tensor& tensor, const std::string& what) const;

  unsigned tiles_;
  std::vector<Variable> variables_;
  std::vector<ComputeSet> compute_sets_;
  std::vector<VertexFamily> vertices_;
  std::vector<Function> functions_;
  std::vector<Stream> streams_;
  std::vector<Entry> entries_;
  std::vector<Exposed> exposed_;
};

/// Checks programs, streams, mapping and writes, all that needs no codelet signature; throws Error (usage) that names
/// both sides. host/compiler calls it and checks fields against the codelet library too.
void validate(const Graph& graph);

}  // namespace tessera::graph
