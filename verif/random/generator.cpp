// What the contexts of a tile do, and how code, data and tables become one image.
#include "verif/random/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "hw/disassembler.h"
#include "hw/generated/machine.h"
#include "tlm/tile/assembler.h"
#include "verif/random/values.h"

namespace tessera::random {

using isa::Op;
using testing::i;
using testing::r;
using testing::s;
using testing::sync;

namespace {

// The image: constants, supervisor, workers, tables, 4 KiB of data for each context; the last KiB holds constants but
// for its last 64 bytes, the edge.
constexpr Address kEntry = kSramBase + 0x40, kWorkers = kSramBase + 0x2000, kTables = kSramBase + 0x7800,
                  kData = kSramBase + 0x8000;
constexpr unsigned kTableCount = 4;
constexpr std::uint32_t kTableBytes = 0x200, kDataWords = 0x8000 / 4;
constexpr Address kEnd = kSramBase + Program::kSramBytes;

Address data_of(unsigned context) { return kData + 0x1000 * context; }

class TileWriter {
 public:
  explicit TileWriter(const ProgramOptions& options)
      : options_(options), random_(options.seed * 0x9e3779b97f4a7c15u + 1) {}

  Recipe write() {
    recipe_.options = options_;
    recipe_.exchange_seed = random_();
    recipe_.underrun = pick(8) == 0;
    handlers_ = pick(5) != 0;
    edge_owner_ = pick(8);
    do shared_ = 1 + pick(6);
    while (shared_ == edge_owner_);
    for (unsigned w = 1; w < 7; ++w) worker(w);
    for (unsigned t = 0; t < kTableCount; ++t) recipe_.tables.push_back(table());
    supervisor();
    recipe_.data = biased_words(random_, kDataWords);
    return std::move(recipe_);
  }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }

