// The executable from a Builder's steps: memory plan, code, run lists, tables, and the compiler's emitter for the rest.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "host/codelets/linker.h"
#include "host/compiler/emit.h"
#include "host/demo/codelets.h"
#include "host/demo/program.h"
#include "hw/error.h"
#include "hw/generated/machine.h"

namespace tessera::demo {

using compiler::Tables;

/// One use of Builder::build().
class Assembly {
 public:
  explicit Assembly(const Builder& b) : b_(b), ir_(graph::Graph(b.tiles_)) {}

  executable::Executable run() {
    link_image();
    plan_below_lists();
    std::vector<Tables> tables;
    for (unsigned ipu = 0; ipu < b_.ipus_; ++ipu) tables.push_back(tables_of(ipu));
    plan_behind_lists(tables);
    executable::Executable result;
    for (unsigned ipu = 0; ipu < b_.ipus_; ++ipu) add_program(result, ipu, tables[ipu]);
    return result;
  }

 private:
  using Step = Builder::Step;

  /// A boundary between what tiles have in common and what each has for itself. On large machines it is one of the
  /// pages by which models of tiles share decoded code: thousands of tiles decode it once.
  Address align(Address address) const {
    constexpr Address kPage = 4096;
    constexpr unsigned kManyTiles = 1024;
    if (b_.ipus_ * b_.tiles_ < kManyTiles) return compiler::align_region(address);
    return (address + kPage - 1) / kPage * kPage;
  }

  /// Firmware and codelets by the linker, own code behind them.
  void link_image() {
    control_ = ControlWriter(b_, align(kSramBase + start_region::kBytes)).run(kSramBase);
    const Address base = align(control_.end());
    std::vector<std::string> roots = {kFirmwareBoot, kFirmwareExit, kFirmwareDispatch};
    std::uint32_t stack = 0;
    for (const Builder::CodeEntry& c : b_.codes_) {
      stack = std::max(stack, c.stack);
      if (c.words.empty()) roots.push_back(c.name);
    }
    image_ = link(codelets(), roots, base);
    firmware_ = {kFirmwareBoot, kFirmwareExit, kFirmwareDispatch};
    worker_stack_ = compiler::worker_stack_bytes(stack);
    for (const Builder::CodeEntry& c : b_.codes_) {
      if (c.words.empty()) {
        code_at_.push_back(image_.address_of(c.name));
        code_blobs_.push_back(image_.needs.at(c.name));
        continue;
      }
      code_at_.push_back(image_.end);
      code_blobs_.push_back({image_.blobs.size()});
      LinkedBlob blob{c.name, image_.end, {}};
      for (const std::uint32_t word : c.words)
        for (unsigned k = 0; k < 4; ++k) blob.bytes.push_back(static_cast<std::uint8_t>(word >> (8 * k)));
      image_.symbols.push_back({c.name, image_.end, static_cast<std::uint32_t>(blob.bytes.size()), true});
      image_.lines.push_back({image_.end, 0, 0});  // nothing is known of its source
      image_.end = (image_.end + static_cast<Address>(blob.bytes.size()) + 7) / 8 * 8;
      image_.blobs.push_back(std::move(blob));
    }
    control_ = ControlWriter(b_, control_.base).run(image_.address_of(kFirmwareBoot));
  }

  void plan_below_lists() {
    plan_.start = kSramBase;
    plan_.control = control_.base;
    plan_.code = image_.base;
    plan_.steps = align(image_.end);
    plan_.lists = compiler::align_region(plan_.steps + 4 * static_cast<Address>(control_.slots.size()));
    for (const Step& s : b_.steps_) {
      if (s.kind != Step::Kind::exchange) continue;
      ir_.exchanges.emplace_back();
      ir_.exchanges.back().path = "main";
      ir_.exchanges.back().name = s.name;
    }
  }

  Tables tables_of(unsigned ipu) {
    Tables tables;
    tables.lists.resize(b_.tiles_);
    for (const Step& s : b_.steps_) {
      if (s.kind == Step::Kind::compute) add_lists(ipu, s, tables);
      if (s.kind == Step::Kind::set_xbase) tables.values.push_back(s.values[ipu]);
    }
    for (const auto& words : tables.lists) longest_list_ = std::max(longest_list_, words.size());
    return tables;
  }

  void add_lists(unsigned ipu, const Step& step, Tables& tables) {
    std::vector<Address> at(b_.tiles_, 0);
    auto call = std::lower_bound(step.calls.begin(), step.calls.end(), ipu,
                                 [](const Call& c, unsigned i) { return c.tile.ipu < i; });
    while (call != step.calls.end() && call->tile.ipu == ipu) {
      auto end = call;
      while (end != step.calls.end() && end->tile == call->tile) ++end;
      at[call->tile.tile] = add_list(&*call, &*call + (end - call), step, tables);
      call = end;
    }
    tables.list_at.push_back(std::move(at));
  }

