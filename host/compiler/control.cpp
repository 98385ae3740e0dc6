// Code generation, one pattern for each kind of node. The state `busy` follows whether workers of the tile may still
// run: a wide sync, an exchange and a packet window wait for them, x.run does so only worker by worker, so a local sync
// stands between two compute sets without an exchange between.
#include "host/compiler/control.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "host/compiler/assembler.h"
#include "hw/error.h"
#include "hw/generated/machine.h"

namespace tessera::compiler {

namespace {

constexpr unsigned kLoopRegisters = 10;  // s2 .. s11
constexpr std::int32_t kFrameBytes = 16;
constexpr std::int32_t kVariantInFrame = 4;  // of a function: behind its return address

class Generator {
 public:
  Generator(const Ir& ir, Address base, const FirmwareEntries& firmware, const std::vector<std::uint32_t>& phases)
      : ir_(ir), as_(base), firmware_(firmware), phases_(phases) {
    result_.base = base;
    std::uint32_t first = 0;
    for (const std::uint32_t n : phases) {
      first_phase_.push_back(first);
      first += n;
    }
  }

  Control run() {
    // One stub an entry point: s0 says which, boot keeps it.
    for (std::size_t e = 0; e < ir_.entries.size(); ++e) {
      result_.entries.push_back({ir_.graph.entries()[e].name, as_.pc()});
      as_.li(s0, static_cast<std::uint32_t>(e));
      as_.jump_to(firmware_.boot);
    }
    result_.dispatch_entry = as_.pc();
    choose_ = as_.label();
    as_.bind(choose_);
    std::vector<Assembler::Label> entries;
    for (std::size_t e = 0; e < ir_.entries.size(); ++e) entries.push_back(as_.label());
    for (std::size_t e = ir_.entries.size(); e-- > 1;) {
      const Assembler::Label next = as_.label();
      as_.li(t0, static_cast<std::uint32_t>(e));
      as_.bne(s0, t0, next);
      as_.jal(zero, entries[e]);
      as_.bind(next);
    }
    as_.jal(zero, entries[0]);
    add_step(executable::Step::Kind::prologue, result_.base, "start", "choice of the entry point");
    for (std::size_t f = 0; f < ir_.functions.size(); ++f) functions_.push_back(as_.label());
    for (entry_ = 0; entry_ < ir_.entries.size(); ++entry_) entry(ir_.entries[entry_], entries[entry_]);
    for (std::size_t f = 0; f < ir_.functions.size(); ++f) function(f);
    place_variants();
    result_.words = as_.finish();
    return std::move(result_);
  }

 private:
  void entry(const Node& node, Assembler::Label label) {
    as_.bind(label);
    busy_ = false;
    loops_ = 0;
    frames_ = 0;
    function_ = kNone;
    generate(node);
    const Address begin = as_.pc();
    as_.li(t0, executable::kFinishedCode << 8);
    wide_sync(zero, t0, Zone::host);
    // The host's acknowledge starts the entry again that it has put into the selector.
    as_.lui(t0, kSramBase >> 12);
    as_.lw(s0, static_cast<std::int32_t>(executable::kEntrySelector - kSramBase), t0);
    as_.jal(zero, choose_);
    add_step(executable::Step::Kind::finish, begin, node.path, "finish");
  }

  void function(std::size_t f) {
    as_.bind(functions_[f]);
    busy_ = true;
    function_ = static_cast<std::uint32_t>(f);
    frames_ = 0;
    const Address begin = as_.pc();
    as_.addi(sp, sp, -kFrameBytes);
    as_.sw(ra, 0, sp);
    if (keeps_variant()) as_.sw(tp, kVariantInFrame, sp);
    add_step(executable::Step::Kind::control, begin, ir_.functions[f].path, "enter");
    generate(ir_.functions[f]);
    settle_taps(ir_.functions[f].path);
    const Address end = as_.pc();
    as_.lw(ra, 0, sp);
    as_.addi(sp, sp, kFrameBytes);
    as_.jr(ra);
    add_step(executable::Step::Kind::control, end, ir_.functions[f].path, "leave");
  }

