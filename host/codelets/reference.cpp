// Host codelets behind C++ types (reference.h).
#include "host/codelets/reference.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "firmware/codelets/host_codelets.h"

namespace tessera {

const std::vector<ReferenceCodelet>& reference_codelets() {
  static const std::vector<ReferenceCodelet> all = [] {
    std::vector<ReferenceCodelet> list;
    for (std::size_t i = 0; const auto* entry = tessera_host_codelet_at(i); ++i) {
      ReferenceCodelet codelet;
      codelet.info.name = entry->head->name;
      codelet.info.multi = (entry->head->flags & TESSERA_NOTE_MULTI) != 0;
      codelet.info.amp = (entry->head->flags & TESSERA_NOTE_AMP) != 0;
      codelet.info.state_bytes = entry->head->state_bytes;
      for (std::uint32_t f = 0; f < entry->head->field_count; ++f) {
        const auto& field = entry->fields[f];
        codelet.info.fields.push_back({field.name, static_cast<FieldKind>(field.kind & ~TESSERA_KIND_ELEMENTWISE),
                                       static_cast<FieldType>(field.type), field.offset, field.align, field.minimum});
      }
      codelet.run = entry->run;
      list.push_back(std::move(codelet));
    }
    std::sort(list.begin(), list.end(),
              [](const ReferenceCodelet& a, const ReferenceCodelet& b) { return a.info.name < b.info.name; });
    return list;
  }();
  return all;
}

void run_reference(std::string_view name, Bindings& bindings, std::uint32_t offset) {
  const auto& all = reference_codelets();
  const auto it = std::lower_bound(all.begin(), all.end(), name,
                                   [](const ReferenceCodelet& c, std::string_view n) { return c.info.name < n; });
  if (it == all.end() || it->info.name != name) throw std::logic_error("no host codelet " + std::string(name));
  std::vector<std::uint64_t> state((it->info.state_bytes + 7) / 8, 0);
  auto* raw = reinterpret_cast<std::uint8_t*>(state.data());
  for (const auto& field : it->info.fields) {
    Binding& bound = bindings.at(field.name);
    if (field.is_value()) {
      std::memcpy(raw + field.offset, &bound.value, field_type_bytes(field.type));
      continue;
    }
    const std::uint8_t* data = bound.bytes.data();
    std::memcpy(raw + field.offset, &data, sizeof data);
    if (field.is_span()) std::memcpy(raw + field.offset + sizeof data, &bound.count, 4);
  }
  it->run(state.data(), offset);
}

}  // namespace tessera
