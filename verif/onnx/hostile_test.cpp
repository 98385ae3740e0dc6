// Models that contradict themselves or ask for too much: each a typed error that names the file, in bounded time and
// memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <functional>
#include <limits>

#include "host/onnx/import.h"
#include "host/onnx/tensor_io.h"
#include "hw/error.h"
#include "verif/support/run_command.h"

namespace tessera::model {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Proto = ::onnx::ModelProto;

void declare(::onnx::ValueInfoProto& info, const std::string& name, const Shape& shape) {
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT);
  info.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const std::int64_t extent : shape)
    info.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(extent);
}

::onnx::NodeProto& node(Proto& model, const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& output) {
  auto& made = *model.mutable_graph()->add_node();
  made.set_op_type(op);
  for (const std::string& input : inputs) made.add_input(input);
  made.add_output(output);
  return made;
}

/// y = Add(x, w) with x [2, 3] and w [3].
Proto addition() {
  Proto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  model.mutable_graph()->set_name("g");
  declare(*model.mutable_graph()->add_input(), "x", {2, 3});
  declare(*model.mutable_graph()->add_output(), "y", {2, 3});
  auto& weights = *model.mutable_graph()->add_initializer();
  weights.set_name("w");
  weights.set_data_type(::onnx::TensorProto::FLOAT);
  weights.add_dims(3);
  for (const float value : {1.0F, 2.0F, 3.0F}) weights.add_float_data(value);
  node(model, "Add", {"x", "w"}, "y");
  return model;
}

Error error_of(const Proto& model, const std::string& file = "m.onnx") {
  try {
    (void)import_bytes(model.SerializeAsString(), file);
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.what()), HasSubstr(file));
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(Category::internal, "no error");
}

void expect_usage(const std::function<void(Proto&)>& damage) {
  Proto model = addition();
  ASSERT_NO_THROW((void)import_bytes(model.SerializeAsString(), "m.onnx"));
  damage(model);
  EXPECT_EQ(error_of(model).category(), Category::usage);
}

TEST(Hostile, GraphsThatContradictThemselves) {
  expect_usage([](Proto& m) { m.mutable_graph()->mutable_node(0)->set_input(0, "y"); });  // of its own result
  expect_usage([](Proto& m) { m.mutable_graph()->mutable_node(0)->set_input(0, "nowhere"); });
  expect_usage([](Proto& m) { m.mutable_graph()->mutable_node(0)->set_input(0, ""); });
  expect_usage([](Proto& m) { m.mutable_graph()->mutable_node(0)->clear_input(); });
  expect_usage([](Proto& m) { m.mutable_graph()->mutable_node(0)->add_output("z"); });
  expect_usage([](Proto& m) { node(m, "Relu", {"x"}, "y"); });  // two nodes compute y
  expect_usage([](Proto& m) { node(m, "Relu", {"y"}, "x"); });  // an input is computed
  expect_usage([](Proto& m) { *m.mutable_graph()->add_initializer() = m.graph().initializer(0); });
  expect_usage([](Proto& m) { *m.mutable_graph()->add_input() = m.graph().input(0); });
  expect_usage([](Proto& m) { m.mutable_graph()->mutable_output(0)->set_name("z"); });
  expect_usage([](Proto& m) { m.mutable_graph()->clear_output(); });
  expect_usage([](Proto& m) { m.clear_opset_import(); });
  expect_usage([](Proto& m) { m.mutable_graph()->mutable_node(0)->set_op_type("\xFF\xFE"); });
  expect_usage([](Proto& m) {
    declare(*m.mutable_graph()->mutable_output(0), "y", {2, 4});
    m.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->clear_dim();
  });
}

TEST(Hostile, TensorsThatContradictThemselves) {
  const auto with_weights = [](const std::function<void(::onnx::TensorProto&)>& damage) {
    expect_usage([&](Proto& m) { damage(*m.mutable_graph()->mutable_initializer(0)); });
  };
  with_weights([](auto& w) { w.set_dims(0, -1); });
  with_weights([](auto& w) { w.set_dims(0, std::numeric_limits<std::int64_t>::max()); });
  with_weights([](auto& w) { w.set_dims(0, 1 << 30); });
  with_weights([](auto& w) { w.set_raw_data("abc"); });
  with_weights([](auto& w) { w.set_data_type(::onnx::TensorProto::UNDEFINED); });
  with_weights([](auto& w) { w.clear_name(); });
  with_weights([](auto& w) { w.add_float_data(4); });
}

