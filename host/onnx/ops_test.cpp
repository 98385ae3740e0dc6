// Operators by family: shapes and canonical attributes of single nodes at several opsets, and what is refused or wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "host/onnx/import.h"
#include "host/onnx/test_models.h"
#include "hw/error.h"

namespace tessera::model {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;

Tensor longs(const Ints& values) { return Tensor(Type::i64, {static_cast<std::int64_t>(values.size())}, values); }
Tensor floats(Shape shape, const std::vector<float>& values) { return Tensor(Type::f32, std::move(shape), values); }

/// A model of one node, "node", on inputs x0, x1, ... and constants c0, c1, ... behind them.
class Single {
 public:
  Single(std::string op, std::int64_t opset = 17) {
    graph_.opset = opset;
    graph_.ir_version = opset < 9 ? 3 : 8;
    graph_.initializers_are_inputs = opset < 9;
    node_.op = std::move(op);
    node_.name = "node";
  }
  Single& input(const Shape& shape, Type type = Type::f32) {
    std::vector<std::string> extents;
    for (const std::int64_t extent : shape) extents.push_back(std::to_string(extent));
    node_.inputs.push_back("x" + std::to_string(graph_.inputs.size()));
    graph_.inputs.push_back({node_.inputs.back(), type, extents});
    return *this;
  }
  Single& absent() {
    node_.inputs.emplace_back();
    return *this;
  }
  Single& constant(Tensor tensor) {
    node_.inputs.push_back("c" + std::to_string(graph_.initializers.size()));
    graph_.initializers.emplace_back(node_.inputs.back(), std::move(tensor));
    return *this;
  }
  Single& with(const std::string& name, TestAttribute value) {
    node_.attributes.emplace(name, std::move(value));
    return *this;
  }
  Single& with(const std::string& name, int value) { return with(name, TestAttribute(std::int64_t{value})); }
  Single& with(const std::string& name, float value) { return with(name, TestAttribute(value)); }
  Single& with(const std::string& name, const char* value) { return with(name, TestAttribute(TestText{value})); }

