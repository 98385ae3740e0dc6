// codelet_table: loads the built-in library, which checks the rules of every codelet (no recursion, no variable stack,
// no calls through pointers, nothing undefined), and prints what is in it as JSON. Part of the build, so that a codelet
// that breaks a rule does not build.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "host/codelets/linker.h"
#include "hw/error.h"

int main() {
  using namespace tessera;  // NOLINT: a program of one function
  static constexpr const char* kKinds[] = {"", "in", "out", "inout", "in_span", "out_span", "inout_span", "value"};
  try {
    const auto& library = CodeletLibrary::builtin();
    std::vector<std::string> roots{kFirmwareBoot, kFirmwareDispatch, kFirmwareExit, kFirmwareAmp};
    nlohmann::json list = nlohmann::json::array();
    for (const auto& codelet : library.codelets()) {
      roots.push_back(codelet.name);
      nlohmann::json fields = nlohmann::json::array();
      for (const auto& f : codelet.fields)
        fields.push_back({{"name", f.name},
                          {"kind", kKinds[static_cast<int>(f.kind)]},
                          {"type", field_type_name(f.type)},
                          {"offset", f.offset},
                          {"align", f.align},
                          {"minimum", f.minimum}});
      list.push_back({{"name", codelet.name},
                      {"multi", codelet.multi},
                      {"amp", codelet.amp},
                      {"state_bytes", codelet.state_bytes},
                      {"stack_bytes", codelet.stack_bytes},
                      {"code_bytes", codelet.code_bytes},
                      {"fields", fields}});
    }
    (void)link(library, roots, 0x40040);
    std::printf("%s\n", nlohmann::json{{"codelets", list}}.dump(1).c_str());
    return 0;
  } catch (const Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return exit_code(e.category());
  }
}
