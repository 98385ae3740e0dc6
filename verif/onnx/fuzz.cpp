#include "verif/onnx/fuzz.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <random>

#include "host/golden/evaluate.h"
#include "host/onnx/import.h"
#include "host/onnx/tensor_io.h"
#include "hw/error.h"

namespace tessera::model {

namespace {

namespace fs = std::filesystem;

ImportOptions import_options() {
  ImportOptions options;
  options.default_batch = 2;
  return options;
}

/// Models small enough to be damaged in every part: those that import accepts first.
struct Seeds {
  std::vector<std::string> bytes;
  std::size_t accepted = 0;
};

const Seeds& seeds() {
  static const Seeds kSeeds = [] {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator("/usr/share/libonnx-testdata/data"))
      if (entry.path().filename() == "model.onnx" && entry.file_size() < 8192) files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    Seeds result;
    std::vector<std::string> refused;
    for (const std::string& file : files) {
      std::string bytes = read_file(file);
      try {
        (void)import_bytes(bytes, file, import_options());
        result.bytes.push_back(std::move(bytes));
      } catch (const Error&) {
        refused.push_back(std::move(bytes));
      }
    }
    result.accepted = result.bytes.size();
    result.bytes.insert(result.bytes.end(), refused.begin(), refused.end());
    return result;
  }();
  return kSeeds;
}

class Mutator {
 public:
  Mutator(std::uint64_t seed, std::uint64_t iteration) : random_(seed * 0x9E3779B97F4A7C15ULL + iteration) {}

  std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }
  template <typename Container>
  const typename Container::value_type& any(const Container& container) {
    return container[below(container.size())];
  }

  std::string run() {
    std::string bytes = any_seed();
    const std::uint64_t count = below(2) == 0 ? 1 : 1 + below(3);
    if (below(3) == 0) {
      for (std::uint64_t k = 0; k < count; ++k) change_bytes(bytes);
      return bytes;
    }
    ::onnx::ModelProto model;
    if (!model.ParseFromString(bytes)) return bytes;
    for (std::uint64_t k = 0; k < count; ++k) change_structure(model);
    bytes.clear();
    (void)model.SerializePartialToString(&bytes);
    if (below(16) == 0) change_bytes(bytes);
    return bytes;
  }

 private:
  const std::string& any_seed() {
    return seeds().bytes[below(below(8) == 0 ? seeds().bytes.size() : seeds().accepted)];
  }

