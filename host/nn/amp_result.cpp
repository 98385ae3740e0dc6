// Results of products on the AMP unit (amp_result.h).
#include "host/nn/amp_result.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

#include "host/nn/copy_list.h"
#include "host/nn/extent.h"

namespace tessera::nn {

using graph::Tensor;
using graph::TileInterval;
using graph::TileMembers;
using graph::Type;
using graph::VertexId;

namespace {

using Index = std::int64_t;

graph::VariableId variable(const Tensor& tensor) { return tensor.boxes().at(0).variable; }

/// Groups of the result that follow each other there and among the sums.
struct Run {
  Index y = 0;    ///< first group of the result: block of channels x positions + position
  Index own = 0;  ///< its first sums, in sums of eight channels: within those of a tile, or what was brought
  Index count = 0;
};

/// What a tile finishes.
struct Share {
  Index tile = 0, groups = 0;
  Index first_tile = 0, part = 0;  ///< tiles with its sums begin there; which of them it is itself (local)
  std::vector<Run> runs;
  Index terms = 0, brought = 0;  ///< its first element and its elements of what is brought
};

class AmpResult {
 public:
  AmpResult(Builder& builder, const AmpProduct& product, const AmpPlan& plan, const Tensor& sums,
            const std::string& name)
      : builder_(builder),
        graph_(builder.graph()),
        p_(product),
        t_(product.task),
        plan_(plan),
        sums_(sums),
        name_(name),
        field_positions_(t_.images * t_.out_h * t_.out_w),
        tile_sums_(plan.groups * plan.out_sets * plan.sum_positions()) {
    const Index channels = t_.out_channels * (p_.groups_are_channels ? t_.groups : 1);
    block_ = static_cast<Index>(result_block(p_.result_type(), u(channels)));
    halves_ = block_ / 8;
    blocks_ = ceil_div(channels, block_);
    positions_ = field_positions_ * (p_.groups_are_channels ? 1 : t_.groups);
  }

  HomeLayout run() {
    plan_.local ? share_in_place() : share_equally();
    bring();
    HomeLayout addend;
    if (p_.addend) addend = addend_beside();
    const auto set = graph_.add_compute_set(name_ + " finish");
    std::map<std::tuple<Index, std::vector<std::uint32_t>, Index>, std::vector<const Share*>> alike;
    for (const Share& share : shares_) alike[{share.groups, segments(share), bias_rows(share)}].push_back(&share);
    for (const auto& [key, members] : alike) {
      // Fields are views of many pieces, which each member searches: families are kept small.
      const std::size_t most = std::max<std::size_t>(1, 512 / members[0]->runs.size());
      for (std::size_t i = 0; i < members.size(); i += most)
        finish(set,
               std::vector<const Share*>(
                   members.begin() + static_cast<std::ptrdiff_t>(i),
                   members.begin() + static_cast<std::ptrdiff_t>(std::min(members.size(), i + most))),
               std::get<1>(key), std::get<2>(key), addend);
    }
    builder_.execute(set);
    return y_;
  }

 private:
  /// Shares of the tiles that hold the same block of the result, for each such block; y_ mapped so.
  void share_in_place() {
    const Index parts = plan_.in_parts;
    for (Index field = 0; field < plan_.field_blocks(); ++field)
      for (Index group = 0; group < plan_.group_blocks; ++group)
        for (Index out = 0; out < plan_.out_blocks; ++out) {
          const std::vector<Run> runs = runs_of(field, group, out);
          Index total = 0;
          for (const Run& run : runs) total += run.count;
          const Index first_tile = field * plan_.splits() + (group * plan_.out_blocks + out) * parts;
          const Index each = ceil_div(total, parts);
          std::size_t at = 0;
          Index done = 0;  // of runs[at]
          for (Index part = 0; part < parts && at < runs.size(); ++part) {
            Share share;
            share.tile = first_tile + part;
            share.first_tile = first_tile;
            share.part = part;
            while (share.groups < each && at < runs.size()) {
              const Index count = std::min(each - share.groups, runs[at].count - done);
              share.runs.push_back({runs[at].y + done, runs[at].own + done, count});
              share.groups += count;
              done += count;
              if (done == runs[at].count) ++at, done = 0;
            }
            shares_.push_back(std::move(share));
          }
        }
    std::vector<TileInterval> mapping;
    for (const Share& share : shares_)
      for (const Run& run : share.runs)
        mapping.push_back({u(run.y * block_), u((run.y + run.count) * block_), static_cast<std::uint32_t>(share.tile)});
    std::sort(mapping.begin(), mapping.end(),
              [](const TileInterval& a, const TileInterval& b) { return a.begin < b.begin; });
    place_result(mapping);
  }

