// Tutorial 2: operations: vertices of library codelets in compute sets, loops on the device, host streams.
#include <fmt/format.h>

#include "host/session/session.h"

using namespace tessera;
using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;

/// y = a op b: one vertex for each piece of y that lies on one tile.
void elementwise(Graph& g, graph::ComputeSetId set, const std::string& codelet, const Tensor& a, const Tensor& b,
                 const Tensor& y) {
  for (const graph::TileInterval& i : g.mapping(y)) {
    const auto vertex = g.add_vertex(set, codelet, i.tile);
    g.connect(vertex, "a", a.slice(i.begin, i.end));
    g.connect(vertex, "b", b.slice(i.begin, i.end));
    g.connect(vertex, "y", y.slice(i.begin, i.end));
  }
}

int sc_main(int, char**) {
  return guarded([] {
    constexpr unsigned kRounds = 3;
    constexpr std::uint64_t kElements = 64;
    Graph g(16);
    const Tensor x = g.add_variable(Type::f32, {kElements}, "x");
    const Tensor sum = g.add_variable(Type::f32, {kElements}, "sum");
    const Tensor square = g.add_variable(Type::f32, {kElements}, "square");
    for (const Tensor& t : {x, sum, square}) g.map_linear(t);

    const auto squares = g.add_compute_set("squares");
    elementwise(g, squares, "Mul_f32", x, x, square);
    const auto sums = g.add_compute_set("sums");
    elementwise(g, sums, "Add_f32", sum, square, sum);

    const auto in = g.add_input_stream("numbers", Type::f32, kElements);
    const auto out = g.add_output_stream("sums", Type::f32, kElements);
    g.expose("sum", sum);
    g.add_entry("main", Program::repeat(kRounds, Program::sequence({
                                                     Program::stream_in(in, x),
                                                     Program::execute(squares),
                                                     Program::execute(sums),
                                                     Program::stream_out(sum, out),
                                                 })));

    Session session(g);
    session.write("sum", std::vector<float>(kElements, 0.0F));
    session.connect("numbers", engine::Source([](std::uint64_t step, std::uint8_t* bytes) {
                      const std::vector<float> step_values(kElements, static_cast<float>(step + 1));
                      std::memcpy(bytes, step_values.data(), kElements * sizeof(float));
                    }));
    float last = 0;
    session.connect("sums", engine::Sink([&](std::uint64_t step, const std::uint8_t* bytes) {
                      std::memcpy(&last, bytes, sizeof last);
                      fmt::print("after round {}: {}\n", step, last);
                    }));
    const SessionRun run = session.run();
    fmt::print("{} host steps\n", run.host_steps);
    return last == 14.0F ? 0 : 1;
  });
}
