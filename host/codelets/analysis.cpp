// Control-flow walk over RV32 code with relocations (analysis.h).
#include "host/codelets/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "host/codelets/riscv.h"
#include "hw/error.h"

namespace tessera {

using namespace riscv;

namespace {
constexpr unsigned kRa = 1, kSp = 2;
constexpr std::uint32_t kEbreak = 0x00100073, kExitMask = 0x707f, kExitMatch = 0x100b;

bool writes_x(std::uint32_t word) {
  switch (opcode(word)) {
    case 0x03:
    case 0x13:
    case 0x17:
    case 0x33:
    case 0x37:
    case 0x67:
    case 0x6f:
    case 0x73:
      return true;
    default:
      return false;
  }
}
}  // namespace

const Relocation* CodeAnalyser::relocation_at(int section, std::uint32_t pc) const {
  const auto& relocations = objects_.sections().at(static_cast<std::size_t>(section)).relocations;
  auto it = std::lower_bound(relocations.begin(), relocations.end(), pc,
                             [](const Relocation& r, std::uint32_t offset) { return r.offset < offset; });
  for (; it != relocations.end() && it->offset == pc; ++it)
    if (it->type != kRelax && it->type != kAlign) return &*it;
  return nullptr;
}

std::string CodeAnalyser::name(int section, std::uint32_t offset) const {
  const ObjectSymbol* best = nullptr;
  for (const auto& symbol : objects_.symbols()) {
    if (symbol.function && symbol.section == section && symbol.value <= offset &&
        (best == nullptr || symbol.value > best->value))
      best = &symbol;
  }
  return best == nullptr ? objects_.sections().at(static_cast<std::size_t>(section)).name : best->name;
}

void CodeAnalyser::refuse(int section, std::uint32_t pc, const std::string& what, const std::string& advice) const {
  throw Error(Category::usage, fmt::format("Function {} {} (at byte {:#x}).", name(section, pc), what, pc), origin_,
              advice);
}

CodeAnalyser::Step CodeAnalyser::step(int section, std::uint32_t pc) const {
  const auto& bytes = objects_.sections().at(static_cast<std::size_t>(section)).bytes;
  if (pc % 4 != 0 || pc + 4 > bytes.size()) refuse(section, pc, "runs past its end", "return from every path");
  const std::uint32_t word = load32(bytes, pc);
  const Relocation* relocation = relocation_at(section, pc);
  Step result;
  const auto place = [&](std::int32_t immediate) -> std::pair<int, std::uint32_t> {
    if (relocation == nullptr) return {section, pc + static_cast<std::uint32_t>(immediate)};
    const auto target = objects_.resolve(relocation->symbol, relocation->addend);
    return {target.section, target.offset};
  };
  if (relocation != nullptr && (relocation->type == kCall || relocation->type == kCallPlt)) {
    if (pc + 8 > bytes.size()) refuse(section, pc, "runs past its end", "return from every path");
    result.calls.push_back(place(0));
    if (rd(load32(bytes, pc + 4)) != 0) result.next.push_back(pc + 8);
    return result;
  }
  switch (opcode(word)) {
    case 0x63:
      result.next = {place(imm_b(word)).second, pc + 4};
      return result;
    case 0x6f: {
      const auto target = place(imm_j(word));
      const bool inside = target.first == section && name(section, target.second) == name(section, pc);
      if (rd(word) == 0 && inside) {
        result.next = {target.second};
      } else {
        result.calls.push_back(target);
        if (rd(word) != 0) result.next = {pc + 4};
      }
      return result;
    }
    case 0x67:
      if (rd(word) == 0 && rs1(word) == kRa) return result;  // return
      refuse(section, pc, "calls through a pointer", "call codelet helper functions by name");
    default:
      break;
  }
  if (word == kEbreak || (word & kExitMask) == kExitMatch) return result;
  if (writes_x(word) && rd(word) == kSp) {
    if (opcode(word) != 0x13 || funct3(word) != 0 || rs1(word) != kSp)
      refuse(section, pc, "changes the stack pointer by a variable amount or by more than 2 KiB",
             "use no alloca, no variable-length arrays and no large local arrays");
    result.stack = imm_i(word);
  }
  result.next = {pc + 4};
  return result;
}

std::uint32_t CodeAnalyser::stack_bytes(int section, std::uint32_t offset) {
  const auto key = std::make_pair(section, offset);
  if (const auto it = functions_.find(key); it != functions_.end()) {
    if (!it->second.done) refuse(section, offset, "is recursive", "write it as a loop");
    return it->second.bytes;
  }
  functions_[key] = {};
  std::map<std::uint32_t, std::int32_t> depth{{offset, 0}};  // sp relative to entry, before the instruction
  std::vector<std::uint32_t> work{offset};
  std::uint32_t deepest = 0;
  while (!work.empty()) {
    const std::uint32_t pc = work.back();
    work.pop_back();
    const Step now = step(section, pc);
    const std::int32_t after = depth[pc] + now.stack;
    deepest = std::max(deepest, static_cast<std::uint32_t>(std::max(-after, 0)));
    for (const auto& [callee_section, callee] : now.calls) {
      if (callee_section < 0) continue;  // undefined: the linker reports it
      const std::uint32_t below = stack_bytes(callee_section, callee);
      deepest = std::max(deepest, static_cast<std::uint32_t>(std::max(-after, 0)) + below);
    }
    for (const std::uint32_t next : now.next) {
      const auto [it, fresh] = depth.emplace(next, after);
      if (fresh)
        work.push_back(next);
      else if (it->second != after)
        refuse(section, next, "reaches one place with two stack depths", "use no alloca or inline assembly on sp");
    }
  }
  functions_[key] = {true, deepest};
  return deepest;
}

std::vector<int> reachable_sections(const ObjectSet& objects, int section, std::vector<std::uint32_t>* undefined) {
  std::vector<int> order;
  std::set<int> seen{section};
  std::vector<int> work{section};
  while (!work.empty()) {
    const int at = work.back();
    work.pop_back();
    order.push_back(at);
    const auto& relocations = objects.sections().at(static_cast<std::size_t>(at)).relocations;
    // The last pushed is the next visited: push in reverse for the order of first need.
    for (auto it = relocations.rbegin(); it != relocations.rend(); ++it) {
      if (it->type == kNone || it->type == kRelax || it->type == kAlign) continue;
      const auto target = objects.resolve(it->symbol, it->addend);
      if (target.section >= 0) {
        if (seen.insert(target.section).second) work.push_back(target.section);
      } else if (target.section == ObjectSymbol::kUndefined && undefined != nullptr) {
        undefined->push_back(it->symbol);
      }
    }
  }
  return order;
}

}  // namespace tessera
