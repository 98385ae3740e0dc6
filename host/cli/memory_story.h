// How much memory a model takes, told by the compiler's own passes: with and without reuse and in-place, weights as
// they lie on the tiles or once, by type and batch.
#pragma once

#include <string>
#include <vector>

#include "host/cli/command.h"
#include "host/cli/model_inputs.h"

namespace tessera::cli {

struct MemoryStoryOptions {
  std::string model, platform = "c2";
  InputOptions inputs;
  std::vector<std::string> types;                   ///< f16, f32; of examples that have a type
  std::vector<std::int64_t> batches;                ///< of examples that have a batch
  bool types_given = false, batches_given = false;  ///< by the user: an Error (usage) if the model has no such choice
};

/// Prints a table with a column for each type and batch, and adds it to the result ("memory_story"). What does not fit
/// is measured all the same.
void tell_memory(Context& context, const MemoryStoryOptions& options);

}  // namespace tessera::cli
