// Construction of program trees; no checks here (validate.cpp sees the whole graph).
#include "host/graph/program.h"

#include <utility>

namespace tessera::graph {

namespace {

std::shared_ptr<const Program> share(Program program) { return std::make_shared<const Program>(std::move(program)); }

}  // namespace

Program::Program() : Program(Sequence{}) {}

Program::Program(Node node, std::string name)
    : node_(std::make_shared<const Node>(std::move(node))), name_(std::move(name)) {}

Program Program::named(std::string name) const {
  Program result = *this;
  result.name_ = std::move(name);
  return result;
}

Program Program::sequence(std::vector<Program> steps, std::string name) {
  return {Sequence{std::move(steps)}, std::move(name)};
}

Program Program::execute(ComputeSetId compute_set) { return {Execute{compute_set}}; }

Program Program::copy(Tensor src, Tensor dst, std::string name) {
  return {Copy{std::move(src), std::move(dst)}, std::move(name)};
}

Program Program::repeat(std::uint32_t count, Program body, std::string name) {
  return {Repeat{count, share(std::move(body))}, std::move(name)};
}

Program Program::repeat_while(Program condition, Tensor predicate, Program body, std::string name) {
  return {RepeatWhile{share(std::move(condition)), std::move(predicate), share(std::move(body))}, std::move(name)};
}

Program Program::if_(Tensor predicate, Program then_branch, Program else_branch, std::string name) {
  return {If{std::move(predicate), share(std::move(then_branch)), share(std::move(else_branch))}, std::move(name)};
}

Program Program::switch_(Tensor selector, std::vector<Program> cases, Program fallback, std::string name) {
  return {Switch{std::move(selector), std::move(cases), share(std::move(fallback))}, std::move(name)};
}

Program Program::call(FunctionId function, std::vector<VariableId> arguments) {
  return {Call{function, std::move(arguments)}};
}

Program Program::sync(Zone zone) { return {Sync{zone}}; }

Program Program::stream_in(StreamId stream, Tensor dst) { return {StreamIn{stream, std::move(dst)}}; }

Program Program::stream_out(Tensor src, StreamId stream) { return {StreamOut{std::move(src), stream}}; }

Program Program::dynamic_slice(Tensor src, Tensor index, Tensor dst, std::string name) {
  return {DynamicSlice{std::move(src), std::move(index), std::move(dst)}, std::move(name)};
}

Program Program::dynamic_update(Tensor src, Tensor index, Tensor dst, std::string name) {
  return {DynamicUpdate{std::move(src), std::move(index), std::move(dst)}, std::move(name)};
}

Program Program::write_undef(Tensor tensor) { return {WriteUndef{std::move(tensor)}}; }

Program Program::print(Tensor tensor, std::string label) { return {Print{std::move(tensor), std::move(label)}}; }

Program Program::tap(Tensor tensor, std::vector<std::string> names) {
  return {Tap{std::move(tensor), std::move(names)}};
}

Program Program::abort(std::string message) { return {Abort{std::move(message)}}; }

}  // namespace tessera::graph
