// Parameters of functions without a machine: which are given by address and which by value, the variants of a function,
// and the control code that chooses them.
#include "host/compiler/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "host/compiler/allocate.h"
#include "host/compiler/compiler.h"
#include "host/compiler/control.h"
#include "host/compiler/liveness.h"
#include "host/compiler/lower.h"
#include "hw/disassembler.h"
#include "hw/generated/machine.h"

namespace tessera::compiler {
namespace {

using graph::FunctionId;
using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;
using graph::VariableId;

VariableId id_of(const Tensor& t) { return t.boxes().at(0).variable; }

/// x += p on tile 1, as a function of p; p lies on tile `place`.
struct Adding {
  explicit Adding(unsigned place) {
    x = g.add_variable(Type::f32, {8}, "x");
    p = g.add_variable(Type::f32, {8}, "p");
    g.map(x, 1);
    g.map(p, place);
    const auto cs = g.add_compute_set("add");
    const auto v = g.add_vertex(cs, "Add_f32", 1);
    g.connect(v, "a", x);
    g.connect(v, "b", p);
    g.connect(v, "y", x);
    f = g.add_function(Program::execute(cs), "adding", {id_of(p)});
    g.expose("x", x);
  }
  VariableId constant(float value, const std::string& name) {
    std::vector<std::uint8_t> bytes(32);
    for (std::size_t i = 0; i < 8; ++i) std::memcpy(&bytes[4 * i], &value, 4);
    return id_of(g.add_like(id_of(p), bytes, name));
  }
  Ir lowered() {
    graph::validate(g);
    Ir ir(g);
    lower(ir, CodeletLibrary::builtin());
    return ir;
  }

