// See c2_card.h.
#include "tlm/card/c2_card.h"

#include <string>

namespace tessera {

namespace {
std::uint64_t power_of_two(std::uint64_t bytes) {
  std::uint64_t size = 4096;
  while (size < bytes) size *= 2;
  return size;
}
}  // namespace

C2Card::C2Card(const sc_core::sc_module_name& name, const CardConfig& config)
    : sc_module(name), down_("down"), up_("up"), switch_("switch", config.ipus, config.link, config.max_read_request) {
  down_.out.bind(switch_.from_root);
  switch_.to_root.bind(up_.in);
  for (unsigned i = 0; i < config.ipus; ++i) {
    const std::string index = std::to_string(i);
    const pcie::EndpointConfig endpoint{config.register_bytes,   power_of_two(config.tile_bytes),
                                        config.link.max_payload, config.max_read_request,
                                        config.outstanding,      config.completion_timeout};
    endpoints_.push_back(std::make_unique<pcie::Endpoint>(("endpoint" + index).c_str(), endpoint));
    for (const char* direction : {"down", "up"})
      checkers_.push_back(std::make_unique<pcie::ProtocolChecker>((direction + index).c_str()));
    pcie::ProtocolChecker &to = *checkers_[2 * i], &from = *checkers_[2 * i + 1];
    switch_.to_endpoint[i]->bind(to.in);
    to.out.bind(endpoints_[i]->from_link);
    endpoints_[i]->to_link.bind(from.in);
    from.out.bind(*switch_.from_endpoint[i]);
  }
}

void C2Card::inject(unsigned ipu, const pcie::Fault& fault) {
  if (fault.kind == pcie::Fault::Kind::link_down)
    switch_.inject(ipu, fault);
  else
    endpoints_[ipu]->inject(fault);
}

void C2Card::bind(pcie::RootComplex& root, unsigned port) {
  root.down[port]->bind(down_.in);
  up_.out.bind(*root.up[port]);
}

}  // namespace tessera