  /// The model, with outputs of the given ranks and types whose extents are left open.
  Model import(const std::vector<std::size_t>& ranks, const std::vector<Type>& types = {}) const {
    TestGraph graph = graph_;
    TestNode node = node_;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::string name = "y" + std::to_string(i);
      std::vector<std::string> extents;
      for (std::size_t k = 0; k < ranks[i]; ++k) extents.push_back(name + "_" + std::to_string(k));
      node.outputs.push_back(name);
      graph.outputs.push_back({name, i < types.size() ? types[i] : Type::f32, extents});
    }
    graph.nodes = {node};
    return import_bytes(to_bytes(graph), "m.onnx");
  }
  /// Shape of the only output.
  Shape shape(std::size_t rank, Type type = Type::f32) const {
    const Model model = import({rank}, {type});
    return model.value(model.outputs.at(0)).shape;
  }
  /// Attributes of the model's last node.
  template <typename T>
  T attributes(std::size_t rank, Type type = Type::f32) const {
    return std::get<T>(import({rank}, {type}).nodes.back().attributes);
  }
  Error error(std::size_t rank = 1, Type type = Type::f32) const {
    try {
      (void)import({rank}, {type});
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error";
    return Error(Category::internal, "no error");
  }
  void is_wrong(const std::string& message, std::size_t rank = 1) const {
    const Error found = error(rank);
    EXPECT_EQ(found.category(), Category::usage) << found.what();
    EXPECT_THAT(std::string(found.what()), HasSubstr(message));
    EXPECT_THAT(std::string(found.what()), HasSubstr("node"));
  }
  void is_refused(const std::string& reason, std::size_t rank = 1, Type type = Type::f32) const {
    const Error found = error(rank, type);
    EXPECT_EQ(found.category(), Category::unsupported) << found.what();
    EXPECT_THAT(found.message(), HasSubstr("node 'node' ("));
    EXPECT_THAT(found.message(), HasSubstr(reason));
  }

 private:
  TestGraph graph_;
  TestNode node_;
};

// Element by element.

TEST(ElementwiseOps, BroadcastAndTypes) {
  EXPECT_EQ(Single("Add").input({2, 1, 4}).input({3, 1}).shape(3), (Shape{2, 3, 4}));
  EXPECT_EQ(Single("Less").input({4}).input({3, 1}).shape(2, Type::boolean), (Shape{3, 4}));
  EXPECT_EQ(Single("Where").input({2, 1}, Type::boolean).input({3}).input({1}).shape(2), (Shape{2, 3}));
  EXPECT_EQ(Single("Pow").input({2}).input({1}, Type::i32).shape(1), (Shape{2}));
  Single("Add").input({2}).input({3}).is_wrong("[2] and [3] do not broadcast");
  Single("Add").input({2}).input({2}, Type::i32).is_wrong("types f32 and i32");
  Single("Exp").input({2}, Type::i32).is_refused("type i32 not supported", 1, Type::i32);
  Single("Not").input({2}).is_refused("type f32 not supported", 1, Type::boolean);
  Single("Mod").input({2}).input({2}).is_wrong("needs fmod = 1");
}

TEST(ElementwiseOps, BroadcastOfOpset6NamesItsAxis) {
  const Model model = Single("Mul", 6).input({2, 3, 4}).input({3}).with("broadcast", 1).with("axis", 1).import({3});
  ASSERT_EQ(model.nodes.size(), 2U);
  EXPECT_EQ(model.nodes[0].op, Op::Unsqueeze);
  EXPECT_EQ(model.value(model.nodes[1].inputs[1]).shape, (Shape{3, 1}));
  Single("Mul", 6).input({2, 3, 4}).input({4}).is_wrong("are not to be broadcast", 3);
  Single("Mul", 6).input({2, 3}).input({3}).with("broadcast", 1).with("axis", 2).is_wrong("cannot be placed", 2);
  const Model slope = Single("PRelu", 6).input({2, 3, 4, 5}).input({3}).import({4});
  EXPECT_EQ(slope.value(slope.nodes.back().inputs[1]).shape, (Shape{3, 1, 1}));
}

TEST(ElementwiseOps, ManyOperandsAreChains) {
  const Model model = Single("Max").input({2}).input({2}).input({2}).import({1});
  ASSERT_EQ(model.nodes.size(), 2U);
  EXPECT_EQ(model.nodes[1].inputs.size(), 2U);
  EXPECT_EQ(Single("Sum").input({2}).input({3, 1}).input({1}).import({2}).nodes.at(0).inputs.size(), 3U);
  EXPECT_EQ(Single("Mean").input({2}).import({1}).nodes.at(0).op, Op::Identity);
}

TEST(ElementwiseOps, BoundsOfClipAreOperandsWhateverTheOpset) {
  const Model old = Single("Clip", 6).input({2}).with("max", 6.0F).import({1});
  ASSERT_EQ(old.nodes.at(0).inputs.size(), 3U);
  EXPECT_EQ(old.nodes[0].inputs[1], kAbsent);
  EXPECT_EQ(old.value(old.nodes[0].inputs[2]).constant->values<float>(), (std::vector<float>{6}));
  const Model now = Single("Clip").input({2}).absent().constant(floats({}, {6})).import({1});
  EXPECT_EQ(to_text(now), to_text(old));
  Single("Clip").input({2}).constant(floats({2}, {1, 2})).is_wrong("a bound is no scalar");
}

TEST(ElementwiseOps, DropoutIsTheIdentityOrRefused) {
  const Model model = Single("Dropout", 12).input({2}).import({1, 1}, {Type::f32, Type::boolean});
  EXPECT_EQ(model.nodes.at(0).op, Op::Dropout);
  EXPECT_EQ(model.value(model.outputs[1]).type, Type::boolean);
  const Tensor training(Type::boolean, {}, std::vector<std::uint8_t>{1});
  Single("Dropout", 12).input({2}).constant(floats({}, {0.5F})).constant(training).is_refused("random numbers");
  EXPECT_EQ(Single("Dropout", 12).input({2}).constant(floats({}, {0})).constant(training).shape(1), (Shape{2}));
  Single("Dropout", 6).input({2}).is_refused("is_test = 0");
  EXPECT_EQ(Single("Dropout", 6).input({2}).with("is_test", 1).shape(1), (Shape{2}));
}

TEST(ElementwiseOps, Casts) {
  EXPECT_EQ(Single("Cast").input({2}).with("to", 10).attributes<CastAttributes>(1, Type::f16).to, Type::f16);
  EXPECT_EQ(Single("Cast", 1).input({2}).with("to", "INT32").attributes<CastAttributes>(1, Type::i32).to, Type::i32);
  EXPECT_EQ(Single("CastLike").input({2}).input({1}, Type::u8).import({1}, {Type::u8}).nodes.at(0).op, Op::Cast);
  Single("Cast").input({2}).with("to", 8).is_refused("a cast to type 8 of ONNX");
  EXPECT_EQ(Single("Cast").input({2}).with("to", 7).attributes<CastAttributes>(1, Type::i64).to, Type::i32);
}

TEST(ElementwiseOps, DefaultsOfActivations) {
  const auto of = [](const char* op) { return Single(op).input({2}).attributes<ActivationAttributes>(1); };
  EXPECT_EQ(of("LeakyRelu").alpha, 0.01F);
  EXPECT_EQ(of("HardSigmoid").alpha, 0.2F);
  EXPECT_EQ(of("HardSigmoid").beta, 0.5F);
  EXPECT_EQ(of("Selu").gamma, 1.05070102214813232421875F);
  EXPECT_EQ(of("Shrink").alpha, 0.5F);
  EXPECT_EQ(of("Celu").alpha, 1.0F);
}

// Shapes.

TEST(ShapeOps, AxesAreAttributesOrOperands) {
  EXPECT_EQ(Single("Squeeze", 11).input({1, 2, 1}).with("axes", Ints{-1}).shape(2), (Shape{1, 2}));
  EXPECT_EQ(Single("Squeeze").input({1, 2, 1}).constant(longs({-1})).shape(2), (Shape{1, 2}));
  EXPECT_EQ(Single("Unsqueeze", 11).input({2}).with("axes", Ints{0, 2}).shape(3), (Shape{1, 2, 1}));
  EXPECT_EQ(Single("ReduceSum", 11).input({2, 3}).with("axes", Ints{-2}).shape(2), (Shape{1, 3}));
  EXPECT_EQ(Single("ReduceSum").input({2, 3}).constant(longs({-2})).shape(2), (Shape{1, 3}));
  Single("Squeeze").input({2}).constant(longs({0})).is_wrong("axis 0, which has extent 2");
  Single("Unsqueeze").input({2}).constant(longs({0, 0})).is_wrong("named twice");
  Single("Squeeze").input({1}).constant(longs({5})).is_wrong("axis 5 of a tensor with 1 axes");
}

TEST(ShapeOps, PadOfThreeOpsets) {
  const auto modern = Single("Pad").input({2, 3}).constant(longs({0, 1, 0, -1})).attributes<PadAttributes>(2);
  EXPECT_EQ(modern.begin, (Ints{0, 1}));
  EXPECT_EQ(modern.end, (Ints{0, -1}));
  const Model old = Single("Pad", 2).input({2, 3}).with("pads", Ints{0, 1, 0, 0}).with("value", 2.0F).import({2});
  ASSERT_EQ(old.nodes.at(0).inputs.size(), 2U);
  EXPECT_EQ(old.value(old.nodes[0].inputs[1]).constant->values<float>(), (std::vector<float>{2}));
  EXPECT_EQ(Single("Pad", 1).input({2}).with("paddings", Ints{1, 1}).shape(1), (Shape{4}));
  Single("Pad").input({2}).constant(longs({1})).is_wrong("two for each axis");
  Single("Pad").input({2}).constant(longs({-3, 0})).is_wrong("cuts more than there is");
  Single("Pad").input({2}).constant(longs({2, 0})).with("mode", "reflect").is_wrong("reflected by 2");
  Single("Pad").input({2}).constant(longs({std::numeric_limits<std::int64_t>::max(), 1})).is_wrong("is no extent");
}

TEST(ShapeOps, TilesSplitsAndBlocks) {
  EXPECT_EQ(Single("Tile").input({2, 3}).constant(longs({2, 1})).shape(2), (Shape{4, 3}));
  EXPECT_EQ(Single("DepthToSpace").input({1, 8, 2, 3}).with("blocksize", 2).shape(4), (Shape{1, 2, 4, 6}));
  EXPECT_EQ(Single("SpaceToDepth").input({1, 2, 4, 6}).with("blocksize", 2).shape(4), (Shape{1, 8, 2, 3}));
  EXPECT_EQ(Single("Trilu").input({3, 3}).constant(Tensor(Type::i64, {}, Ints{-1})).attributes<TriluAttributes>(2).k,
            -1);
  const Model split = Single("Split", 11).input({5}).with("split", Ints{2, 3}).import({1, 1});
  EXPECT_EQ(split.value(split.outputs[1]).shape, (Shape{3}));
  Single("Split").input({5}).constant(longs({2, 2})).is_wrong("do not add up");
  Single("Tile").input({2}).constant(longs({2, 2})).is_wrong("one for each axis");
  Single("DepthToSpace").input({1, 6, 2, 2}).with("blocksize", 2).is_wrong("no blocks of 2", 4);
}

TEST(ShapeOps, ExtentsThatLeaveTheNumbersAreErrors) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  Single("Tile").input({4}).constant(longs({kMax})).is_wrong("is no extent");
  Single("Reshape").input({4}).constant(longs({kMax, kMax})).is_wrong("is no extent", 2);
  EXPECT_EQ(Single("Expand").input({1}).constant(longs({kMax})).error().category(), Category::does_not_fit);
  EXPECT_EQ(Single("ConstantOfShape").constant(longs({1 << 20, 1 << 20})).error(2).category(), Category::unsupported);
  EXPECT_EQ(Single("ConstantOfShape").constant(longs({-1})).error().category(), Category::usage);
}

