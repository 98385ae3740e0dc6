// Random vertices and their expected results by families (vertex_cases.h, vertex_case_tools.h).
#include "host/codelets/vertex_cases.h"

#include "host/codelets/vertex_case_tools.h"

namespace tessera {
namespace {

const cases::Family& family_of(const CodeletInfo& codelet) {
  static const std::vector<cases::Family> all = [] {
    std::vector<cases::Family> list = {cases::elementwise_cases()};
    for (const auto& families :
         {cases::amp_cases(), cases::copy_cases(), cases::map_cases(), cases::matmul_cases(), cases::index_cases(),
          cases::pool_cases(), cases::recurrent_cases(), cases::reduce_cases(), cases::rows_cases(),
          cases::part_cases(), cases::vector_cases(), cases::wavenet_cases()})
      list.insert(list.end(), families.begin(), families.end());
    return list;
  }();
  const cases::Family* found = nullptr;
  std::size_t longest = 0;
  for (const cases::Family& family : all)
    for (const std::string_view prefix : family.prefixes)
      if (cases::starts(codelet.name, prefix) && (found == nullptr || prefix.size() > longest)) {
        found = &family;
        longest = prefix.size();
      }
  return *found;
}

}  // namespace

Bindings random_vertex(const CodeletInfo& codelet, std::uint32_t size, std::mt19937& random) {
  return family_of(codelet).generate(codelet, size, random);
}

int check_vertex(const CodeletInfo& codelet, const Bindings& before, const Bindings& after, std::string& difference) {
  cases::Check check(difference);
  family_of(codelet).check(codelet, before, after, check);
  return check.count();
}

}  // namespace tessera
