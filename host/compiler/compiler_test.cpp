// The compiler without a machine: control code read by the disassembler, allocation and liveness properties, run lists,
// errors and what they name, and that two compiles give the same bytes. What programs compute is tested on the machine
// (verif/compiler).
#include "host/compiler/compiler.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "host/compiler/allocate.h"
#include "host/compiler/assembler.h"
#include "host/compiler/bind.h"
#include "host/compiler/liveness.h"
#include "host/compiler/lower.h"
#include "host/executable/container.h"
#include "hw/disassembler.h"
#include "hw/error.h"
#include "hw/generated/machine.h"

namespace tessera::compiler {
namespace {

using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;

const Platform& pocket() {
  static const Platform platform = load_platform("pocket");
  return platform;
}

Compiled compile_for_pocket(const Graph& g) { return compile(g, pocket(), CodeletLibrary::builtin()); }

template <typename F>
std::string message_of(Category category, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), category) << e.what();
    return e.what();
  }
  return "no error";
}

void expect_says(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

/// z = a + b, element by element where z lies.
void add(Graph& g, graph::ComputeSetId cs, const Tensor& a, const Tensor& b, const Tensor& z) {
  for (const graph::TileInterval& i : g.mapping(z)) {
    const auto v = g.add_vertex(cs, "Add_f32", i.tile, "adder");
    g.connect(v, "a", a.slice(i.begin, i.end));
    g.connect(v, "b", b.slice(i.begin, i.end));
    g.connect(v, "y", z.slice(i.begin, i.end));
  }
}

TEST(Assembler, WordsAreWhatTheDisassemblerReads) {
  Assembler as(0x40040);
  std::vector<std::string> expect;
  const auto says = [&](const char* text) { expect.emplace_back(text); };
  const Assembler::Label back = as.label();
  const Assembler::Label ahead = as.label();
  as.bind(back);
  as.lw(a0, -2048, gp), says("lw a0,-2048(gp)");
  as.lbu(t0, 0, t0), says("lbu t0,0(t0)");
  as.lhu(t0, 6, sp), says("lhu t0,6(sp)");
  as.sw(ra, 12, sp), says("sw ra,12(sp)");
  as.addi(sp, sp, -16), says("addi sp,sp,-16");
  as.add(t1, t1, gp), says("add t1,t1,gp");
  as.and_(t0, t0, t2), says("and t0,t0,t2");
  as.sltu(t0, zero, t0), says("sltu t0,zero,t0");
  as.mul(t0, t0, t1), says("mul t0,t0,t1");
  as.not_(t2, t2), says("xori t2,t2,-1");
  as.srai(t2, t0, 31), says("srai t2,t0,0x1f");
  as.lui(t1, 0x40), says("lui t1,0x40");
  as.csrw(csr::xbase1, t0), says("csrrw zero,xbase1,t0");
  as.x_sync(t0, t0, Zone::internal), says("x.sync t0,t0,internal");
  as.x_sync(zero, t0, Zone::host), says("x.sync zero,t0,host");
  as.x_exchange(a0), says("x.exchange a0");
  as.x_packet(a0), says("x.packet a0");
  as.x_run_all(s1, a1, zero), says("x.run all,s1,a1,zero");
  as.beq(a1, zero, ahead), says("beq a1,zero,0x40098");
  as.bne(s2, zero, back), says("bne s2,zero,0x40040");
  as.bgeu(t2, t0, ahead), says("bgeu t2,t0,0x40098");
  as.jal(ra, ahead), says("jal ra,0x40098");
  as.bind(ahead);
  as.jal(zero, back), says("jal zero,0x40040");
  as.jump_to(0x41000), says("jal zero,0x41000");
  as.jr(ra), says("jalr zero,0(ra)");
  const std::vector<std::uint32_t> words = as.finish();
  ASSERT_EQ(words.size(), expect.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(disassemble(words[i], 0x40040 + 4 * static_cast<Address>(i)), expect[i]) << i;
  }
}

TEST(Assembler, ConstantsOfEverySize) {
  for (const std::uint32_t value :
       {0U, 5U, 2047U, 2048U, 0xFFFU, 0x1000U, 0x12345FFFU, 0xFFFFFF00U, 0xFFFFFFFFU, 0x80000000U, 0x7FFFF800U}) {
    Assembler as(0);
    as.li(t0, value);
    std::uint32_t got = 0;
    for (const std::uint32_t w : as.finish()) {
      const auto immediate = static_cast<std::uint32_t>(static_cast<std::int32_t>(w) >> 20);
      got = (w & 0x7F) == 0x37 ? w & 0xFFFFF000 : got + immediate;
    }
    EXPECT_EQ(got, value);
  }
}

TEST(Compiler, ASuperstepIsSixInstructions) {
  Graph g(2);
  const Tensor a = g.add_variable(Type::f32, {8}, "a");
  const Tensor z = g.add_variable(Type::f32, {8}, "z");
  g.map(a, 0);
  g.map(z, 1);
  const auto cs = g.add_compute_set("add");
  add(g, cs, a, a, z);
  g.expose("a", a);
  g.expose("z", z);
  g.add_entry("main", Program::execute(cs));
  const Compiled c = compile_for_pocket(g);
  const executable::Program& p = c.executable.programs.at(0);
  const auto control =
      std::find_if(p.shared.begin(), p.shared.end(), [](const auto& b) { return b.name == "control"; });
  ASSERT_NE(control, p.shared.end());
  std::vector<std::string> text;
  for (const executable::Step& s : p.steps) {
    if (s.kind != executable::Step::Kind::exchange && s.kind != executable::Step::Kind::compute) continue;
    for (Address pc = s.begin; pc < s.end; pc += 4) {
      text.push_back(disassemble(p.contents[control->content][(pc - control->address) / 4], pc));
    }
  }
  ASSERT_EQ(text.size(), 6U);
  EXPECT_EQ(text[0], "lw a0,-2048(gp)");
  EXPECT_EQ(text[1], "x.sync zero,zero,internal");
  EXPECT_EQ(text[2], "x.exchange a0");
  EXPECT_EQ(text[3], "lw a1,-2044(gp)");
  EXPECT_EQ(text[4].substr(0, 11), "beq a1,zero");
  EXPECT_EQ(text[5], "x.run all,s1,a1,zero");
}

/// A graph with a bit of everything.
Graph mixed_graph() {
  Graph g(16);
  const Tensor a = g.add_variable(Type::f32, {200}, "a");
  const Tensor k = g.add_constant(Type::f32, {200}, std::vector<float>(200, 2.0F), "k");
  const Tensor b = g.add_variable(Type::f32, {10, 20}, "b");
  const Tensor z = g.add_variable(Type::f32, {200}, "z");
  const Tensor go = g.add_variable(Type::boolean, {1}, "go");
  g.map_linear(a);
  g.map_linear(k);
  g.map_linear(b, 1, 30);
  g.map_linear(z, 2);
  g.map(go, 3);
  const auto in = g.add_input_stream("in", Type::f32, 200);
  const auto one = g.add_compute_set("one");
  add(g, one, b.flatten(), k, z);
  g.expose("z", z);
  g.expose("go", go);
  g.add_entry("main", Program::sequence(
                          {Program::stream_in(in, a), Program::copy(a.reshape({20, 10}).transpose(), b, "turn"),
                           Program::repeat(3, Program::execute(one), "loop"), Program::if_(go, Program::copy(k, z))}));
  return g;
}

TEST(Compiler, TwoCompilesGiveTheSameBytes) {
  const auto first = executable::write(compile_for_pocket(mixed_graph()).executable);
  EXPECT_EQ(first, executable::write(compile_for_pocket(mixed_graph()).executable));
  EXPECT_GT(first.size(), 1000U);
  const executable::Executable back = executable::read(first, "memory");
  EXPECT_EQ(executable::write(back), first);
  EXPECT_NO_THROW(executable::check_platform(back, pocket().name, pocket().hash()));
}

TEST(Compiler, EqualConstantsAreStoredOnce) {
  Graph g(16);
  std::vector<std::uint16_t> data(512);
  std::iota(data.begin(), data.end(), std::uint16_t{7});
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(data.data());
  const Tensor w = g.add_repeated_constant(Type::f16, {4, 128}, {bytes, bytes + 1024}, 12, "w");
  const Tensor same = g.add_constant(Type::u16, {512}, data, "same");
  const Tensor other = g.add_constant(Type::u16, {128}, std::vector<std::uint16_t>(128, 3), "other");
  EXPECT_EQ(w.shape(), (graph::Shape{12, 4, 128}));
  for (unsigned i = 0; i < 12; ++i) g.map(w[i], i + 2);
  g.map(same, 15);
  g.map(other, 0);
  const Tensor y = g.add_variable(Type::f16, {12, 512}, "y");
  const Tensor z = g.add_variable(Type::u16, {5, 128}, "z");
  g.map(y, 1);
  g.map(z, 1);
  g.expose("y", y);
  g.expose("z", z);
  g.add_entry("main", Program::sequence({Program::copy(w.reshape({12, 512}), y),
                                         Program::copy(Tensor::concat({same, other}).reshape({5, 128}), z)}));
  const Compiled c = compile_for_pocket(g);
  const auto& constants = c.executable.programs[0].constants;
  ASSERT_EQ(constants.size(), 2U);
  EXPECT_EQ(constants[0].name, "w");
  EXPECT_EQ(constants[0].words.size(), 256U);
  EXPECT_EQ(constants[0].pieces.size(), 13U);
  EXPECT_EQ(constants[1].name, "other");
  EXPECT_EQ(constants[1].words, std::vector<std::uint32_t>(64, 0x00030003));
  std::vector<std::uint32_t> tiles;
  for (const executable::ConstantPiece& p : constants[0].pieces) {
    EXPECT_EQ(p.offset, 0U);
    EXPECT_EQ(p.words, 256U);
    tiles.push_back(p.tile);
  }
  EXPECT_EQ(tiles, (std::vector<std::uint32_t>{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15}));
}

TEST(Compiler, AConstantIsRepeatedAtLeastOnce) {
  Graph g(2);
  EXPECT_NE(message_of(Category::usage, [&] { (void)g.add_repeated_constant(Type::f16, {4}, {}, 0, "w"); })
                .find("no copy of a constant"),
            std::string::npos);
}

TEST(Compiler, PassesAndDumpsAreNamed) {
  std::vector<std::string> dumps;
  std::vector<std::string> passes;
  Options options;
  options.dump = [&](const std::string& name, const nlohmann::ordered_json& json) {
    EXPECT_FALSE(json.empty());
    dumps.push_back(name);
  };
  options.progress = [&](const std::string& name, unsigned number, unsigned count) {
    EXPECT_LT(number, count);
    passes.push_back(name);
  };
  const Compiled c = compile(mixed_graph(), pocket(), CodeletLibrary::builtin(), options);
  const std::vector<std::string> expect = {"validate", "lower", "liveness", "control", "code",
                                           "allocate", "lists", "exchange", "emit"};
  EXPECT_EQ(passes, expect);
  EXPECT_EQ(c.report.passes.size(), expect.size());
  EXPECT_EQ(dumps, (std::vector<std::string>{"lower", "allocate", "exchange", "report"}));
  EXPECT_EQ(c.report.json["vertices"], 15);
}

TEST(Compiler, BlobsOfATileDoNotOverlap) {
  const executable::Executable e = compile_for_pocket(mixed_graph()).executable;
  const executable::Program& p = e.programs.at(0);
  for (std::uint32_t tile = 0; tile < p.tiles; ++tile) {
    std::vector<std::pair<Address, Address>> ranges;
    const auto take = [&](Address at, std::size_t words) {
      ranges.emplace_back(at, at + 4 * static_cast<Address>(words));
    };
    for (const auto& b : p.shared) {
      for (const auto& r : b.tiles) {
        if (tile >= r.first && tile <= r.last) take(b.address, p.contents[b.content].size());
      }
    }
    for (const auto& b : p.blobs) {
      if (b.tile == tile) take(b.address, p.contents[b.content].size());
    }
    for (const auto& c : p.constants) {
      for (const auto& piece : c.pieces) {
        if (piece.tile == tile) take(piece.address, piece.words);
      }
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i) ASSERT_LE(ranges[i - 1].second, ranges[i].first) << tile;
    ASSERT_GT(ranges.size(), 4U);
  }
}

TEST(Liveness, TransientsShareAndKeptOnesDoNot) {
  Graph g(1);
  std::vector<Tensor> t;
  std::vector<Program> steps;
  for (int i = 0; i < 6; ++i) {
    t.push_back(g.add_variable(Type::f32, {1000}, "t" + std::to_string(i)));
    g.map(t.back(), 0);
    if (i > 0) steps.push_back(Program::copy(t[i - 1], t[i]));
  }
  g.expose("first", t[0]);
  g.expose("last", t[5]);
  g.add_entry("main", Program::sequence(steps));
  const Compiled c = compile_for_pocket(g);
  const auto& tile = c.report.json["memory"]["tiles"][0];
  EXPECT_EQ(tile["sum_of_variables"], 6 * 4000);
  // t0 is kept for the host from the start, t5 from its write on; of t1 .. t4 two live at once.
  EXPECT_EQ(tile["live_bound"], 3 * 4000);
  EXPECT_EQ(tile["data"].get<int>() + tile["in_code_holes"].get<int>(), 3 * 4000);
}

TEST(Liveness, WhatALoopReadsFromItsLastRoundLivesAllTheLoop) {
  Graph g(1);
  const auto variable = [&](const char* name) {
    const Tensor t = g.add_variable(Type::f32, {8}, name);
    g.map(t, 0);
    return t;
  };
  const Tensor start = variable("start");
  const Tensor carried = variable("carried");
  const Tensor scratch = variable("scratch");
  const Tensor late = variable("late");
  g.expose("start", start);
  g.expose("late", late);
  g.add_entry("main", Program::sequence({Program::copy(start, carried),
                                         Program::repeat(3, Program::sequence({Program::copy(carried, scratch),
                                                                               Program::copy(scratch, carried)})),
                                         Program::copy(carried, late)}));
  Ir ir(g);
  lower(ir, CodeletLibrary::builtin());
  const Liveness l = analyse_liveness(ir);
  const auto id = [](const Tensor& t) { return t.boxes().front().variable.index; };
  EXPECT_TRUE(l.interfere(id(carried), id(scratch)));
  EXPECT_TRUE(l.always[id(start)]);
  EXPECT_FALSE(l.always[id(carried)]);
  EXPECT_FALSE(l.always[id(late)]);
  EXPECT_FALSE(l.interfere(id(scratch), id(late)));
}

TEST(Allocation, WhatLivesTogetherNeverOverlaps) {
  ASSERT_TRUE(rc::check("random straight programs", [] {
    Graph g(2);
    std::vector<Tensor> t;
    const unsigned n = *rc::gen::inRange(3U, 12U);
    for (unsigned i = 0; i < n; ++i) {
      const std::uint64_t size = *rc::gen::inRange<std::uint64_t>(1, 60);
      t.push_back(g.add_variable(Type::u32, {size}, "v" + std::to_string(i)));
      g.map_linear(t.back(), *rc::gen::inRange(1U, 9U));
    }
    std::vector<Program> steps;
    const unsigned m = *rc::gen::inRange(1U, 20U);
    for (unsigned k = 0; k < m; ++k) {
      const unsigned a = *rc::gen::inRange(0U, n);
      const unsigned b = (a + *rc::gen::inRange(1U, n)) % n;
      const std::uint64_t size = std::min(t[a].elements(), t[b].elements());
      steps.push_back(Program::copy(t[a].slice(0, size), t[b].slice(0, size)));
    }
    g.expose("kept", t[0]);
    g.add_entry("main", Program::sequence(steps));
    Ir ir(g);
    lower(ir, CodeletLibrary::builtin());
    const Liveness l = analyse_liveness(ir);
    const std::vector<std::vector<AddressRange>> holes(2, {{0x41000, 0x41040}, {0x41100, 0x41108}});
    const Allocation allocation = allocate(ir, l, pocket(), holes);
    for (std::uint32_t a = 0; a < ir.graph.variables().size(); ++a) {
      for (const auto& [tile, bytes] : ir.layout.blocks(a)) {
        if (!l.ever_live(a)) continue;
        const Address at = allocation.base(a, tile);
        RC_ASSERT(at % kIntervalAlign == 0U);
        RC_ASSERT(at + bytes <= pocket().sram_end());
        for (std::uint32_t b = 0; b < a; ++b) {
          if (!allocation.has(b, tile) || !l.interfere(a, b)) continue;
          const Address other = allocation.base(b, tile);
          RC_ASSERT(at + bytes <= other || other + ir.layout.blocks(b).at(tile) <= at);
        }
        RC_ASSERT(at >= allocation.tiles()[tile].lowest || (at >= 0x41000U && at + bytes <= 0x41108U));
      }
    }
  }));
}

TEST(Compiler, FieldErrorsNameBothSides) {
  const auto with = [](auto&& build) {
    return message_of(Category::usage, [&] {
      Graph g(2);
      const Tensor f = g.add_variable(Type::f32, {8}, "floats");
      const Tensor i = g.add_variable(Type::i32, {8}, "integers");
      g.map(f, 0);
      g.map(i, 1);
      g.add_entry("main", Program::execute(build(g, f, i)));
      (void)compile_for_pocket(g);
    });
  };
  const auto vertex = [](Graph& g, const char* codelet) {
    const auto cs = g.add_compute_set("layer1");
    return std::make_pair(cs, g.add_vertex(cs, codelet, 0, "adder"));
  };
  expect_says(with([&](Graph& g, const Tensor& f, const Tensor&) {
                const auto [cs, v] = vertex(g, "Add_f32");
                g.connect(v, "a", f);
                g.connect(v, "y", f);
                return cs;
              }),
              {"field b", "Add_f32", "not connected", "adder", "layer1"});
  expect_says(with([&](Graph& g, const Tensor& f, const Tensor& i) {
                const auto [cs, v] = vertex(g, "Add_f32");
                g.connect(v, "a", f);
                g.connect(v, "b", i);
                g.connect(v, "y", f);
                return cs;
              }),
              {"field b", "f32", "integers", "i32[8]", "adder"});
  expect_says(with([&](Graph& g, const Tensor& f, const Tensor&) {
                const auto [cs, v] = vertex(g, "Add_f32");
                g.connect(v, "q", f);
                return cs;
              }),
              {"no field q", "a, b, y"});
  expect_says(with([&](Graph& g, const Tensor&, const Tensor&) { return vertex(g, "Add_f33").first; }),
              {"Add_f33", "adder", "Add_f32"});
  expect_says(with([&](Graph& g, const Tensor& f, const Tensor&) {
                const auto cs = g.add_compute_set("layer1");
                for (const char* name : {"left", "right"}) {
                  const auto v = g.add_vertex(cs, "Relu_f32", 0, name);
                  g.connect(v, "x", f.slice(0, 2));
                  g.connect(v, "y", name[0] == 'l' ? f.slice(2, 6) : f.slice(5, 8));
                }
                return cs;
              }),
              {"element 5 of floats", "written by", "left", "right", "layer1"});
  expect_says(with([&](Graph& g, const Tensor& f, const Tensor&) {
                const auto [cs, v] = vertex(g, "Relu_f32");
                g.connect(v, "x", f);
                g.connect(v, "y", f.slice(0, 1).broadcast(8, 0));
                return cs;
              }),
              {"field y", "floats", "8 places", "adder"});
  expect_says(with([&](Graph& g, const Tensor& f, const Tensor&) {
                const auto [cs, v] = vertex(g, "Relu_f32");
                g.connect(v, "x", f.slice(0, 4));
                g.connect(v, "y", Tensor::concat({f.slice(0, 3), f.slice(2, 3)}));
                return cs;
              }),
              {"element 2 of floats", "adder"});
  expect_says(with([&](Graph& g, const Tensor& f, const Tensor&) {
                const auto cs = g.add_compute_set("layer1");
                const auto reader = g.add_vertex(cs, "Relu_f32", 1, "reader");
                g.connect(reader, "x", f.slice(0, 4));
                g.connect(reader, "y", f.slice(4, 8));
                const auto writer = g.add_vertex(cs, "Relu_f32", 0, "writer");
                g.connect(writer, "x", f.slice(3, 4));
                g.connect(writer, "y", f.slice(3, 4));
                return cs;
              }),
              {"element 3 of floats", "written by", "writer", "read by", "reader"});
}

TEST(Compiler, OutOfMemoryNamesTileNeedAndVariables) {
  Graph g(4);
  const Tensor small = g.add_variable(Type::f32, {100}, "small");
  const Tensor big = g.add_variable(Type::f32, {50000}, "big");
  const Tensor huge = g.add_variable(Type::f32, {40000}, "huge");
  g.map_linear(small);
  g.map(big, 2);
  g.map(huge, 2);
  for (const Tensor& t : {small, big, huge}) g.expose(g.names(t), t);
  g.add_entry("main", Program::copy(big.slice(0, 40000), huge, "spread"));
  nlohmann::ordered_json report;
  Options options;
  options.dump = [&](const std::string& name, const nlohmann::ordered_json& json) {
    if (name == "report") report = json;
  };
  const std::string text =
      message_of(Category::does_not_fit, [&] { (void)compile(g, pocket(), CodeletLibrary::builtin(), options); });
  expect_says(text,
              {"tile 2", "262144", "too many", "big 200000", "huge 160000", "exchange", "stacks", "spread", "try:"});
  EXPECT_FALSE(report.empty());
}

TEST(Compiler, WrongGraphsAreToldBeforeAnythingElse) {
  Graph g(17);
  expect_says(message_of(Category::usage, [&] { (void)compile_for_pocket(g); }), {"17 tiles", "pocket", "16"});
  Graph h(1);
  const Tensor x = h.add_variable(Type::i32, {1}, "x");
  h.map(x, 0);
  const Tensor narrow = h.add_variable(Type::u8, {1}, "narrow");
  h.map(narrow, 0);
  h.add_entry("main", Program::switch_(narrow, {}));
  expect_says(message_of(Category::usage, [&] { (void)compile_for_pocket(h); }), {"selector narrow", "i32 or u32"});
  Graph silent(1);
  silent.add_entry("main", Program::abort(""));
  expect_says(message_of(Category::usage, [&] { (void)compile_for_pocket(silent); }), {"abort without a message"});
  Graph d(1);
  const Tensor y = d.add_variable(Type::i32, {1}, "y");
  d.map(y, 0);
  Program deep = Program::copy(y, y);
  for (int i = 0; i < 40; ++i) deep = Program::repeat(2, deep);
  d.add_entry("main", deep);
  expect_says(message_of(Category::unsupported, [&] { (void)compile_for_pocket(d); }), {"nest", "stack"});
}

}  // namespace
}  // namespace tessera::compiler