  void add_step(executable::Step::Kind kind, Address begin, const std::string& path, const std::string& name,
                std::uint32_t phase = kNone) {
    result_.steps.push_back({begin, as_.pc(), kind, path, name, 0, phase});
  }

  /// Loads a word of the step table.
  void load_slot(Reg rd, Slot slot) {
    const auto offset = static_cast<std::int32_t>(4 * result_.slots.size()) - kStepTableBias;
    result_.slots.push_back(slot);
    load_word(rd, offset, gp);
  }

  void load_word(Reg rd, std::int32_t offset, Reg base) {
    if (offset <= 2047) {
      as_.lw(rd, offset, base);
      return;
    }
    const std::int32_t low = static_cast<std::int32_t>(static_cast<std::uint32_t>(offset) << 20) >> 20;
    as_.lui(rd, static_cast<std::uint32_t>(offset - low) >> 12);
    as_.add(rd, rd, base);
    as_.lw(rd, low, rd);
  }

  /// Loads the list of a compute step: of a step with variants from the part of the step table that tp points to.
  void load_list(Reg rd, Slot::Kind kind, std::uint32_t index) {
    if (ir_.computes[index].by_variant.size() < 2) return load_slot(rd, {kind, index, {}, 0});
    std::vector<Slot>& own = of_variants_[function_];
    load_word(rd, static_cast<std::int32_t>(4 * own.size()), tp);
    own.push_back({kind, index, {}, 0});
  }

  /// The slots of each variant of each function, behind those of the program; the slots that say where they are.
  void place_variants() {
    for (const Slot& s : result_.slots) {
      if (s.kind != Slot::Kind::table) continue;
      variant_at_[{s.index, s.phase}] = 0;
    }
    for (auto& [variant, at] : variant_at_) {
      at = static_cast<std::uint32_t>(result_.slots.size());
      for (const Slot& s : of_variants_[variant.first]) {
        result_.slots.push_back({s.kind, ir_.computes[s.index].by_variant[variant.second], {}, 0});
      }
    }
    for (Slot& s : result_.slots) {
      if (s.kind == Slot::Kind::table) s = {Slot::Kind::table, variant_at_.at({s.index, s.phase}), {}, 0};
    }
  }

  /// The function's variant must outlast its calls of other functions.
  bool keeps_variant() const {
    return function_ != kNone && ir_.variants[function_] > 1 && calls_variants(ir_.functions[function_]);
  }
  /// Whether a call in this node, or in what it calls, changes tp.
  bool calls_variants(const Node& node) const {
    if (node.kind == Node::Kind::call) {
      return ir_.variants[node.index] > 1 || calls_variants(ir_.functions[node.index]);
    }
    return std::any_of(node.children.begin(), node.children.end(), [this](const Node& n) { return calls_variants(n); });
  }

  /// A sync that all tiles arrive at: tensors tapped since the last one are read at its release.
  void wide_sync(Reg result, Reg code, Zone zone) {
    for (const std::uint32_t tap : taps_) result_.taps.emplace_back(as_.pc(), tap);
    taps_.clear();
    as_.x_sync(result, code, zone);
  }

  /// What follows may change a tapped tensor, or is reached in several ways: a sync of its own.
  void settle_taps(const std::string& path) {
    if (taps_.empty()) return;
    const Address begin = as_.pc();
    wide_sync(zero, zero, Zone::internal);
    busy_ = false;
    add_step(executable::Step::Kind::control, begin, path, "tap");
  }

  void wait_for_workers() {
    if (busy_) as_.x_sync(zero, zero, Zone::local);
    busy_ = false;
  }