TEST(Hostile, AttributesOfAnotherKind) {
  Proto model = addition();
  auto& softmax = node(model, "Softmax", {"y"}, "z");
  auto& axis = *softmax.add_attribute();
  axis.set_name("axis");
  axis.set_type(::onnx::AttributeProto::STRING);
  axis.set_s("first");
  EXPECT_EQ(error_of(model).category(), Category::usage);
  axis.set_type(::onnx::AttributeProto::INT);
  axis.set_i(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(error_of(model).category(), Category::usage);
}

TEST(Hostile, ExtentsBeyondEveryMachine) {
  Proto model = addition();
  declare(*model.mutable_graph()->mutable_input(0), "x", {1 << 30, 1 << 30, 1 << 30, 3});
  model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim()
      ->DeleteSubrange(0, 2);
  EXPECT_EQ(error_of(model).category(), Category::does_not_fit);
}

TEST(Hostile, GraphsInGraphsDeeperThanIsRead) {
  Proto model = addition();
  ::onnx::GraphProto* inner = model.mutable_graph();
  for (int depth = 0; depth < 500; ++depth) {
    auto& branch = *inner->add_node();
    branch.set_op_type("If");
    auto& attribute = *branch.add_attribute();
    attribute.set_name("then_branch");
    attribute.set_type(::onnx::AttributeProto::GRAPH);
    inner = attribute.mutable_g();
  }
  EXPECT_EQ(error_of(model).category(), Category::usage);
}

TEST(Hostile, LongChainsTakeNoStack) {
  Proto model = addition();
  std::string last = "y";
  for (int i = 0; i < 20000; ++i) {
    const std::string next = "v" + std::to_string(i);
    node(model, "Identity", {last}, next);
    last = next;
  }
  node(model, "Reshape", {"x", last}, "end");
  EXPECT_EQ(error_of(model).category(), Category::unsupported);  // the shape depends on x
}

// Weights beside the model.

class External : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = test::scratch_directory();
    write_file(folder_ + "/weights.bin", std::string(8, '\1') + std::string("\0\0\x80\x3F\0\0\0\x40\0\0\x40\x40", 12));
    place("weights.bin", "8", "12");
  }
  void place(const std::string& location, const std::string& offset, const std::string& length) {
    model_ = addition();
    auto& weights = *model_.mutable_graph()->mutable_initializer(0);
    weights.clear_float_data();
    weights.set_data_location(::onnx::TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const std::string& value) {
      auto& made = *weights.add_external_data();
      made.set_key(key);
      made.set_value(value);
    };
    entry("location", location);
    entry("offset", offset);
    entry("length", length);
    write_file(folder_ + "/m.onnx", model_.SerializeAsString());
  }
  void expect_error(const std::string& text) const {
    try {
      (void)import_model(folder_ + "/m.onnx");
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::usage);
      EXPECT_THAT(std::string(error.what()), HasSubstr(text));
      EXPECT_THAT(std::string(error.what()), HasSubstr("initializer 'w'"));
    }
  }

  std::string folder_;
  Proto model_;
};

TEST_F(External, AreReadFromTheirPlace) {
  const Model model = import_model(folder_ + "/m.onnx");
  EXPECT_EQ(model.value(model.nodes.at(0).inputs.at(1)).constant->values<float>(), (std::vector<float>{1, 2, 3}));
}

TEST_F(External, ThatAreNotThere) {
  place("absent.bin", "0", "12");
  expect_error("absent.bin");
  place("weights.bin", "12", "12");
  expect_error("cut short");
  place("weights.bin", "8", "8");
  expect_error("cut short");
  place("weights.bin", "many", "12");
  expect_error("not a number");
  place("../weights.bin", "0", "12");
  expect_error("beside the model");
  place("/etc/hostname", "0", "12");
  expect_error("beside the model");
  place("", "0", "12");
  expect_error("beside the model");
  fs::create_directories(folder_ + "/folder");
  place("folder", "0", "12");
  expect_error("cannot read");
}

}  // namespace
}  // namespace tessera::model
