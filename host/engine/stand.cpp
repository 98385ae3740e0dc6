#include "host/engine/stand.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "host/codelets/amp_record.h"
#include "host/codelets/linker.h"
#include "hw/generated/machine.h"

namespace tessera::engine {

using executable::Program;
using executable::Step;
using executable::VertexRecord;

namespace {

constexpr unsigned kRa = 1, kS0 = 8, kA0 = 10, kS3 = 19;  // registers of the calling convention

bool in_amp_loop(const Program& program, const Registers& supervisor) {
  const executable::Symbol* routine = executable::find_symbol(program, supervisor.pc);
  return routine != nullptr && routine->name == kFirmwareAmp;
}

/// Those of `records` of the compute set that the step runs; all if none is.
void keep_step(const Program& program, Stand& stand) {
  if (stand.step == nullptr) return;
  std::vector<const VertexRecord*> kept;
  for (const VertexRecord* record : stand.records)
    if (program.vertex_names.at(record->name).compute_set == stand.step->name) kept.push_back(record);
  if (kept.empty()) {
    stand.step = nullptr;  // the registers are of something else
  } else {
    stand.records = std::move(kept);
  }
}

/// The supervisor is in the loop over AMP vertices. Its list pointer stands behind the record whose sets it hands out;
/// workers may still be at the last set of the one before.
void keep_amp(Stand& stand, const Registers& supervisor, bool worker) {
  constexpr Address kBytes = sizeof(AmpRecord);
  const Address now = supervisor.x[kA0] - kBytes;
  for (const Address at : {now, now - kBytes}) {
    std::vector<const VertexRecord*> kept;
    for (const VertexRecord* record : stand.records)
      if (record->amp() && (record->record == at || (worker && at == now && record->record == now - kBytes)))
        kept.push_back(record);
    if (kept.empty()) continue;
    stand.records = std::move(kept);
    return;
  }
}

/// A worker's own registers: the record behind which its pointer stands, and the state of the call.
void keep_dispatched(Stand& stand, const Registers& worker) {
  for (const VertexRecord* record : stand.records) {
    if (record->record + dispatch_record::kBytes != worker.x[kS0] || worker.x[kS3] < record->state) continue;
    const Address offset = worker.x[kS3] - record->state;
    if (record->stride == 0 ? offset != 0 : offset % record->stride != 0 || offset / record->stride >= record->count)
      continue;
    if (record->stride != 0) stand.member = record->first + offset / record->stride;
    stand.records = {record};
    return;
  }
}

}  // namespace

std::vector<const VertexRecord*> records_at(const Program& program, unsigned tile, unsigned context, Address pc) {
  std::vector<const VertexRecord*> found;
  const executable::Symbol* symbol = executable::find_symbol(program, pc);
  if (symbol == nullptr || context == 0) return found;
  for (const VertexRecord& record : program.vertices) {
    const bool mine = record.tile == tile && (record.workers >> (context - 1) & 1U) != 0;
    if (mine && program.vertex_names.at(record.name).codelet == symbol->name) found.push_back(&record);
  }
  return found;
}

Stand narrowed(const Program& program, unsigned context, std::vector<const VertexRecord*> records,
               const Registers& self, const Registers& supervisor) {
  Stand stand;
  stand.records = std::move(records);
  if (in_amp_loop(program, supervisor)) {
    stand.step = executable::find_step(program, supervisor.x[kRa] - 4);
    keep_step(program, stand);
    keep_amp(stand, supervisor, context != 0);
    return stand;
  }
  // The last compute step before the supervisor's pc that has one of them: it waits behind it.
  for (const Step& step : program.steps) {
    if (step.kind != Step::Kind::compute || step.begin >= supervisor.pc) continue;
    for (const VertexRecord* record : stand.records)
      if (program.vertex_names.at(record->name).compute_set == step.name) stand.step = &step;
  }
  keep_step(program, stand);
  keep_dispatched(stand, self);
  return stand;
}

namespace {

const Program* program_of(const executable::Executable& executable, unsigned ipu) {
  for (const executable::Instance& instance : executable.instances)
    if (instance.ipu == ipu) return &executable.programs.at(instance.program);
  return nullptr;
}

std::string step_text(const Step& step) { return ", " + step.path + (step.name.empty() ? "" : ": " + step.name); }

}  // namespace

std::string place_text(const executable::Executable& executable, unsigned ipu, Address pc) {
  const Program* program = program_of(executable, ipu);
  const executable::Symbol* symbol = program == nullptr ? nullptr : executable::find_symbol(*program, pc);
  if (symbol == nullptr) return {};
  std::string text = fmt::format("{}+0x{:x}", symbol->name, pc - symbol->address);
  if (const std::string source = executable::find_source(*program, pc); !source.empty()) text += ", " + source;
  if (const Step* step = executable::find_step(*program, pc)) text += step_text(*step);
  return text;
}

std::string stand_text(const executable::Executable& executable, unsigned ipu, unsigned tile, Address pc,
                       const Look& look) {
  std::string text = place_text(executable, ipu, pc);
  const Program* program = program_of(executable, ipu);
  const std::optional<Registers> supervisor = program != nullptr && look ? look(ipu, tile, 0) : std::nullopt;
  if (supervisor && supervisor->pc == pc && in_amp_loop(*program, *supervisor))
    if (const Step* step = executable::find_step(*program, supervisor->x[kRa] - 4)) text += step_text(*step);
  return text + workers_text(executable, ipu, tile, look);
}

std::string workers_text(const executable::Executable& executable, unsigned ipu, unsigned tile, const Look& look) {
  const Program* program = program_of(executable, ipu);
  const std::optional<Registers> supervisor = program != nullptr && look ? look(ipu, tile, 0) : std::nullopt;
  if (!supervisor) return {};
  std::map<std::string, std::vector<unsigned>> groups;
  for (unsigned worker = 1; worker <= kWorkers; ++worker) {
    const std::optional<Registers> self = look(ipu, tile, worker);
    if (!self || !self->running) continue;
    const Stand stand =
        narrowed(*program, worker, records_at(*program, tile, worker, self->pc), *self, *supervisor);
    std::set<std::string> names;
    for (const VertexRecord* record : stand.records) {
      const executable::VertexName& name = program->vertex_names.at(record->name);
      names.insert(fmt::format("vertex {} ({}) of compute set {}", name.vertex, name.codelet, name.compute_set));
    }
    const executable::Symbol* symbol = executable::find_symbol(*program, self->pc);
    if (names.empty() && symbol != nullptr) names.insert(symbol->name);
    constexpr std::size_t kShown = 3;
    std::string text;
    std::size_t shown = 0;
    for (const std::string& name : names)
      if (++shown <= kShown) text += (text.empty() ? "" : " or ") + name;
    if (names.size() > kShown) text += fmt::format(" or {} others", names.size() - kShown);
    groups[text.empty() ? fmt::format("pc 0x{:05x}", self->pc) : text].push_back(worker);
  }
  std::string text;
  for (const auto& [what, workers] : groups)
    text += fmt::format("; worker{} {} in {}", workers.size() == 1 ? "" : "s", fmt::join(workers, ","), what);
  return text;
}

}  // namespace tessera::engine
