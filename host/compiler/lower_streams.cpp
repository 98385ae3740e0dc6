// Host streams: which words of the host buffer each tile reads or writes (in order of tiles, so placed that their
// packets are few).
#include <algorithm>
#include <map>

#include "host/compiler/copy_plan.h"
#include "host/compiler/lower.h"

namespace tessera::compiler {

namespace {

/// Where in a buffer that is filled up to `end` a tile's `bytes` go: behind, or at the next boundary at which packets
/// of the host's bus are cut if they would take one packet more.
std::uint64_t packed(std::uint64_t end, std::uint64_t bytes) {
  constexpr std::uint64_t kCut = 256;
  if (bytes == 0) return end;
  const std::uint64_t packets = (end + bytes - 1) / kCut - end / kCut + 1;
  return packets > (bytes + kCut - 1) / kCut ? (end + kCut - 1) / kCut * kCut : end;
}

}  // namespace

StreamLowering::StreamLowering(Ir& ir, const CodeletLibrary& library)
    : ir_(ir), library_(library), tensors_(ir.graph.streams().size()), buffers_(ir.graph.streams().size()) {
  ir_.streams.resize(ir.graph.streams().size());
  for (const graph::Entry& e : ir.graph.entries()) scan(e.program);
  for (const graph::Function& f : ir.graph.functions()) scan(f.body);
}

void StreamLowering::scan(const graph::Program& program) {
  using graph::Program;
  if (const auto* s = std::get_if<Program::Sequence>(&program.node())) {
    for (const Program& step : s->steps) scan(step);
  } else if (const auto* r = std::get_if<Program::Repeat>(&program.node())) {
    scan(*r->body);
  } else if (const auto* w = std::get_if<Program::RepeatWhile>(&program.node())) {
    scan(*w->condition);
    scan(*w->body);
  } else if (const auto* i = std::get_if<Program::If>(&program.node())) {
    scan(*i->then_branch);
    scan(*i->else_branch);
  } else if (const auto* c = std::get_if<Program::Switch>(&program.node())) {
    for (const Program& one : c->cases) scan(one);
    scan(*c->fallback);
  } else if (const auto* in = std::get_if<Program::StreamIn>(&program.node())) {
    note(in->stream.index, in->dst);
  } else if (const auto* out = std::get_if<Program::StreamOut>(&program.node())) {
    note(out->stream.index, out->src);
  }
}

void StreamLowering::note(std::uint32_t stream, const graph::Tensor& tensor) {
  std::vector<graph::Tensor>& known = tensors_[stream];
  const graph::Tensor flat = tensor.flatten();
  const bool seen = std::any_of(known.begin(), known.end(), [&](const graph::Tensor& t) { return t.same_view(flat); });
  if (!seen) known.push_back(flat);
}

bool StreamLowering::direct(const graph::Tensor& tensor) const {
  bool good = true;
  for_each_piece(ir_.layout, tensor, [&](const TensorPiece& p) {
    const unsigned bytes = ir_.layout.element_bytes(p.place.variable);
    const bool dense = p.count == 1 || p.step == bytes;
    good = good && dense && p.place.offset % 4 == 0 && (p.count * bytes % 4 == 0 || p.ends);
  });
  return good;
}

void StreamLowering::lay_out(std::uint32_t stream, const graph::Tensor& tensor) {
  StreamLayout& layout = ir_.streams[stream];
  if (layout.used) return;
  layout.used = true;
  std::vector<TensorPiece> pieces;
  for_each_piece(ir_.layout, tensor, [&](const TensorPiece& p) { pieces.push_back(p); });
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const TensorPiece& a, const TensorPiece& b) { return a.place.tile < b.place.tile; });
  std::vector<std::size_t> of_piece;  // words that a piece belongs to
  for (const TensorPiece& p : pieces) {
    const unsigned bytes = ir_.layout.element_bytes(p.place.variable);
    const auto words = static_cast<std::uint32_t>((p.count * bytes + 3) / 4);
    // Words that go on in the tile and in the buffer are one descriptor.
    HostWords* last = layout.words.empty() ? nullptr : &layout.words.back();
    if (last != nullptr && last->place.tile == p.place.tile && last->place.variable == p.place.variable &&
        last->place.offset + 4 * last->words == p.place.offset) {
      last->words += words;
    } else {
      layout.words.push_back({p.place, stream, 0, words});
    }
    of_piece.push_back(layout.words.size() - 1);
  }
  for (HostWords& words : layout.words) {
    words.offset = packed(layout.bytes, 4 * std::uint64_t{words.words});
    layout.bytes = words.offset + 4 * std::uint64_t{words.words};
  }
  std::size_t before = layout.words.size();
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const unsigned bytes = ir_.layout.element_bytes(pieces[i].place.variable);
    if (of_piece[i] != before) at = layout.words[of_piece[i]].offset;
    before = of_piece[i];
    layout.layout.push_back({at, static_cast<std::int32_t>(bytes), pieces[i].begin, pieces[i].count});
    at += (pieces[i].count * bytes + 3) / 4 * 4;
  }
}