// Along axes.

TEST(ReductionOps, AxesAndExtents) {
  EXPECT_EQ(Single("ReduceMean").input({2, 3, 4}).with("axes", Ints{-1, 0}).attributes<ReduceAttributes>(3).axes,
            (Ints{0, 2}));
  EXPECT_EQ(Single("ReduceMax").input({2, 3}).with("keepdims", 0).shape(0), Shape());
  EXPECT_TRUE(
      Single("ReduceSum").input({2}).with("noop_with_empty_axes", 1).attributes<ReduceAttributes>(1).axes.empty());
  EXPECT_EQ(Single("ArgMax").input({2, 3}).with("axis", -1).with("keepdims", 0).shape(1, Type::i64), (Shape{2}));
  Single("ReduceMax").input({0, 2}).is_wrong("of no elements", 2);
  Single("ReduceMean").input({2}).with("axes", Ints{1}).is_wrong("axis 1 of a tensor with 1 axes");
}

TEST(ReductionOps, IndicesAreNarrowed) {
  const Model model = Single("TopK", 10).input({2, 5}).constant(longs({3})).import({2, 2}, {Type::f32, Type::i64});
  EXPECT_EQ(model.value(model.outputs[0]).shape, (Shape{2, 3}));
  EXPECT_EQ(model.value(model.outputs[1]).type, Type::i32);
  EXPECT_EQ(model.value(model.outputs[1]).declared, Type::i64);
  EXPECT_EQ(infer(model, model.nodes.at(0)).at(1).first, Type::i32);
  EXPECT_EQ(Single("TopK", 1).input({5}).with("k", 2).import({1, 1}, {Type::f32, Type::i64}).nodes.at(0).inputs.size(),
            1U);
  try {
    (void)Single("TopK", 10).input({5}).constant(longs({6})).import({1, 1}, {Type::f32, Type::i64});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("6 largest of 5"));
  }
  Single("CumSum").input({5}).constant(Tensor(Type::i64, {}, Ints{1})).is_wrong("axis 1");
}

