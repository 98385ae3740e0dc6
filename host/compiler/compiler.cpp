// The passes in order, timed; tables of all tiles; the report.
#include "host/compiler/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "host/compiler/emit.h"
#include "host/compiler/liveness.h"
#include "host/compiler/lower.h"
#include "host/compiler/phases.h"
#include "host/compiler/rebase.h"
#include "host/compiler/report.h"
#include "hw/error.h"
#include "hw/generated/machine.h"

namespace tessera::compiler {

namespace {

constexpr unsigned kPasses = 9;

class Compilation {
 public:
  Compilation(const graph::Graph& graph, const Platform& platform, const CodeletLibrary& library,
              const Options& options)
      : graph_(graph), platform_(platform), library_(library), options_(options), ir_(graph) {
    ir_.poll = options.poll;
  }

  Compiled run() {
    pass("validate", [&] { check_graph(); });
    pass("lower", [&] { lower(ir_, library_); });
    dump("lower", [&] { return dump_steps(ir_); });
    pass("liveness", [&] { liveness_ = analyse_liveness(ir_); });
    // How many phases an exchange is cut into shows only when addresses are known; nearly always it is one.
    phases_.assign(ir_.exchanges.size(), 1);
    for (bool settled = false; !settled;) {
      tables_ = Tables{};
      pass("control", [&] {
        control_ = generate_control(ir_, kSramBase + start_region::kBytes, {kSramBase, kSramBase}, phases_);
      });
      pass("code", [&] { make_code(); });
      pass("allocate", [&] { allocation_ = place_data(); });
      pass("lists", [&] { make_lists(); });
      check_before_tables();
      pass("exchange", [&] { settled = make_tables(); });
    }
    dump("allocate", [&] { return dump_allocation(ir_, liveness_, allocation_); });
    dump("exchange", [&] { return dump_phases(ir_, tables_.schedules); });
    Compiled result;
    pass("emit", [&] { result.executable = finish(result.report); });
    result.report.passes = std::move(passes_);
    return result;
  }

 private:
  template <typename F>
  void pass(const std::string& name, F&& f) {
    if (options_.progress)
      options_.progress(name, std::min(static_cast<unsigned>(passes_.size()), kPasses - 1), kPasses);
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    passes_.push_back({name, taken.count()});
  }

  template <typename F>
  void dump(const std::string& name, F&& f) {
    if (options_.dump) options_.dump(name, f());
  }

  void check_graph() const {
    if (graph_.tiles() > platform_.tiles) {
      throw Error(Category::usage,
                  fmt::format("the graph is for {} tiles, platform {} has {} in an IPU", graph_.tiles(), platform_.name,
                              platform_.tiles),
                  options_.name, "use a platform with more tiles, or fewer tiles in the graph");
    }
    graph::validate(graph_);
  }

  Allocation place_data() const {
    const bool in_place = options_.reuse && options_.in_place;
    return allocate(ir_, liveness_, platform_, code_.holes,
                    {options_.reuse, in_place ? find_in_place(ir_, liveness_) : std::vector<InPlace>{}});
  }

  void make_code() {
    // Sizes do not depend on where boot stands, only one jump an entry point does.
    const Address base = align_region(control_.end());
    code_ = link_code(ir_, library_, base);
    control_ = generate_control(ir_, control_.base, code_.firmware(), phases_);
    plan_.start = kSramBase;
    plan_.control = control_.base;
    plan_.code = base;
    plan_.steps = align_region(code_.image.end);
    plan_.lists = align_region(plan_.steps + 4 * static_cast<Address>(control_.slots.size()));
  }

  void make_lists() {
    CodeAddresses addresses;
    for (const ComputeStep& step : ir_.computes) {
      for (const Calls& c : step.calls) addresses.try_emplace(c.codelet->name, 0);
    }
    for (auto& [name, address] : addresses) address = code_.image.address_of(name);
    const std::uint32_t tiles = ir_.graph.tiles();
    tables_.lists.resize(tiles);
    const std::vector<std::vector<std::uint32_t>> windows = window_variables(ir_);
    std::vector<std::vector<std::vector<Address>>> in_window(windows.size(), std::vector<std::vector<Address>>(tiles));
    for (const ComputeStep& step : ir_.computes) {
      ir_.check_poll();
      std::vector<std::vector<const Calls*>> by_tile(tiles);
      for (const Calls& c : step.calls) by_tile[c.tile].push_back(&c);
      std::vector<Address> at(tiles, 0);
      std::vector<Address> amp_at(tiles, 0);
      for (std::uint32_t t = 0; t < tiles; ++t) {
        if (by_tile[t].empty()) continue;
        std::vector<std::uint32_t>& words = tables_.lists[t];
        TileList list =
            make_list(by_tile[t], t, plan_.lists + 4 * static_cast<Address>(words.size()), allocation_, addresses,
                      step.window == kNone ? std::vector<std::uint32_t>{} : windows[step.window]);
        if (step.window != kNone) {
          auto& all = in_window[step.window][t];
          all.insert(all.end(), list.in_window.begin(), list.in_window.end());
        }
        at[t] = list.list;
        amp_at[t] = list.amp;
        words.insert(words.end(), list.words.begin(), list.words.end());
        tables_.records.insert(tables_.records.end(), list.records.begin(), list.records.end());
        tables_.slowest += list.slowest * kWorkers;
        tables_.total += list.total;
      }
      tables_.list_at.push_back(std::move(at));
      tables_.amp_at.push_back(std::move(amp_at));
    }
    for (std::uint32_t f = 0; f < windows.size(); ++f) {
      tables_.window_at.emplace_back(tiles, 0);
      if (windows[f].empty()) continue;
      const Address routine = code_.image.address_of(kFirmwareRebase);
      for (std::uint32_t t = 0; t < tiles; ++t) {
        if (in_window[f][t].empty()) continue;
        std::vector<std::uint32_t>& words = tables_.lists[t];
        const Address at = plan_.lists + 4 * static_cast<Address>(words.size());
        tables_.window_at[f][t] = at;
        const auto table = rebase_table_of(ir_.windows[f], in_window[f][t], t, at, allocation_, routine);
        words.insert(words.end(), table.begin(), table.end());
      }
    }
    std::size_t longest = 0;
    for (const auto& words : tables_.lists) longest = std::max(longest, words.size());
    plan_.exchange = align_region(plan_.lists + 4 * static_cast<Address>(longest));
  }