  Graph g{16};
  Tensor x, p;
  FunctionId f;
};

TEST(Parameters, ReadInPlaceTheyAreGivenByAddress) {
  Adding a(1);
  const VariableId one = a.constant(1, "one");
  const VariableId two = a.constant(2, "two");
  a.g.add_entry("main", Program::sequence({Program::call(a.f, {one}), Program::call(a.f, {two}),
                                           Program::repeat(3, Program::call(a.f, {one}))}));
  const Ir ir = a.lowered();
  EXPECT_TRUE(ir.exchanges.empty());
  EXPECT_EQ(ir.variants, std::vector<std::uint32_t>{2});
  ASSERT_EQ(ir.computes.size(), 2U);
  EXPECT_EQ(ir.computes[0].by_variant, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(ir.computes[1].by_variant.empty());
  const std::vector<VariableId> given = {one, two};
  for (std::size_t k = 0; k < 2; ++k) {
    std::size_t found = 0;
    for (const StateWord& w : ir.computes[k].calls.at(0).states) {
      EXPECT_NE(w.variable, id_of(a.p).index);
      if (w.variable == given[k].index) ++found;
    }
    EXPECT_EQ(found, 1U) << k;
  }
  const Liveness liveness = analyse_liveness(ir);
  EXPECT_FALSE(liveness.ever_live(id_of(a.p).index));
  for (const VariableId c : given) EXPECT_TRUE(liveness.ever_live(c.index));

  const Control control = generate_control(ir, kSramBase, {kSramBase, kSramBase}, {});
  std::vector<std::string> code;
  for (const std::uint32_t w : control.words) code.push_back(disassemble(w, 0));
  EXPECT_EQ(std::count(code.begin(), code.end(), "lw a1,0(tp)"), 1);
  EXPECT_EQ(std::count_if(code.begin(), code.end(), [](const std::string& s) { return s.rfind("lw tp,", 0) == 0; }), 3);
  // Three calls say where their variant's slots are; these follow, a list each.
  ASSERT_EQ(control.slots.size(), 5U);
  const std::uint32_t first = control.slots[0].index;
  const std::uint32_t second = control.slots[1].index;
  EXPECT_EQ(control.slots[2].index, first);
  EXPECT_EQ(control.slots[0].kind, Slot::Kind::table);
  EXPECT_EQ(control.slots[first].kind, Slot::Kind::list);
  EXPECT_EQ(control.slots[first].index, 0U);
  EXPECT_EQ(control.slots[second].index, 1U);

  const Compiled compiled = compile(a.g, load_platform("pocket"), CodeletLibrary::builtin());
  EXPECT_EQ(compiled.report.json["supersteps"]["compute"], 1);
  EXPECT_EQ(compiled.executable.programs[0].constants.size(), 2U);
}

TEST(Parameters, OneVariantNeedsNoChoice) {
  Adding a(1);
  const VariableId one = a.constant(1, "one");
  a.g.add_entry("main", Program::sequence({Program::call(a.f, {one}), Program::call(a.f, {one})}));
  const Ir ir = a.lowered();
  EXPECT_EQ(ir.variants, std::vector<std::uint32_t>{1});
  const Control control = generate_control(ir, kSramBase, {kSramBase, kSramBase}, {});
  ASSERT_EQ(control.slots.size(), 1U);
  EXPECT_EQ(control.slots[0].kind, Slot::Kind::list);
}

TEST(Parameters, WhatAnExchangeReadsIsGivenByValue) {
  Adding a(2);
  const VariableId one = a.constant(1, "one");
  const VariableId two = a.constant(2, "two");
  a.g.add_entry("main", Program::sequence({Program::call(a.f, {one}), Program::call(a.f, {two})}));
  const Ir ir = a.lowered();
  EXPECT_EQ(ir.variants, std::vector<std::uint32_t>{1});
  // One to the vertex, one in front of each call.
  ASSERT_EQ(ir.exchanges.size(), 3U);
  EXPECT_EQ(ir.exchanges[1].touch.kills, std::vector<std::uint32_t>{id_of(a.p).index});
  EXPECT_EQ(ir.exchanges[1].path, "main/parameters");
  EXPECT_TRUE(analyse_liveness(ir).ever_live(id_of(a.p).index));
}

/// From eight lists of arguments on they share run lists: constants stand at equal distances, and tables do not grow.
TEST(Parameters, ManyListsOfArgumentsShareOneSetOfRunLists) {
  std::vector<std::uint64_t> lists;
  for (const unsigned calls : {7U, 8U, 9U, 20U}) {
    Adding a(1);
    std::vector<Program> steps;
    std::vector<VariableId> constants;
    for (unsigned k = 0; k < calls; ++k) {
      constants.push_back(a.constant(static_cast<float>(k), "c" + std::to_string(k)));
      steps.push_back(Program::call(a.f, {constants.back()}));
    }
    a.g.add_entry("main", Program::sequence(steps));
    const Ir ir = a.lowered();
    const bool windows = calls >= 8;
    EXPECT_EQ(ir.variants, std::vector<std::uint32_t>{windows ? 1 : calls});
    EXPECT_EQ(ir.computes.size(), windows ? 1U : calls);
    ASSERT_EQ(ir.windows.size(), 1U);
    ASSERT_EQ(ir.windows[0].blocks.size(), windows ? calls : 0);
    const Compiled compiled = compile(a.g, load_platform("pocket"), CodeletLibrary::builtin());
    lists.push_back(compiled.report.json["memory"]["tiles"][1]["lists"].get<std::uint64_t>());
    if (!windows) continue;
    EXPECT_EQ(ir.computes[0].window, 0U);
    const Liveness liveness = analyse_liveness(ir);
    const Allocation allocation =
        allocate(ir, liveness, load_platform("pocket"), std::vector<std::vector<AddressRange>>(16));
    const Address first = allocation.base(constants[0].index, 1);
    const Address stride = allocation.base(constants[1].index, 1) - first;
    EXPECT_GE(stride, 32U);
    for (unsigned k = 0; k < calls; ++k) EXPECT_EQ(allocation.base(constants[k].index, 1), first + k * stride);
  }
  EXPECT_GT(lists[0], lists[1]);
  EXPECT_EQ(lists[1], lists[2]);
  EXPECT_EQ(lists[1], lists[3]);
}

/// A constant that several calls give cannot stand in two places of a window: such calls have lists of their own.
TEST(Parameters, AConstantGivenTwiceAmongOthersNeedsListsOfItsOwn) {
  Adding a(1);
  const Tensor p = a.g.add_variable(Type::f32, {8}, "first");
  const Tensor q = a.g.add_variable(Type::f32, {8}, "second");
  a.g.map(p, 1);
  a.g.map(q, 1);
  const auto cs = a.g.add_compute_set("more");
  const auto v = a.g.add_vertex(cs, "Add_f32", 1);
  a.g.connect(v, "a", p);
  a.g.connect(v, "b", q);
  a.g.connect(v, "y", a.x);
  const FunctionId both = a.g.add_function(Program::execute(cs), "both", {id_of(p), id_of(q)});
  std::vector<Program> steps;
  std::vector<VariableId> constants;
  for (unsigned k = 0; k < 9; ++k) constants.push_back(a.constant(static_cast<float>(k), "c" + std::to_string(k)));
  for (unsigned k = 0; k < 8; ++k) steps.push_back(Program::call(both, {constants[k], constants[k + 1]}));
  a.g.add_entry("main", Program::sequence(steps));
  const Ir ir = a.lowered();
  EXPECT_EQ(ir.variants[1], 8U);
  EXPECT_TRUE(ir.windows[1].blocks.empty());
}

TEST(Parameters, NothingIsMadeOfAFunctionThatNobodyCalls) {
  Adding a(1);
  a.g.add_entry("main", Program::sync());
  const Ir ir = a.lowered();
  EXPECT_TRUE(ir.computes.at(0).by_variant.empty());
  (void)compile(a.g, load_platform("pocket"), CodeletLibrary::builtin());
}

}  // namespace
}  // namespace tessera::compiler
