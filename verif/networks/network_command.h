// tessera run example:NAME --check as users call it, and what every such run must say.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "verif/support/run_command.h"

namespace tessera::test {

/// Runs an example with --check and `options`; verifies exit code, that values were compared and none was wrong, and
/// that work and memory are told. Returns the JSON result.
inline nlohmann::json run_network(const std::string& example, const std::vector<std::string>& options,
                                  std::chrono::seconds limit = std::chrono::seconds(500)) {
  const std::string file = scratch_directory() + "/result.json";
  std::vector<std::string> arguments = {"run", "example:" + example, "--check", "--json", file, "--quiet"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  CommandOptions command;
  command.limit = limit;
  const Outcome outcome = tessera(arguments, command);
  EXPECT_EQ(outcome.exit_code, 0) << example << "\n" << outcome.out << outcome.err;
  if (outcome.exit_code != 0) return {};
  const nlohmann::json result = nlohmann::json::parse(read_file(file));
  EXPECT_TRUE(result.at("check").at("passes").get<bool>());
  EXPECT_GT(result.at("check").at("values").get<std::uint64_t>(), 0U);
  EXPECT_EQ(result.at("check").at("wrong").get<std::uint64_t>(), 0U);
  EXPECT_GT(result.at("cycles").get<std::uint64_t>(), 0U);
  EXPECT_GT(result.at("memory").at("sum").get<std::uint64_t>(), 0U);
  EXPECT_LE(result.at("memory").at("sum").get<std::uint64_t>(),
            result.at("memory").at("sram_bytes").get<std::uint64_t>());
  EXPECT_THAT(outcome.out, testing::HasSubstr("memory      at most"));
  return result;
}

}  // namespace tessera::test