  void generate(const Node& node) {
    const bool reads_first = node.kind == Node::Kind::sequence || node.kind == Node::Kind::exchange ||
                             node.kind == Node::Kind::host || node.kind == Node::Kind::sync ||
                             node.kind == Node::Kind::tap || node.kind == Node::Kind::undef;
    if (!reads_first) settle_taps(node.path);
    Address begin = as_.pc();
    switch (node.kind) {
      case Node::Kind::sequence:
        for (const Node& child : node.children) generate(child);
        break;
      case Node::Kind::exchange:
        exchange(node.index, begin);
        break;
      case Node::Kind::compute: {
        compute(node.index, begin);
        break;
      }
      case Node::Kind::host: {
        const HostStep& s = ir_.hosts[node.index];
        if (!s.unattended) as_.li(t0, (node.index + 1) << 8);
        load_slot(a0, {Slot::Kind::packets, node.index, {}, 0});
        if (s.unattended) {
          auto& entry = result_.entries[entry_];
          entry.reads.insert(entry.reads.end(), s.reads.begin(), s.reads.end());
          entry.writes.insert(entry.writes.end(), s.writes.begin(), s.writes.end());
          wide_sync(zero, zero, Zone::group1);
        } else {
          wide_sync(zero, t0, Zone::host);
        }
        as_.x_packet(a0);
        busy_ = false;
        add_step(executable::Step::Kind::host, begin, s.path, s.name);
        break;
      }
      case Node::Kind::undef:
        break;
      case Node::Kind::tap:
        taps_.push_back(node.index);
        break;
      case Node::Kind::sync:
        wide_sync(zero, zero, Zone::internal);
        busy_ = false;
        add_step(executable::Step::Kind::control, begin, node.path, "sync");
        break;
      case Node::Kind::repeat:
        repeat(node);
        break;
      case Node::Kind::repeat_while:
        repeat_while(node);
        break;
      case Node::Kind::branch:
        branch(node);
        break;
      case Node::Kind::choice:
        choice(node);
        break;
      case Node::Kind::call:
        check_depth(frames_ + depth_of(node.index), node.path);
        if (has_window(node.index)) begin = turn_lists(node, begin);
        if (ir_.variants[node.index] > 1) load_slot(tp, {Slot::Kind::table, node.index, {}, node.variant});
        as_.jal(ra, functions_[node.index]);
        if (keeps_variant()) as_.lw(tp, kVariantInFrame + kFrameBytes * static_cast<std::int32_t>(frames_), sp);
        busy_ = true;
        add_step(executable::Step::Kind::control, begin, node.path, "call " + ir_.graph.functions()[node.index].name);
        break;
    }
  }

  [[nodiscard]] bool has_window(std::uint32_t function) const {
    return function < ir_.windows.size() && !ir_.windows[function].blocks.empty();
  }

  /// Points the lists of a called function to the arguments of this call. Returns where the call itself begins.
  Address turn_lists(const Node& node, Address begin) {
    wait_for_workers();
    load_slot(a1, {Slot::Kind::window, node.index, {}, 0});
    const Assembler::Label skip = as_.label();
    as_.beq(a1, zero, skip);
    as_.lw(t0, rebase_table::fn, a1);
    as_.li(a2, node.variant);
    as_.x_run_all(t0, a1, a2);
    as_.bind(skip);
    busy_ = true;
    add_step(executable::Step::Kind::compute, begin, node.path,
             "parameters of " + ir_.graph.functions()[node.index].name);
    return as_.pc();
  }

  void compute(std::uint32_t index, Address begin) {
    const ComputeStep& s = ir_.computes[index];
    wait_for_workers();
    if (s.any(true)) {
      load_list(a0, Slot::Kind::amp, index);
      const Assembler::Label skip = as_.label();
      as_.beq(a0, zero, skip);
      as_.call(firmware_.amp);
      as_.bind(skip);
    }
    // Vertices of one compute set do not depend on each other, so nothing waits for the last set's workers here.
    if (s.any(false)) {
      load_list(a1, Slot::Kind::list, index);
      const Assembler::Label skip = as_.label();
      as_.beq(a1, zero, skip);
      as_.x_run_all(s1, a1, zero);
      as_.bind(skip);
    }
    busy_ = true;
    add_step(executable::Step::Kind::compute, begin, s.path, s.name);
  }

  void exchange(std::uint32_t index, Address begin) {
    const ExchangeStep& s = ir_.exchanges[index];
    if (s.index_variable != kNone) set_base(index);
    for (std::uint32_t p = 0; p < phases_[index]; ++p) {
      load_slot(a0, {Slot::Kind::exchange, index, {}, p});
      wide_sync(zero, zero, Zone::internal);
      as_.x_exchange(a0);
      add_step(executable::Step::Kind::exchange, begin, s.path, s.name, first_phase_[index] + p);
      begin = as_.pc();
    }
    busy_ = false;
  }

