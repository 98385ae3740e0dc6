// tessera run example:wavenet: sound drawn sample by sample on the device, each sample checked against the host's
// reference, and how far that is from real time.
#pragma once

#include "host/cli/command.h"
#include "host/cli/device_flow.h"

namespace tessera::cli {

/// Whether MODEL is the program of WaveNet and no ONNX model.
[[nodiscard]] bool is_wavenet(const std::string& model);

/// Compiles and runs it; `request` has machine and results, `check` asks for the comparison. As run_on_machine.
int run_wavenet(Context& context, const std::string& model, FlowRequest request, const Platform& platform, bool check,
                Progress& progress);

}  // namespace tessera::cli