// By indices.

TEST(IndexOps, Shapes) {
  EXPECT_EQ(Single("Gather").input({5, 4}).input({2, 3}, Type::i32).with("axis", -1).shape(3), (Shape{5, 2, 3}));
  EXPECT_EQ(Single("GatherND").input({2, 3, 4}).input({2, 1}, Type::i64).with("batch_dims", 1).shape(2), (Shape{2, 4}));
  EXPECT_EQ(Single("GatherElements").input({3, 3}).input({2, 3}, Type::i64).shape(2), (Shape{2, 3}));
  EXPECT_EQ(Single("ScatterND").input({4, 5}).input({2, 1}, Type::i64).input({2, 5}).shape(2), (Shape{4, 5}));
  EXPECT_EQ(Single("Scatter", 9).input({3}).input({2}, Type::i64).input({2}).import({1}).nodes.at(0).op,
            Op::ScatterElements);
  Single("ScatterND").input({4, 5}).input({2, 1}, Type::i64).input({2, 4}).is_wrong("not [2, 5]", 2);
  Single("GatherND").input({2}).input({2, 2}, Type::i64).is_wrong("indices of 2 numbers into [2]");
  Single("GatherElements").input({3, 3}).input({4, 4}, Type::i64).is_wrong("exceed data", 2);
}

