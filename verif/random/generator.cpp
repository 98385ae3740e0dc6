// Puts the programs of the contexts, their handlers, data and exchange tables into one image.
#include "verif/random/generator.h"

#include <algorithm>
#include <stdexcept>

#include "hw/generated/machine.h"
#include "tlm/tile/assembler.h"
#include "verif/random/context_writer.h"

namespace tessera::random {

using isa::Op;
using testing::i;
using testing::r;
using testing::sync;

namespace {

// The image: supervisor, workers, tables, 4 KiB of data for each context.
constexpr Address kWorkers = kSramBase + 0x2000, kTables = kSramBase + 0x7000, kData = kSramBase + 0x8000;
constexpr unsigned kTableCount = 4;
constexpr std::uint32_t kTableBytes = 0x200;

Address data_of(unsigned context) { return kData + 0x1000 * context; }

/// Words of which many are f32 near one, small integers, or special.
std::vector<std::uint32_t> random_data(std::mt19937_64& random, std::size_t words) {
  std::vector<std::uint32_t> data(words);
  for (auto& word : data) {
    const std::uint64_t v = random();
    word = static_cast<std::uint32_t>(v >> 32);
    switch (v % 8) {
      case 0:
      case 1:
      case 2:
        word = (word & 0x807fffffu) | (112u + word % 32) << 23;
        break;
      case 3:
        word = (word & 0x807fffffu) | (word & 1 ? 0x7f800000u : 0);
        break;  // subnormals, infinities, NaNs
      case 4:
        word &= 0x800000ffu;
        break;
      default:
        break;
    }
  }
  return data;
}

class TileWriter {
 public:
  explicit TileWriter(const ProgramOptions& options)
      : options_(options), random_(options.seed * 0x9e3779b97f4a7c15u + 1) {}

  Program write() {
    program_.entry = kSramBase;
    program_.exchange_seed = random_();
    program_.underrun = pick(8) == 0;
    handlers_ = pick(5) != 0;
    Address at = kWorkers;
    for (unsigned w = 1; w < 7; ++w) at = worker(w, at);
    if (at > kTables) throw std::logic_error("worker code of a random program does not fit");
    for (unsigned t = 0; t < kTableCount; ++t) table(t);
    supervisor();
    program_.blocks.push_back({kData, random_data(random_, 0x7000 / 4)});
    return std::move(program_);
  }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }

  Address worker(unsigned w, Address at) {
    at += 4 * pick(3);
    ContextWriter writer(random_, ContextWriter::Kind::worker, at, options_.races);
    Address handler = 0;
    if (handlers_) {
      handler = writer.handler();
      writer.emit(r(Op::x_exit, 0, 9));
    }
    if (w == 1) {
      stub_ = writer.here();
      writer.emit(r(Op::x_exit, 0, 0));
    }
    entry_[w] = writer.here();
    writer.constant(8, data_of(options_.races ? 1 + pick(2) : w) + 0x800);
    if (handlers_) {
      writer.constant(28, handler);
      writer.emit(i(Op::csrrw, 0, 28, csr::mtvec));
      writer.emit(i(Op::addi, 9, 0, 0));
    }
    for (unsigned k = 0; k < 12; ++k) writer.emit(i(Op::flw, pick(32), 8, 4 * static_cast<std::int32_t>(pick(400))));
    writer.body(5 + pick(options_.items));
    // A plain return goes to the stub in ra.
    writer.emit(pick(3) == 0 ? i(Op::jalr, 0, 1, 0) : r(Op::x_exit, 0, pick(3) == 0 ? 10 : 0));
    return append(writer, at);
  }

