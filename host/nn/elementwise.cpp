// Element-wise operators by Map codelets. They work in the order of storage: each vertex takes what a tile has of a
// variable, whatever view it is seen through, its six workers share that, and the result has the operand's layout.
// Operands that are broadcast are not spread out: a tile gets the elements it needs, once (broadcast.h).
#include <algorithm>
#include <set>

#include "host/nn/broadcast.h"
#include "host/nn/operators.h"
#include "host/nn/vertex_batch.h"

namespace tessera::nn {

using graph::Shape;
using graph::Tensor;
using graph::VariableId;
using model::Op;

namespace {

constexpr std::uint64_t kResidentBytes = 128;  // of a broadcast constant kept on each tile; more is sent when needed

std::map<VariableId, VariableId> pairs(const Tensor& base, const Tensor& clone) {
  std::map<VariableId, VariableId> result;
  for (std::size_t i = 0; i < base.boxes().size(); ++i) result[base.boxes()[i].variable] = clone.boxes()[i].variable;
  return result;
}

/// Where vertices find an operand.
struct Source {
  std::map<VariableId, VariableId> beside;  ///< beside each variable of the base
  Tensor flat;                              ///< or its elements in a row, of which rectangles take some
  const model::Tensor* constant = nullptr;  ///< or a constant likewise
  std::size_t broadcast = 0;                ///< its number among the operands of the plan
  [[nodiscard]] bool is_beside() const { return !beside.empty(); }
};

Shape shape_of_operand(const Operand& operand) {
  return operand.is_constant() ? shape_of(operand.constant->shape) : operand.view.shape();
}

class Map {
 public:
  Map(Builder& builder, const MapCall& call, const std::vector<Operand>& operands, const Shape& shape, graph::Type type,
      const std::string& name)
      : builder_(builder), call_(call), operands_(operands), shape_(shape), type_(type), name_(name) {}

  Tensor run() {
    choose_base();
    find_sources();
    VertexBatch batch = make_batch();
    const auto to = pairs(base_, y_);
    for (const VariableId variable : Builder::variables(base_)) {
      const auto& mapping = builder_.graph().variable(variable).mapping;
      const std::vector<graph::TileInterval> intervals = mapping;  // adding constants moves variables
      for (const graph::TileInterval& interval : intervals)
        for (const Rectangle& r : rectangles(variable, interval))
          add(batch, variable, to.at(variable), interval.tile, r);
    }
    place_constants();
    for (Pending& p : pending_) {
      for (const auto& [field, at] : p.constants) p.tensors[field] = resident_.slice(at.first, at.first + at.second);
      batch.add(p.tile, std::move(p.tensors), std::move(p.values));
    }
    batch.execute();
    return y_;
  }

 private:
  struct Pending {
    unsigned tile = 0;
    std::vector<Tensor> tensors;
    std::vector<std::uint32_t> values;
    std::vector<std::pair<std::size_t, std::pair<std::uint64_t, std::uint64_t>>> constants;
  };

  void choose_base() {
    for (const Operand& x : operands_)
      if (!x.is_constant() && x.view.shape() == shape_ && builder_.whole(x.view)) {
        base_ = x.view;
        y_ = builder_.clone_layout(base_, type_, name_);
        return;
      }
    y_ = base_ = builder_.linear(type_, shape_, name_);
  }

