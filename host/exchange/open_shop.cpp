#include "host/exchange/open_shop.h"

#include <algorithm>

namespace tessera::exchange {

namespace {

constexpr std::uint32_t kNone = ~0u;

class OpenShop {
 public:
  OpenShop(const std::vector<Job>& jobs, const std::vector<ShopPort>& ports)
      : jobs_(jobs), ports_(ports), of_port_(ports.size()), left_(ports.size()), taken_(ports.size(), kNone) {
    for (std::uint32_t j = 0; j < jobs.size(); ++j) {
      to_do_.push_back(jobs[j].slots);
      if (jobs[j].slots == 0) continue;
      for (const unsigned port : {jobs[j].sender, jobs[j].receiver}) {
        of_port_[port].push_back(j);
        left_[port] += jobs[j].slots;
      }
    }
    last_run_.assign(jobs.size(), kNone);
    next_block_.assign(ports.size(), 0);
    for (const ShopPort& p : ports) room_.push_back(free_slots(p));
    away_.assign(ports.size(), false);
    reached_by_.assign(ports.size(), kNone);
    reached_in_.assign(ports.size(), 0);
  }

  std::vector<Run> run() {
    for (std::uint32_t slot = 0;;) {
      follow_blocks(slot);
      for (unsigned p = 0; p < left_.size(); ++p)
        if (idle(p) && hurried(p)) find_partner(p);
      fill();
      const std::uint32_t step = unchanged(slot);
      if (step == kNone) return std::move(runs_);
      advance(slot, step);
      slot += step;
    }
  }

 private:
  static std::uint32_t free_slots(const ShopPort& p) {
    std::uint32_t free = p.deadline;
    for (const auto& [first, end] : p.blocked)
      if (first < p.deadline) free -= std::min(end, p.deadline) - first;
    return free;
  }

  [[nodiscard]] unsigned other(std::uint32_t job, unsigned port) const {
    return jobs_[job].sender == port ? jobs_[job].receiver : jobs_[job].sender;
  }
  [[nodiscard]] bool idle(unsigned p) const { return taken_[p] == kNone && left_[p] > 0 && !away_[p]; }
  /// May not pause, or would be late.
  [[nodiscard]] bool hurried(unsigned p) const { return left_[p] >= room_[p]; }

  void take(std::uint32_t job) { taken_[jobs_[job].sender] = taken_[jobs_[job].receiver] = job; }
  void drop(std::uint32_t job) { taken_[jobs_[job].sender] = taken_[jobs_[job].receiver] = kNone; }

  /// Which ports are away in `slot`; what they worked on is dropped.
  void follow_blocks(std::uint32_t slot) {
    for (unsigned p = 0; p < ports_.size(); ++p) {
      const auto& blocked = ports_[p].blocked;
      while (next_block_[p] < blocked.size() && blocked[next_block_[p]].second <= slot) ++next_block_[p];
      away_[p] = next_block_[p] < blocked.size() && blocked[next_block_[p]].first <= slot;
      if (away_[p] && taken_[p] != kNone) drop(taken_[p]);
    }
  }

  /// Gives port `p` a partner along the shortest alternating path to a port of the other side that has none, or to one
  /// of the same side that may pause. Where all deadlines can be met, there is one.
  void find_partner(unsigned p) {
    ++search_;
    queue_.assign(1, p);
    for (std::size_t k = 0; k < queue_.size(); ++k) {
      const unsigned from = queue_[k];
      unsigned leaves = kNone;
      for (const std::uint32_t j : of_port_[from]) {
        const unsigned to = other(j, from);
        if (away_[to] || reached_in_[to] == search_) continue;
        reached_in_[to] = search_;
        reached_by_[to] = j;
        if (taken_[to] == kNone) return turn(to, p);
        const unsigned next = other(taken_[to], to);
        if (!hurried(next) && leaves == kNone) leaves = to;
        queue_.push_back(next);
      }
      if (leaves != kNone) {
        drop(taken_[leaves]);
        return turn(leaves, p);
      }
    }
  }

