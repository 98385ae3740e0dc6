// Messages from moves, tables from messages.
#include "host/compiler/phases.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <stdexcept>
#include <tuple>

#include "host/exchange/checker.h"
#include "hw/error.h"
#include "hw/generated/machine.h"

namespace tessera::compiler {

exchange::Messages make_messages(const ExchangeStep& step, const Allocation& allocation) {
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // source tile, address, words
  struct Group {
    exchange::Place source;
    std::uint32_t words = 0;
    std::vector<exchange::Place> to;
  };
  std::vector<Group> groups;
  std::map<Key, std::vector<std::size_t>> known;
  const auto place = [&](const Place& p, std::int64_t distance, std::uint8_t base) {
    const std::int64_t address = static_cast<std::int64_t>(allocation.at(p)) + distance - kSramBase;
    return exchange::Place{static_cast<std::uint16_t>(p.tile), base, static_cast<std::uint32_t>(address / 4)};
  };
  for (const WordMove& m : step.moves) {
    for (std::uint32_t row = 0; row < m.rows; ++row) {
      const exchange::Place from = place(m.src, m.src_stride * row, step.src_base);
      const exchange::Place to = place(m.dst, m.dst_stride * row, step.dst_base);
      std::vector<std::size_t>& same = known[{from.tile, from.address, m.words}];
      // A tile hears a message once; a second copy on the same tile is another message.
      const auto free = std::find_if(same.begin(), same.end(), [&](std::size_t i) {
        return std::none_of(groups[i].to.begin(), groups[i].to.end(),
                            [&](const exchange::Place& p) { return p.tile == to.tile; });
      });
      if (free != same.end()) {
        groups[*free].to.push_back(to);
        continue;
      }
      same.push_back(groups.size());
      groups.push_back({from, m.words, {to}});
    }
  }
  exchange::Messages messages;
  for (const Group& g : groups) messages.add(g.source, g.to, g.words);
  return messages;
}

exchange::Schedule schedule_step(const ExchangeStep& step, const Allocation& allocation, const Platform& platform) {
  const exchange::Messages messages = make_messages(step, allocation);
  const exchange::Delays delays = exchange::delays_of(platform);
  const std::string where = fmt::format("{} ({})", step.path, step.name);
  exchange::Options options;
  options.earliest = kExchangeFirstStart;  // x.exchange stands right behind x.sync
  exchange::Schedule schedule;
  try {
    schedule = exchange::schedule(messages, delays, options);
  } catch (const Error& e) {
    throw Error(e.category(), e.message(), where + (e.where().empty() ? "" : ", " + e.where()), e.advice());
  }
  std::vector<const exchange::TileTables*> tables;
  for (const exchange::Phase& p : schedule.phases) tables.push_back(&p.tables);
  exchange::CheckOptions check;
  check.earliest = options.earliest;
  check.sram_bytes = platform.sram_bytes;
  const exchange::CheckReport report = exchange::check(messages, delays, tables, check);
  if (!report.ok()) {
    throw Error(Category::internal,
                "an exchange schedule is wrong: " +
                    (report.problems.empty() ? std::string("it moves nothing") : report.problems.front()),
                where);
  }
  return schedule;
}

std::vector<exchange::Schedule> schedule_steps(const std::vector<ExchangeStep>& steps, const Allocation& allocation,
                                               const Platform& platform, const std::function<void()>& poll) {
  std::vector<exchange::Schedule> schedules(steps.size());
  std::vector<std::exception_ptr> errors(steps.size());
  // The longest steps first, so that no thread is left alone with one at the end.
  std::vector<std::size_t> order(steps.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return steps[a].moves.size() > steps[b].moves.size(); });
  std::atomic<std::size_t> next{0};
  const auto threads = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  tbb::parallel_for(
      std::size_t{0}, std::min(threads, steps.size()),
      [&](std::size_t) {
        for (std::size_t k = next++; k < order.size(); k = next++) {
          const std::size_t i = order[k];
          try {
            if (poll) poll();
            schedules[i] = schedule_step(steps[i], allocation, platform);
          } catch (...) {
            errors[i] = std::current_exception();
          }
        }
      },
      tbb::simple_partitioner());
  for (const std::exception_ptr& e : errors) {
    if (e) std::rethrow_exception(e);
  }
  return schedules;
}

std::vector<std::vector<std::uint64_t>> packet_tables(const Ir& ir, const HostStep& step,
                                                      const Allocation& allocation) {
  std::vector<std::vector<std::uint64_t>> tables(ir.graph.tiles());
  for (const HostWords& w : step.words) {
    std::vector<std::uint64_t>& table = tables[w.place.tile];
    if (table.empty()) table.push_back(0);
    PacketDescriptor d;
    d.kind = ir.graph.streams()[w.stream].input ? kPacketRead : kPacketWrite;
    d.words = w.words;
    d.local = (allocation.at(w.place) - kSramBase) / 4;
    PacketRemote remote;
    remote.kind = kRemoteHost;
    remote.ipu = w.stream;
    remote.offset = w.offset;
    if (!d.fits() || !remote.fits()) {
      throw Error(Category::does_not_fit,
                  fmt::format("stream {} does not fit a packet table", ir.graph.streams()[w.stream].name), step.path,
                  "at most 256 streams; move less in one step");
    }
    table.push_back(d.pack());
    table.push_back(remote.pack());
  }
  for (std::vector<std::uint64_t>& table : tables) {
    if (table.empty()) continue;
    PacketHeader header;
    header.descriptors = (table.size() - 1) / 2;
    if (!header.fits()) throw Error(Category::does_not_fit, "too many packets in one host step", step.path);
    table[0] = header.pack();
  }
  return tables;
}

}  // namespace tessera::compiler
