// Weights of what supervisors do, and exchange tables for a tile that plays alone.
#include "verif/random/tile_writer.h"

#include <algorithm>

#include "hw/generated/machine.h"
#include "tlm/tile/assembler.h"
#include "verif/random/image.h"
#include "verif/random/values.h"

namespace tessera::random {

using isa::Op;
using testing::i;
using testing::r;
using testing::sync;

TileWriter::TileWriter(const ProgramOptions& options)
    : options_(options), random_(options.seed * 0x9e3779b97f4a7c15u + 1) {}

/// Workers; one tile of `handlers` has no trap handlers.
void TileWriter::begin(unsigned handlers) {
  recipe_.options = options_;
  recipe_.exchange_seed = random_();
  recipe_.underrun = pick(3) == 0;
  handlers_ = pick(handlers) != 0;
  edge_owner_ = pick(8);
  do shared_ = 1 + pick(6);
  while (shared_ == edge_owner_);
  for (unsigned w = 1; w < 7; ++w) worker(w);
}

Recipe TileWriter::write() {
  begin(5);
  for (unsigned t = 0; t < kTableCount; ++t) recipe_.tables.push_back(table());
  Writer w = writer(0);
  // Bases near the supervisor's data, so that descriptors with any base stay in their halves of it.
  auto& code = prologue({data_of(0) + 4 * pick(64), data_of(0) + 4 * pick(64), data_of(0) + 4 * pick(64)});
  for (unsigned round = 4 + pick(10); round-- > 0;) {
    for (Node& node : w.body(pick(5))) code.push_back(std::move(node));
    for (Node& node : action(w)) code.push_back(std::move(node));
  }
  recipe_.data = biased_words(random_, kDataWords);
  return std::move(recipe_);
}

std::vector<Node>& TileWriter::prologue(const std::array<std::uint32_t, 3>& xbase) {
  ContextRecipe& context = recipe_.contexts[0];
  context.handler = handlers_;
  auto& code = context.code;
  code.push_back(Writer::constant(8, data_of(0) + 0x800));
  for (const auto& [number, value] : {std::pair<unsigned, std::uint32_t>{csr::xwstack, kData + 0x6000 + 8 * pick(64)},
                                      {csr::xwstksz, 16 * pick(8)},
                                      {csr::xbase1, xbase[0]},
                                      {csr::xbase2, xbase[1]},
                                      {csr::xbase3, xbase[2]},
                                      {csr::xsource, pick(3)}}) {
    Node node = Writer::constant(28, value);
    node.words.push_back(i(Op::csrrw, 0, 28, static_cast<std::int32_t>(number)));
    code.push_back(std::move(node));
  }
  return code;
}

Writer TileWriter::writer(unsigned context) {
  WriterOptions o;
  o.kind = context == 0 ? WriterOptions::Kind::supervisor : WriterOptions::Kind::worker;
  o.subset = options_.subset;
  o.wild = options_.races;
  o.owns_edge = edge_owner_ == context;
  o.reads_edge = edge_owner_ == context || edge_owner_ == 7;
  o.shared = context == shared_;
  o.sram_end = kEnd;
  return Writer(random_, o);
}

void TileWriter::worker(unsigned w) {
  Writer writer = this->writer(w);
  ContextRecipe& context = recipe_.contexts[w];
  context.lead = pick(3);
  context.handler = handlers_;
  auto& code = context.code;
  if (options_.races) {
    code.push_back(Writer::constant(8, data_of(1 + pick(2)) + 0x800));
  } else {  // by the worker's number in tp: any worker may run it
    Node base = Writer::constant(8, data_of(1) + 0x800);
    base.words.push_back(i(Op::slli, 28, 4, 12));
    base.words.push_back(r(Op::add, 8, 8, 28));
    code.push_back(std::move(base));
  }
  for (unsigned k = 0; k < 12; ++k)
    code.push_back(Node(i(Op::flw, pick(32), 8, 4 * static_cast<std::int32_t>(pick(400)))));
  for (unsigned k = 0; k < 4; ++k)
    code.push_back(Node(i(Op::lw, writer.reg(), 8, 4 * static_cast<std::int32_t>(pick(400)))));
  for (Node& node : writer.body(5 + pick(options_.items))) code.push_back(std::move(node));
  if (pick(2) == 0) {
    for (Node& node : writer.dump()) code.push_back(std::move(node));
  }
  // A plain return goes to the stub in ra.
  code.push_back(Node(pick(3) == 0 ? i(Op::jalr, 0, 1, 0) : r(Op::x_exit, 0, pick(3) == 0 ? 10 : 0)));
}

/// Descriptors that mostly keep the rules; some start too early, reach outside, name what is not there or are cut.
TableRecipe TileWriter::table() {
  TableRecipe table;
  edge_receives_ = pick(2) != 0;
  descriptors(table.sends, false);
  descriptors(table.receives, true);
  return table;
}

void TileWriter::descriptors(std::vector<std::vector<std::uint64_t>>& out, bool receive) {
  const auto between = [this](int low, int high) { return low + static_cast<int>(pick(high - low + 1)); };
  Cycle t = pick(3) == 0 ? 12 + 6 * pick(8) : 12 + 6 * 40;  // x.exchange stands near its release, not always
  if (pick(6) == 0) t = 12;
  const bool early = pick(12) == 0, tight = pick(3) == 0;
  for (unsigned n = pick(5); n-- > 0;) {
    const unsigned words = pick(3) == 0 ? 1 : pick(12) == 0 ? 16 + pick(8) : 1 + pick(12);
    const bool block = pick(3) == 0, sweep = receive && !block && pick(3) == 0, two = block || sweep;
    // What is sent and what is received never overlap: a rule of docs/machine/exchange.md.
    const Address half = receive ? 0x200 : 0;
    ExchangeDescriptor d;
    d.kind = pick(100) == 0 ? 3 : block ? 1 : sweep ? 2 : 0;
    d.base = pick(4) == 0 ? 1 + pick(3) : 0;
    d.start = early ? t / 4 : t;
    d.words = words;
    d.address = half + 0x80 + pick(d.base != 0 ? 64 : 0x100) + (d.base != 0 ? 0 : (data_of(0) - kSramBase) / 4);
    if (receive == edge_receives_ && pick(20) == 0) {  // outside, or running out; not both lists: see above
      d.base = 0;
      d.address = pick(2) == 0 ? 0x3ffff : Program::kSramBytes / 4 - pick(words);
    }
    d.peer = receive ? (pick(16) == 0 ? 0xfff : pick(50) == 0 ? 3 + pick(100) : pick(3)) : pick(2);
    std::vector<std::uint64_t> descriptor;
    Cycle length = words;
    std::uint64_t second = 0;
    if (block) {
      ExchangeBlock b;
      b.stride1 = between(-3, static_cast<int>(words) + 3);
      b.count1 = pick(12) == 0 ? 0 : 1 + pick(3);
      b.stride2 = between(-60, 63);
      b.count2 = pick(20) == 0 ? 0 : 1 + pick(2);
      second = b.pack();
      length = static_cast<Cycle>(words) * b.count1 * b.count2;
    } else if (sweep) {
      ExchangeSweep w;
      w.count = pick(10) == 0 ? 0 : 1 + pick(3);
      w.wrap = pick(3) == 0 ? 0 : 3;
      w.step = between(-1, 1);
      if (w.wrap == 0 && pick(8) != 0) w.step = 1, d.peer = 0;
      if (d.peer == 0xfff) d.peer = 2;
      w.stride = between(-12, static_cast<int>(words) + 4);
      second = w.pack();
      length = static_cast<Cycle>(words) * w.count;
    }
    descriptor.push_back(d.pack());
    const bool cut = two && n == 0 && pick(12) == 0;  // the last one of its list
    if (two && !cut) descriptor.push_back(second);
    out.push_back(std::move(descriptor));
    if (tight && pick(10) == 0) length -= std::min<Cycle>(length, 1 + pick(2));  // the next one comes too early
    t += std::max<Cycle>(length, tight ? 2 : 4) + (tight ? pick(3) : pick(20));
  }
}

Node TileWriter::delay() {
  return Node({i(Op::addi, 7, 0, static_cast<std::int32_t>(pick(40))), r(Op::x_delay, 0, 7)});
}

Node TileWriter::start(unsigned worker, unsigned target, unsigned skew) {
  return Node(Node::Kind::run, {r(Op::x_run, target, 5, 10, 11)}, {}, skew, worker);
}

Node TileWriter::weights() {
  const Address at = pick(20) == 0   ? kEnd - 16 * pick(17)
                     : pick(20) == 0 ? kData + 4 * pick(64)
                     : pick(20) == 0 ? kSramBase - 16
                                     : kData + 16 * pick(0x780 - 16);
  Node node = Writer::constant(28, at);
  for (unsigned n = 1 + pick(2); n-- > 0;) node.words.push_back(r(Op::x_amp_ldw, pick(4) == 0 ? 0 : 28, 28));
  return node;
}

std::vector<Node> TileWriter::action(Writer& w) {
  const unsigned target = 1 + pick(6);
  std::vector<Node> nodes;
  switch (pick(14)) {
    case 0:
      nodes.push_back(Node(sync(6, w.reg(), 0)));
      break;
    case 1:
      nodes.push_back(Node(sync(6, w.reg(), 2 + pick(3))));  // the second group is not this IPU's
      break;
    case 2:
    case 3:
      if (pick(4) == 0) {  // x.exchange in the cycle of the release
        nodes.push_back(
            Node(Node::Kind::table, {sync(6, w.reg(), 1), r(Op::x_exchange, 0, 5)}, {}, 0, pick(kTableCount)));
        break;
      }
      if (pick(8) != 0) nodes.push_back(Node(sync(6, w.reg(), 1)));
      if (pick(3) == 0) nodes.push_back(delay());
      if (pick(4) == 0) nodes.push_back(start(target, target));
      for (unsigned k = pick(3) == 0 ? 2 : 1; k-- > 0;) {
        if (pick(8) == 0) {
          nodes.push_back(Node({i(Op::addi, 5, 0, pick(3) == 0 ? 8 : 0), r(Op::x_exchange, 0, 5)}));
        } else {
          nodes.push_back(
              Node(Node::Kind::table, {r(Op::x_exchange, 0, 5)}, {}, pick(20) == 0 ? 4 : 0, pick(kTableCount)));
        }
      }
      break;
    case 4:
      nodes.push_back(delay());
      break;
    case 5:
      nodes.push_back(start(shared_, pick(3) == 0 ? target : 7));
      break;
    case 6:  // several at once, close together
      for (unsigned k = 1; k < 7; ++k) {
        if (pick(4) == 0) nodes.push_back(delay());
        nodes.push_back(start(k, k));
      }
      break;
    case 7:
      nodes.push_back(Node(r(Op::x_packet, 0, 0)));
      break;
    case 8:
      nodes.push_back(Node(i(Op::csrrs, w.reg(), 0, csr::xwstat)));
      break;
    case 9:
    case 10:
      if (in_subset(options_.subset, Op::x_amp_ldw)) nodes.push_back(weights());
      break;
    default:
      nodes.push_back(start(target, target, pick(60) == 0 ? 2 : 0));
  }
  return nodes;
}

Recipe TileWriter::write_for_network(const std::vector<Superstep>& steps, unsigned tile,
                                     const std::array<std::uint32_t, 3>& xbase) {
  begin(40);
  recipe_.underrun = false;
  Writer w = writer(0);
  auto& code = prologue(xbase);
  for (std::size_t n = 0; n < steps.size(); ++n) {
    const Superstep& step = steps[n];
    for (Node& node : w.body(pick(4))) code.push_back(std::move(node));
    for (unsigned k = pick(3); k-- > 0;) {
      for (Node& node : local_action(w)) code.push_back(std::move(node));
    }
    recipe_.tables.push_back(step.tables[tile]);
    // From the release on every cycle is known: nothing runs, each instruction takes six.
    Node phase(Node::Kind::table, {}, {}, 0, static_cast<std::uint32_t>(n));
    testing::load_constant(phase.words, 28, step.xsource[tile]);
    phase.words.push_back(i(Op::csrrw, 0, 28, csr::xsource));
    phase.words.push_back(sync(6, w.reg(), static_cast<unsigned>(step.zone)));
    for (unsigned k = 0; k < step.gap[tile]; ++k) phase.words.push_back(testing::nop());
    phase.words.push_back(r(step.packets ? Op::x_packet : Op::x_exchange, 0, 5));
    code.push_back(std::move(phase));
    if (step.packets && step.late[tile]) {  // workers that run when x.packet comes: it waits for them
      auto& words = code.back().words;
      words.pop_back();
      const unsigned w = 1 + pick(6);
      code.push_back(start(w, w));
      code.push_back(Node(Node::Kind::table, {r(Op::x_packet, 0, 5)}, {}, 0, static_cast<std::uint32_t>(n)));
    }
  }
  code.push_back(Node(sync(6, w.reg(), 1)));  // all stand here when the network has ended
  recipe_.data = biased_words(random_, kDataWords);
  return std::move(recipe_);
}

/// What concerns no other tile.
std::vector<Node> TileWriter::local_action(Writer& w) {
  const unsigned target = 1 + pick(6);
  std::vector<Node> nodes;
  switch (pick(6)) {
    case 0:
      nodes.push_back(Node(sync(6, w.reg(), 0)));
      break;
    case 1:
      nodes.push_back(delay());
      break;
    case 2:
      nodes.push_back(start(shared_, 7));
      break;
    case 3:
      if (in_subset(options_.subset, Op::x_amp_ldw)) nodes.push_back(weights());
      break;
    default:
      nodes.push_back(start(target, target));
  }
  return nodes;
}

}  // namespace tessera::random