  Writer writer(unsigned context) {
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

  void worker(unsigned w) {
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
  TableRecipe table() {
    TableRecipe table;
    descriptors(table.sends, false);
    descriptors(table.receives, true);
    return table;
  }

  void descriptors(std::vector<std::vector<std::uint64_t>>& out, bool receive) {
    const auto between = [this](int low, int high) { return low + static_cast<int>(pick(high - low + 1)); };
    Cycle t = pick(3) == 0 ? 12 + 6 * pick(8) : 12 + 6 * 40;  // x.exchange stands near its release, not always
    if (pick(6) == 0) t = 12;
    const bool early = pick(12) == 0, tight = pick(3) == 0;
    for (unsigned n = pick(5); n-- > 0;) {
      const unsigned words = pick(3) == 0 ? 1 : pick(12) == 0 ? 16 + pick(8) : 1 + pick(12);
      const bool block = pick(3) == 0, sweep = receive && !block && pick(3) == 0, two = block || sweep;
      // What is sent and what is received never overlap: a rule of core.md section 8.
      const Address half = receive ? 0x200 : 0;
      ExchangeDescriptor d;
      d.kind = pick(100) == 0 ? 3 : block ? 1 : sweep ? 2 : 0;
      d.base = pick(4) == 0 ? 1 + pick(3) : 0;
      d.start = early ? t / 4 : t;
      d.words = words;
      d.address = half + 0x80 + pick(d.base != 0 ? 64 : 0x100) + (d.base != 0 ? 0 : (data_of(0) - kSramBase) / 4);
      if (pick(40) == 0) {  // outside, or running out
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

  void supervisor() {
    Writer w = writer(0);
    ContextRecipe& context = recipe_.contexts[0];
    context.handler = handlers_;
    auto& code = context.code;
    code.push_back(Writer::constant(8, data_of(0) + 0x800));
    // Bases near the supervisor's data, so that descriptors with any base stay in their halves of it.
    for (const auto& [number, value] : {std::pair<unsigned, std::uint32_t>{csr::xwstack, kData + 0x6000 + 8 * pick(64)},
                                        {csr::xwstksz, 16 * pick(8)},
                                        {csr::xbase1, data_of(0) + 4 * pick(64)},
                                        {csr::xbase2, data_of(0) + 4 * pick(64)},
                                        {csr::xbase3, data_of(0) + 4 * pick(64)},
                                        {csr::xsource, pick(3)}}) {
      Node node = Writer::constant(28, value);
      node.words.push_back(i(Op::csrrw, 0, 28, static_cast<std::int32_t>(number)));
      code.push_back(std::move(node));
    }
    for (unsigned round = 4 + pick(10); round-- > 0;) {
      for (Node& node : w.body(pick(5))) code.push_back(std::move(node));
      for (Node& node : action(w)) code.push_back(std::move(node));
    }
  }

  Node delay() { return Node({i(Op::addi, 7, 0, static_cast<std::int32_t>(pick(40))), r(Op::x_delay, 0, 7)}); }

  Node start(unsigned worker, unsigned target, unsigned skew = 0) {
    return Node(Node::Kind::run, {r(Op::x_run, target, 5, 10, 11)}, {}, skew, worker);
  }

  Node weights() {
    const Address at = pick(20) == 0   ? kEnd - 16 * pick(17)
                       : pick(20) == 0 ? kData + 4 * pick(64)
                       : pick(20) == 0 ? kSramBase - 16
                                       : kData + 16 * pick(0x780 - 16);
    Node node = Writer::constant(28, at);
    for (unsigned n = 1 + pick(2); n-- > 0;) node.words.push_back(r(Op::x_amp_ldw, pick(4) == 0 ? 0 : 28, 28));
    return node;
  }

  std::vector<Node> action(Writer& w) {
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

  ProgramOptions options_;
  std::mt19937_64 random_;
  Recipe recipe_;
  bool handlers_ = true;
  unsigned edge_owner_ = 7;
  unsigned shared_ = 1;  ///< the worker program that any worker may run
};

/// A handler that skips the faulting instruction and goes on; after a fetch fault or many traps it goes to what
/// follows it.
void handler(Layout& out) {
  out.emit(i(Op::csrrs, 30, 0, csr::mcause));
  out.emit(i(Op::csrrs, 31, 0, csr::mepc));
  out.emit(i(Op::addi, 9, 9, 1));
  out.emit(i(Op::addi, 30, 30, -1));
  out.emit(s(Op::beq, 30, 0, 24));  // cause 1: there is nothing to go on with
  out.emit(i(Op::sltiu, 30, 9, 32));
  out.emit(s(Op::beq, 30, 0, 16));
  out.emit(i(Op::addi, 31, 31, 4));
  out.emit(i(Op::csrrw, 0, 31, csr::mepc));
  out.emit(r(Op::mret, 0));
}

void set_handler(Layout& out, Address at) {
  out.add(Writer::constant(28, at));
  out.emit(i(Op::csrrw, 0, 28, csr::mtvec));
}

/// Without a handler, wait for the workers, and end with an exception of the supervisor.
void finish(Layout& out) {
  out.emit(i(Op::csrrw, 0, 0, csr::mtvec));
  out.emit(sync(6, 10, 0));
  out.emit(r(Op::ecall, 0));
}

std::vector<std::uint32_t> table_words(const TableRecipe& table) {
  std::vector<std::uint64_t> sends, receives;
  for (const auto& d : table.sends) sends.insert(sends.end(), d.begin(), d.end());
  for (const auto& d : table.receives) receives.insert(receives.end(), d.begin(), d.end());
  ExchangeHeader header;
  header.sends = sends.size();  // in table words
  header.receives = receives.size();
  header.length = table.length;
  std::vector<std::uint64_t> all{header.pack()};
  all.insert(all.end(), sends.begin(), sends.end());
  all.insert(all.end(), receives.begin(), receives.end());
  std::vector<std::uint32_t> words;
  for (const std::uint64_t v : all) {
    words.push_back(static_cast<std::uint32_t>(v));
    words.push_back(static_cast<std::uint32_t>(v >> 32));
  }
  return words;
}

Program build_tile(const Recipe& recipe) {
  Program program;
  program.entry = kEntry;
  program.exchange_seed = recipe.exchange_seed;
  program.underrun = recipe.underrun;
  Links links;
  links.tables = kTables;
  links.table_bytes = kTableBytes;
  Address at = kWorkers;
  Address stub = 0;
  for (unsigned w = 1; w < 7; ++w) {
    const ContextRecipe& context = recipe.contexts[w];
    Layout out(at, links);
    for (unsigned k = 0; k < context.lead; ++k) out.emit(0);
    if (w == 1) {
      stub = out.here();
      out.emit(r(Op::x_exit, 0, 0));
    }
    links.entry[w] = out.here();
    if (!context.code.empty()) {
      Address trap = 0;
      if (context.handler) {
        trap = out.here();
        handler(out);
        out.emit(r(Op::x_exit, 0, 9));
        links.entry[w] = out.here();
        out.emit(testing::nop());  // skipped if the pc of x.run was misaligned
        set_handler(out, trap);
        out.emit(i(Op::addi, 9, 0, 0));
      }
      out.add(context.code);
    }
    if (out.code().empty()) continue;
    at = out.here();
    program.blocks.push_back(
        {at - 4 * static_cast<Address>(out.code().size()), std::move(out.code()), true, fmt::format("worker {}", w)});
  }
  if (at > kTables) throw std::logic_error("worker code of a random program does not fit");
  for (std::size_t t = 0; t < recipe.tables.size(); ++t) {
    program.blocks.push_back({static_cast<Address>(kTables + t * kTableBytes), table_words(recipe.tables[t]), false,
                              fmt::format("table {}", t)});
  }
  Layout out(kEntry, links);
  const ContextRecipe& context = recipe.contexts[0];
  if (context.handler) {
    out.emit(i(Op::jal, 0, 0, 4 * 14));
    handler(out);
    finish(out);
    set_handler(out, kEntry + 4);
  }
  out.add(Writer::constant(28, stub));
  out.emit(i(Op::csrrw, 0, 28, csr::xwra));
  out.add(context.code);
  finish(out);
  if (out.here() > kWorkers) throw std::logic_error("supervisor code of a random program does not fit");
  program.blocks.push_back({kEntry, std::move(out.code()), true, "supervisor"});
  std::vector<std::uint32_t> constants(recipe.data.end() - 16, recipe.data.end());
  program.blocks.push_back({kSramBase, std::move(constants), false, "constants"});
  program.blocks.push_back({kData, recipe.data, false, "data"});
  return program;
}

/// One worker's RV32IMF: loads all registers, runs, stores all registers, f too, and fcsr into the last bytes of its
/// data; ends with whatever the caller appends.
Recipe portable_recipe(const ProgramOptions& options) {
  std::mt19937_64 random(options.seed * 0x9e3779b97f4a7c15u + 2);
  Recipe recipe;
  recipe.options = options;
  WriterOptions o;
  o.kind = WriterOptions::Kind::portable;
  o.subset = Subset::portable;
  Writer writer(random, o);
  recipe.contexts[1].code = writer.body(options.items);
  recipe.data = biased_words(random, 0x1000 / 4);
  return recipe;
}

Program build_portable(const Recipe& recipe) {
  const Links links;
  Layout w(kSramBase, links);
  const Node base = Writer::constant(8, data_of(0) + 0x800), results = Writer::constant(29, data_of(0) + 0x1800);
  w.add(base);
  for (unsigned k = 0; k < 32; ++k) w.emit(i(Op::flw, k, 8, static_cast<std::int32_t>(4 * k)));
  for (unsigned k = 10; k < 18; ++k) w.emit(i(Op::lw, k, 8, static_cast<std::int32_t>(256 + 4 * k)));
  for (unsigned k = 18; k < 28; ++k) w.emit(i(Op::addi, k, 0, 0));
  w.emit(i(Op::csrrwi, 0, 0, csr::fcsr));
  w.add(recipe.contexts[1].code);
  w.add(results);
  for (unsigned k = 10; k < 18; ++k) w.emit(s(Op::sw, 29, k, static_cast<std::int32_t>(4 * k)));
  for (unsigned k = 0; k < 32; ++k) w.emit(s(Op::fsw, 29, k, static_cast<std::int32_t>(128 + 4 * k)));
  w.emit(i(Op::csrrs, 10, 0, csr::fcsr));
  w.emit(s(Op::sw, 29, 10, 0));
  Program p;
  p.entry = kSramBase;
  p.data = data_of(0);
  p.data_bytes = 0x2000;
  if (w.here() > data_of(0) - 64) throw std::logic_error("a portable random program does not fit");
  p.blocks.push_back({kSramBase, std::move(w.code()), true, "program"});
  p.blocks.push_back({data_of(0), recipe.data, false, "data"});
  return p;
}

}  // namespace

std::size_t Program::code_words() const {
  std::size_t count = 0;
  for (const Block& block : blocks) count += block.code ? block.words.size() : 0;
  return count;
}

Recipe recipe(const ProgramOptions& options) {
  return options.portable ? portable_recipe(options) : TileWriter(options).write();
}

Program build(const Recipe& recipe) { return recipe.options.portable ? build_portable(recipe) : build_tile(recipe); }

std::string listing(const Program& program) {
  std::string text;
  for (const Program::Block& block : program.blocks) {
    if (!block.code) continue;
    text += fmt::format("{}:\n", block.name);
    for (std::size_t k = 0; k < block.words.size(); ++k) {
      const Address at = block.at + 4 * static_cast<Address>(k);
      text += fmt::format("  {:05x}  {:08x}  {}\n", at, block.words[k], disassemble(block.words[k], at));
    }
  }
  return text;
}

}  // namespace tessera::random