  void find_sources() {
    std::vector<Shape> shapes;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Operand& x = operands_[i];
      Source source;
      if (x.elements() == graph::element_count(shape_)) {
        if (x.is_constant()) {
          source.beside = pairs(base_, builder_.constant_like(base_, *x.constant, name_ + " operand"));
        } else if (auto found = builder_.beside(base_, x.view.reshape(shape_)); found && builder_.whole(x.view)) {
          source.beside = std::move(*found);
        } else {
          source.beside = staged(x);
        }
      } else {
        who.push_back(i);
        shapes.push_back(shape_of_operand(x));
      }
      sources_.push_back(std::move(source));
    }
    if (who.empty()) return;
    plan_ = BroadcastPlan::make(base_, shapes);
    if (!plan_ && who.size() > 1) {  // what does not fit is spread out, one after the other
      for (std::size_t n = 0; n < who.size(); ++n)
        if (!BroadcastPlan::make(base_, {shapes[n]})) sources_[who[n]].beside = spread(operands_[who[n]]);
      std::vector<Shape> rest;
      std::vector<std::size_t> left;
      for (std::size_t n = 0; n < who.size(); ++n)
        if (!sources_[who[n]].is_beside()) rest.push_back(shapes[n]), left.push_back(who[n]);
      who = left;
      plan_ = rest.empty() ? std::nullopt : BroadcastPlan::make(base_, rest);
    }
    for (std::size_t n = 0; n < who.size(); ++n) {
      Source& source = sources_[who[n]];
      const Operand& x = operands_[who[n]];
      if (!plan_) {
        source.beside = spread(x);
        continue;
      }
      source.broadcast = n;
      const std::uint64_t bytes = x.elements() * graph::size_of(type_of(x));
      if (!x.is_constant())
        source.flat = x.view.flatten();
      else if (bytes <= kResidentBytes)
        source.constant = x.constant;
      else
        source.flat = builder_.linear_constant(*x.constant, name_ + " operand").flatten();
    }
  }

  static graph::Type type_of(const Operand& x) {
    return x.is_constant() ? nn::type_of(x.constant->type) : x.view.type();
  }

  std::map<VariableId, VariableId> staged(const Operand& x) {
    const Tensor copy = builder_.clone_layout(base_, x.view.type(), name_ + " operand");
    builder_.copy(x.view.broadcast_to(shape_), copy, name_ + " operand");
    return pairs(base_, copy);
  }
  std::map<VariableId, VariableId> spread(const Operand& x) {
    return x.is_constant() ? pairs(base_, builder_.constant_like(base_, *x.constant, name_ + " operand")) : staged(x);
  }

  [[nodiscard]] std::vector<Rectangle> rectangles(VariableId variable, const graph::TileInterval& interval) const {
    if (plan_) return plan_->cut(variable, interval.begin, interval.end);
    Rectangle all;
    all.begin = interval.begin;
    all.columns = static_cast<std::uint32_t>(interval.end - interval.begin);
    return {all};
  }

  VertexBatch make_batch() {
    std::vector<std::string> tensors = call_.operands, values = call_.values_names();
    tensors.push_back("y");
    if (operands_.size() > 1) {
      values = {"rows", "columns"};
      for (const std::string& operand : call_.operands)
        values.push_back(operand + "_row"), values.push_back(operand + "_step");
    }
    return {builder_, call_.codelet, std::move(tensors), std::move(values), name_};
  }

  void add(VertexBatch& /*batch*/, VariableId from, VariableId to, unsigned tile, const Rectangle& r) {
    const std::uint64_t count = std::uint64_t{r.rows} * r.columns;
    Pending p;
    p.tile = tile;
    if (operands_.size() > 1)
      p.values = {r.rows, r.columns};
    else
      p.values = call_.values;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Source& source = sources_[i];
      std::uint32_t row = r.columns, step = 1;
      if (source.is_beside()) {
        p.tensors.push_back(
            builder_.flat(source.beside.at(from)).slice(r.begin, r.begin + count).reinterpret(type_of(operands_[i])));
      } else {
        const RectangleOperand& o = r.operands.at(source.broadcast);
        row = o.row, step = o.step;
        if (source.constant != nullptr) {
          p.constants.push_back({i, resident(*source.constant, o, tile)});
          p.tensors.emplace_back();
        } else {
          p.tensors.push_back(source.flat.slice(o.begin, o.begin + o.count));
        }
      }
      if (operands_.size() > 1) p.values.insert(p.values.end(), {r.rows > 1 ? row : 0, step});
    }
    p.tensors.push_back(builder_.flat(to).slice(r.begin, r.begin + count));
    pending_.push_back(std::move(p));
  }

