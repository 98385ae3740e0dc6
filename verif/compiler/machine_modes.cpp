// See machine_modes.h.
#include "verif/compiler/machine_modes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>

#include "tlm/tile/tlm_tile.h"
#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/rtl_tile.h"

namespace tessera::testing {

namespace {

using Bytes = std::vector<std::uint8_t>;

std::unique_ptr<TileModel> make_tile(const TileConfig& config, TileMode mode) {
  switch (mode) {
    case TileMode::rtl:
      return make_rtl_tile(config);
    case TileMode::lockstep:
      return std::make_unique<LockstepTile>(config, std::make_unique<TlmTile>(config), make_rtl_tile(config));
    default:
      return std::make_unique<TlmTile>(config);
  }
}

}  // namespace

TileFactory tiles_of(TileMode mode) {
  return [mode](const TileConfig& config, TileMode) { return make_tile(config, mode); };
}

Bytes run_in_process(const std::function<Bytes()>& f) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    int verdict = 1;
    try {
      const Bytes results = f();
      verdict = write(ends[1], results.data(), results.size()) == static_cast<ssize_t>(results.size()) ? 0 : 1;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(verdict);
  }
  close(ends[1]);
  Bytes results;
  std::uint8_t buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    results.insert(results.end(), buffer, buffer + n);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return results;
}

}  // namespace tessera::testing