graph::Tensor StreamLowering::buffer_for(std::uint32_t stream, const graph::Tensor& tensor) {
  if (!buffers_[stream].valid()) {
    const graph::Stream& s = ir_.graph.streams()[stream];
    // On the tiles of the first tensor; intervals that a tile has one after the other are padded by the layout.
    buffers_[stream] = ir_.add_variable(s.type, s.elements, "stream " + s.name, ir_.graph.mapping(tensor));
    ir_.staging_bytes += s.elements * graph::size_of(s.type);
  }
  return buffers_[stream];
}

Node StreamLowering::lower(const std::vector<StreamUse>& uses, const std::string& path) {
  HostStep step;
  step.path = path;
  CopyList before;
  CopyList after;
  std::vector<std::uint32_t> before_kills;
  std::vector<graph::Tensor> inputs;
  for (const StreamUse& use : uses) {
    const graph::Stream& s = ir_.graph.streams()[use.stream];
    const graph::Tensor flat = use.tensor.flatten();
    graph::Tensor target = flat;
    if (tensors_[use.stream].size() > 1 || !direct(flat)) {
      target = buffer_for(use.stream, flat);
      const std::uint32_t buffer = target.boxes().front().variable.index;
      if (use.input) {
        after.emplace_back(target, flat);
        step.touch.kills.push_back(buffer);
      } else {
        before.emplace_back(flat, target);
        before_kills.push_back(buffer);
      }
    }
    lay_out(use.stream, target);
    for (const graph::Box& box : target.boxes()) {
      (use.input ? step.touch.writes : step.touch.reads).push_back(box.variable.index);
    }
    if (use.input) inputs.push_back(target);
    (use.input ? step.reads : step.writes).push_back(use.stream);
    const StreamLayout& layout = ir_.streams[use.stream];
    step.words.insert(step.words.end(), layout.words.begin(), layout.words.end());
    step.name += (step.name.empty() ? "" : ", ") + s.name;
  }
  for (const std::uint32_t v : fully_written(ir_.graph, inputs)) step.touch.kills.push_back(v);
  sort_unique(step.touch.reads);
  sort_unique(step.touch.writes);
  sort_unique(step.touch.kills);
  Node node;
  node.path = path;
  if (!before.empty()) {
    node.children.push_back(lower_copies(ir_, library_, before, before_kills, path, "to stream " + step.name));
  }
  std::vector<graph::Tensor> copied;
  for (const auto& [src, dst] : after) copied.push_back(dst);
  const std::string name = step.name;
  ir_.hosts.push_back(std::move(step));
  node.children.push_back({Node::Kind::host, path, static_cast<std::uint32_t>(ir_.hosts.size() - 1), {}, {}});
  if (!after.empty()) {
    node.children.push_back(
        lower_copies(ir_, library_, after, fully_written(ir_.graph, copied), path, "from stream " + name));
  }
  return node;
}

namespace {

bool meets_host(const Ir& ir, const Node& node) {
  if (node.kind == Node::Kind::host) return true;
  if (node.kind == Node::Kind::call && meets_host(ir, ir.functions[node.index])) return true;
  return std::any_of(node.children.begin(), node.children.end(), [&](const Node& n) { return meets_host(ir, n); });
}

/// The first host step, or the last one, if it stands in sequences alone.
std::uint32_t outermost(const Ir& ir, const Node& node, bool last) {
  if (node.kind == Node::Kind::host) return node.index;
  if (node.kind != Node::Kind::sequence) return kNone;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const Node& child = node.children[last ? node.children.size() - 1 - i : i];
    if (meets_host(ir, child)) return outermost(ir, child, last);
  }
  return kNone;
}

}  // namespace

void find_unattended(Ir& ir) {
  std::vector<unsigned> users(ir.streams.size(), 0);
  for (const HostStep& step : ir.hosts) {
    for (const std::uint32_t s : step.reads) ++users[s];
    for (const std::uint32_t s : step.writes) ++users[s];
  }
  for (const Node& entry : ir.entries) {
    for (const bool last : {false, true}) {
      const std::uint32_t index = outermost(ir, entry, last);
      if (index == kNone) continue;
      HostStep& step = ir.hosts[index];
      const std::vector<std::uint32_t>& own = last ? step.writes : step.reads;
      const std::vector<std::uint32_t>& other = last ? step.reads : step.writes;
      const bool alone = std::all_of(own.begin(), own.end(), [&](std::uint32_t s) { return users[s] == 1; });
      if (step.kind == executable::HostStep::Kind::streams && other.empty() && alone) step.unattended = true;
    }
  }
}

}  // namespace tessera::compiler