  /// Elements of a constant on this tile: where they stand in resident_. Vectors begin at multiples of 8 bytes.
  std::pair<std::uint64_t, std::uint64_t> resident(const model::Tensor& constant, const RectangleOperand& o,
                                                   unsigned tile) {
    if (constant.type != resident_type_ && resident_bytes_.empty()) resident_type_ = constant.type;
    if (constant.type != resident_type_) throw std::logic_error("constants of two types in one operator");
    const auto key = std::make_pair(&constant, std::make_pair(o.begin, o.count));
    if (tile != resident_tile_) resident_here_.clear(), resident_tile_ = tile;
    const auto known = resident_here_.find(key);
    if (known != resident_here_.end()) return known->second;
    const std::size_t size = model::size_of(constant.type);
    const std::uint64_t at = resident_bytes_.size() / size;
    const auto* data = constant.data.data() + o.begin * size;
    resident_bytes_.insert(resident_bytes_.end(), data, data + o.count * size);
    resident_bytes_.resize((resident_bytes_.size() + 7) / 8 * 8);
    const std::uint64_t end = resident_bytes_.size() / size;
    resident_places_.push_back({at, end, tile});
    return resident_here_[key] = {at, o.count};
  }

  void place_constants() {
    if (resident_bytes_.empty()) return;
    const std::uint64_t count = resident_bytes_.size() / model::size_of(resident_type_);
    resident_ = builder_.graph().add_constant(nn::type_of(resident_type_), {count}, std::move(resident_bytes_),
                                              name_ + " operand");
    for (const graph::TileInterval& i : resident_places_) builder_.graph().map(resident_.slice(i.begin, i.end), i.tile);
  }

  Builder& builder_;
  const MapCall& call_;
  const std::vector<Operand>& operands_;
  const Shape& shape_;
  graph::Type type_;
  const std::string& name_;
  Tensor base_, y_, resident_;
  std::vector<Source> sources_;
  std::optional<BroadcastPlan> plan_;
  std::vector<Pending> pending_;
  model::Type resident_type_ = model::Type::f32;
  std::vector<std::uint8_t> resident_bytes_;
  std::vector<graph::TileInterval> resident_places_;
  std::map<std::pair<const model::Tensor*, std::pair<std::uint64_t, std::uint64_t>>,
           std::pair<std::uint64_t, std::uint64_t>>
      resident_here_;
  unsigned resident_tile_ = ~0U;
};

/// Codelets were named without "Map" before.
std::string map_name(const std::string& codelet) { return codelet.rfind("Map", 0) == 0 ? codelet : "Map" + codelet; }

}  // namespace

std::vector<std::string> MapCall::values_names() const {
  return values.empty() ? std::vector<std::string>() : std::vector<std::string>{"alpha", "beta", "gamma"};
}

Tensor lower_map(Builder& builder, const MapCall& call, const std::vector<Operand>& operands, const Shape& shape,
                 graph::Type type, const std::string& name) {
  if (graph::element_count(shape) == 0) return builder.linear(type, shape, name);
  std::vector<Operand> placed = operands;
  bool constant = true;
  for (const Operand& x : operands) constant = constant && x.is_constant();
  if (constant) placed[0] = {builder.linear_constant(*operands[0].constant, name + " operand"), nullptr};
  return Map(builder, call, placed, shape, type, name).run();
}

Tensor lower_unary(Builder& builder, const std::string& codelet, const Tensor& x, graph::Type type,
                   const std::string& name) {
  const MapCall call{map_name(codelet), {"x"}, {}};
  return lower_map(builder, call, {{x, nullptr}}, x.shape(), type, name);
}

Tensor lower_unary_with(Builder& builder, const std::string& codelet, const Tensor& x, graph::Type type, float alpha,
                        float beta, float gamma, const std::string& name) {
  const MapCall call{codelet, {"x"}, {bits_of(alpha), bits_of(beta), bits_of(gamma)}};
  return lower_map(builder, call, {{x, nullptr}}, x.shape(), type, name);
}

Tensor lower_binary(Builder& builder, const std::string& codelet, const Operand& a, const Operand& b,
                    const Shape& shape, graph::Type type, const std::string& name) {
  const MapCall call{map_name(codelet), {"a", "b"}, {}};
  return lower_map(builder, call, {a, b}, shape, type, name);
}

Tensor lower_cast(Builder& builder, const Tensor& x, graph::Type to, const std::string& name) {
  if (x.type() == to) return x;
  return lower_unary(builder, "MapCast_" + type_suffix(x.type()) + "_" + type_suffix(to), x, to, name);
}

std::string type_suffix(graph::Type type) { return std::string(graph::name_of(type)); }

}  // namespace tessera::nn
