// Running `tessera demo` on platforms made for a test, and what of its result must not depend on how the machine is
// simulated.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "verif/support/run_command.h"

namespace tessera::test {

using Json = nlohmann::json;

/// A platform file: pocket with some values changed.
inline std::string platform_file(const std::string& directory, const std::string& name, const Json& changes) {
  Json platform = Json::parse(read_file(source_path("hw/platforms/pocket.json")));
  platform["name"] = name;
  platform.merge_patch(changes);
  const std::string file = directory + "/" + name + ".json";
  write_file(file, platform.dump(2));
  return file;
}

/// Runs a demonstration; its JSON result.
inline Json run_demo(const std::string& directory, const std::string& label, std::vector<std::string> arguments) {
  const std::string file = directory + "/" + label + ".json";
  arguments.insert(arguments.begin(), "demo");
  arguments.insert(arguments.end(), {"--json", file});
  const Outcome outcome = tessera(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << label << ": " << outcome.err << outcome.out;
  return Json::parse(read_file(file));
}

/// All that must not depend on how the machine is simulated.
inline Json figures(const Json& result) {
  Json same;
  for (const char* key : {"cycles", "instructions", "exchange", "phases", "verified", "about"})
    same[key] = result.at(key);
  return same;
}

}  // namespace tessera::test
