// tessera elf beside the good case: every way a program can end has its exit code, its message and its files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/elf/elf_builder.h"
#include "tlm/tile/assembler.h"
#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

using namespace tessera::testing;  // NOLINT: the assembler
using elf::testing::Builder;
using Json = nlohmann::json;
using Code = std::vector<std::uint32_t>;

constexpr Address kTohost = kSramBase + 0x800;

/// Stores `value` to tohost and stays there.
Code end_with(std::uint32_t value) {
  Code code;
  load_constant(code, 5, kTohost);
  load_constant(code, 6, value);
  code.push_back(s(Op::sw, 5, 6, 0));
  code.push_back(i(Op::jal, 0, 0, 0));
  return code;
}

std::string write_program(const std::string& directory, const std::string& name, const Code& code) {
  Builder b;
  b.header.e_entry = kSramBase;
  b.segments = {{kSramBase, code}, {kTohost, {0, 0, 0x11223344, 0xaabbccdd}}};
  b.symbols = {
      {"_start", kSramBase}, {"tohost", kTohost}, {"begin_signature", kTohost + 8}, {"end_signature", kTohost + 16}};
  const std::string path = directory + "/" + name + ".elf";
  b.write(path);
  return path;
}

class ElfCommand : public ::testing::TestWithParam<const char*> {
 protected:
  const std::string directory = scratch_directory();
  std::string program(const std::string& name, const Code& code) const { return write_program(directory, name, code); }
};

class ElfCommandFiles : public ::testing::Test {
 protected:
  const std::string directory = scratch_directory();
  std::string program(const std::string& name, const Code& code) const { return write_program(directory, name, code); }
};

TEST_P(ElfCommand, VerdictsHaveTheirExitCodes) {
  const std::string model = GetParam();
  const auto run = [&](const std::string& path) { return tessera({"elf", path, "--model", model}); };
  EXPECT_EQ(run(program("pass", end_with(1))).exit_code, 0);
  const Outcome failed = run(program("fail", end_with(2 * 21 + 1)));
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_NE(failed.err.find("test 21"), std::string::npos) << failed.err;
  const Outcome even = run(program("even", end_with(0x40)));
  EXPECT_EQ(even.exit_code, 3);
  EXPECT_NE(even.err.find("0x00000040"), std::string::npos) << even.err;
}