  /// The result's variable: that of an addend which dies and lies so, or a new one.
  void place_result(const std::vector<TileInterval>& mapping) {
    if (const auto addend = addend_on(mapping); addend && p_.addend->dies) {
      y_ = *addend;
      return;
    }
    y_ = unmapped_home(name_);
    map_intervals(y_.variable, mapping);
  }

  [[nodiscard]] HomeLayout unmapped_home(const std::string& name) const {
    const Tensor tensor = graph_.add_variable(p_.result_type(), {u(blocks_), u(positions_), u(block_)}, name);
    return {variable(tensor), u(block_), u(blocks_), u(positions_)};
  }
  void map_intervals(graph::VariableId id, const std::vector<TileInterval>& mapping) {
    const Tensor flat = builder_.flat(id);
    for (const TileInterval& i : mapping) graph_.map(flat.slice(i.begin, i.end), i.tile);
  }

  /// What tiles of this block hold of the result, in the order of its elements.
  [[nodiscard]] std::vector<Run> runs_of(Index field, Index group_block, Index out_block) const {
    std::vector<Run> runs;
    const Index outs = std::min(plan_.out_sets, t_.out_sets() - out_block * plan_.out_sets);
    const Index groups = std::min(plan_.groups, t_.groups - group_block * plan_.groups);
    const auto add = [&](Index g, Index o) {
      const Index group = group_block * plan_.groups + g, set = out_block * plan_.out_sets + o;
      const Index channel_block = ((p_.groups_are_channels ? group * t_.out_sets() : 0) + set) / halves_;
      const Index first = channel_block * positions_ + (p_.groups_are_channels ? 0 : group * field_positions_);
      add_field(runs, field, first, (g * plan_.out_sets + o) * plan_.sum_positions());
    };
    if (p_.groups_are_channels) {
      for (Index g = 0; g < groups; ++g)
        for (Index o = 0; o < outs; o += halves_) add(g, o);
    } else {
      for (Index o = 0; o < outs; o += halves_)
        for (Index g = 0; g < groups; ++g) add(g, o);
    }
    return runs;
  }

  /// The block of the field, row by row; `y` and `own` are those of the field's first position and of the block's.
  void add_field(std::vector<Run>& runs, Index field, Index y, Index own) const {
    const Index column = field % plan_.column_blocks * plan_.columns,
                row = field / plan_.column_blocks % plan_.row_blocks * plan_.rows,
                image = field / (plan_.row_blocks * plan_.column_blocks) * plan_.images;
    const Index columns = std::min(plan_.columns, t_.out_w - column);
    for (Index i = 0; i < plan_.images && image + i < t_.images; ++i)
      for (Index r = 0; r < plan_.rows && row + r < t_.out_h; ++r) {
        const Run run{y + ((image + i) * t_.out_h + row + r) * t_.out_w + column,
                      own + (i * plan_.plane_rows + r) * plan_.pitch, columns};
        const bool joined = !runs.empty() && runs.back().y + runs.back().count == run.y &&
                            runs.back().own + runs.back().count == run.own && run.y % positions_ != 0;
        if (joined)
          runs.back().count += columns;
        else
          runs.push_back(run);
      }
  }