  /// Descriptors that mostly keep the rules; some start too early or reach outside.
  void table(unsigned number) {
    const Address at = kTables + number * kTableBytes;
    std::vector<std::uint64_t> sends, receives;
    const auto list = [&](std::vector<std::uint64_t>& out, bool receive) {
      Cycle t = 12 + 6 * 40;  // x.exchange stands near its release most of the time, not always
      const bool early = pick(12) == 0;
      for (unsigned n = pick(5); n-- > 0;) {
        const unsigned words = 1 + pick(12), peer = receive ? (pick(16) == 0 ? 0xfff : pick(3)) : pick(2);
        // What is sent and what is received never overlap: a rule of core.md section 8.
        const Address where = (data_of(0) - kSramBase) / 4 + (receive ? 0x200 : 0) + pick(0x180);
        const bool block = pick(3) == 0, sweep = receive && !block && pick(4) == 0;
        ExchangeDescriptor d;
        d.kind = block ? 1 : sweep ? 2 : 0;
        d.base = pick(6) == 0 ? 1 : 0;
        d.start = early ? t / 4 : t;
        d.words = words;
        d.address = d.base != 0 ? pick(64) + (receive ? 0x200 : 0) : pick(60) == 0 ? 0x3ffff : where;
        d.peer = sweep ? pick(2) : peer;
        out.push_back(d.pack());
        Cycle length = words;
        if (block) {
          ExchangeBlock b;
          b.stride1 = words + pick(4);
          b.count1 = pick(12) == 0 ? 0 : 1 + pick(3);
          b.stride2 = pick(64);
          b.count2 = 1 + pick(2);
          out.push_back(b.pack());
          length = static_cast<Cycle>(words) * b.count1 * b.count2;
        } else if (sweep) {
          ExchangeSweep s;
          s.count = 1 + pick(3);
          s.step = 1;
          s.wrap = 2;
          s.stride = words;
          out.push_back(s.pack());
          length = static_cast<Cycle>(words) * s.count;
        }
        t += std::max<Cycle>(length, 4) + pick(20);
      }
    };
    ExchangeHeader header;
    list(sends, false);
    list(receives, true);
    header.sends = sends.size();  // in table words
    header.receives = receives.size();
    header.length = 4096;
    std::vector<std::uint32_t> words;
    const auto put = [&](std::uint64_t v) {
      words.push_back(static_cast<std::uint32_t>(v));
      words.push_back(static_cast<std::uint32_t>(v >> 32));
    };
    put(header.pack());
    for (const std::uint64_t v : sends) put(v);
    for (const std::uint64_t v : receives) put(v);
    program_.blocks.push_back({at, words});
  }

  void supervisor() {
    ContextWriter w(random_, ContextWriter::Kind::supervisor, kSramBase, options_.races);
    const std::size_t jump = w.code().size();
    w.emit(0);
    Address handler = 0;
    if (handlers_) {
      handler = w.handler();
      finish(w);
    }
    w.code()[jump] = i(Op::jal, 0, 0, static_cast<std::int32_t>(4 * (w.code().size() - jump)));
    w.constant(8, data_of(0) + 0x800);
    if (handlers_) {
      w.constant(28, handler);
      w.emit(i(Op::csrrw, 0, 28, csr::mtvec));
    }
    for (const auto& [number, value] : {std::pair<unsigned, std::uint32_t>{csr::xwra, stub_},
                                        {csr::xwstack, kData + 0x6000 + 8 * pick(64)},
                                        {csr::xwstksz, 16 * pick(8)},
                                        {csr::xbase1, data_of(0) + 4 * pick(64)},
                                        {csr::xsource, pick(3)}}) {
      w.constant(28, value);
      w.emit(i(Op::csrrw, 0, 28, static_cast<std::int32_t>(number)));
    }
    for (unsigned round = 4 + pick(10); round-- > 0;) {
      w.body(pick(5));
      action(w);
    }
    finish(w);
    append(w, kSramBase);
    if (w.here() > kWorkers) throw std::logic_error("supervisor code of a random program does not fit");
  }

  void delay(ContextWriter& w) {
    w.emit(i(Op::addi, 7, 0, static_cast<std::int32_t>(pick(40))));
    w.emit(r(Op::x_delay, 0, 7));
  }