TEST(IndexOps, DepthOfOneHotIsKnown) {
  const Single one_hot = Single("OneHot").input({2}, Type::i64).constant(longs({4})).constant(floats({2}, {0, 1}));
  EXPECT_EQ(one_hot.shape(2), (Shape{2, 4}));
  EXPECT_EQ(one_hot.import({2}).nodes.at(0).inputs.at(1), kAbsent);
  EXPECT_EQ(one_hot.attributes<OneHotAttributes>(2).axis, 1);
  EXPECT_EQ(
      Single("OneHot").input({2}, Type::i64).input({1}, Type::i64).constant(floats({2}, {0, 1})).error(2).category(),
      Category::unsupported);
}

// Products.

TEST(MatrixOps, EinsumIsSpelledOut) {
  const auto canonical = [](const char* equation, const Shape& a, const Shape& b, std::size_t rank) {
    return Single("Einsum").input(a).input(b).with("equation", equation).attributes<EinsumAttributes>(rank).equation;
  };
  EXPECT_EQ(canonical("ij, jk", {2, 3}, {3, 4}, 2), "ij,jk->ik");
  EXPECT_EQ(canonical("...ij,...jk->...ik", {5, 2, 3}, {6, 5, 3, 4}, 4), "Bij,ABjk->ABik");
  EXPECT_EQ(canonical("i,j", {2}, {3}, 2), "i,j->ij");
  EXPECT_EQ(Single("Einsum").input({4, 4}).with("equation", "ii->i").shape(1), (Shape{4}));
  Single("Einsum").input({4, 3}).with("equation", "ii->i").is_wrong("'i' is 4 and 3");
  Single("Einsum").input({4}).with("equation", "ij->i").is_wrong("for an operand with 1 axes");
  Single("Einsum").input({4}).with("equation", "i->j").is_wrong("'j' of the result");
  Single("Einsum").input({4}).with("equation", "i,i->").is_wrong("for 1 operands", 0);
}

TEST(MatrixOps, ProductsThatDoNotFit) {
  Single("MatMul").input({2, 3}).input({4, 2}).is_wrong("inner extents", 2);
  Single("Gemm").input({2, 3}).input({3, 2}).input({3}).is_wrong("do not broadcast", 2);
}

// Windows.