  void change_bytes(std::string& bytes) {
    if (bytes.empty()) return;
    const std::size_t at = below(bytes.size());
    switch (below(6)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1U << below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, 1 + below(8));
        break;
      case 4:
        bytes.insert(at, std::string(1 + below(10), static_cast<char>(below(2) == 0 ? 0xFF : below(256))));
        break;
      default: {  // the rest of another model
        const std::string& other = any_seed();
        bytes = bytes.substr(0, at) + other.substr(below(other.size()));
      }
    }
  }

  std::int64_t extreme() {
    constexpr std::int64_t kValues[] = {0,
                                        1,
                                        -1,
                                        2,
                                        3,
                                        7,
                                        16,
                                        -2,
                                        -128,
                                        65536,
                                        1 << 24,
                                        std::int64_t{1} << 31,
                                        1 << 30,
                                        1000003,
                                        -(1 << 30),
                                        std::int64_t{1} << 33,
                                        std::int64_t{1} << 40,
                                        std::numeric_limits<std::int64_t>::max(),
                                        std::numeric_limits<std::int64_t>::min()};
    return kValues[below(std::size(kValues))];
  }

  std::string any_value(const ::onnx::GraphProto& graph) {
    std::vector<std::string> names = {"", "nowhere"};
    for (const auto& info : graph.input()) names.push_back(info.name());
    for (const auto& info : graph.output()) names.push_back(info.name());
    for (const auto& tensor : graph.initializer()) names.push_back(tensor.name());
    for (const auto& node : graph.node()) names.insert(names.end(), node.output().begin(), node.output().end());
    return any(names);
  }

  void change_structure(::onnx::ModelProto& model) {
    ::onnx::GraphProto& graph = *model.mutable_graph();
    switch (below(8)) {
      case 0:
        if (model.opset_import_size() > 0)
          model.mutable_opset_import(0)->set_version(below(4) == 0 ? extreme() : static_cast<std::int64_t>(below(19)));
        break;
      case 1:
        if (graph.input_size() > 0) change_info(*graph.mutable_input(static_cast<int>(below(graph.input_size()))));
        break;
      case 2:
        if (graph.initializer_size() > 0)
          change_tensor(*graph.mutable_initializer(static_cast<int>(below(graph.initializer_size()))));
        break;
      case 3:
        change_list(graph);
        break;
      default:
        if (graph.node_size() > 0) change_node(graph, *graph.mutable_node(static_cast<int>(below(graph.node_size()))));
    }
  }

  void change_info(::onnx::ValueInfoProto& info) {
    auto& type = *info.mutable_type()->mutable_tensor_type();
    auto& dims = *type.mutable_shape()->mutable_dim();
    switch (below(5)) {
      case 0:
        type.set_elem_type(static_cast<int>(below(18)));
        break;
      case 1:
        type.mutable_shape()->add_dim()->set_dim_value(extreme());
        break;
      case 2:
        if (!dims.empty()) dims.RemoveLast();
        break;
      case 3:
        if (!dims.empty()) dims.Mutable(static_cast<int>(below(dims.size())))->set_dim_param("N");
        break;
      default:
        if (!dims.empty()) dims.Mutable(static_cast<int>(below(dims.size())))->set_dim_value(extreme());
    }
  }

  void change_tensor(::onnx::TensorProto& tensor) {
    switch (below(5)) {
      case 0:
        tensor.set_data_type(static_cast<int>(below(18)));
        break;
      case 1:
        tensor.add_dims(extreme());
        break;
      case 2:
        if (tensor.dims_size() > 0) tensor.set_dims(static_cast<int>(below(tensor.dims_size())), extreme());
        break;
      case 3:  // other contents of the same length
        for (char& byte : *tensor.mutable_raw_data())
          if (below(3) == 0) byte = static_cast<char>(below(256));
        for (int i = 0; i < tensor.int64_data_size(); ++i)
          if (below(2) == 0) tensor.set_int64_data(i, extreme());
        break;
      default:
        tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
    }
  }

  /// Adds, drops, doubles or reorders what a graph lists.
  void change_list(::onnx::GraphProto& graph) {
    switch (below(7)) {
      case 0:
        if (graph.node_size() > 1)
          graph.mutable_node()->SwapElements(static_cast<int>(below(graph.node_size())),
                                             static_cast<int>(below(graph.node_size())));
        break;
      case 1:
        if (graph.node_size() > 0) {
          const ::onnx::NodeProto copy = graph.node(static_cast<int>(below(graph.node_size())));
          *graph.add_node() = copy;
        }
        break;
      case 2:
        if (graph.input_size() > 0) graph.mutable_input()->RemoveLast();
        break;
      case 3:
        if (graph.output_size() > 0) graph.mutable_output(0)->set_name(any_value(graph));
        break;
      case 4:
        if (graph.input_size() > 0) {
          const ::onnx::ValueInfoProto copy = graph.input(0);
          *graph.add_input() = copy;
        }
        break;
      case 5:  // a chain before the model
        if (graph.node_size() > 0 && graph.node(0).input_size() > 0) {
          ::onnx::NodeProto& made = *graph.add_node();
          made.set_op_type(below(2) == 0 ? "Shape" : "Identity");
          made.add_input(graph.node(0).input(0));
          made.add_output("made");
          graph.mutable_node(0)->set_input(0, "made");
          graph.mutable_node()->SwapElements(0, graph.node_size() - 1);
        }
        break;
      default:
        if (graph.input_size() > 0) {  // an input that is a constant
          ::onnx::TensorProto& tensor = *graph.add_initializer();
          tensor.set_name(graph.input(0).name());
          tensor.set_data_type(graph.input(0).type().tensor_type().elem_type());
          std::int64_t elements = 1;
          for (const auto& dim : graph.input(0).type().tensor_type().shape().dim()) {
            tensor.add_dims(dim.dim_value());
            elements =
                dim.dim_value() > 0 && dim.dim_value() < 4096 && elements < 4096 ? elements * dim.dim_value() : 0;
          }
          tensor.set_raw_data(
              std::string(static_cast<std::size_t>(std::min<std::int64_t>(elements, 4096) * (1 << below(4))),
                          static_cast<char>(below(4))));
        }
    }
  }

  void change_node(::onnx::GraphProto& graph, ::onnx::NodeProto& node) {
    switch (below(7)) {
      case 0: {
        static const std::vector<std::string> kNames = [] {
          std::vector<std::string> names = {"If", "Loop", "Resize", "QuantizeLinear", "Upsample", "Scan", "Scatter"};
          for (unsigned op = 0; op <= static_cast<unsigned>(Op::Xor); ++op)
            names.emplace_back(name_of(static_cast<Op>(op)));
          return names;
        }();
        node.set_op_type(any(kNames));
        break;
      }
      case 1:
        if (node.input_size() > 0) node.set_input(static_cast<int>(below(node.input_size())), any_value(graph));
        break;
      case 2:
        node.add_input(any_value(graph));
        break;
      case 3:
        if (node.input_size() > 0) node.mutable_input()->RemoveLast();
        break;
      case 4:
        if (below(2) == 0)
          node.add_output("more" + std::to_string(below(3)));
        else if (node.output_size() > 0)
          node.mutable_output()->RemoveLast();
        break;
      default:
        if (node.attribute_size() == 0 || below(4) == 0)
          add_attribute(node);
        else
          change_attribute(*node.mutable_attribute(static_cast<int>(below(node.attribute_size()))));
    }
  }

  void add_attribute(::onnx::NodeProto& node) {
    static const std::vector<std::string> kNames = {"axis",
                                                    "axes",
                                                    "perm",
                                                    "to",
                                                    "pads",
                                                    "strides",
                                                    "kernel_shape",
                                                    "dilations",
                                                    "group",
                                                    "keepdims",
                                                    "value",
                                                    "auto_pad",
                                                    "equation",
                                                    "mode",
                                                    "blocksize",
                                                    "k",
                                                    "direction",
                                                    "hidden_size",
                                                    "activations",
                                                    "layout",
                                                    "reduction",
                                                    "batch_dims",
                                                    "broadcast",
                                                    "output_shape",
                                                    "output_padding",
                                                    "ceil_mode",
                                                    "starts",
                                                    "ends",
                                                    "shape",
                                                    "split",
                                                    "allowzero",
                                                    "size",
                                                    "noop_with_empty_axes",
                                                    "storage_order",
                                                    "start",
                                                    "end"};
    auto& attribute = *node.add_attribute();
    attribute.set_name(any(kNames));
    if (below(2) == 0) {
      attribute.set_type(::onnx::AttributeProto::INT);
      attribute.set_i(extreme());
    } else {
      attribute.set_type(::onnx::AttributeProto::INTS);
      for (std::uint64_t k = below(5); k > 0; --k) attribute.add_ints(extreme());
    }
  }

  void change_attribute(::onnx::AttributeProto& attribute) {
    switch (below(7)) {
      case 0:
        attribute.set_type(static_cast<::onnx::AttributeProto::AttributeType>(below(15)));
        break;
      case 1:
        attribute.set_i(extreme());
        for (int i = 0; i < attribute.ints_size(); ++i)
          if (below(2) == 0) attribute.set_ints(i, extreme());
        break;
      case 2:
        attribute.add_ints(extreme());
        break;
      case 3:
        if (attribute.ints_size() > 0) attribute.mutable_ints()->RemoveLast();
        break;
      case 4: {
        static const std::vector<std::string> kTexts = {"",
                                                        "SAME_UPPER",
                                                        "SAME_LOWER",
                                                        "VALID",
                                                        "reflect",
                                                        "edge",
                                                        "CRD",
                                                        "bidirectional",
                                                        "reverse",
                                                        "sum",
                                                        "none",
                                                        "add",
                                                        "...i,...i",
                                                        "ii->i",
                                                        "a,b->ba",
                                                        "->",
                                                        ",",
                                                        "a.b->",
                                                        std::string(300, 'a')};
        attribute.set_s(any(kTexts));
        if (attribute.strings_size() > 0) attribute.set_strings(0, any(kTexts));
        break;
      }
      case 5:
        if (attribute.has_t()) change_tensor(*attribute.mutable_t());
        break;
      default: {  // graphs within graphs, deeper than protobuf reads
        if (below(8) != 0) break;
        attribute.set_type(::onnx::AttributeProto::GRAPH);
        ::onnx::GraphProto* inner = attribute.mutable_g();
        for (std::uint64_t depth = below(120); depth > 0; --depth) {
          auto& next = *inner->add_node()->add_attribute();
          next.set_name("body");
          next.set_type(::onnx::AttributeProto::GRAPH);
          inner = next.mutable_g();
        }
      }
    }
  }

  std::mt19937_64 random_;
};

