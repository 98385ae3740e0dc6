// The codelets that programs of Builder may call: the library built with the project and those of firmware/demo.
#pragma once

#include "host/codelets/codelet.h"

namespace tessera::demo {

[[nodiscard]] const CodeletLibrary& codelets();

}  // namespace tessera::demo