  /// Equal shares of a home layout; everything is brought: [parts][halves][groups][8].
  void share_equally() {
    graph::Graph other(graph_.tiles());  // for the mapping alone
    const HomeLayout shape = make_home(other, p_.result_type(), u(block_), u(blocks_), u(positions_), name_);
    const std::vector<TileInterval> mapping = other.variable(shape.variable).mapping;
    place_result(mapping);
    for (const TileInterval& interval : mapping) {
      Share share;
      share.tile = interval.tile;
      const Index begin = static_cast<Index>(interval.begin) / block_, end = static_cast<Index>(interval.end) / block_;
      share.groups = end - begin;
      for (Index at = begin; at < end;) {
        const Index stop = std::min(end, (at / positions_ + 1) * positions_);
        share.runs.push_back({at, at - begin, stop - at});
        at = stop;
      }
      shares_.push_back(std::move(share));
    }
  }

  /// Sums of other tiles to where they are added.
  void bring() {
    const Index parts = plan_.local ? plan_.in_parts - 1 : plan_.in_parts;
    if (parts == 0) return;
    Index total = 0;
    for (Share& share : shares_) {
      share.terms = total;
      share.brought = parts * halves_ * share.groups * 8;
      total += share.brought;
    }
    terms_ = graph_.add_variable(Type::f32, {u(total)}, name_ + " terms");
    CopyList copies;
    for (const Share& share : shares_) {
      graph_.map(terms_.slice(u(share.terms), u(share.terms + share.brought)), static_cast<unsigned>(share.tile));
      Index target = share.terms;
      for (Index part = 0; part < plan_.in_parts; ++part) {
        if (plan_.local && part == share.part) continue;
        for (Index half = 0; half < halves_; ++half)
          for (const Run& run : share.runs) {
            plan_.local ? add_run(copies, share.first_tile + part, half, run, target)
                        : add_groups(copies, part, half, run, target);
            target += run.count * 8;
          }
      }
    }
    builder_.steps().push_back(graph::Program::write_undef(terms_));
    copies.emit(builder_, variable(terms_), name_ + " sums");
  }

  void add_run(CopyList& copies, Index tile, Index half, const Run& run, Index target) const {
    copies.add(variable(sums_), (tile * tile_sums_ + run.own + half * plan_.sum_positions()) * 8, target,
               run.count * 8);
  }

  void add_groups(CopyList& copies, Index part, Index half, const Run& run, Index target) const {
    for (Index g = run.y; g < run.y + run.count; ++g, target += 8) {
      const Index channels = g / positions_ * halves_ + half;  // set of 8 in the result
      const Index position = g % positions_;
      Index group = 0, out = channels, at = position;
      if (p_.groups_are_channels && t_.groups > 1) {
        group = channels / t_.out_sets();
        out = channels % t_.out_sets();
      } else if (!p_.groups_are_channels) {
        group = position / field_positions_;
        at = position % field_positions_;
      }
      if (out >= t_.out_sets()) continue;  // padding of the last block: never looked at
      copies.add(variable(sums_), sum_of(part, group, out, at), target, 8);
    }
  }

  /// Element of `sums_` where a set's sums of a position begin.
  [[nodiscard]] Index sum_of(Index part, Index group, Index out, Index position) const {
    const Index image = position / (t_.out_h * t_.out_w), row = position / t_.out_w % t_.out_h,
                column = position % t_.out_w;
    const Index field =
        (image / plan_.images * plan_.row_blocks + row / plan_.rows) * plan_.column_blocks + column / plan_.columns;
    const Index split = (group / plan_.groups * plan_.out_blocks + out / plan_.out_sets) * plan_.in_parts + part;
    const Index tile = field * plan_.splits() + split;
    const Index flat =
        (image % plan_.images * plan_.plane_rows + row % plan_.rows) * plan_.pitch + column % plan_.columns;
    const Index set = group % plan_.groups * plan_.out_sets + out % plan_.out_sets;
    return (tile * tile_sums_ + set * plan_.sum_positions() + flat) * 8;
  }

