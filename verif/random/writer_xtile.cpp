// Pieces of Xtile: post-increment accesses, streams, repeats, the matrix unit, random numbers, pairs.
#include <algorithm>

#include "tlm/tile/assembler.h"
#include "verif/random/writer.h"

namespace tessera::random {

using isa::Class;
using isa::Op;
using testing::i;
using testing::r;

namespace {
constexpr unsigned kPointer = 22, kStep = 23;
// Pointers start this near to x8 and go no further than this, in bytes; 2048 are the context's own.
constexpr std::int32_t kStart = 512, kReach = 1400;
}  // namespace

/// Around the ends of the SRAM, or where nothing is; where a store could hit only for the owner of the edge.
Address Writer::edge_address(bool store) {
  const bool edge = options_.wild || (store ? options_.owns_edge : options_.reads_edge);
  const Address end = options_.sram_end;
  switch (pick(6)) {
    case 0:
      return end + 8 * pick(3);
    case 1:
      return edge ? end - 8 - 8 * pick(2) : end;
    case 2:
      return kSramBase - 8 * (1 + pick(2));
    case 3:
      return edge ? end - 16 + pick(16) : 0xfffffff8u;
    case 4:
      return edge ? kSramBase + 8 * pick(2) : end + 8;
    default:  // constants
      return store ? kSramBase - 16 : kSramBase + 16 + 8 * pick(4);
  }
}

Node Writer::post_increment_access(std::int32_t& budget) {
  const Op op = post_ops_[pick(static_cast<unsigned>(post_ops_.size()))];
  const isa::Info& info = isa::info(op);
  const bool by_register = info.imm == isa::Imm::none;
  std::int32_t step = (static_cast<std::int32_t>(pick(33)) - 16) * 8;
  if (one_in(10)) step += static_cast<std::int32_t>(pick(8));  // the next access may be misaligned
  if (std::abs(step) > budget) step = 0;
  budget -= std::abs(step);
  const isa::Reg& data = info.imm == isa::Imm::s ? info.rs2 : info.rd;
  const unsigned f = freg() & ~(data.count - 1u);
  Node node;
  if (by_register && one_in(12)) {
    node.words.push_back(r(op, f, kPointer, kPointer));  // what follows is outside
  } else if (by_register) {
    node.words.push_back(i(Op::addi, kStep, 0, step));
    node.words.push_back(r(op, f, kPointer, kStep));
  } else if (info.imm == isa::Imm::s) {
    node.words.push_back(testing::s(op, kPointer, f, step));
  } else {
    node.words.push_back(i(op, f, kPointer, step));
  }
  if (one_in(3)) node.words.push_back(aux_word());
  return node;
}

/// A pointer and a few accesses that move it.
Node Writer::post_increment() {
  Node node;
  node.whole = true;
  std::int32_t budget = kReach;
  if (one_in(4)) {
    // Near an end of the SRAM, where a single access is tried: loads, or what the owner may do.
    const Op op = post_ops_[pick(static_cast<unsigned>(post_ops_.size()))];
    const isa::Info& info = isa::info(op);
    const bool store = op == Op::x_st64 || op == Op::x_st64_r;
    node = constant(kPointer, edge_address(store));
    const unsigned f = freg() & ~((info.imm == isa::Imm::s ? info.rs2 : info.rd).count - 1u);
    node.words.push_back(info.imm == isa::Imm::s ? testing::s(op, kPointer, f, 8)
                         : info.imm == isa::Imm::none
                             ? r(op, f, kPointer, one_in(3) ? kPointer : reg())
                             : i(op, f, kPointer, static_cast<std::int32_t>(pick(4096)) - 2048));
    return node;
  }
  std::int32_t start = (static_cast<std::int32_t>(pick(2 * kStart)) - kStart) & ~7;
  if (one_in(12)) start += 1 + static_cast<std::int32_t>(pick(7));
  node.words.push_back(i(Op::addi, kPointer, 8, start));
  for (unsigned k = 1 + pick(8); k-- > 0;) node.children.push_back(post_increment_access(budget));
  return node;
}

std::uint32_t Writer::stream_access() { return encode(stream_ops_[pick(static_cast<unsigned>(stream_ops_.size()))]); }

/// The three pointers, then accesses that step them at most `accesses` times. In a loop the accesses are its body.
Node Writer::streams(unsigned accesses, bool in_loop) {
  Node node;
  node.whole = true;
  const std::int32_t reach = kReach / 8 / static_cast<std::int32_t>(std::max(accesses, 1u));  // doublewords a step
  const auto stride = [&] {
    const std::int32_t largest = std::min(reach, 40);
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(pick(2 * largest + 1)) - largest) & 0xffffu;
  };
  bool far = false;
  for (unsigned k = 0; k < 3; ++k) {
    if (!in_loop && one_in(options_.owns_edge ? 3 : 10)) {
      const Node at = constant(kPointer, edge_address(k == 2));
      node.words.insert(node.words.end(), at.words.begin(), at.words.end());
      far = far || k == 2 || !options_.wild;
    } else {
      std::int32_t start = (static_cast<std::int32_t>(pick(2 * kStart)) - kStart) & ~7;
      if (one_in(20)) start += 1 + static_cast<std::int32_t>(pick(7));
      node.words.push_back(i(Op::addi, kPointer, 8, start));
    }
    const Node steps = constant(kStep, stride() << 16 | stride());
    node.words.insert(node.words.end(), steps.words.begin(), steps.words.end());
    node.words.push_back(r(Op::x_sset, 0, kPointer, kStep) | k << 25);
    if (one_in(3)) node.words.push_back(aux_word());  // a pair, if the address is aligned
  }
  if (in_loop) return node;
  // Near the ends of the SRAM one access only: the next could go on into what belongs to others, or into code.
  for (unsigned n = far ? 1 : accesses; n-- > 0;) {
    if (!aux_ops_.empty() && one_in(3)) {
      node.children.push_back(Node(Node::Kind::pair, {stream_access(), aux_word()}));
    } else {
      node.children.push_back(Node(stream_access()));
    }
  }
  return node;
}