  /// The list of one tile: six pointers, records, states. Workers with the same calls share their records.
  Address add_list(const Call* first, const Call* last, const Step& step, Tables& tables) {
    const std::uint32_t tile = first->tile.tile;
    std::vector<std::uint32_t>& words = tables.lists[tile];
    const Address base = plan_.lists + 4 * static_cast<Address>(words.size());
    std::vector<std::uint32_t> list(kWorkers, 0);
    std::map<std::vector<std::ptrdiff_t>, std::uint8_t> shares;  // numbers of calls -> workers
    for (unsigned w = 1; w <= kWorkers; ++w) {
      std::vector<std::ptrdiff_t> calls;
      for (const Call* c = first; c != last; ++c)
        if ((c->workers & worker(w)) != 0) calls.push_back(c - first);
      if (!calls.empty()) shares[calls] = static_cast<std::uint8_t>(shares[calls] | worker(w));
    }
    struct Patch {
      std::size_t word;
      const Call* call;
      std::size_t record;
    };
    std::vector<Patch> patches;
    for (const auto& [calls, workers] : shares) {
      for (unsigned w = 1; w <= kWorkers; ++w)
        if ((workers & worker(w)) != 0) list[w - 1] = base + 4 * static_cast<Address>(list.size());
      for (const std::ptrdiff_t number : calls) {
        const Call* const c = first + number;
        executable::VertexRecord record;
        record.tile = tile;
        record.workers = workers;
        record.record = base + 4 * static_cast<Address>(list.size());
        record.stride = c->stride;
        record.count = c->count;
        record.name = name_of(step, c->code);
        record.first = static_cast<std::uint64_t>(c - step.calls.data());
        patches.push_back({list.size() + 1, c, tables.records.size()});
        tables.records.push_back(record);
        list.insert(list.end(), {code_at_[c->code.index], 0, c->count | std::uint32_t{c->stride} << 16});
      }
      list.push_back(0);
    }
    std::map<const Call*, Address> states;
    for (const Patch& p : patches) {
      const auto [at, fresh] = states.try_emplace(p.call, base + 4 * static_cast<Address>(list.size()));
      if (fresh) list.insert(list.end(), p.call->state.begin(), p.call->state.end());
      list[p.word] = at->second;
      tables.records[p.record].state = at->second;
    }
    words.insert(words.end(), list.begin(), list.end());
    return base;
  }

  /// Number of the name that the code has in this step.
  std::uint32_t name_of(const Step& step, Code code) {
    const auto number = static_cast<std::size_t>(&step - b_.steps_.data());
    const auto [at, fresh] =
        names_.try_emplace({number, code.index}, static_cast<std::uint32_t>(ir_.vertex_names.size()));
    const std::string& name = b_.codes_[code.index].name;
    if (fresh) ir_.vertex_names.push_back({name, name, step.name});
    return at->second;
  }

  void plan_behind_lists(std::vector<Tables>& tables) {
    plan_.exchange = compiler::align_region(plan_.lists + 4 * static_cast<Address>(longest_list_));
    std::size_t longest = 0;
    for (unsigned ipu = 0; ipu < b_.ipus_; ++ipu) {
      make_exchange(ipu, tables[ipu]);
      for (const auto& words : tables[ipu].exchange) longest = std::max(longest, words.size());
    }
    plan_.stacks = compiler::align_region(plan_.exchange + 4 * static_cast<Address>(longest));
    plan_.data = compiler::align_region(plan_.stacks + kWorkers * worker_stack_ + kSupervisorStackBytes);
    if (static_cast<std::int64_t>(plan_.data) <= b_.lowest_) return;
    throw Error(
        Category::does_not_fit,
        fmt::format("a tile's SRAM of {} bytes is {} bytes too small: control {}, code {}, step table {}, lists {}, "
                    "exchange and packet tables {}, stacks {}, data {}",
                    b_.platform_.sram_bytes, plan_.data - b_.lowest_, plan_.code - plan_.start,
                    plan_.steps - plan_.code, plan_.lists - plan_.steps, plan_.exchange - plan_.lists,
                    plan_.stacks - plan_.exchange, plan_.data - plan_.stacks, b_.platform_.sram_end() - b_.lowest_),
        b_.name_, "move less at once, or take a platform with more SRAM");
  }

  Address add_table(Tables& tables, std::uint32_t tile, const std::vector<std::uint64_t>& table) const {
    std::vector<std::uint32_t>& words = tables.exchange[tile];
    const Address at = plan_.exchange + 4 * static_cast<Address>(words.size());
    for (const std::uint64_t w : table) {
      words.push_back(static_cast<std::uint32_t>(w));
      words.push_back(static_cast<std::uint32_t>(w >> 32));
    }
    return at;
  }

