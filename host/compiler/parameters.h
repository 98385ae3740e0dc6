// Parameters of functions: how the constants of a call get to the steps of the body. By address, where vertices of the
// body read a parameter in place: no constant moves. Each distinct call has lists of its own of these steps, or, where
// there are many, all have one set of lists, which is changed before each call (Window). By value otherwise: a copy to
// the parameter before the call.
#pragma once

#include "host/codelets/codelet.h"
#include "host/compiler/ir.h"

namespace tessera::compiler {

/// Replaces the parameters in the lowered program: fills Node::variant, ComputeStep::by_variant, Ir::variants and
/// windows, adds steps for the variants and the copies. Behind it no step reads a parameter that is given by address.
void resolve_parameters(Ir& ir, const CodeletLibrary& library);

}  // namespace tessera::compiler
