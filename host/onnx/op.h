// The operators of opset 17 that models may use, by their ONNX names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera::model {

/// X(name) for every operator, alphabetically. Enum and names are made from this list.
// clang-format off
#define TESSERA_OPERATORS(X)                                                                                          \
  X(Abs) X(Acos) X(Acosh) X(Add) X(And) X(ArgMax) X(ArgMin) X(Asin) X(Asinh) X(Atan) X(Atanh) X(AveragePool)          \
  X(BatchNormalization) X(Cast) X(CastLike) X(Ceil) X(Celu) X(Clip) X(Concat) X(Constant) X(ConstantOfShape) X(Conv)  \
  X(ConvTranspose) X(Cos) X(Cosh) X(CumSum) X(DepthToSpace) X(Div) X(Dropout) X(Einsum) X(Elu) X(Equal) X(Erf)        \
  X(Exp) X(Expand) X(Flatten) X(Floor) X(GRU) X(Gather) X(GatherElements) X(GatherND) X(Gemm) X(GlobalAveragePool)    \
  X(GlobalMaxPool) X(Greater) X(GreaterOrEqual) X(HardSigmoid) X(HardSwish) X(Hardmax) X(Identity)                    \
  X(InstanceNormalization) X(IsInf) X(IsNaN) X(LRN) X(LSTM) X(LayerNormalization) X(LeakyRelu) X(Less) X(LessOrEqual) \
  X(Log) X(LogSoftmax) X(MatMul) X(MatMulInteger) X(Max) X(MaxPool) X(Mean) X(MeanVarianceNormalization) X(Min) X(Mod) X(Mul) X(Neg)   \
  X(NegativeLogLikelihoodLoss) X(Not) X(OneHot) X(Or) X(PRelu) X(Pad) X(Pow) X(RNN) X(Range) X(Reciprocal)            \
  X(ReduceL1) X(ReduceL2) X(ReduceLogSum) X(ReduceLogSumExp) X(ReduceMax) X(ReduceMean) X(ReduceMin) X(ReduceProd)    \
  X(ReduceSum) X(ReduceSumSquare) X(Relu) X(Reshape) X(Round) X(ScatterElements) X(ScatterND) X(Selu) X(Shape)        \
  X(Shrink) X(Sigmoid) X(Sign) X(Sin) X(Sinh) X(Size) X(Slice) X(Softmax) X(SoftmaxCrossEntropyLoss) X(Softplus)      \
  X(Softsign) X(SpaceToDepth) X(Split) X(Sqrt) X(Squeeze) X(Sub) X(Sum) X(Tan) X(Tanh) X(ThresholdedRelu) X(Tile)     \
  X(TopK) X(Transpose) X(Trilu) X(Unsqueeze) X(Where) X(Xor)
// clang-format on

enum class Op : std::uint8_t {
#define TESSERA_OPERATOR(name) name,
  TESSERA_OPERATORS(TESSERA_OPERATOR)
#undef TESSERA_OPERATOR
};

/// "MatMul", ...
[[nodiscard]] std::string_view name_of(Op op);
[[nodiscard]] std::optional<Op> find_op(std::string_view name);
/// False for operators that import must have folded: their results decide shapes (Constant, Shape, ...).
[[nodiscard]] bool runs_on_machine(Op op);

}  // namespace tessera::model