/// Computes a small model on zeros.
bool compute(const Model& model) {
  double elements = 0;
  for (const Value& value : model.values) elements += static_cast<double>(element_count(value.shape));
  if (elements * elements > 1e8) return false;  // a product may take the square
  std::vector<Tensor> inputs;
  for (const ValueId id : model.inputs) inputs.emplace_back(model.value(id).type, model.value(id).shape);
  (void)golden::run(model, inputs);
  return true;
}

/// Lets the process take no more than `bytes` of memory while it lives.
class MemoryLimit {
 public:
  explicit MemoryLimit(rlim_t bytes) {
    (void)getrlimit(RLIMIT_AS, &before_);
#ifdef __SANITIZE_ADDRESS__
    bytes = before_.rlim_cur;  // it maps terabytes for itself
#endif
    rlimit limit = before_;
    limit.rlim_cur = std::min(bytes, before_.rlim_max);
    (void)setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() { (void)setrlimit(RLIMIT_AS, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_ = {};
};

}  // namespace

std::string fuzzed_model(std::uint64_t seed, std::uint64_t iteration) { return Mutator(seed, iteration).run(); }

FuzzReport fuzz_import(const FuzzOptions& options, const std::string& trace_file) {
  FuzzReport report;
  (void)seeds();
  const MemoryLimit limit(rlim_t{4} << 30);
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < options.iterations && report.failures.size() < 5; ++i) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (options.seconds > 0 && spent.count() > options.seconds) break;
    if (!trace_file.empty()) write_file(trace_file, fmt::format("seed {} iteration {}\n", options.seed, i));
    ++report.iterations;
    const std::string bytes = fuzzed_model(options.seed, i);
    alarm(60);
    try {
      const Model model = import_bytes(bytes, "fuzzed.onnx", import_options());
      ++report.accepted;
      report.computed += compute(model) ? 1 : 0;
    } catch (const Error& error) {
      ++report.refused;
      if (error.category() == Category::internal)
        report.failures.push_back(fmt::format("seed {} iteration {}: {}", options.seed, i, error.what()));
    } catch (const std::exception& error) {
      report.failures.push_back(fmt::format("seed {} iteration {}: {}", options.seed, i, error.what()));
    }
    alarm(0);
  }
  return report;
}

}  // namespace tessera::model