  void action(ContextWriter& w) {
    const unsigned target = 1 + pick(6);
    switch (pick(12)) {
      case 0:
        return w.emit(sync(6, w.reg(), 0));
      case 1:
        return w.emit(sync(6, w.reg(), 2 + pick(3)));  // the second group is not this IPU's
      case 2:
      case 3: {
        w.emit(sync(6, w.reg(), 1));
        if (pick(3) == 0) delay(w);
        for (unsigned k = pick(3) == 0 ? 2 : 1; k-- > 0;) {
          w.constant(5, pick(8) == 0 ? 0 : pick(20) == 0 ? kTables + 4 : kTables + kTableBytes * pick(kTableCount));
          w.emit(r(Op::x_exchange, 0, 5));
        }
        return;
      }
      case 4:
        return delay(w);
      case 5:
        if (!options_.races) {  // all six on one program: a private region each, by tp
          w.constant(5, entry_[target]);
          w.emit(r(Op::x_run, target, 5, 10, 11));
          return;
        }
        w.constant(5, entry_[target]);
        return w.emit(r(Op::x_run, 7, 5, 10, 11));
      case 6: {  // several at once, close together
        for (unsigned k = 1; k < 7; ++k) {
          w.constant(5, entry_[k]);
          if (pick(4) == 0) delay(w);
          w.emit(r(Op::x_run, k, 5, 10, 11));
        }
        return;
      }
      case 7:
        return w.emit(r(Op::x_packet, 0, 0));
      case 8:
        return w.emit(i(Op::csrrs, w.reg(), 0, csr::xwstat));
      default:
        w.constant(5, pick(60) == 0 ? entry_[target] + 2 : entry_[target]);
        w.emit(r(Op::x_run, target, 5, 10, 11));
    }
  }

  /// Without a handler, wait for the workers, and end with an exception of the supervisor.
  void finish(ContextWriter& w) {
    w.emit(i(Op::csrrw, 0, 0, csr::mtvec));
    w.emit(sync(6, 10, 0));
    w.emit(r(Op::ecall, 0));
  }

  Address append(ContextWriter& writer, Address at) {
    program_.blocks.push_back({at, writer.code()});
    return writer.here();
  }

  ProgramOptions options_;
  std::mt19937_64 random_;
  Program program_;
  std::array<Address, 7> entry_{};
  Address stub_ = 0;
  bool handlers_ = true;
};

/// One worker's RV32IMF: loads all registers, runs, stores all registers, f too, and fcsr into the last bytes of its
/// data; ends with whatever the caller appends.
Program portable(const ProgramOptions& options) {
  std::mt19937_64 random(options.seed * 0x9e3779b97f4a7c15u + 2);
  ContextWriter w(random, ContextWriter::Kind::portable, kSramBase, false);
  w.constant(8, data_of(0) + 0x800);
  w.constant(29, data_of(0) + 0x1800);
  for (unsigned k = 0; k < 32; ++k) w.emit(i(Op::flw, k, 8, static_cast<std::int32_t>(4 * k)));
  for (unsigned k = 10; k < 18; ++k) w.emit(i(Op::lw, k, 8, static_cast<std::int32_t>(256 + 4 * k)));
  for (unsigned k = 18; k < 28; ++k) w.emit(i(Op::addi, k, 0, 0));
  w.emit(i(Op::csrrwi, 0, 0, csr::fcsr));
  w.body(options.items);
  w.constant(29, data_of(0) + 0x1800);
  for (unsigned k = 10; k < 18; ++k) w.emit(testing::s(Op::sw, 29, k, static_cast<std::int32_t>(4 * k)));
  for (unsigned k = 0; k < 32; ++k) w.emit(testing::s(Op::fsw, 29, k, static_cast<std::int32_t>(128 + 4 * k)));
  w.emit(i(Op::csrrs, 10, 0, csr::fcsr));
  w.emit(testing::s(Op::sw, 29, 10, 0));
  Program p;
  p.entry = kSramBase;
  p.data = data_of(0);
  p.data_bytes = 0x2000;
  if (w.here() > data_of(0) - 64) throw std::logic_error("a portable random program does not fit");
  p.blocks.push_back({kSramBase, w.code()});
  p.blocks.push_back({data_of(0), random_data(random, 0x1000 / 4)});
  return p;
}

}  // namespace

Program generate(const ProgramOptions& options) {
  return options.portable ? portable(options) : TileWriter(options).write();
}

}  // namespace tessera::random