  /// Takes the jobs by which `to` was reached from `p` instead of those they replace.
  void turn(unsigned to, unsigned p) {
    while (true) {
      const std::uint32_t job = reached_by_[to];
      const unsigned from = other(job, to);
      const std::uint32_t before = taken_[from];
      take(job);
      if (from == p) return;
      to = other(before, from);
    }
  }

  /// Matches what is idle, the most loaded first: less to do later.
  void fill() {
    order_.clear();
    for (unsigned p = 0; p < ports_.size(); ++p)
      if (idle(p)) order_.push_back(p);
    std::stable_sort(order_.begin(), order_.end(), [&](unsigned a, unsigned b) { return left_[a] > left_[b]; });
    for (const unsigned p : order_) {
      if (taken_[p] != kNone) continue;
      std::uint32_t best = kNone;
      for (const std::uint32_t j : of_port_[p]) {
        const unsigned to = other(j, p);
        if (taken_[to] != kNone || away_[to]) continue;
        if (best == kNone || left_[to] > left_[other(best, p)]) best = j;
      }
      if (best != kNone) take(best);
    }
  }

  /// Slots until a job ends, a port comes or goes, or an idle one may pause no more; kNone if all is done.
  [[nodiscard]] std::uint32_t unchanged(std::uint32_t slot) const {
    std::uint32_t step = kNone;
    for (unsigned p = 0; p < ports_.size(); ++p) {
      if (left_[p] == 0) continue;
      if (taken_[p] != kNone)
        step = std::min(step, to_do_[taken_[p]]);
      else if (!away_[p] && room_[p] > left_[p])
        step = std::min(step, room_[p] - left_[p]);
      if (next_block_[p] < ports_[p].blocked.size()) {
        const auto& [first, end] = ports_[p].blocked[next_block_[p]];
        step = std::min(step, (away_[p] ? end : first) - slot);
      }
    }
    return step;
  }

  void advance(std::uint32_t slot, std::uint32_t step) {
    for (unsigned p = 0; p < ports_.size(); ++p) {
      if (!away_[p]) room_[p] -= std::min(room_[p], step);
      const std::uint32_t j = taken_[p];
      if (j == kNone || jobs_[j].sender != p) continue;
      if (last_run_[j] != kNone && runs_[last_run_[j]].slot + runs_[last_run_[j]].slots == slot) {
        runs_[last_run_[j]].slots += step;
      } else {
        last_run_[j] = static_cast<std::uint32_t>(runs_.size());
        runs_.push_back({j, slot, step});
      }
      to_do_[j] -= step;
      left_[jobs_[j].sender] -= step;
      left_[jobs_[j].receiver] -= step;
      if (to_do_[j] > 0) continue;
      drop(j);
      for (const unsigned port : {jobs_[j].sender, jobs_[j].receiver}) {
        auto& jobs = of_port_[port];
        jobs.erase(std::find(jobs.begin(), jobs.end(), j));
      }
    }
  }

  const std::vector<Job>& jobs_;
  const std::vector<ShopPort>& ports_;
  std::vector<std::vector<std::uint32_t>> of_port_;  ///< jobs that are not done
  std::vector<std::uint32_t> to_do_;                 ///< slots of a job
  std::vector<std::uint32_t> left_;                  ///< slots that a port has to work
  std::vector<std::uint32_t> room_;                  ///< slots that it can work before its deadline
  std::vector<std::uint32_t> taken_;                 ///< job that a port works on
  std::vector<std::size_t> next_block_;
  std::vector<bool> away_;
  std::vector<std::uint32_t> last_run_;  ///< of a job
  std::vector<Run> runs_;
  std::vector<std::uint32_t> reached_by_;  ///< job by which a search came to a port
  std::vector<std::uint32_t> reached_in_;  ///< the last search that did
  std::uint32_t search_ = 0;
  std::vector<unsigned> queue_, order_;
};

}  // namespace

std::vector<Run> open_shop(const std::vector<Job>& jobs, const std::vector<ShopPort>& ports) {
  return OpenShop(jobs, ports).run();
}

}  // namespace tessera::exchange