TEST_P(ElfCommand, AnInstructionOfWorkersIsNamedToTheSupervisor) {
  const std::string path = program("float", {0x1547a707});  // flw fa4,340(a5)
  const Outcome outcome = tessera({"elf", path, "--model", GetParam()});
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_NE(outcome.err.find("the instruction is flw"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("--context worker"), std::string::npos) << outcome.err;
}

TEST_P(ElfCommand, ExceptionNamesContextPcSymbolAndCause) {
  const std::string path = program("trap", {nop(), nop(), i(Op::lw, 1, 0, 3)});
  const std::string json = directory + "/trap.json";
  const Outcome outcome = tessera({"elf", path, "--model", GetParam(), "--json", json});
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_NE(outcome.err.find("supervisor"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("pc 0x00040008"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("_start+0x8"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("cause 4"), std::string::npos) << outcome.err;
  const Json result = Json::parse(read_file(json));
  EXPECT_EQ(result.at("exit_reason"), "exception");
  EXPECT_EQ(result.at("exception").at("cause"), 4);
  EXPECT_EQ(result.at("exception").at("cycle"), 12);
  EXPECT_EQ(result.at("instructions"), 2);
  EXPECT_TRUE(result.at("tohost").is_null());
}

TEST_P(ElfCommand, CycleLimitSaysWhereTheProgramStands) {
  const std::string path = program("endless", {i(Op::jal, 0, 0, 0)});
  const std::string json = directory + "/endless.json";
  const Outcome outcome = tessera({"elf", path, "--model", GetParam(), "--max-cycles", "1000", "--json", json});
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_NE(outcome.err.find("_start"), std::string::npos) << outcome.err;
  const Json result = Json::parse(read_file(json));
  EXPECT_EQ(result.at("exit_reason"), "max-cycles");
  EXPECT_EQ(result.at("instructions"), 167) << "issue cycles 0, 6, .. 996";
}

TEST_F(ElfCommandFiles, ACycleLimitCutsEveryModelAtTheSameInstruction) {
  // The supervisor starts all workers, divides, and ends the run while they divide and store. A limit in any cycle
  // leaves the same instructions, trace, memory and message, whatever is in the pipeline of the RTL.
  Code code;
  load_constant(code, 7, kSramBase + 0x200);
  load_constant(code, 8, 1000);
  code.push_back(r(Op::x_run, 7, 7));
  for (unsigned k = 0; k < 2; ++k) code.push_back(r(Op::div, 9, 8, 7));
  const Code end = end_with(1);
  code.insert(code.end(), end.begin(), end.end());
  code.resize(0x200 / 4, nop());
  load_constant(code, 5, kTohost + 8);
  for (unsigned k = 0; k < 3; ++k) {
    code.push_back(i(Op::csrrs, 6, 0, csr::cycle));
    code.push_back(s(Op::sw, 5, 6, 0));
    code.push_back(r(Op::div, 6, 6, 5));
  }
  code.push_back(r(Op::x_exit, 0, 0));
  const std::string path = program("limits", code), json = directory + "/limits.json";
  ASSERT_EQ(tessera({"elf", path, "--json", json}).exit_code, 0);
  const unsigned end_cycle = Json::parse(read_file(json)).at("cycles");
  ASSERT_GT(end_cycle, 100u);
  unsigned compared = 0;
  for (unsigned limit = end_cycle - 60; limit <= end_cycle + 2; ++limit) {
    const auto all = [&](const std::string& model, bool traced) {
      const std::string base = directory + "/" + model;
      std::vector<std::string> arguments = {
          "elf",    path, "--model",     model,        "--max-cycles", std::to_string(limit),
          "--json", json, "--signature", base + ".sig"};
      if (traced) arguments.insert(arguments.end(), {"--trace", base + ".txt"});
      const Outcome outcome = tessera(arguments);
      EXPECT_EQ(outcome.exit_code, limit > end_cycle ? 0 : 6) << model << " at " << limit << outcome.err;
      return outcome.err + read_file(base + ".sig") + Json::parse(read_file(json)).at("instructions").dump() +
             (traced ? read_file(base + ".txt") : "");
    };
    EXPECT_EQ(all("rtl", true), all("tlm", true)) << "limit " << limit;
    EXPECT_EQ(all("lockstep", true), all("tlm", true)) << "limit " << limit;
    EXPECT_EQ(all("rtl", false), all("tlm", false)) << "limit " << limit;
    compared += 3;
  }
  EXPECT_EQ(compared, 189u);
}

TEST_F(ElfCommandFiles, OnlyTheProgramOrALimitEndsALongComputation) {
  // Ten million instructions without a store: no event, no output, and still no end of its own.
  Code code;
  load_constant(code, 7, 5'000'000);
  code.push_back(i(Op::addi, 7, 7, -1));
  code.push_back(s(Op::bne, 7, 0, -4));
  const Code end = end_with(1);
  code.insert(code.end(), end.begin(), end.end());
  const std::string path = program("long", code), json = directory + "/long.json";
  EXPECT_EQ(tessera({"elf", path, "--json", json}).exit_code, 0);
  EXPECT_GT(Json::parse(read_file(json)).at("instructions"), 10'000'000);
  EXPECT_EQ(tessera({"elf", path, "--max-cycles", "59999999", "--json", json}).exit_code, 6);
  EXPECT_EQ(Json::parse(read_file(json)).at("exit_reason"), "max-cycles");
}

TEST_P(ElfCommand, SignatureIsWrittenOnFailureToo) {
  const std::string file = directory + "/fail.sig";
  const Outcome outcome = tessera({"elf", program("fail", end_with(3)), "--model", GetParam(), "--signature", file});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(read_file(file), "11223344\naabbccdd\n");
}

TEST_P(ElfCommand, SupervisorStartsWorkersAndReadsTheirCodes) {
  // x.run of all six at `worker`; each exits with 1 << tp; the sum of bits comes back in xexit: 0x3f is odd, test 31.
  Code code;
  load_constant(code, 7, kSramBase + 0x200);
  code.push_back(r(Op::x_run, 7, 7));
  code.push_back(sync(0, 0, 0));
  code.push_back(i(Op::csrrs, 6, 0, csr::xexit));
  load_constant(code, 5, kTohost);
  code.push_back(s(Op::sw, 5, 6, 0));
  code.push_back(i(Op::jal, 0, 0, 0));
  code.resize(0x80, nop());
  code.push_back(i(Op::addi, 10, 0, 1));
  code.push_back(r(Op::sll, 10, 10, 4));
  code.push_back(r(Op::x_exit, 0, 10));
  const Outcome outcome = tessera({"elf", program("workers", code), "--model", GetParam()});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("test 31"), std::string::npos) << outcome.err;
}

TEST_P(ElfCommand, ATileAloneExchangesWithItself) {
  // After an internal sync it sends 4 words at t = 40 and listens to itself from 40 + delay; then checks one word.
  const Address table = kSramBase + 0x400, data = kSramBase + 0x500;
  Code code;
  load_constant(code, 10, table);
  code.push_back(sync(0, 0, 1));
  code.push_back(r(Op::x_exchange, 0, 10));
  load_constant(code, 11, data);
  code.push_back(i(Op::lw, 6, 11, 0x48));
  load_constant(code, 5, kTohost);
  code.push_back(s(Op::sw, 5, 6, 0));
  code.push_back(i(Op::jal, 0, 0, 0));
  code.resize(0x140 + 0x20, 0);
  const auto put = [&](Address at, std::uint64_t v) {
    code[(at - kSramBase) / 4] = static_cast<std::uint32_t>(v);
    code[(at - kSramBase) / 4 + 1] = static_cast<std::uint32_t>(v >> 32);
  };
  const auto linear = [&](std::uint64_t t, std::uint64_t address) {
    return t << 4 | std::uint64_t{4} << 22 | address / 4 << 34;
  };
  // Tile 0 of c2 stands seven columns from the spine: S = R = 14, B = 20.
  put(table, 1 | 1 << 16 | std::uint64_t{100} << 32);
  put(table + 8, linear(40, 0x500));
  put(table + 16, linear(40 + 48, 0x540));
  for (unsigned k = 0; k < 4; ++k) code[0x140 + k] = k == 2 ? 1 : 100 + k;
  const Outcome outcome = tessera({"elf", program("exchange", code), "--model", GetParam()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(Models, ElfCommand, ::testing::Values("tlm", "rtl", "lockstep"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(ElfCommandFiles, WorkerExitCodeIsTheVerdictWithoutTohost) {
  EXPECT_EQ(tessera({"elf", program("exit0", {r(Op::x_exit, 0, 0)}), "--context", "worker"}).exit_code, 0);
  const Outcome seven =
      tessera({"elf", program("exit7", {i(Op::addi, 1, 0, 7), r(Op::x_exit, 0, 1)}), "--context", "worker"});
  EXPECT_EQ(seven.exit_code, 1);
  EXPECT_NE(seven.err.find("code 7"), std::string::npos) << seven.err;
}

TEST_F(ElfCommandFiles, TraceHasALineForEachInstruction) {
  const std::string file = directory + "/trace.txt", json = directory + "/trace.json";
  EXPECT_EQ(tessera({"elf", program("pass", end_with(1)), "--trace", file, "--json", json}).exit_code, 0);
  const std::string trace = read_file(file);
  EXPECT_EQ(std::count(trace.begin(), trace.end(), '\n'), 5);
  EXPECT_NE(trace.find("sw t1,0(t0)"), std::string::npos) << trace;
  EXPECT_EQ(Json::parse(read_file(json)).at("trace").at("lines"), 5);
}

TEST_F(ElfCommandFiles, PlantedAdderFaultIsALockstepMismatch) {
  Code code;
  load_constant(code, 5, 0xffff);
  code.push_back(i(Op::addi, 6, 5, 1));  // a carry into bit 16
  const Code end = end_with(1);
  code.insert(code.end(), end.begin(), end.end());
  const std::string wave = directory + "/fault.vcd";
  const std::string path = program("carry", code);
  EXPECT_EQ(tessera({"elf", path, "--model", "lockstep"}).exit_code, 0);
  const Outcome outcome = tessera_faulty({"elf", path, "--model", "lockstep", "--wave", wave});
  EXPECT_EQ(outcome.exit_code, 7) << outcome.err;
  EXPECT_NE(outcome.err.find("addi"), std::string::npos) << outcome.err;
  EXPECT_NE(read_file(wave).find("$enddefinitions"), std::string::npos);
}

TEST_F(ElfCommandFiles, FilesThatCannotBeWritten) {
  const std::string path = program("pass", end_with(1)), nowhere = directory + "/none/file";
  EXPECT_EQ(tessera({"elf", path, "--signature", nowhere}).exit_code, 2);
  EXPECT_EQ(tessera({"elf", path, "--trace", nowhere}).exit_code, 2);
  EXPECT_EQ(tessera({"elf", path, "--trace", "/dev/full"}).exit_code, 2);
  EXPECT_EQ(tessera({"elf", nowhere}).exit_code, 2);
  EXPECT_EQ(tessera({"elf"}).exit_code, 2);
  EXPECT_EQ(tessera({"elf", path, "--model", "spike"}).exit_code, 2);
  EXPECT_EQ(tessera({"elf", path, "--max-cycles", "0"}).exit_code, 2);
}

TEST_F(ElfCommandFiles, APipeIsWrittenAndStaysOne) {
  const std::string path = program("pass", end_with(1)), expected = "11223344\naabbccdd\n";
  for (const std::string option : {"--signature", "--json"}) {
    const std::string pipe = directory + "/pipe" + option;
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const int reader = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK);
    ASSERT_GE(reader, 0);
    EXPECT_EQ(tessera({"elf", path, option, pipe}).exit_code, 0);
    EXPECT_TRUE(std::filesystem::is_fifo(pipe)) << option << " put a file in the place of a pipe";
    std::string text(4096, '\0');
    const auto count = ::read(reader, text.data(), text.size());
    ::close(reader);
    ASSERT_GT(count, 0) << option;
    text.resize(static_cast<std::size_t>(count));
    if (option == "--signature")
      EXPECT_EQ(text, expected);
    else
      EXPECT_EQ(Json::parse(text).at("exit_code"), 0);
  }
  const std::string link = directory + "/link.sig", target = directory + "/target.sig";
  std::filesystem::create_symlink(target, link);
  EXPECT_EQ(tessera({"elf", path, "--signature", link}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_file(target), expected);
}

TEST_F(ElfCommandFiles, OutputsAreNotWrittenOverEachOtherOrTheProgram) {
  const std::string path = program("pass", end_with(1)), before = read_file(path), file = directory + "/one";
  for (const std::string option : {"--signature", "--json", "--trace"}) {
    EXPECT_EQ(tessera({"elf", path, option, path}).exit_code, 2) << option;
    EXPECT_EQ(tessera({"elf", path, option, directory + "/./pass.elf"}).exit_code, 2) << option;
    EXPECT_EQ(read_file(path), before) << option;
  }
  EXPECT_EQ(tessera({"elf", path, "--signature", file, "--trace", file}).exit_code, 2);
  EXPECT_EQ(tessera({"elf", path, "--json", file, "--trace", file}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(tessera({"elf", path, "--signature", "/dev/null", "--trace", "/dev/null"}).exit_code, 0);
}

TEST_F(ElfCommandFiles, CyclesAreWholeNumbers) {
  const std::string path = program("pass", end_with(1));
  for (const std::string option : {"--max-cycles", "--wave-from", "--wave-to"})
    for (const std::string value : {"-1", "99999999999999999999", "1e3", "x", "0x"})
      EXPECT_EQ(tessera({"elf", path, option, value}).exit_code, 2) << option << " " << value;
}

TEST_F(ElfCommandFiles, AnInterruptedRunLeavesItsTraceReadable) {
  const std::string file = directory + "/endless.txt";
  CommandOptions options;
  options.signal = SIGINT;
  const Outcome outcome =
      tessera({"elf", program("endless", {i(Op::jal, 0, 0, 0)}), "--trace", file, "--json", file + ".json"}, options);
  EXPECT_EQ(outcome.exit_code, 128 + SIGINT) << outcome.err;
  EXPECT_GT(std::filesystem::file_size(file), 1000u);
  EXPECT_EQ(Json::parse(read_file(file + ".json")).at("exit_reason"), "signal");
  std::filesystem::remove(file);
}

TEST_F(ElfCommandFiles, AnInterruptedWaveOfRtlIsClosedSoon) {
  const std::string path = program("endless", {i(Op::jal, 0, 0, 0)}), json = directory + "/endless.json";
  CommandOptions options;
  for (const int signal : {SIGINT, SIGQUIT, SIGXCPU}) {
    options.signal = signal;
    const std::string wave = directory + "/signal" + std::to_string(signal) + ".fst";
    const Outcome outcome = tessera({"elf", path, "--model", "rtl", "--wave", wave, "--json", json}, options);
    EXPECT_EQ(outcome.exit_code, 128 + signal) << outcome.err;
    EXPECT_FALSE(outcome.signalled);
    EXPECT_TRUE(std::filesystem::exists(wave));
    EXPECT_FALSE(std::filesystem::exists(wave + ".parts"));
    // Not after another million cycles.
    EXPECT_LT(Json::parse(read_file(json)).at("wave").at("last"), 1 << 20);
    std::filesystem::remove(wave);
  }
}

TEST_F(ElfCommandFiles, LockstepComparesTheMemoryAtTheEnd) {
  const std::string json = directory + "/end.json";
  EXPECT_EQ(tessera({"elf", program("pass", end_with(1)), "--model", "lockstep", "--json", json}).exit_code, 0);
  EXPECT_EQ(Json::parse(read_file(json)).at("compared").at("memory_bytes"), 262144);
}

}  // namespace
}  // namespace tessera::test
