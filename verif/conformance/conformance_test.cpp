// The conformance programs on TLM, RTL and lockstep tiles, in the supervisor and in a worker, through `tessera elf`:
// each must pass its own checks, leave the signature that qemu-riscv32 prints for the same source, and take the same
// instructions and cycles in every model.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

using Json = nlohmann::json;

struct Case {
  std::string program, model, context;
};

std::string elf_of(const std::string& program) { return std::string(CONFORMANCE_DIR) + "/" + program + ".elf"; }
bool runs_on_linux(const std::string& program) {
  return program.rfind("rv32", 0) == 0 || program == "c_integer" || program == "c_float";
}

struct Ran {
  Json result;
  std::string signature;
};

Ran run(const std::string& program, const std::string& model, const std::string& context) {
  const std::string base = scratch_directory() + "/" + program + "_" + model;
  const Outcome outcome = tessera({"elf", elf_of(program), "--model", model, "--context", context, "--signature",
                                   base + ".sig", "--json", base + ".json", "--max-cycles", "50000000", "--quiet"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.rfind("pass: ", 0), 0u) << outcome.out;
  return {Json::parse(read_file(base + ".json")), read_file(base + ".sig")};
}

class Conformance : public ::testing::TestWithParam<Case> {};

TEST_P(Conformance, PassesAndAgrees) {
  const auto& [program, model, context] = GetParam();
  const Ran mine = run(program, model, context);
  EXPECT_EQ(mine.result.at("tohost"), 1);
  EXPECT_EQ(mine.result.at("exit_reason"), "tohost");
  EXPECT_GT(mine.result.at("instructions").get<std::uint64_t>(), 200u);
  if (runs_on_linux(program)) {
    const Outcome qemu = run_command({"qemu-riscv32", std::string(CONFORMANCE_DIR) + "/" + program + ".linux"});
    ASSERT_EQ(qemu.exit_code, 0) << "the program's own checks fail in qemu-riscv32";
    EXPECT_GT(mine.signature.size(), 9u);
    EXPECT_EQ(mine.signature, qemu.out);
  }
  if (model == "tlm") return;
  const Ran reference = run(program, "tlm", context);
  EXPECT_EQ(mine.result.at("instructions"), reference.result.at("instructions"));
  EXPECT_EQ(mine.result.at("cycles"), reference.result.at("cycles"));
  EXPECT_EQ(mine.signature, reference.signature);
  if (model != "lockstep") return;
  EXPECT_EQ(mine.result.at("compared").at("instructions"), mine.result.at("instructions"));
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* model : {"tlm", "rtl", "lockstep"}) {
    for (const char* context : {"supervisor", "worker"})
      for (const char* program : {"rv32i_alu", "rv32i_branch", "rv32i_memory", "rv32m", "c_integer", "machine_mode"})
        all.push_back({program, model, context});
    for (const char* program :
         {"rv32f_arithmetic", "rv32f_fused", "rv32f_moves", "rv32f_conversions", "c_float", "xtile_bits",
          "xtile_memory", "xtile_streams", "xtile_loops", "xtile_f16v2", "xtile_f16v4", "xtile_f32v2", "xtile_fused",
          "xtile_lanes", "xtile_conversions", "xtile_random", "xtile_transcendental"})
      all.push_back({program, model, "worker"});
    for (const char* program : {"xtile_traps", "pairs", "c_intrinsics", "c_streams", "c_intrinsics_plain",
                                "c_streams_plain", "csr_map", "csr_values", "suite_style", "default_link"})
      all.push_back({program, model, "worker"});
    for (const char* program :
         {"xtile_bits", "xtile_amp", "control", "exchange_traps", "csr_map", "csr_values", "suite_style"})
      all.push_back({program, model, "supervisor"});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Programs, Conformance, ::testing::ValuesIn(cases()), [](const auto& info) {
  return info.param.program + "_" + info.param.model + "_" + info.param.context;
});

}  // namespace
}  // namespace tessera::test
