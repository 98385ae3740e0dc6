// tessera platforms, isa, registers: print what hw/ says. No machine is built.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "host/cli/commands.h"
#include "hw/disassembler.h"
#include "hw/error.h"
#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "hw/generated/registers.h"
#include "hw/platform.h"

namespace tessera::cli {

namespace {

using Json = nlohmann::ordered_json;

int print_platforms(Context& context, const std::vector<std::string>& names) {
  Json& list = context.result["platforms"] = Json::array();
  if (names.empty())
    context.print(fmt::format("{:<10} {:>5} {:>5} {:>6} {:>9} {:>8}  {}", "name", "cards", "IPUs", "tiles", "SRAM KiB",
                              "GHz", "description"));
  for (const std::string& name : names.empty() ? platform_names() : names) {
    const Platform p = load_platform(name);
    Json entry = Json::parse(p.to_json());
    entry["hash"] = fmt::format("{:016x}", p.hash());
    list.push_back(entry);
    if (names.empty())
      context.print(fmt::format("{:<10} {:>5} {:>5} {:>6} {:>9} {:>8.3g}  {}", p.name, p.cards, p.ipus(), p.tiles,
                                p.sram_bytes / 1024, static_cast<double>(p.clock_hz) / 1e9, p.description));
    else
      context.print(p.to_json().substr(0, p.to_json().size() - 1));
  }
  return 0;
}

const char* class_name(isa::Class c) { return c == isa::Class::main_ ? "MAIN" : c == isa::Class::aux ? "AUX" : "SOLO"; }
const char* role_name(isa::Role r) {
  return r == isa::Role::all ? "all" : r == isa::Role::supervisor ? "supervisor" : "worker";
}

Json instruction_json(const isa::Info& i) {
  return {{"name", i.name},
          {"syntax", i.syntax},
          {"encoding", i.encoding},
          {"match", i.match},
          {"mask", i.mask},
          {"class", class_name(i.klass)},
          {"role", role_name(i.role)},
          {"slots", i.slots},
          {"implemented", i.implemented},
          {"semantics", i.semantics}};
}

void print_instruction(Context& context, const isa::Info& i) {
  context.result["instructions"].push_back(instruction_json(i));
  context.print(fmt::format("{:<40} {:<4} {:<10} {}  {}{}", fmt::format("{} {}", i.name, i.syntax), class_name(i.klass),
                            role_name(i.role), i.slots, i.semantics, i.implemented ? "" : "  [reserved]"));
}

/// A 32-bit word in hexadecimal, with or without 0x.
std::uint32_t parse_word(const std::string& text) {
  std::size_t used = 0;
  unsigned long value = 0;
  try {
    value = std::stoul(text, &used, 16);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used != text.size() || text.empty() || text[0] == '-' || value > 0xFFFFFFFFul)
    throw Error(Category::usage, fmt::format("'{}' is no 32-bit word", text), "--decode", "write it as 0x00a50513");
  return static_cast<std::uint32_t>(value);
}

int print_isa(Context& context, const std::vector<std::string>& names, const std::vector<std::string>& words) {
  for (const std::string& text : words) {
    const std::uint32_t word = parse_word(text);
    const isa::Op op = isa::decode_word(word, true);
    const isa::Info& i = isa::info(op);
    const std::string assembly = disassemble(word, 0);
    const char* state = op == isa::Op::illegal ? "illegal" : i.implemented ? "legal" : "reserved";
    context.result["decoded"].push_back({{"word", word}, {"text", assembly}, {"name", i.name}, {"state", state}});
    context.print(
        fmt::format("{:08x}  {:<32} {}{}", word, assembly, state,
                    op == isa::Op::illegal ? "" : fmt::format("  {} {}", class_name(i.klass), role_name(i.role))));
  }
  if (!words.empty() && names.empty()) return 0;
  context.result["instructions"] = Json::array();
  for (unsigned n = 1; n < isa::kOpCount && names.empty(); ++n) print_instruction(context, isa::kTable[n]);
  for (const std::string& name : names) {
    bool found = false;
    for (unsigned n = 1; n < isa::kOpCount; ++n)
      if (const std::string_view full = isa::kTable[n].name; full == name || full.rfind(name + ".", 0) == 0) {
        print_instruction(context, isa::kTable[n]);
        found = true;
      }
    if (!found)
      throw Error(Category::usage, fmt::format("there is no instruction '{}'", name), "",
                  "`tessera isa` lists all; a name may stop at a dot, such as x.amp");
  }
  return 0;
}

void print_csrs(Context& context) {
  context.print("CSRs (supervisor / worker: rw, ro, zero = reads 0, - = trap 2)");
  constexpr const char* kAccess[] = {"-", "zero", "rw", "ro"};
  Json& list = context.result["csrs"] = Json::array();
  for (unsigned number = 0; number < 4096; ++number) {
    if (csr_name(number) == nullptr) continue;
    const char* supervisor = kAccess[static_cast<unsigned>(csr_access(number, true))];
    const char* worker = kAccess[static_cast<unsigned>(csr_access(number, false))];
    list.push_back({{"number", number},
                    {"name", csr_name(number)},
                    {"supervisor", supervisor},
                    {"worker", worker},
                    {"reset_supervisor", csr_reset(number, true)},
                    {"reset_worker", csr_reset(number, false)}});
    const bool plain_zero = csr_access(number, true) == CsrAccess::zero;
    if (!plain_zero)  // the many that read 0 stand in the JSON and the manual
      context.print(fmt::format("  {:03x} {:<10} {:>4} / {:<4}  reset {:08x} / {:08x}", number, csr_name(number),
                                supervisor, worker, csr_reset(number, true), csr_reset(number, false)));
  }
}

void print_traps(Context& context) {
  context.print("traps");
  for (std::uint32_t cause = 0; cause < 32; ++cause)
    if (const char* text = trap_text(cause)) {
      context.result["traps"].push_back({{"cause", cause}, {"text", text}});
      context.print(fmt::format("  {:>2} {}", cause, text));
    }
}

void print_block(Context& context, const reg::Block& block) {
  context.print(fmt::format("{}: {}", block.name, block.text));
  Json entry = {{"name", block.name}, {"bytes", block.size}, {"registers", Json::array()}};
  for (unsigned n = 0; n < block.count; ++n) {
    const reg::Register& r = block.registers[n];
    Json fields = Json::array();
    const std::string window = r.count > 1 ? fmt::format(" + {} i, i < {}", r.stride, r.count) : "";
    context.print(fmt::format("  {:#06x}{:<20} {:<22} {:<3}  {}", r.offset, window, r.name, r.access, r.text));
    for (unsigned f = 0; f < r.field_count; ++f) {
      const reg::Field& field = r.fields[f];
      fields.push_back({{"name", field.name}, {"lsb", field.lsb}, {"width", field.width}, {"text", field.text}});
      context.print(
          fmt::format("  {:>26} [{}:{}] {}: {}", "", field.lsb + field.width - 1, field.lsb, field.name, field.text));
    }
    entry["registers"].push_back({{"name", r.name},
                                  {"offset", r.offset},
                                  {"width", r.width},
                                  {"count", r.count},
                                  {"stride", r.stride},
                                  {"reset", r.reset},
                                  {"access", r.access},
                                  {"fields", fields},
                                  {"text", r.text}});
  }
  context.result["blocks"].push_back(entry);
}

int print_registers(Context& context, const std::vector<std::string>& names) {
  std::vector<std::string> valid = {"csr", "trap"};
  for (const reg::Block& block : reg::kBlocks) valid.emplace_back(block.name);
  for (const std::string& name : names)
    if (std::find(valid.begin(), valid.end(), name) == valid.end())
      throw Error(Category::usage, fmt::format("there are no registers '{}'", name), "",
                  fmt::format("one of: {}", fmt::join(valid, ", ")));
  const auto wanted = [&](const std::string& name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  if (wanted("csr")) print_csrs(context);
  if (wanted("trap")) print_traps(context);
  for (const reg::Block& block : reg::kBlocks)
    if (wanted(block.name)) print_block(context, block);
  return 0;
}

}  // namespace

void add_hw_commands(CLI::App& app, Context& context) {
  add_command(app, context, "platforms", "List the built-in platforms, or print one as JSON",
              "tessera platforms pocket", [](CLI::App& sub) -> Body {
                auto names = std::make_shared<std::vector<std::string>>();
                sub.add_option("name", *names, "Platform names or files; each is checked and printed whole")
                    ->type_name("NAME|FILE");
                return [names](Context& c) { return print_platforms(c, *names); };
              });
  add_command(app, context, "isa", "Print the instruction table, or decode words",
              "tessera isa x.run --decode 0x00b4e38b", [](CLI::App& sub) -> Body {
                auto names = std::make_shared<std::vector<std::string>>();
                auto words = std::make_shared<std::vector<std::string>>();
                sub.add_option("name", *names, "Instructions; a name may stop at a dot: x.amp")->type_name("NAME");
                sub.add_option("--decode", *words, "Words in hexadecimal to decode")->type_name("WORD");
                return [names, words](Context& c) { return print_isa(c, *names, *words); };
              });
  add_command(app, context, "registers", "Print CSRs, trap causes and register blocks", "tessera registers csr",
              [](CLI::App& sub) -> Body {
                auto names = std::make_shared<std::vector<std::string>>();
                sub.add_option("name", *names, "csr, trap or a register block")->type_name("NAME");
                return [names](Context& c) { return print_registers(c, *names); };
              });
}

}  // namespace tessera::cli
