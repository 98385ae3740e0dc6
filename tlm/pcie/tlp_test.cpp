// The checker on every link catches what breaks the base protocol; headers as error reporting logs them.
#include "tlm/pcie/tlp.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

namespace tessera::pcie {
namespace {

struct Target : sc_core::sc_module {
  explicit Target(const sc_core::sc_module_name& name) : sc_module(name), in("in") {
    in.register_b_transport(this, &Target::b_transport);
  }
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) { act(payload, delay); }
  tlm_utils::simple_target_socket<Target> in;
  std::function<void(tlm::tlm_generic_payload&, sc_core::sc_time&)> act;
};

struct Initiator : sc_core::sc_module {
  SC_HAS_PROCESS(Initiator);
  explicit Initiator(const sc_core::sc_module_name& name) : sc_module(name), out("out") { SC_THREAD(run); }
  void run() { body(); }
  tlm_utils::simple_initiator_socket<Initiator> out;
  std::function<void()> body;
};

TEST(PcieChecker, BreachesAreErrors) {
  Initiator initiator("initiator");
  ProtocolChecker checker("checker");
  Target target("target");
  initiator.out.bind(checker.in);
  checker.out.bind(target.in);
  const auto ok = [](tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  };
  std::uint8_t bytes[8] = {};
  unsigned tried = 0;
  const auto breach = [&](const std::function<void(Request&)>& prepare,
                          const std::function<void(tlm::tlm_generic_payload&, sc_core::sc_time&)>& act) {
    Request request(Tlp::Kind::memory, true, 0x1000, bytes, 8);
    prepare(request);
    target.act = act;
    sc_core::sc_time delay(10, sc_core::SC_NS);
    EXPECT_THROW(initiator.out->b_transport(request.payload, delay), std::logic_error) << tried;
    ++tried;
  };
  const auto nothing = [](Request&) {};
  initiator.body = [&] {
    target.act = ok;
    Request request(Tlp::Kind::memory, true, 0x1000, bytes, 8);
    sc_core::sc_time delay;
    initiator.out->b_transport(request.payload, delay);
    EXPECT_TRUE(request.payload.is_response_ok());
    breach([](Request& r) { r.payload.set_response_status(tlm::TLM_OK_RESPONSE); }, ok);
    breach([](Request& r) { r.payload.set_data_ptr(nullptr); }, ok);
    breach([](Request& r) { r.payload.set_data_length(0); }, ok);
    breach([](Request& r) { r.payload.set_streaming_width(4); }, ok);
    breach([&](Request& r) { r.payload.set_byte_enable_ptr(bytes); }, ok);
    breach([](Request& r) { r.tlp().kind = Tlp::Kind::config; }, ok);      // of 8 bytes
    breach(nothing, [](tlm::tlm_generic_payload&, sc_core::sc_time&) {});  // no response
    breach(nothing, [&](tlm::tlm_generic_payload& p, sc_core::sc_time& d) { ok(p, d), p.set_address(4); });
    breach(nothing, [&](tlm::tlm_generic_payload& p, sc_core::sc_time& d) { ok(p, d), p.set_read(); });
    breach(nothing, [&](tlm::tlm_generic_payload& p, sc_core::sc_time& d) { ok(p, d), p.set_data_length(4); });
    breach(nothing, [&](tlm::tlm_generic_payload& p, sc_core::sc_time& d) { ok(p, d), d = sc_core::SC_ZERO_TIME; });
  };
  sc_core::sc_start();
  EXPECT_EQ(tried, 11u);
}

TEST(PcieHeader, EnablesOfEverySizeAndAlignment) {
  std::uint8_t bytes[64] = {};
  unsigned compared = 0;
  for (unsigned at = 0; at < 8; ++at)
    for (unsigned count = 1; count <= 60; ++count) {
      const Request request(Tlp::Kind::memory, false, 0x1'0000'1000ull + at, bytes, count);
      const TlpHeader header = header_of(request.payload);
      // Byte by byte: words that are touched, and which bytes of the first and the last of them.
      const unsigned first = at / 4, last = (at + count - 1) / 4;
      unsigned first_enables = 0, last_enables = 0;
      for (unsigned b = at; b < at + count; ++b) {
        if (b / 4 == first) first_enables |= 1u << b % 4;
        if (b / 4 == last) last_enables |= 1u << b % 4;
      }
      if (first == last) last_enables = 0;
      EXPECT_EQ(header[0], 0x2000'0000u | (last - first + 1));
      EXPECT_EQ(header[1] & 0xff, last_enables << 4 | first_enables) << at << " " << count;
      EXPECT_EQ(header[2], 1u);
      EXPECT_EQ(header[3], 0x1000u + 4 * first);
      EXPECT_EQ(data_bytes(at, count), 4u * (last - first + 1));
      ++compared;
    }
  EXPECT_EQ(compared, 480u);
}

}  // namespace
}  // namespace tessera::pcie