TEST(SpatialOps, PadsAreNumbers) {
  const auto conv = [](const char* mode) {
    return Single("Conv")
        .input({1, 2, 6})
        .input({4, 2, 3})
        .with("auto_pad", mode)
        .with("strides", Ints{2})
        .attributes<ConvAttributes>(3);
  };
  EXPECT_EQ(conv("SAME_UPPER").pads_begin, (Ints{0}));
  EXPECT_EQ(conv("SAME_UPPER").pads_end, (Ints{1}));
  EXPECT_EQ(conv("SAME_LOWER").pads_begin, (Ints{1}));
  EXPECT_EQ(conv("VALID").pads_end, (Ints{0}));
  EXPECT_EQ(conv("NOTSET").kernel, (Ints{3}));
  EXPECT_EQ(Single("Conv").input({1, 4, 8}).input({6, 2, 3}).with("group", 2).with("dilations", Ints{2}).shape(3),
            (Shape{1, 6, 4}));
  Single("Conv").input({1, 3, 8}).input({4, 2, 3}).is_wrong("weights [4, 2, 3] in 1 groups", 3);
  Single("Conv").input({1, 2, 2}).input({4, 2, 3}).is_wrong("a window of 3 on an axis of 2", 3);
  Single("Conv").input({1, 2, 5}).input({4, 2, 3}).with("strides", Ints{0}).is_wrong("'strides' has value 0", 3);
  Single("Conv").input({1, 2, 5}).input({4, 2, 3}).with("pads", Ints{1}).is_wrong("1 values instead of 2", 3);
}

TEST(SpatialOps, TransposedConvolutionsByTheirResult) {
  const auto given = [](const Ints& shape) {
    return Single("ConvTranspose")
        .input({1, 1, 3})
        .input({1, 2, 3})
        .with("strides", Ints{2})
        .with("output_shape", shape);
  };
  EXPECT_EQ(given({6}).shape(3), (Shape{1, 2, 6}));
  EXPECT_EQ(given({8}).shape(3), (Shape{1, 2, 8}));
  EXPECT_EQ(given({8}).attributes<ConvAttributes>(3).output_padding, (Ints{1}));
  EXPECT_EQ(Single("ConvTranspose").input({1, 1, 3}).input({1, 2, 3}).with("pads", Ints{1, 1}).shape(3),
            (Shape{1, 2, 3}));
}

TEST(SpatialOps, PoolsRoundUpOnlyToWindowsThatBeginInside) {
  const auto pool = [](std::int64_t extent, std::int64_t kernel, std::int64_t stride) {
    return Single("MaxPool")
        .input({1, 1, extent})
        .with("kernel_shape", Ints{kernel})
        .with("strides", Ints{stride})
        .with("ceil_mode", 1)
        .shape(3)[2];
  };
  EXPECT_EQ(pool(5, 2, 2), 3);
  EXPECT_EQ(pool(4, 1, 3), 2);
  EXPECT_EQ(pool(3, 1, 4), 1);  // the next would begin at 4
  EXPECT_EQ(Single("GlobalAveragePool").input({2, 3, 4, 5}).shape(4), (Shape{2, 3, 1, 1}));
  EXPECT_EQ(Single("GlobalAveragePool").input({2, 3, 4, 5}).attributes<PoolAttributes>(4).kernel, (Ints{4, 5}));
  Single("AveragePool")
      .input({1, 1, 4})
      .with("kernel_shape", Ints{2})
      .with("pads", Ints{2, 0})
      .is_wrong("as wide as", 3);
  Single("MaxPool").input({1, 1, 4}).with("kernel_shape", Ints{2, 2}).is_wrong("2 values instead of 1", 3);
}

// Normalisations, losses, recurrence.

TEST(NormOps, TrainingIsRefused) {
  const auto norm = [](std::int64_t opset) {
    return Single("BatchNormalization", opset).input({2, 3, 4}).input({3}).input({3}).input({3}).input({3});
  };
  EXPECT_EQ(norm(15).shape(3), (Shape{2, 3, 4}));
  norm(15).with("training_mode", 1).is_refused("training_mode = 1", 3);
  norm(6).is_refused("is_test = 0", 3);
  EXPECT_EQ(norm(6).with("is_test", 1).shape(3), (Shape{2, 3, 4}));
  norm(7).with("spatial", 0).is_refused("spatial = 0", 3);
  Single("InstanceNormalization").input({2, 3, 4}).input({2}).input({3}).is_wrong("shape [2], not [3]", 3);
}