  /// The addend's layout, if it lies as the result does.
  [[nodiscard]] std::optional<HomeLayout> addend_on(const std::vector<TileInterval>& mapping) const {
    if (!p_.addend) return std::nullopt;
    const auto found = find_home(graph_, p_.addend->view, p_.addend->channel_axis);
    const bool alike = found && found->block == u(block_) && found->blocks == u(blocks_) &&
                       found->positions == u(positions_) && graph_.variable(found->variable).mapping == mapping;
    return alike ? found : std::nullopt;
  }

  /// The addend on the tiles of the result, by a copy unless it lies so.
  HomeLayout addend_beside() {
    const std::vector<TileInterval> mapping = graph_.variable(y_.variable).mapping;  // variables are added
    if (const auto found = addend_on(mapping)) return *found;
    const Tensor& view = p_.addend->view;
    const HomeLayout home = unmapped_home(name_ + " addend");
    map_intervals(home.variable, mapping);
    builder_.copy(view, home_view(p_.result_type(), home, view.shape(), p_.addend->channel_axis), name_ + " addend");
    return home;
  }

  // Vertices.

  [[nodiscard]] Index bias_row(const Share& share, const Run& run) const {
    return run.y / positions_ - share.runs[0].y / positions_;
  }
  [[nodiscard]] Index bias_rows(const Share& share) const { return bias_row(share, share.runs.back()) + 1; }

  /// What each worker does (firmware/codelets/amp.c).
  [[nodiscard]] std::vector<std::uint32_t> segments(const Share& share) const {
    const Index slots = 6 / halves_, each = ceil_div(share.groups, slots);
    std::vector<std::uint32_t> heads, words;
    std::size_t at = 0;
    Index done = 0;  // of runs[at]
    for (Index slot = 0; slot <= slots; ++slot) {
      const Index first = std::min(share.groups, slot * each);
      heads.push_back(static_cast<std::uint32_t>(first << 16) |
                      static_cast<std::uint32_t>(u(slots + 1) + words.size()));
      for (Index left = std::min(each, share.groups - first); left > 0 && slot < slots;) {
        const Run& run = share.runs[at];
        const Index count = std::min(left, run.count - done);
        words.push_back(static_cast<std::uint32_t>(run.own + done) << 16 | static_cast<std::uint32_t>(count));
        words.push_back(static_cast<std::uint32_t>(16 + bias_row(share, run) * block_ * 4));
        left -= count;
        done += count;
        if (done == run.count) ++at, done = 0;
      }
    }
    heads.insert(heads.end(), words.begin(), words.end());
    return heads;
  }

