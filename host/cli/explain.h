// What is in an executable, for people: sizes, memory by category, steps, phases against their bounds.
#pragma once

#include "host/cli/command.h"
#include "host/executable/executable.h"

namespace tessera::cli {

void explain(Context& context, const executable::Executable& executable);

}  // namespace tessera::cli