  /// Adds a table to the exchange region of a tile; returns its address.
  Address add_table(std::uint32_t tile, const std::vector<std::uint64_t>& table) {
    std::vector<std::uint32_t>& words = tables_.exchange[tile];
    const Address at = plan_.exchange + 4 * static_cast<Address>(words.size());
    for (const std::uint64_t w : table) {
      words.push_back(static_cast<std::uint32_t>(w));
      words.push_back(static_cast<std::uint32_t>(w >> 32));
    }
    return at;
  }

  /// False if a step takes more phases than the control program was made for.
  bool make_tables() {
    const std::uint32_t tiles = ir_.graph.tiles();
    tables_.exchange.resize(tiles);
    bool settled = true;
    std::uint32_t number = 0;
    std::vector<exchange::Schedule> schedules = schedule_steps(ir_.exchanges, allocation_, platform_, options_.poll);
    for (std::size_t i = 0; i < ir_.exchanges.size(); ++i) {
      exchange::Schedule schedule = std::move(schedules[i]);
      const auto count = static_cast<std::uint32_t>(schedule.phases.size());
      settled = settled && count <= phases_[i];
      phases_[i] = std::max(phases_[i], count);
      schedule.phases.resize(phases_[i]);  // one that is no longer needed moves nothing
      tables_.phase_at.emplace_back();
      for (exchange::Phase& phase : schedule.phases) {
        std::vector<Address> at(tiles, 0);
        for (std::uint32_t t = 0; t < phase.tables.size(); ++t) {
          if (phase.tables[t].empty()) continue;
          at[t] = add_table(t, phase.tables[t]);
          tables_.ranges.push_back({t, at[t], at[t] + 8 * static_cast<Address>(phase.tables[t].size()), number});
        }
        phase.tables.clear();
        ++number;
        tables_.phase_at.back().push_back(std::move(at));
      }
      tables_.schedules.push_back(std::move(schedule));
    }
    for (const HostStep& step : ir_.hosts) {
      const auto packets = packet_tables(ir_, step, allocation_);
      std::vector<Address> at(tiles, 0);
      for (std::uint32_t t = 0; t < tiles; ++t) {
        if (!packets[t].empty()) at[t] = add_table(t, packets[t]);
      }
      tables_.packets_at.push_back(std::move(at));
    }
    std::size_t longest = 0;
    for (const auto& words : tables_.exchange) longest = std::max(longest, words.size());
    plan_.stacks = align_region(plan_.exchange + 4 * static_cast<Address>(longest));
    plan_.data = align_region(plan_.stacks + kWorkers * code_.worker_stack + kSupervisorStackBytes);
    return settled;
  }

  /// What cannot fit has addresses that no table can say: told before tables are made.
  void check_before_tables() {
    tables_.exchange.resize(ir_.graph.tiles());
    plan_.stacks = plan_.exchange;
    plan_.data = align_region(plan_.stacks + kWorkers * code_.worker_stack + kSupervisorStackBytes);
    for (const TileMemory& tile : allocation_.tiles()) {
      if (tile.lowest < static_cast<std::int64_t>(plan_.data)) {
        (void)check_memory();
        return;
      }
    }
  }

  /// Throws if data does not fit above everything else; the report is dumped all the same.
  nlohmann::ordered_json check_memory() {
    nlohmann::ordered_json report =
        make_report({ir_, platform_, plan_, control_, code_, allocation_, liveness_, tables_});
    dump("report", [&] { return report; });
    if (options_.report) options_.report(report);
    const std::vector<std::pair<std::string, std::uint64_t>> categories = {
        {"start", plan_.control - plan_.start},  {"control", plan_.code - plan_.control},
        {"code", plan_.steps - plan_.code},      {"steps", plan_.lists - plan_.steps},
        {"lists", plan_.exchange - plan_.lists}, {"exchange", plan_.stacks - plan_.exchange},
        {"stacks", plan_.data - plan_.stacks}};
    check_fits(ir_, liveness_, allocation_, platform_, plan_.data, categories);
    return report;
  }

  executable::Executable finish(CompileReport& report) {
    report.json = check_memory();
    executable::Executable e =
        emit({ir_, platform_, plan_, control_, code_, allocation_, liveness_, tables_}, options_);
    e.report_json = report.json.dump(1);
    return e;
  }

  const graph::Graph& graph_;
  const Platform& platform_;
  const CodeletLibrary& library_;
  const Options& options_;
  std::vector<PassTime> passes_;
  std::vector<std::uint32_t> phases_;  // of each exchange step
  Ir ir_;
  Liveness liveness_;
  Control control_;
  CodeImage code_;
  Plan plan_;
  Allocation allocation_;
  Tables tables_;
};

}  // namespace

Compiled compile(const graph::Graph& graph, const Platform& platform, const CodeletLibrary& library,
                 const Options& options) {
  return Compilation(graph, platform, library, options).run();
}

}  // namespace tessera::compiler
