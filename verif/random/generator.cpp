// What the contexts of a tile do, and how code, data and tables become one image.
#include "verif/random/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "hw/disassembler.h"
#include "hw/generated/machine.h"
#include "tlm/tile/assembler.h"
#include "verif/random/image.h"
#include "verif/random/tile_writer.h"
#include "verif/random/values.h"

namespace tessera::random {

using isa::Op;
using testing::i;
using testing::r;
using testing::s;
using testing::sync;

namespace {

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
  if (!table.packets.empty()) all = table.packets;
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