TEST(NormOps, StatisticsOfLayersAndLosses) {
  const Model layer = Single("LayerNormalization").input({2, 3, 4}).input({4}).with("axis", 2).import({3, 3, 3});
  EXPECT_EQ(layer.value(layer.outputs[2]).shape, (Shape{2, 3, 1}));
  EXPECT_EQ(Single("MeanVarianceNormalization").input({2, 3, 4, 5}).attributes<NormAttributes>(4).axes,
            (Ints{0, 2, 3}));
  EXPECT_EQ(Single("NegativeLogLikelihoodLoss").input({2, 3, 4}).input({2, 4}, Type::i64).shape(0), Shape());
  EXPECT_EQ(Single("SoftmaxCrossEntropyLoss").input({2, 3}).input({2}, Type::i32).with("reduction", "none").shape(1),
            (Shape{2}));
  Single("NegativeLogLikelihoodLoss").input({2, 3}).input({3}, Type::i64).is_wrong("shape [3], not [2]", 0);
}

TEST(RecurrentOps, ActivationsOfEveryDirection) {
  const auto lstm = Single("LSTM")
                        .input({5, 2, 3})
                        .input({2, 16, 3})
                        .input({2, 16, 4})
                        .with("hidden_size", 4)
                        .with("direction", "bidirectional");
  const auto attributes = lstm.attributes<RecurrentAttributes>(4);
  EXPECT_EQ(attributes.activations.size(), 6U);
  EXPECT_EQ(attributes.activations[3], "Sigmoid");
  EXPECT_EQ(lstm.shape(4), (Shape{5, 2, 2, 4}));
  const auto rnn = Single("RNN")
                       .input({2, 5, 3})
                       .input({1, 4, 3})
                       .input({1, 4, 4})
                       .with("hidden_size", 4)
                       .with("layout", 1)
                       .with("activations", TestTexts{{"leakyrelu"}});
  EXPECT_EQ(rnn.shape(4), (Shape{2, 5, 1, 4}));
  EXPECT_EQ(rnn.attributes<RecurrentAttributes>(4).activations, (std::vector<std::string>{"LeakyRelu"}));
  EXPECT_EQ(rnn.attributes<RecurrentAttributes>(4).alpha, (std::vector<float>{0.01F}));
  Single("GRU")
      .input({5, 2, 3})
      .input({1, 12, 3})
      .input({1, 12, 4})
      .with("activations", TestTexts{{"Sine", "Tanh"}})
      .is_refused("activation 'Sine'", 4);
  Single("GRU").input({5, 2, 3}).input({1, 8, 3}).input({1, 12, 4}).is_wrong("not [1, 12, 3]", 4);
}

/// Everything that is wrong comes in one message, also what only translation sees, and what depends on it does not.
TEST(Refusals, AllReasonsOfAllNodes) {
  TestGraph graph;
  graph.inputs = {{"x", Type::f32, {"2", "3"}}, {"s", Type::u64, {"2"}}};
  graph.outputs = {{"y", Type::f32, {"2", "3"}}, {"t", Type::u64, {"2"}}};
  graph.nodes = {{"Det", {"x"}, {"d"}, {}, "first", ""},
                 {"Exp", {"d"}, {"e"}, {}, "dependent", ""},
                 {"Not", {"x"}, {"n"}, {}, "second", ""},
                 {"Unique", {"s"}, {"t"}, {}, "third", ""},
                 {"Relu", {"x"}, {"y"}, {}, "fine", ""}};
  try {
    (void)import_bytes(to_bytes(graph), "m.onnx");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::unsupported);
    EXPECT_THAT(error.message(), HasSubstr("in 3 nodes"));
    EXPECT_THAT(error.message(), HasSubstr("node 'first' (Det, opset 17, f32 -> f32) at position 0: operator not"));
    EXPECT_THAT(error.message(), HasSubstr("node 'second' (Not, opset 17, f32 -> f32) at position 2: type f32"));
    EXPECT_THAT(error.message(), HasSubstr("at position 3: operator not supported; type u64 not supported"));
  }
}

}  // namespace
}  // namespace tessera::model
