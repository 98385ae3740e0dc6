// Every ONNX node test that the machine runs, on the modelled machine. SystemC elaborates once a process, so each case
// runs in a process of its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>

#include "host/golden/compare.h"
#include "host/nn/lower.h"
#include "host/onnx/test_case.h"
#include "hw/error.h"
#include "verif/compiler/graph_machine.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

const char* const kVectors = "/usr/share/libonnx-testdata/data/node";
enum Verdict { passed = 0, wrong = 1, unsupported = 3, broken = 8 };

golden::Comparison run_case(const std::string& directory) {
  golden::Comparison all;
  const std::string name = model::data_sets(directory).front();
  const model::DataSet set = model::read_data_set(directory, name);
  model::ImportOptions import;
  import.inputs = set.inputs;
  import.narrow_f64 = false;
  const model::Model model = model::import_model(directory + "/model.onnx", import);
  const auto inputs = model::arrange_inputs(model, set.inputs);
  const nn::Lowered lowered = nn::lower(model, {});
  testing::GraphMachine machine(lowered.graph);
  std::vector<model::Tensor> results;
  for (const nn::Binding& output : lowered.outputs) results.emplace_back(output.type, output.shape);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!lowered.inputs[i].streamed()) continue;
    machine.engine().connect(lowered.inputs[i].stream, engine::Source([&, i](std::uint64_t step, std::uint8_t* bytes) {
                               nn::fill_step(lowered.inputs[i], inputs[i], step, bytes);
                             }));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!lowered.outputs[i].streamed()) {
      results[i] = lowered.outputs[i].known;
      continue;
    }
    machine.engine().connect(lowered.outputs[i].stream,
                             engine::Sink([&, i](std::uint64_t step, const std::uint8_t* bytes) {
                               nn::drain_step(lowered.outputs[i], results[i], step, bytes);
                             }));
  }
  machine.engine().run("main");
  for (std::size_t i = 0; i < results.size(); ++i) {
    all.merge(golden::compare(model::widened(results[i], lowered.outputs[i].declared), set.outputs.at(i), {},
                              lowered.outputs[i].name));
  }
  return all;
}

Verdict judge(const std::string& directory) {
  try {
    const golden::Comparison result = run_case(directory);
    if (result.passes()) return passed;
    std::fprintf(stderr, "%s: %s\n", directory.c_str(), result.text().c_str());
    return wrong;
  } catch (const Error& error) {
    if (error.category() == Category::unsupported) return unsupported;
    std::fprintf(stderr, "%s: %s\n", directory.c_str(), error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", directory.c_str(), error.what());
  }
  return broken;
}

TEST(ConformanceSystem, NodeVectorsRunOnTheMachine) {
  unsigned good = 0;
  for (const auto& entry : fs::directory_iterator(kVectors)) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(judge(entry.path().string()));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    const std::string name = entry.path().filename().string();
    ASSERT_TRUE(WIFEXITED(status)) << name << " ended by signal " << WTERMSIG(status);
    const int verdict = WEXITSTATUS(status);
    EXPECT_TRUE(verdict == passed || verdict == unsupported) << name << ": verdict " << verdict;
    if (verdict == passed) ++good;
  }
  EXPECT_GE(good, 148U);
}

}  // namespace
}  // namespace tessera
