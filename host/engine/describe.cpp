// Text of device exceptions: from addresses back to what the user wrote.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "host/engine/engine.h"
#include "hw/error.h"

namespace tessera::engine {

using driver::ExceptionInfo;
using executable::Executable;
using executable::Program;

namespace {

const Program* program_of(const Executable& executable, unsigned ipu) {
  for (const executable::Instance& instance : executable.instances)
    if (instance.ipu == ipu) return &executable.programs.at(instance.program);
  return nullptr;
}

std::string place(const Program& program, Address pc) {
  const executable::Symbol* symbol = executable::find_symbol(program, pc);
  if (symbol == nullptr) return fmt::format("pc 0x{:05x}", pc);
  const std::string source = executable::find_source(program, pc);
  return fmt::format("pc 0x{:05x} ({}+0x{:x}{})", pc, symbol->name, pc - symbol->address,
                     source.empty() ? "" : ", " + source);
}

/// Vertices that may have been running: records of this tile and worker whose codelet holds the pc.
std::string vertices(const Program& program, const ExceptionInfo& info) {
  const executable::Symbol* symbol = executable::find_symbol(program, info.pc);
  if (symbol == nullptr || info.context == 0) return {};
  std::set<std::string> names;
  for (const executable::VertexRecord& record : program.vertices) {
    const executable::VertexName& name = program.vertex_names.at(record.name);
    const bool mine = record.tile == info.tile && (record.workers >> (info.context - 1) & 1U) != 0;
    if (mine && name.codelet == symbol->name)
      names.insert(fmt::format("{} ({}) in compute set {}", name.vertex, name.codelet, name.compute_set));
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "\n  vertex: " : "\n      or: ") + name;
  return text;
}

std::string program_path(const Program& program, const ExceptionInfo& info) {
  const executable::Step* step = info.context == 0 ? executable::find_step(program, info.pc) : nullptr;
  return step == nullptr ? std::string() : fmt::format("\n  program: {} ({})", step->path, step->name);
}

std::string exchange(const Program& program, const ExceptionInfo& info) {
  const executable::TileTable* table = executable::find_table(program, info.tile, info.value);
  if (table == nullptr) return {};
  return fmt::format("\n  exchange: {}, descriptor at table + {}", program.phases.at(table->phase).name,
                     info.value - table->begin);
}

bool is_exchange_fault(std::uint32_t cause) { return cause >= 27 && cause <= 30; }

}  // namespace

std::string describe(const Executable& executable, const ExceptionInfo& info) {
  if (info.kind != ExceptionInfo::Kind::trap) return info.detail;
  const std::string context = info.context == 0 ? "supervisor" : fmt::format("worker {}", info.context);
  std::string text = fmt::format("{} (cause {}, value 0x{:x}) on IPU {} tile {} {}", driver::cause_name(info.cause),
                                 info.cause, info.value, info.ipu, info.tile, context);
  const Program* program = program_of(executable, info.ipu);
  if (program == nullptr) return text + fmt::format("\n  at: pc 0x{:05x}", info.pc);
  text += "\n  at: " + place(*program, info.pc) + vertices(*program, info) + program_path(*program, info);
  if (is_exchange_fault(info.cause)) text += exchange(*program, info);
  return text;
}

void Engine::raise(const ExceptionInfo& info) const {
  std::string text = describe(executable_, info);
  if (options_.inspect) text += options_.inspect(info);
  const bool no_progress = info.kind == ExceptionInfo::Kind::no_progress;
  throw Error(no_progress ? Category::no_progress : Category::device_exception, text, "", "", info.cycle);
}

}  // namespace tessera::engine