/// MAIN of a pair that needs no preparation.
std::uint32_t Writer::main_word() {
  for (;;) {
    const std::uint32_t word = one_in(3) ? memory() : integer();
    const Op op = isa::decode(word);
    if (isa::info(op).klass == Class::main_) return word;
  }
}

Node Writer::pair() { return Node(Node::Kind::pair, {main_word(), aux_word()}); }

/// What may not stand in a loop, or is rare there.
Node Writer::unfit(bool last) {
  // A repeat in a repeat that is not active any more is one: two rounds of the doubleword that follows in the body.
  const std::uint32_t nested = isa::info(Op::x_rpti).match | 1 << 20 | 2 << 15;
  Node by_register(i(Op::addi, kStep, 0, 2));
  by_register.whole = true;
  switch (last ? 6 + pick(6) : pick(12)) {
    case 0:
    case 1:
      return Node(Node::Kind::pair, {nested, aux_word()});
    case 2:
      by_register.children.push_back(
          Node(Node::Kind::pair, {isa::info(Op::x_rpt).match | 1 << 20 | kStep << 15, aux_word()}));
      return by_register;
    case 3:
      return Node(testing::s(pick(2) ? Op::bne : Op::beq, 0, 0, 4));
    case 4:
      return Node(i(Op::jal, reg(), 0, 4));
    case 5:
      return Node(r(Op::x_exit, 0, 0));
    case 6:
      return Node(r(pick(2) ? Op::ecall : Op::ebreak, 0));
    case 7:
      return Node(i(Op::jalr, reg(), 0, 16));
    case 8:
      return Node(odd_word());
    default:
      return Node(i(Op::csrrs, reg(), 0, static_cast<std::int32_t>(one_in(3) ? csr::mscratch : csr::xrpt)));
  }
}