  /// xbase1 = SRAM start + clamped index x stride.
  void set_base(std::uint32_t index) {
    const ExchangeStep& s = ir_.exchanges[index];
    load_slot(t0, {Slot::Kind::index, index, {}, 0});
    load_slot(t1, {Slot::Kind::index_stride, index, {}, 0});
    as_.lw(t0, 0, t0);
    if (s.signed_index) {  // below 0: 0
      as_.srai(t2, t0, 31);
      as_.not_(t2, t2);
      as_.and_(t0, t0, t2);
    }
    as_.li(t2, s.index_limit);
    const Assembler::Label inside = as_.label();
    as_.bgeu(t2, t0, inside);
    as_.addi(t0, t2, 0);
    as_.bind(inside);
    as_.mul(t0, t0, t1);
    as_.lui(t1, kSramBase >> 12);
    as_.add(t0, t0, t1);
    as_.csrw(csr::xbase1, t0);
  }

  void repeat(const Node& node) {
    Address begin = as_.pc();
    const bool in_register = function_ == kNone && loops_ < kLoopRegisters;
    const Reg counter = in_register ? static_cast<Reg>(s2 + loops_) : t0;
    if (in_register) {
      ++loops_;
      as_.li(counter, node.index);
    } else {
      ++frames_;
      check_depth(frames_, node.path);
      as_.addi(sp, sp, -kFrameBytes);
      as_.li(t0, node.index);
      as_.sw(t0, 0, sp);
    }
    const std::string name = fmt::format("repeat {}", node.index);
    add_step(executable::Step::Kind::control, begin, node.path, name);
    const Assembler::Label head = as_.label();
    as_.bind(head);
    busy_ = true;
    generate(node.children[0]);
    settle_taps(node.path);
    begin = as_.pc();
    if (!in_register) as_.lw(t0, 0, sp);
    as_.addi(counter, counter, -1);
    if (!in_register) as_.sw(t0, 0, sp);
    const Assembler::Label out = as_.label();
    if (as_.pc() - as_.address(head) < 4000) {
      as_.bne(counter, zero, head);
    } else {
      as_.beq(counter, zero, out);
      as_.jal(zero, head);
    }
    as_.bind(out);
    if (in_register) {
      --loops_;
    } else {
      --frames_;
      as_.addi(sp, sp, kFrameBytes);
    }
    add_step(executable::Step::Kind::control, begin, node.path, name);
  }

  /// Votes the predicate and goes to `other` if it is 0.
  void vote(const Node& node, Assembler::Label other, const std::string& name) {
    const Address begin = as_.pc();
    wait_for_workers();
    load_slot(t0, {Slot::Kind::predicate, 0, node.predicate.place, 0});
    if (node.predicate.bytes == 1) {
      as_.lbu(t0, 0, t0);
    } else if (node.predicate.bytes == 2) {
      as_.lhu(t0, 0, t0);
    } else {
      as_.lw(t0, 0, t0);
    }
    as_.sltu(t0, zero, t0);
    as_.x_sync(t0, t0, Zone::internal);
    const Assembler::Label taken = as_.label();
    as_.bne(t0, zero, taken);
    as_.jal(zero, other);
    as_.bind(taken);
    add_step(executable::Step::Kind::control, begin, node.path, name);
  }

  void repeat_while(const Node& node) {
    const Assembler::Label head = as_.label();
    const Assembler::Label out = as_.label();
    as_.bind(head);
    busy_ = true;
    generate(node.children[0]);
    settle_taps(node.path);
    vote(node, out, "while");
    generate(node.children[1]);
    settle_taps(node.path);
    const Address begin = as_.pc();
    as_.jal(zero, head);
    add_step(executable::Step::Kind::control, begin, node.path, "while");
    as_.bind(out);
    busy_ = false;  // the vote was a wide sync
  }