  void finish(graph::ComputeSetId set, const std::vector<const Share*>& members,
              const std::vector<std::uint32_t>& segments, Index rows, const HomeLayout& addend) {
    std::vector<TileMembers> tiles;
    for (const Share* share : members) tiles.push_back({static_cast<std::uint32_t>(share->tile), 1});
    const std::string type(graph::name_of(p_.result_type()));
    const VertexId vertex = graph_.add_family(set, (p_.addend ? "AmpResultAdd_" : "AmpResult_") + type, tiles, name_);
    const Index groups = members[0]->groups, part = halves_ * groups * 8;
    const Tensor own = plan_.local
                           ? rows_of(members, [&](const Share& s) { return sums_.slice(u(s.tile), u(s.tile + 1)); })
                           : rows_of(members, [&](const Share& s) { return brought(s, 0, part); });
    graph_.connect(vertex, "own", own);
    const Index further = plan_.in_parts - 1;
    graph_.connect(vertex, "terms", further == 0 ? own : rows_of(members, [&](const Share& s) {
                     return brought(s, s.brought - further * part, s.brought);
                   }));
    graph_.connect(vertex, "bias", bias_of(members, rows));
    graph_.connect(vertex, "y", rows_of(members, [&](const Share& s) { return of_result(s, y_); }));
    if (p_.addend)
      graph_.connect(vertex, "addend", rows_of(members, [&](const Share& s) { return of_result(s, addend); }));
    std::vector<std::uint8_t> bytes(segments.size() * 4);
    std::memcpy(bytes.data(), segments.data(), bytes.size());
    const Tensor table = graph_.add_repeated_constant(Type::u32, {segments.size()}, std::move(bytes), members.size(),
                                                      name_ + " segments");
    for (std::size_t k = 0; k < members.size(); ++k) graph_.map(table[k], static_cast<unsigned>(members[k]->tile));
    graph_.connect(vertex, "segments", table);
    const auto value = [&](const char* field, Index v) {
      graph_.set_affine(vertex, field, static_cast<std::uint32_t>(v), 0);
    };
    value("groups", groups);
    value("parts", further);
    value("halves", halves_);
    value("half_bytes", (plan_.local ? plan_.sum_positions() : groups) * 32);
    value("mode", static_cast<Index>(p_.limits.mode));
    const Index slots = 6 / halves_, runs = ceil_div(static_cast<Index>(members[0]->runs.size()), slots);
    graph_.set_cycles(vertex, 6 * u(kAmpFinish.slots(runs, ceil_div(groups, slots), further, p_.addend.has_value())));
  }

  template <typename F>
  Tensor rows_of(const std::vector<const Share*>& members, F row) const {
    std::vector<Tensor> rows;
    for (const Share* share : members) rows.push_back(row(*share));
    return rows.size() == 1 ? rows[0] : Tensor::concat(rows, 0);
  }
  [[nodiscard]] Tensor brought(const Share& share, Index begin, Index end) const {
    return terms_.slice(u(share.terms + begin), u(share.terms + end)).reshape({1, u(end - begin)});
  }
  [[nodiscard]] Tensor of_result(const Share& share, const HomeLayout& home) const {
    const Tensor flat = builder_.flat(home.variable);
    std::vector<Tensor> parts;
    for (const Run& run : share.runs) parts.push_back(flat.slice(u(run.y * block_), u((run.y + run.count) * block_)));
    const Tensor whole = parts.size() == 1 ? parts[0] : Tensor::concat(parts);
    return whole.reshape({1, u(share.groups * block_)});
  }

  /// Limits, then the bias of the channel blocks that a share has; 0 where there is none. A row a member.
  Tensor bias_of(const std::vector<const Share*>& members, Index rows) {
    std::vector<float> bias;
    for (const Share* share : members) {
      bias.insert(bias.end(), {p_.limits.lowest, p_.limits.lowest, p_.limits.highest, p_.limits.highest});
      const Index first = share->runs[0].y / positions_ * block_;
      for (Index c = first; c < first + rows * block_; ++c)
        bias.push_back(c < static_cast<Index>(p_.bias.size()) ? p_.bias[u(c)] : 0.0F);
    }
    const Tensor row =
        graph_.add_constant(Type::f32, {members.size(), bias.size() / members.size()}, bias, name_ + " bias");
    for (std::size_t k = 0; k < members.size(); ++k) graph_.map(row[k], static_cast<unsigned>(members[k]->tile));
    return row;
  }

  Builder& builder_;
  graph::Graph& graph_;
  const AmpProduct& p_;
  const AmpTask& t_;
  const AmpPlan& plan_;
  const Tensor& sums_;
  const std::string& name_;
  Index field_positions_, tile_sums_;  ///< of all the field; of a tile, in sums of eight channels
  Index block_ = 8, halves_ = 1, blocks_ = 1, positions_ = 1;
  HomeLayout y_;
  std::vector<Share> shares_;
  Tensor terms_;
};

}  // namespace

HomeLayout lower_amp_result(Builder& builder, const AmpProduct& product, const AmpPlan& plan, const Tensor& sums,
                            const std::string& name) {
  return AmpResult(builder, product, plan, sums, name).run();
}

}  // namespace tessera::nn
