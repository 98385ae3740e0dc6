#include "verif/bench/amp_bench.h"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "hw/error.h"
#include "tlm/tile/assembler.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera::bench {

namespace {

using namespace tessera::testing;  // NOLINT: instruction words

constexpr std::uint32_t kRounds = 1000, kDoublewords = 4;
constexpr Address kCode = kSramBase + 0x1000, kWeights = kSramBase + 0x2000, kData = kSramBase + 0x4000;
constexpr std::uint32_t kWorkerBytes = 0x8000;  // 8 KiB in by S0, 8 in by S1, 8 out by S2; read again for each part

/// The body: each doubleword uses what the one before has loaded, as compiled vertices do.
void body(std::vector<std::uint32_t>& code, VectorLoop loop) {
  for (unsigned p = 0; p < kDoublewords; ++p) {
    const std::int64_t now = 2 * (p % 2), other = 2 - now;
    code.push_back(encode(Op::x_ld2st, {now, 4 + now, 8 + other, 0, 0, 0}));
    switch (loop) {
      case VectorLoop::matrix_f16:
        code.push_back(encode(Op::x_amp_f16, {8 + now, other, 4 + other, p}));
        break;
      case VectorLoop::matrix_f32:
        code.push_back(encode(Op::x_amp_f32, {8 + now, other, 4 + other, p}));
        break;
      case VectorLoop::lanes_f16:
        code.push_back(encode(Op::x_mac_f16v4, {8 + now, other, 4 + other, 8 + now}));
        break;
    }
  }
}

/// `passes` passes; in each, four parts of a quarter of the rounds over the same memory.
std::vector<std::uint32_t> worker_code(VectorLoop loop, std::uint32_t passes) {
  std::vector<std::uint32_t> code;
  load_constant(code, 10, kWorkerBytes);
  code.push_back(r(Op::mul, 10, 10, 4));
  load_constant(code, 11, kData);
  code.push_back(r(Op::add, 10, 10, 11));
  load_constant(code, 13, 0x2000);
  code.push_back(r(Op::add, 11, 10, 13));
  code.push_back(r(Op::add, 12, 11, 13));
  load_constant(code, 14, 4 * passes);
  load_constant(code, 15, kRounds / 4);
  const std::size_t again = code.size();
  for (int k = 0; k < 3; ++k) code.push_back(encode(Op::x_sset, {k, 10 + k, 0}));
  if (code.size() % 2 == 0) code.push_back(nop());
  code.push_back(encode(Op::x_rpt, {15, kDoublewords}));
  body(code, loop);
  code.push_back(i(Op::addi, 14, 14, -1));
  code.push_back(s(Op::bne, 14, 0, -static_cast<std::int32_t>(4 * (code.size() - again))));
  code.push_back(r(Op::x_exit, 0, 0));
  return code;
}

std::vector<std::uint32_t> supervisor_code(unsigned workers) {
  std::vector<std::uint32_t> code;
  load_constant(code, 10, kWeights);
  code.push_back(encode(Op::x_amp_ldw, {10, 10}));
  load_constant(code, 5, kCode);
  for (unsigned w = 1; w <= workers; ++w) code.push_back(r(Op::x_run, w, 5, 0, 0));
  code.push_back(sync(6, 0, 0));
  code.push_back(r(Op::ecall, 0));
  return code;
}

void write(TlmTile& tile, Address at, const std::vector<std::uint32_t>& words) {
  tile.write_memory(at, reinterpret_cast<const std::uint8_t*>(words.data()), 4 * words.size());
}

/// Numbers near one, as f16 pairs or f32.
std::vector<std::uint32_t> numbers(std::size_t words, bool single) {
  std::vector<std::uint32_t> out(words);
  std::uint32_t seed = 99;
  for (std::uint32_t& word : out) {
    seed = seed * 1664525u + 1013904223u;
    word = single ? (seed & 0x807fffffu) | 0x3e000000u : (seed & 0x87ff87ffu) | 0x30003000u;
  }
  return out;
}

}  // namespace

