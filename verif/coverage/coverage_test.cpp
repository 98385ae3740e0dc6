// The plan, its page, and that counts are merged and attributed as their names say.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "hw/error.h"
#include "tlm/tile/assembler.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/coverage/covered_tile.h"

namespace tessera::coverage {
namespace {

using namespace tessera::testing;  // NOLINT: the assembler

TEST(Coverage, PageNamesTheSamePointsAsTheCode) {
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/docs/verification-plan.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), plan_page(Plan()))
      << "write it again: build/tools/tessera-coverage plan > docs/verification-plan.md";
}

TEST(Coverage, UnknownPointsAreRefused) {
  const Plan plan;
  EXPECT_THROW((void)plan.at("op/none"), std::logic_error);
  const std::string path = ::testing::TempDir() + "/old.points";
  std::ofstream(path) << "3 op/none\n";
  Counts counts;
  EXPECT_THROW(add_file(plan, path, counts), Error);
}

TEST(Coverage, CountsAreWrittenAndAdded) {
  const Plan plan;
  Counts counts(plan.size()), sum;
  counts[plan.at("op/add/worker")] = 2;
  counts[plan.at("trap/5/worker/none")] = 40;
  const std::string path = ::testing::TempDir() + "/some.points";
  write_file(plan, counts, path);
  add_file(plan, path, sum);
  add_file(plan, path, sum);
  std::uint64_t all = 0;
  for (const std::uint64_t n : sum) all += n;
  EXPECT_EQ(all, 84u);
  EXPECT_EQ(sum[plan.at("trap/5/worker/none")], 80u);
}

/// A supervisor starts worker 3, which adds, pairs and faults; exactly these points are hit.
TEST(Coverage, RecordsHitTheirPoints) {
  TileConfig config;
  config.sram_bytes = 65536;
  auto totals = std::make_shared<Totals>("");
  auto tile = covered(config, std::make_unique<TlmTile>(config), totals);
  std::vector<std::uint32_t> code;
  load_constant(code, 5, kSramBase + 0x100);
  code.push_back(r(Op::x_run, 3, 5, 0, 0));
  code.push_back(sync(6, 0, 0));
  code.push_back(r(Op::ecall, 0));
  const std::vector<std::uint32_t> worker = {i(Op::addi, 10, 0, -1), r(Op::fadd_s, 1, 2, 3), r(Op::add, 11, 10, 10),
                                             nop(), i(Op::lw, 12, 0, 2)};
  tile->write_memory(kSramBase, reinterpret_cast<const std::uint8_t*>(code.data()), 4 * code.size());
  tile->write_memory(kSramBase + 0x100, reinterpret_cast<const std::uint8_t*>(worker.data()), 4 * worker.size());
  tile->start(kSramBase, 0);
  (void)tile->run(10'000, nullptr, nullptr);
  tile.reset();
  const Counts counts = totals->counts();
  const auto at = [&](const char* name) { return counts[totals->plan().at(name)]; };
  EXPECT_EQ(at("op/x.run/supervisor"), 1u);
  EXPECT_EQ(at("op/addi/worker"), 2u);
  EXPECT_EQ(at("pair/main/addi"), 1u);
  EXPECT_EQ(at("pair/aux/fadd.s"), 1u);
  EXPECT_EQ(at("pair/kinds/alu+f-add-mul"), 1u);
  EXPECT_EQ(at("value/fadd.s/rs2/zero"), 1u);
  EXPECT_EQ(at("value/add/rs1/minus-one"), 1u);
  EXPECT_EQ(at("value/add/rs1/zero"), 0u);
  EXPECT_EQ(at("immediate/addi/negative"), 1u);
  EXPECT_EQ(at("rounding/fadd.s/static/rne"), 1u);
  EXPECT_EQ(at("trap/4/worker/none"), 1u);
  EXPECT_EQ(at("trap/4/supervisor/none"), 0u);
  EXPECT_EQ(at("slot/running/000000"), 3u);  // lui, addi, x.run
  EXPECT_EQ(at("slot/running/000100"), 0u);
  EXPECT_EQ(at("wait/x.run/none"), 1u);
}

}  // namespace
}  // namespace tessera::coverage
