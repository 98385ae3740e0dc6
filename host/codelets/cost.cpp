// Cost estimates of vertices (cost.h).
#include "host/codelets/cost.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tessera {
namespace {

/// The value of a field, or the count of a span; `missing` if the codelet has no such field.
double number(const CodeletInfo& info, const std::uint8_t* state, const char* name, double missing) {
  const Field* field = info.field(name);
  if (field == nullptr || (!field->is_value() && !field->is_span())) return missing;
  std::uint32_t bits = 0;
  std::memcpy(&bits, state + field->offset + (field->is_span() ? 4 : 0),
              field->is_value() ? field_type_bytes(field->type) : 4);
  return bits;
}

}  // namespace

CostFeatures cost_features(const CodeletInfo& info, const std::uint8_t* state) {
  const auto v = [&](const char* name, double missing = 1) { return number(info, state, name, missing); };
  if (info.field("lda") != nullptr) {
    // Register blocks of matmul.c; the inner loops of 4x4, 4x1, 1x4 and 1x1 take 27, 14, 12 and 6 instructions,
    // of integers more.
    const auto m = static_cast<std::uint64_t>(v("m")), n = static_cast<std::uint64_t>(v("n"));
    const auto full = static_cast<double>(m / 4 * (n / 4)), tall = static_cast<double>(m / 4 * (n % 4));
    const auto wide = static_cast<double>(m % 4 * (n / 4)), one = static_cast<double>(m % 4 * (n % 4));
    if (info.name == "MatMul_i32")
      return {full + tall + wide + one, v("k") * (60 * full + 22 * tall + 17 * wide + 8 * one)};
    return {full + tall + wide + one, v("k") * (27 * full + 14 * tall + 12 * wide + 6 * one)};
  }
  if (info.name.rfind("Wave", 0) == 0) {  // wavenet.c: rows of one worker; a draw looks at sums and a tile's classes
    if (info.name == "WaveChoose")
      return v("greedy") != 0 ? CostFeatures{0, v("rows") * v("tiles")} : CostFeatures{v("tiles") + v("rows"), 0};
    const double rows = info.field("skips") != nullptr ? v("units") + v("skips") : v("units") * v("rows");
    return {0, info.multi ? std::ceil(rows / 6) : rows};
  }
  if (info.field("share") != nullptr) {  // one worker's part of a recurrent product: four rows a group
    const double products = v("groups") * v("batch");
    return {products, products * std::min(v("share"), v("vectors"))};
  }
  if (info.field("pitch") != nullptr) {  // a worker's cells
    const bool together = info.name.rfind("Lstm", 0) == 0;
    return {0, together ? std::ceil(v("batch") * v("units") / 6) : v("batch") * std::ceil(v("units") / 6)};
  }
  if (info.field("c_share") != nullptr) return {0, v("positions")};  // a set of an AMP vertex
  if (info.field("half_bytes") != nullptr) {  // sums of products where they stand: a slot's segments and groups
    const double slots = std::max(1.0, 6 / std::max(1.0, v("halves")));
    return {std::ceil((v("segments") - slots - 1) / 2 / slots), std::ceil(v("groups") / slots) * (2 + v("parts"))};
  }
  if (info.name.rfind("VectorSums", 0) == 0) {
    const double rows = std::ceil(v("rows") / 6);
    return {rows, rows * v("parts")};
  }
  if (info.name == "PartPick_i32") return {0, std::ceil(v("rows") / 6)};
  if (info.name.rfind("Interleave", 0) == 0) return {0, std::ceil(v("positions") / 6)};
  if (info.field("taps") != nullptr) {  // windows: a worker's vectors, or pairs of them
    const auto shift = static_cast<unsigned>(v("shift"));
    const bool pairs = shift > 0 && info.name.rfind("WindowMax", 0) == 0;
    const double units = std::ceil(v("count") * static_cast<double>(1U << (pairs ? shift - 1 : shift)) / 6);
    return {units, units * v("taps")};
  }
  if (info.field("runs") != nullptr) {  // zeros in runs: a worker's part
    const double runs = std::ceil(v("runs") / 6);
    return {runs, runs * v("blocks")};
  }
  // Index codelets and pooling: a worker's part.
  if (info.field("extent") != nullptr) return {v("indices"), v("indices") * v("columns")};
  if (info.field("depth") != nullptr) {
    const double n = std::ceil(v(info.field("indices") != nullptr ? "indices" : "y") / 6);
    return {n, n * v("depth")};
  }
  if (info.field("blocks") != nullptr) return {v("y"), v("y") * v("blocks")};
  if (info.field("width") != nullptr) return {0, std::ceil(v("rows") / 6) * v("width")};
  if (info.field("box_w") != nullptr) return {std::ceil(v("count") / 6), std::ceil(v("count") / 6) * v("block")};
  if (info.field("axis") != nullptr) return {v("outer") * v("inner"), v("outer") * v("inner") * v("axis")};
  if (info.field("columns") != nullptr) return {v("rows"), v("rows") * v("columns")};
  if (info.field("n3") != nullptr) return {v("n0") * v("n1") * v("n2"), v("n0") * v("n1") * v("n2") * v("n3")};
  double items = 0;
  for (const auto& field : info.fields)
    if (field.is_span() && !(info.amp && field.name == "offsets")) items = std::max(items, v(field.name.c_str()));
  return {0, items};
}

const std::vector<CodeletCost>& codelet_costs() {
  static const std::vector<CodeletCost> table = {
#include "host/codelets/costs.inc"
  };
  return table;
}

std::uint32_t amp_sets(const CodeletInfo& info, const std::uint8_t* state) {
  return info.amp ? static_cast<std::uint32_t>(number(info, state, "offsets", 1)) : 1;
}

std::uint64_t estimate_slots(const CodeletInfo& info, const std::uint8_t* state) {
  const auto& table = codelet_costs();
  const auto it = std::lower_bound(table.begin(), table.end(), info.name,
                                   [](const CodeletCost& c, const std::string& name) { return c.name < name; });
  const bool known = it != table.end() && it->name == info.name;
  const CodeletCost cost = known ? *it : CodeletCost{info.name, 20, 8, 8};
  const auto features = cost_features(info, state);
  const double slots = cost.fixed + cost.per_round * features.rounds + cost.per_item * features.items;
  return static_cast<std::uint64_t>(std::max(1.0, std::round(slots))) * amp_sets(info, state);
}

}  // namespace tessera