VectorResult run_vector_loop(VectorLoop loop, unsigned workers, std::uint32_t passes, bool exact) {
  TlmTile tile{TileConfig{}};
  write(tile, kSramBase, supervisor_code(workers));
  write(tile, kCode, worker_code(loop, passes));
  write(tile, kWeights, numbers(64, loop == VectorLoop::matrix_f32));
  for (unsigned w = 0; w < workers; ++w)
    write(tile, kData + w * kWorkerBytes, numbers(0x4000 / 4, loop == VectorLoop::matrix_f32));
  tile.force_exact(exact);
  tile.start(kSramBase, 0);
  TileStop stop;
  VectorResult result;
  result.seconds = timed([&] { stop = tile.run(kNever, nullptr, nullptr); });
  const auto exception = tile.exception();
  if (stop.kind != TileStop::Kind::exception || !exception || exception->context != 0 || exception->cause != 11)
    throw std::runtime_error("the benchmark program did not come to its end");
  const std::uint64_t each = loop == VectorLoop::matrix_f16 ? 32 : loop == VectorLoop::matrix_f32 ? 8 : 4;
  result.products = std::uint64_t{workers} * passes * kRounds * kDoublewords * each;
  std::vector<std::uint32_t> out(kWorkerBytes / 4);
  for (unsigned w = 0; w < workers; ++w) {
    tile.read_memory(kData + w * kWorkerBytes, reinterpret_cast<std::uint8_t*>(out.data()), kWorkerBytes);
    for (const std::uint32_t word : out) result.checksum = (result.checksum ^ word) * 16777619u;
    for (const std::uint32_t word : tile.context(static_cast<ContextId>(w + 1)).f)
      result.checksum = (result.checksum ^ word) * 16777619u;
  }
  return result;
}

Report run_amp_report(const Effort& effort) {
  struct Row {
    VectorLoop loop;
    unsigned workers;
    std::uint32_t passes;
    Figure figure;
  };
  const std::uint32_t passes = effort.quick ? 1 : 4000;
  Row rows[] = {
      {VectorLoop::matrix_f16,
       1,
       passes,
       {"x.amp.f16 loop", "GMAC/s", "at least 5", "one worker, x.ld2st with x.amp.f16 in x.rpt", {}, {}}},
      {VectorLoop::matrix_f16,
       6,
       passes / 6 + 1,
       {"x.amp.f16 loop, six workers", "GMAC/s", "", "all six workers", {}, {}}},
      {VectorLoop::matrix_f32,
       1,
       passes / 8 + 1,
       {"x.amp.f32 loop", "GMAC/s", "", "one worker, x.ld2st with x.amp.f32", {}, {}}},
      {VectorLoop::lanes_f16,
       1,
       passes / 8 + 1,
       {"x.mac.f16v4 loop", "GMAC/s", "", "one worker, x.ld2st with x.mac.f16v4", {}, {}}},
  };
  Figure exact{"x.amp.f16 loop, exact interleave", "GMAC/s", "", "one worker, issued in machine order", {}, {}};
  const std::uint32_t exact_passes = passes / 400 + 1;
  const auto add = [](Figure& figure, const VectorResult& run) {
    figure.add_rate(1e-9 * static_cast<double>(run.products), run.seconds);
  };
  Report report;
  report.name = "amp";
  for (const Row& row : rows) {
    const auto fast = run_vector_loop(row.loop, row.workers, 2, false);
    const auto slow = run_vector_loop(row.loop, row.workers, 2, true);
    if (fast.checksum != slow.checksum)
      throw Error(Category::wrong_result,
                  fmt::format("{}: threaded code gives checksum {:08x}, exact interleave {:08x}", row.figure.name,
                              fast.checksum, slow.checksum));
  }
  for (unsigned round = 0; round < effort.rounds; ++round) {
    for (Row& row : rows) add(row.figure, run_vector_loop(row.loop, row.workers, row.passes, false));
    add(exact, run_vector_loop(VectorLoop::matrix_f16, 1, exact_passes, true));
  }
  for (const Row& row : rows) report.figures.push_back(row.figure);
  report.figures.push_back(exact);
  report.figures.push_back(
      ratio("x.amp.f16 loop / exact interleave", rows[0].figure, exact, "", "threaded code against the reference"));
  report.notes.push_back("memory and registers behind each loop are those of exact interleave");
  return report;
}

}  // namespace tessera::bench