  void make_exchange(unsigned ipu, Tables& tables) const {
    tables.exchange.resize(b_.tiles_);
    std::uint32_t number = 0;
    for (const Step& s : b_.steps_) {
      if (s.kind == Step::Kind::packets) {
        std::vector<Address> at(b_.tiles_, 0);
        for (std::uint32_t t = 0; t < b_.tiles_; ++t)
          if (!s.packets[ipu][t].empty()) at[t] = add_table(tables, t, s.packets[ipu][t]);
        tables.packets_at.push_back(std::move(at));
      }
      if (s.kind != Step::Kind::exchange) continue;
      const Builder::Phases& phases = *s.exchanges[ipu];
      tables.phase_at.emplace_back();
      for (std::uint32_t p = 0; p < s.phases; ++p, ++number) {
        std::vector<Address> at(b_.tiles_, 0);
        for (std::uint32_t t = 0; p < phases.tables.size() && t < b_.tiles_; ++t) {
          if (phases.tables[p][t].empty()) continue;
          at[t] = add_table(tables, t, phases.tables[p][t]);
          tables.ranges.push_back({t, at[t], at[t] + 8 * static_cast<Address>(phases.tables[p][t].size()), number});
        }
        tables.phase_at.back().push_back(std::move(at));
      }
      exchange::Schedule schedule = phases.schedule;
      schedule.phases.resize(s.phases);  // an IPU with fewer moves nothing in the rest
      tables.schedules.push_back(std::move(schedule));
    }
  }

  compiler::CodeImage code_of(unsigned ipu) const {
    std::vector<std::set<std::size_t>> present(b_.tiles_);
    for (auto& tile : present)
      for (const std::string& root : firmware_) {
        const auto& needs = image_.needs.at(root);
        tile.insert(needs.begin(), needs.end());
      }
    for (const Step& s : b_.steps_)
      for (const Call& c : s.calls)
        if (c.tile.ipu == ipu)
          present[c.tile.tile].insert(code_blobs_[c.code.index].begin(), code_blobs_[c.code.index].end());
    compiler::CodeImage code = compiler::place_code(image_, std::move(present));
    code.worker_stack = worker_stack_;
    return code;
  }

  void add_program(executable::Executable& result, unsigned ipu, const Tables& tables) {
    compiler::Options options;
    options.name = b_.name_;
    options.ipu = ipu;
    const compiler::CodeImage code = code_of(ipu);
    executable::Executable one = compiler::emit({ir_, b_.platform_, plan_, control_, code, {}, {}, tables}, options);
    executable::Program& program = one.programs.front();
    number_phases(ipu, program);
    constants(ipu, program);
    program.tensors = b_.tensors_;
    one.instances.front() = {ipu, ipu, ipu};
    if (ipu == 0) {
      result = std::move(one);
      return;
    }
    result.programs.push_back(std::move(program));
    result.instances.push_back(one.instances.front());
  }

  void number_phases(unsigned ipu, executable::Program& program) const {
    std::size_t number = 0;
    for (const Step& s : b_.steps_) {
      if (s.kind != Step::Kind::exchange) continue;
      const Builder::Phases& phases = *s.exchanges[ipu];
      for (std::uint32_t p = 0; p < s.phases; ++p, ++number)
        program.phases[number].words_sent = p < phases.sent.size() ? phases.sent[p] : 0;
    }
  }

  void constants(unsigned ipu, executable::Program& program) const {
    for (const auto& [name, pieces] : b_.initials_) {
      executable::Constant constant;
      constant.name = name;
      for (const Initial& i : pieces) {
        if (i.tile.ipu != ipu || i.words.empty()) continue;
        if (i.tile.tile >= b_.tiles_ || i.address % 4 != 0 || i.address < b_.lowest_ ||
            i.address + 4 * i.words.size() > b_.platform_.sram_end())
          throw std::logic_error("initial words outside the data region: " + name);
        constant.pieces.push_back({i.tile.tile, i.address, static_cast<std::uint32_t>(constant.words.size()),
                                   static_cast<std::uint32_t>(i.words.size())});
        constant.words.insert(constant.words.end(), i.words.begin(), i.words.end());
      }
      if (!constant.pieces.empty()) program.constants.push_back(std::move(constant));
    }
  }

  const Builder& b_;
  compiler::Ir ir_;
  compiler::Control control_;
  compiler::Plan plan_;
  LinkedImage image_;
  std::vector<std::string> firmware_;
  std::vector<Address> code_at_;                                          // by Code
  std::vector<std::vector<std::size_t>> code_blobs_;                      // by Code: what it needs of the image
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> names_;  // step, code -> number of a vertex name
  std::uint32_t worker_stack_ = 0;
  std::size_t longest_list_ = 0;
};

executable::Executable Builder::build() {
  if (open_repeats_ != 0) throw std::logic_error("a loop without an end");
  return Assembly(*this).run();
}

}  // namespace tessera::demo
