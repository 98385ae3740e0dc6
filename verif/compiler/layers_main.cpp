// compiler_layers [layers [tiles]]: compiles layers_graph for platform c2 and prints the time of every pass, tables and
// memory of the fullest tile, exchange lengths against their bounds.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "host/compiler/compiler.h"
#include "host/executable/container.h"
#include "hw/error.h"
#include "verif/codelets/amp_rows.h"
#include "verif/compiler/layers_graph.h"

int main(int argc, char** argv) {
  using namespace tessera;  // NOLINT: a program of one function
  const unsigned layers = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 10;
  const unsigned tiles = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1216;
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  try {
    const CodeletLibrary library = testing::amp_test_library();
    const graph::Graph g = testing::layers_graph(tiles, layers);
    fmt::print("graph {:.2f} s: {} variables, {} vertices\n", seconds(), g.variables().size(), g.vertices().size());
    const double built = seconds();
    const compiler::Compiled c = compiler::compile(g, load_platform("c2"), library);
    for (const compiler::PassTime& p : c.report.passes) fmt::print("  {:10} {:7.2f} s\n", p.name, p.seconds);
    fmt::print("compile {:.2f} s\n", seconds() - built);
    const auto bytes = executable::write(c.executable);
    std::uint64_t constants = 0;
    for (const auto& k : c.executable.programs[0].constants) constants += 4 * k.words.size();
    fmt::print("written {:.2f} s: {} bytes, constants {}\n", seconds(), bytes.size(), constants);
    const auto& json = c.report.json;
    std::uint64_t tables = 0;
    std::uint64_t fullest = 0;
    for (const auto& tile : json["memory"]["tiles"]) {
      tables += tile["exchange"].get<std::uint64_t>();
      fullest = std::max(fullest, tile["exchange"].get<std::uint64_t>());
    }
    fmt::print("exchange tables: {} bytes on the fullest tile, {} on the mean\n", fullest, tables / tiles);
    fmt::print("{}\n{}\n{}\n", json["memory"]["categories"].dump(), json["memory"]["largest_tile"].dump(),
               json["exchange"].dump());
  } catch (const Error& e) {
    fmt::print("error after {:.2f} s: {}\n", seconds(), e.what());
    return 1;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("peak memory {} MiB\n", usage.ru_maxrss / 1024);
  return 0;
}