  void branch(const Node& node) {
    const Assembler::Label other = as_.label();
    const Assembler::Label join = as_.label();
    vote(node, other, "if");
    generate(node.children[0]);
    settle_taps(node.path);
    const Address begin = as_.pc();
    as_.jal(zero, join);
    add_step(executable::Step::Kind::control, begin, node.path, "end of then");
    const bool busy = busy_;
    as_.bind(other);
    busy_ = false;
    generate(node.children[1]);
    settle_taps(node.path);
    as_.bind(join);
    busy_ = busy_ || busy;
  }

  /// A jump table: case i stands at the i-th jump; what is not below the number of cases takes the fallback.
  void choice(const Node& node) {
    const auto cases = static_cast<std::uint32_t>(node.children.size() - 1);
    if (cases == 0) return generate(node.children[0]);
    Address begin = as_.pc();
    load_slot(t0, {Slot::Kind::variable, node.index, {}, 0});
    as_.lw(t0, 0, t0);
    as_.li(t1, cases - 1);
    const Assembler::Label inside = as_.label();
    std::vector<Assembler::Label> targets;
    for (std::size_t i = 0; i < node.children.size(); ++i) targets.push_back(as_.label());
    as_.bgeu(t1, t0, inside);
    as_.jal(zero, targets.back());
    as_.bind(inside);
    as_.add(t0, t0, t0);
    as_.add(t0, t0, t0);
    const Address table = as_.pc() + 4 * 4;  // behind the next four instructions
    const std::uint32_t upper = (table + 0x800) >> 12;
    as_.lui(t1, upper);
    as_.addi(t1, t1, static_cast<std::int32_t>(table - (upper << 12)));
    as_.add(t0, t0, t1);
    as_.jr(t0);
    for (std::uint32_t i = 0; i < cases; ++i) as_.jal(zero, targets[i]);
    add_step(executable::Step::Kind::control, begin, node.path, "switch");
    const Assembler::Label join = as_.label();
    const bool busy_before = busy_;
    bool busy_behind = false;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      as_.bind(targets[i]);
      busy_ = busy_before;
      generate(node.children[i]);
      settle_taps(node.path);
      busy_behind = busy_behind || busy_;
      if (i == cases) break;
      begin = as_.pc();
      as_.jal(zero, join);
      add_step(executable::Step::Kind::control, begin, node.path, "end of case");
    }
    as_.bind(join);
    busy_ = busy_behind;
  }

  /// Frames that a call of this function and all it calls put on the stack.
  unsigned depth_of(std::uint32_t function) const { return 1 + depth_of(ir_.functions[function], true); }
  unsigned depth_of(const Node& node, bool inside) const {
    unsigned deepest = 0;
    for (const Node& child : node.children) deepest = std::max(deepest, depth_of(child, inside));
    if (node.kind == Node::Kind::repeat) ++deepest;
    if (node.kind == Node::Kind::call) deepest = std::max(deepest, depth_of(node.index));
    return deepest;
  }
  static void check_depth(unsigned frames, const std::string& path) {
    constexpr unsigned kFrames = kSupervisorStackBytes / kFrameBytes;
    if (frames <= kFrames) return;
    throw Error(Category::unsupported,
                fmt::format("loops and calls nest {} deep, the supervisor's stack holds {}", frames, kFrames), path,
                "nest less deep");
  }

  const Ir& ir_;
  Assembler as_;
  Control result_;
  const FirmwareEntries firmware_;
  const std::vector<std::uint32_t>& phases_;  // of each exchange step
  std::vector<std::uint32_t> first_phase_;
  std::vector<Assembler::Label> functions_;
  Assembler::Label choose_;
  std::vector<std::uint32_t> taps_;  // passed, not yet at a sync
  bool busy_ = false;
  std::uint32_t function_ = kNone;                          // being generated; kNone: an entry
  std::map<std::uint32_t, std::vector<Slot>> of_variants_;  // by function: slots that each variant has its own of
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> variant_at_;  // by function and variant: first slot
  unsigned loops_ = 0, frames_ = 0;
  std::size_t entry_ = 0;  // being generated
};

}  // namespace

Control generate_control(const Ir& ir, Address base, const FirmwareEntries& firmware,
                         const std::vector<std::uint32_t>& phases) {
  return Generator(ir, base, firmware, phases).run();
}

}  // namespace tessera::compiler