/// A hardware loop: bodies of all lengths up to 64 doublewords, counts from 0, with streams or without, rarely with
/// what ends it by a trap.
Node Writer::repeat() {
  const unsigned kind = pick(12);
  const unsigned count = one_in(8) ? 0 : one_in(5) ? 1 : one_in(10) ? 20 + pick(20) : 2 + pick(5);
  // Doublewords: mostly short, so that programs stay small; the largest now and then.
  const unsigned length = one_in(40) ? 64 : one_in(30) ? 9 + pick(20) : one_in(4) ? 1 : 1 + pick(6);
  const bool with_streams = !stream_ops_.empty() && kind < 5;
  const unsigned most = 150 / std::max(count, 1u);  // steps that keep to the context's data
  Node body;
  unsigned accesses = 0;
  for (unsigned k = 0; k < length; ++k) {
    const bool stream = with_streams && accesses < most && one_in(2);
    accesses += stream ? 1 : 0;
    const std::uint32_t main = stream ? stream_access() : main_word();
    const unsigned second = pick(6);
    std::uint32_t aux = second < 4 ? aux_word() : second == 4 ? integer() : main_word();
    body.children.push_back(Node(Node::Kind::pair, {main, aux}));
  }
  const bool returns = length < 64 && one_in(60);
  if (length < 64 && (returns || one_in(6))) {
    // mret comes first: behind a trap that has ended the loop it would go back for ever.
    const auto size = static_cast<unsigned>(body.children.size());
    const unsigned where = returns ? 0 : pick(size + 1);
    body.children.insert(body.children.begin() + where, returns ? Node(r(Op::mret, 0)) : unfit(where == size));
  }
  Node node = with_streams ? streams(std::max(1u, count * accesses), true) : Node();
  std::vector<std::uint32_t> head;
  if (pick(2) == 0) {
    const unsigned c = one_in(200) ? 256 + pick(20) : count;  // rd field too
    head.push_back(isa::info(Op::x_rpti).match | (c / 32) << 7 | (c % 32) << 15);
    if (c != count) body = Node(Node::Kind::pair, {main_word(), encode(Op::fsgnj_s)});
  } else {
    node.words.push_back(i(Op::addi, kStep, 0, static_cast<std::int32_t>(count)));
    head.push_back(isa::info(Op::x_rpt).match | kStep << 15);
  }
  if (!returns && one_in(3)) head.push_back(aux_word());
  while (words_of(body) > (length < 64 ? 120u : 128u)) body.children.pop_back();
  Node loop(Node::Kind::repeat, head, {}, !returns && head.size() == 1 && one_in(20) ? 1 : 0);
  loop.children = body.kind == Node::Kind::pair ? std::vector<Node>{body} : std::move(body.children);
  node.whole = true;
  node.children.push_back(std::move(loop));
  if (one_in(4)) node.children.push_back(Node(i(Op::csrrs, reg(), 0, static_cast<std::int32_t>(csr::xrpt))));
  return node;
}

/// Steps of the matrix unit: whole groups in order, or any.
Node Writer::amp() {
  Node node;
  const unsigned groups = 1 + pick(3);
  for (unsigned g = 0; g < groups; ++g) {
    const Op op = amp_ops_[pick(static_cast<unsigned>(amp_ops_.size()))];
    const bool single = op == Op::x_amp_f32, any = one_in(4);
    for (unsigned p = 0; p < (single ? 8u : 4u); ++p) {
      std::uint32_t word = encode(op);
      if (!any)
        word = single ? (word & ~0x06001000u) | (p & 3) << 25 | (p >> 2) << 12 : (word & ~0x06000000u) | p << 25;
      if (isa::decode(word) != op) continue;
      node.children.push_back(one_in(3) ? fresh_operands(word)
                              : pick(2) ? Node(Node::Kind::pair, {main_word(), word})
                                        : Node(word));
    }
  }
  return node;
}

/// Random numbers from a state that may be set before.
Node Writer::draws() {
  Node node;
  if (one_in(2)) {
    const unsigned half = pick(4);
    node.children.push_back(
        Node(i(Op::csrrw, one_in(2) ? 0 : reg(), reg(), static_cast<std::int32_t>(csr::xrng0 + half))));
  }
  for (unsigned k = 1 + pick(4); k-- > 0;) {
    const std::uint32_t word = encode(draw_ops_[pick(static_cast<unsigned>(draw_ops_.size()))]);
    node.children.push_back(one_in(2) ? fresh_operands(word) : Node(word));
  }
  return node;
}

std::vector<Node> Writer::dump() {
  std::vector<Node> nodes;
  std::int32_t at = 0x600;
  const auto store_csr = [&](unsigned number) {
    nodes.push_back(Node({i(Op::csrrs, 28, 0, static_cast<std::int32_t>(number)), testing::s(Op::sw, 8, 28, at)}));
    at += 4;
  };
  for (unsigned k = 0; k < 4; ++k) store_csr(csr::xrng0 + k);
  if (!stream_ops_.empty()) {
    for (unsigned k = 0; k < 6; ++k) store_csr(csr::xs0 + k);
  }
  if (has(Op::x_amp_io)) {
    for (unsigned p = 0; p < 8; ++p) {  // B leaves; after the swap what was A
      nodes.push_back(Node({r(Op::x_amp_io, 0, 0, 0, 2) | (p & 3) << 25, testing::s(Op::fsw, 8, 0, at),
                            testing::s(Op::fsw, 8, 1, at + 4)}));
      at += 8;
    }
  }
  return nodes;
}

}  // namespace tessera::random
