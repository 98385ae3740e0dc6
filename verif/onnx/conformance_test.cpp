// All 1,072 directories of ONNX's backend tests on the reference: each passes or is refused with reasons for each node;
// counts by element type. In one process, so that a crash anywhere is a failure of this test.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "host/golden/compare.h"
#include "host/golden/evaluate.h"
#include "host/onnx/test_case.h"
#include "hw/error.h"

namespace tessera::model {
namespace {

namespace fs = std::filesystem;

const std::string kVectors = "/usr/share/libonnx-testdata/data";

std::vector<std::string> all_cases() {
  std::vector<std::string> result;
  for (const auto& entry : fs::recursive_directory_iterator(kVectors))
    if (entry.path().filename() == "model.onnx") result.push_back(entry.path().parent_path().string());
  std::sort(result.begin(), result.end());
  return result;
}

/// "f16" if that type is among inputs and outputs, else "f32" if that is, else "integers".
std::string kind(const std::string& directory) {
  const Interface interface = read_interface(directory + "/model.onnx");
  std::set<std::string> types;
  for (const auto* side : {&interface.inputs, &interface.outputs})
    for (const Declared& declared : *side) types.insert(declared.type);
  return types.count("f16") != 0 ? "f16" : types.count("f32") != 0 ? "f32" : "integers";
}

golden::Comparison run_case(const std::string& directory) {
  golden::Comparison all;
  for (const std::string& name : data_sets(directory)) {
    const DataSet set = read_data_set(directory, name);
    ImportOptions import;
    import.inputs = set.inputs;
    import.narrow_f64 = false;
    const Model model = import_model(directory + "/model.onnx", import);
    const auto results = golden::run(model, arrange_inputs(model, set.inputs));
    EXPECT_EQ(model.outputs.size(), set.outputs.size()) << directory;
    for (std::size_t i = 0; i < model.outputs.size(); ++i) {
      const Value& value = model.value(model.outputs[i]);
      all.merge(golden::compare(widened(results[model.outputs[i]].value(), value.declared), set.outputs.at(i), {},
                                value.name));
    }
  }
  return all;
}

TEST(Conformance, EveryDirectoryPassesOrIsRefusedWithReasons) {
  const std::vector<std::string> cases = all_cases();
  ASSERT_EQ(cases.size(), 1072U);
  std::map<std::string, unsigned> passed;
  unsigned refused = 0;
  std::uint64_t values = 0;
  for (const std::string& directory : cases) {
    try {
      const golden::Comparison all = run_case(directory);
      EXPECT_TRUE(all.passes()) << directory << ": " << all.text();
      if (all.passes()) ++passed[kind(directory)];
      values += all.values;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::unsupported) << directory << ": " << error.what();
      EXPECT_NE(error.message(), "") << directory;
      if (std::getenv("TESSERA_SHOW_REFUSED") != nullptr) fmt::print("{}: {}\n", directory, error.message());
      ++refused;
    }
  }
  fmt::print("{} pass (f32 {}, f16 {}, integers {}), {} refused, {} values compared\n",
             passed["f32"] + passed["f16"] + passed["integers"], passed["f32"], passed["f16"], passed["integers"],
             refused, values);
  // The workloads need 567, 7 and 24; the operators that are here beyond theirs bring the rest.
  EXPECT_GE(passed["f32"], 741U);
  EXPECT_GE(passed["f16"], 9U);
  EXPECT_GE(passed["integers"], 89U);
}

}  // namespace
}  // namespace tessera::model
