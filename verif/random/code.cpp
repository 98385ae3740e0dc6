// Distances, alignment and counts of a code tree.
#include "verif/random/code.h"

#include <stdexcept>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "tlm/tile/assembler.h"

namespace tessera::random {

using isa::Op;
using testing::i;
using testing::load_constant;
using testing::r;
using testing::s;

void Layout::align(unsigned remainder) {
  while (here() % 8 != remainder) emit(testing::nop());
}

void Layout::repeat(const Node& node) {
  const bool paired = node.words.size() > 1;
  align(paired || node.a == 1 ? 0 : 4);
  const std::size_t at = code_.size();
  for (const std::uint32_t word : node.words) emit(word);
  align(0);
  const Address body = here();
  add(node.children);
  align(0);
  if (here() == body) {
    emit(testing::nop());
    emit(testing::nop());
  }
  const std::uint32_t doublewords = (here() - body) / 8;
  if (doublewords > 64) throw std::logic_error("the body of a random x.rpt is too long");
  code_[at] |= doublewords << 20;
}

void Layout::add(const Node& node) {
  const std::size_t from = code_.size();
  const auto distance = [this](std::size_t to, std::size_t at) {
    return 4 * (static_cast<std::int32_t>(to) - static_cast<std::int32_t>(at));
  };
  switch (node.kind) {
    case Node::Kind::group:
      for (const std::uint32_t word : node.words) emit(word);
      return add(node.children);
    case Node::Kind::branch:
      emit(node.words[0]);
      add(node.children);
      code_[from] |= testing::place(isa::Imm::b, distance(code_.size(), from));
      return;
    case Node::Kind::loop:
      emit(i(Op::addi, node.a, 0, static_cast<std::int32_t>(node.b)));
      add(node.children);
      emit(i(Op::addi, node.a, node.a, -1));
      return emit(s(Op::bne, node.a, 0, distance(from + 1, code_.size())));
    case Node::Kind::call:
      emit(0);
      add(node.children);
      emit(i(Op::jalr, 0, node.a, 0));
      code_[from] = i(Op::jal, 0, 0, distance(code_.size(), from));
      return emit(i(Op::jal, node.a, 0, distance(from + 1, code_.size())));
    case Node::Kind::repeat:
      return repeat(node);
    case Node::Kind::pair:
      align(0);
      for (const std::uint32_t word : node.words) emit(word);
      return;
    case Node::Kind::store_code:
      load_constant(code_, 28, node.words[0]);
      load_constant(code_, 29, here() + 4 * (4 + node.a));
      emit(s(Op::sw, 29, 28, 0));
      emit(r(Op::fence_i, 0));
      for (std::uint32_t k = 0; k < node.a + 1; ++k) emit(testing::nop());
      return;
    case Node::Kind::mret:
      load_constant(code_, 28, here() + 16);
      emit(i(Op::csrrw, 0, 28, csr::mepc));
      return emit(r(Op::mret, 0));
    case Node::Kind::run:
      load_constant(code_, 5, links_.entry[node.b] + node.a);
      for (const std::uint32_t word : node.words) emit(word);
      return;
    case Node::Kind::table:
      load_constant(code_, 5, links_.tables + node.b * links_.table_bytes + node.a);
      for (const std::uint32_t word : node.words) emit(word);
      return;
  }
}

std::size_t words_of(const Node& node) {
  std::size_t count = node.words.size();
  for (const Node& child : node.children) count += words_of(child);
  return count;
}

}  // namespace tessera::random
