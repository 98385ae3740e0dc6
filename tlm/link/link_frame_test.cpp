// Frames as bytes, the CRC, pooled transactions; how injected errors are drawn; what the protocol checker refuses.
#include "tlm/link/link_frame.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cmath>
#include <set>

#include "tlm/link/link_faults.h"
#include "tlm/link/link_test_bench.h"
#include "tlm/link/protocol_checker.h"

namespace tessera {
namespace {

TEST(LinkFrame, BytesOfAFrame) {
  Packet packet;
  packet.words = 1;
  packet.tile = 5;
  packet.ipu = 2;
  packet.remote = 0x1122334455667788u;
  packet.local = 0x40;
  packet.payload = {0xA0B0C0D0u};
  const std::vector<std::uint8_t> bytes = encode_frame(0x07000102u, packet, 2);
  const std::vector<std::uint8_t> start{0x02, 0x01, 0x00, 0x07, 0,    0,    0x05, 0x28, 0x00, 0x01, 0x88, 0x77, 0x66,
                                        0x55, 0x44, 0x33, 0x22, 0x11, 0x40, 0x00, 0x00, 0x00, 0xD0, 0xC0, 0xB0, 0xA0};
  ASSERT_EQ(bytes.size(), start.size() + 4);
  EXPECT_TRUE(std::equal(start.begin(), start.end(), bytes.begin()));
  // CRC-32 bit by bit, as IEEE 802.3 has it.
  std::uint32_t sum = ~0u;
  for (const std::uint8_t byte : start) {
    sum ^= byte;
    for (unsigned k = 0; k < 8; ++k) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0u);
  }
  sum = ~sum;
  for (unsigned k = 0; k < 4; ++k) EXPECT_EQ(bytes[start.size() + k], sum >> 8 * k & 0xff);
}

/// So a frame that nothing touched needs no CRC: it would be decoded to what was encoded, whatever it is.
TEST(LinkFrame, WhatWasEncodedIsDecoded) {
  EXPECT_TRUE(rc::check([] {
    Packet packet = test_packet(*rc::gen::inRange(1u, 257u), *rc::gen::inRange(0u, 1u << 24));
    for (Word& word : packet.payload) word = *rc::gen::arbitrary<Word>();
    packet.remote = *rc::gen::arbitrary<std::uint64_t>();
    packet.local = *rc::gen::arbitrary<std::uint32_t>();
    const auto sequence = *rc::gen::arbitrary<std::uint32_t>();
    const unsigned padding = *rc::gen::inRange(0u, 20u);
    const auto content = decode_frame(encode_frame(sequence, packet, padding), padding);
    RC_ASSERT(content.has_value());
    RC_ASSERT(content->sequence == sequence);
    RC_ASSERT(same_packet(content->packet, packet));
  }));
}

TEST(LinkFrame, EveryErrorOfOneOrTwoBitsAndEveryBurstIsFound) {
  const std::vector<std::uint8_t> good = encode_frame(1, test_packet(3, 77), 0);
  const auto bits = static_cast<unsigned>(8 * good.size());
  const auto flip = [](std::vector<std::uint8_t>& bytes, unsigned bit) {
    bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ 1u << bit % 8);
  };
  unsigned found = 0, tried = 0;
  for (unsigned a = 0; a < bits; ++a)
    for (unsigned b = a; b < bits; ++b) {
      std::vector<std::uint8_t> bytes = good;
      flip(bytes, a);
      if (b != a) flip(bytes, b);
      found += !decode_frame(bytes, 0);
      ++tried;
      if (b == a || b > a + 31) continue;
      for (unsigned c = a + 1; c < b; ++c) flip(bytes, c);
      found += !decode_frame(bytes, 0);
      ++tried;
    }
  EXPECT_EQ(found, tried);
  EXPECT_GT(tried, 40000u);
  EXPECT_FALSE(decode_frame({}, 0));
  EXPECT_FALSE(decode_frame(std::vector<std::uint8_t>(good.begin(), good.end() - 4), 0));
}

TEST(LinkFrame, ThePoolTakesBack) {
  FramePool pool;
  auto& a = pool.get();
  auto& b = pool.get();
  EXPECT_NE(&a, &b);
  EXPECT_EQ(pool.in_use(), 2u);
  a.acquire();
  a.release();
  EXPECT_EQ(pool.in_use(), 2u);
  a.get_extension<LinkFrame>()->packet = std::make_shared<Packet>();
  const std::weak_ptr<const Packet> held = a.get_extension<LinkFrame>()->packet;
  a.set_response_status(tlm::TLM_OK_RESPONSE);
  a.release();
  EXPECT_EQ(pool.in_use(), 1u);
  EXPECT_TRUE(held.expired());
  EXPECT_EQ(&pool.get(), &a);
  EXPECT_EQ(a.get_response_status(), tlm::TLM_INCOMPLETE_RESPONSE);
}

TEST(LinkFaults, DistancesAreGeometric) {
  for (const std::uint64_t rate :
       std::vector<std::uint64_t>{500'000'000'000, 100'000'000'000, 1'000'000'000, 7'000'000}) {
    CounterRandom random(rate);
    const ErrorDistance distance(rate);
    const double p = static_cast<double>(rate) * 1e-12;
    const unsigned n = 20000;
    double sum = 0;
    unsigned zeros = 0, beyond = 0;
    for (unsigned i = 0; i < n; ++i) {
      const auto d = static_cast<double>(distance.draw(random));
      sum += d;
      zeros += d == 0;
      beyond += d >= 1 / p;
    }
    // Mean (1-p)/p with deviation sqrt(1-p)/p; P(0) = p; P(d >= k) = (1-p)^k. Five standard deviations, fixed seed.
    EXPECT_NEAR(sum / n, (1 - p) / p, 5 * std::sqrt((1 - p) / n) / p) << rate;
    EXPECT_NEAR(zeros, n * p, 5 * std::sqrt(n * p) + 1) << rate;
    const double tail = std::pow(1 - p, std::ceil(1 / p));
    EXPECT_NEAR(beyond, n * tail, 5 * std::sqrt(n * tail * (1 - tail))) << rate;
  }
  CounterRandom random(1);
  EXPECT_EQ(ErrorDistance(1'000'000'000'000).draw(random), 0u);
}

/// Fixed for all hosts and compilers: numbers that were drawn once.
TEST(LinkFaults, TheSameSeedIsTheSameFaults) {
  const auto flips = [](std::uint64_t seed, unsigned port) {
    LinkFaults faults;
    faults.add(parse_injection("link=0.0:bit_errors,rate_e12=1000000000,seed=" + std::to_string(seed), ""), 0, port, 0);
    std::vector<std::uint32_t> all;
    for (unsigned frame = 0; frame < 4; ++frame)
      for (const std::uint32_t bit : faults.frame(frame, 1000).flips) all.push_back(1000 * frame + bit);
    return all;
  };
  EXPECT_EQ(flips(1, 0), flips(1, 0));
  EXPECT_NE(flips(1, 0), flips(2, 0));
  EXPECT_NE(flips(1, 0), flips(1, 1));
  // A frame cut in two gives the same bad bits: nothing depends on where frames end.
  LinkFaults whole, cut;
  const Injection injection = parse_injection("link=0.0:bit_errors,rate_e12=10000000000", "");
  whole.add(injection, 3, 1, 0);
  cut.add(injection, 3, 1, 0);
  std::vector<std::uint32_t> pieces;
  for (unsigned i = 0; i < 10; ++i)
    for (const std::uint32_t bit : cut.frame(0, 100).flips) pieces.push_back(100 * i + bit);
  EXPECT_EQ(whole.frame(0, 1000).flips, pieces);
  EXPECT_FALSE(pieces.empty());
  CounterRandom random(42);
  EXPECT_EQ(random.next(), 6956670453017944366u);
}

TEST(LinkFaults, CountsAndTimes) {
  LinkFaults faults;
  const auto add = [&](const std::string& text) {
    return faults.add(parse_injection("link=0.0:" + text, ""), 0, 0, 50);
  };
  add("lose,at=100,count=2");
  add("bit_errors,at=10,bits=5,for=1000");
  EXPECT_FALSE(faults.frame(9, 800).lost);
  const FrameFate fate = faults.frame(99, 800);
  EXPECT_FALSE(fate.lost);
  EXPECT_EQ(std::set<std::uint32_t>(fate.flips.begin(), fate.flips.end()).size(), 5u);
  EXPECT_TRUE(faults.frame(100, 800).lost);
  EXPECT_TRUE(faults.frame(2000, 800).lost);
  EXPECT_FALSE(faults.frame(2001, 800).lost);
  add("stall_credits,at=500,for=100");
  add("stall_credits,at=600,for=50");
  EXPECT_EQ(faults.credit(499), 499u);
  EXPECT_EQ(faults.credit(500), 650u);
  EXPECT_EQ(faults.credit(650), 650u);
  const auto line = add("down");
  ASSERT_EQ(line.size(), 1u);
  EXPECT_EQ(line[0].from, 50u);
  EXPECT_EQ(line[0].until, kNever);
}

// A target that does one thing wrong, and an initiator that may.
struct Breaker : sc_core::sc_module {
  enum class Wrong {
    nothing,
    no_status,
    changed_address,
    accepted_but_changed,
    wrong_phase,
    time_back,
    twice,
    not_open
  };
  explicit Breaker(const sc_core::sc_module_name& name) : sc_module(name), initiator("initiator"), target("target") {
    initiator.register_nb_transport_bw(this, &Breaker::backward);
    target.register_nb_transport_fw(this, &Breaker::forward);
    initiator.bind(target);
  }
  tlm::tlm_sync_enum forward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    delay += sc_core::sc_time(10, sc_core::SC_NS);
    phase = tlm::END_REQ;
    if (wrong == Wrong::accepted_but_changed) return tlm::TLM_ACCEPTED;
    if (wrong == Wrong::wrong_phase) phase = tlm::END_RESP;
    if (wrong == Wrong::time_back) delay = sc_core::SC_ZERO_TIME;
    if (wrong == Wrong::no_status) return tlm::TLM_COMPLETED;
    if (wrong == Wrong::changed_address) payload.set_address(1);
    return tlm::TLM_UPDATED;
  }
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    checker.backward(payload, phase, delay);
    checker.backward_done(payload, phase, delay, tlm::TLM_COMPLETED);
    return tlm::TLM_COMPLETED;
  }
  /// One transaction by the book, but for what is wrong.
  void transaction(Wrong what, tlm::tlm_response_status before = tlm::TLM_INCOMPLETE_RESPONSE) {
    wrong = what;
    tlm::tlm_generic_payload& payload = pool.get();
    payload.set_command(tlm::TLM_WRITE_COMMAND);
    payload.set_address(0x40);
    payload.set_data_ptr(data);
    payload.set_data_length(4);
    payload.set_streaming_width(4);
    payload.set_byte_enable_ptr(nullptr);
    payload.set_response_status(before);
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay(5, sc_core::SC_NS);
    delay += offset;
    checker.forward(payload, phase, delay);
    const auto status = initiator->nb_transport_fw(payload, phase, delay);
    checker.forward_done(payload, phase, delay, status);
    if (status == tlm::TLM_COMPLETED) return;
    offset = delay;
    if (wrong != Wrong::no_status && wrong != Wrong::not_open) payload.set_response_status(tlm::TLM_OK_RESPONSE);
    phase = tlm::BEGIN_RESP;
    target->nb_transport_bw(wrong == Wrong::not_open ? pool.get() : payload, phase, delay);
    if (wrong == Wrong::twice) target->nb_transport_bw(payload, phase, delay);
    payload.release();
  }
  tlm_utils::simple_initiator_socket<Breaker> initiator;
  tlm_utils::simple_target_socket<Breaker> target;
  NonBlockingChecker checker{"breaker"};
  FramePool pool;
  Wrong wrong = Wrong::nothing;
  sc_core::sc_time offset;
  std::uint8_t data[4] = {};
};

TEST(NonBlockingChecker, FindsEveryBreach) {
  using Wrong = Breaker::Wrong;
  std::vector<std::unique_ptr<Breaker>> breakers;
  for (unsigned i = 0; i < 10; ++i) breakers.push_back(std::make_unique<Breaker>(("b" + std::to_string(i)).c_str()));
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  Breaker& good = *breakers[0];
  for (unsigned i = 0; i < 3; ++i) EXPECT_NO_THROW(good.transaction(Wrong::nothing));
  EXPECT_EQ(good.checker.transactions(), 3u);
  EXPECT_EQ(good.checker.open(), 0u);
  unsigned next = 1;
  const auto breaks = [&](Wrong wrong, const std::string& words,
                          tlm::tlm_response_status before = tlm::TLM_INCOMPLETE_RESPONSE) {
    try {
      breakers.at(next++)->transaction(wrong, before);
      ADD_FAILURE() << "not found: " << words;
    } catch (const std::logic_error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  breaks(Wrong::no_status, "set no response");
  breaks(Wrong::changed_address, "changed the request");
  breaks(Wrong::accepted_but_changed, "TLM_ACCEPTED with another");
  breaks(Wrong::wrong_phase, "not next");
  breaks(Wrong::time_back, "delay smaller");
  breaks(Wrong::twice, "not open");
  breaks(Wrong::not_open, "not open");
  breaks(Wrong::nothing, "response set before BEGIN_REQ", tlm::TLM_OK_RESPONSE);
  // The next request begins before the last one has ended.
  Breaker& hasty = *breakers.at(next);
  hasty.transaction(Wrong::nothing);
  hasty.offset = sc_core::SC_ZERO_TIME;
  EXPECT_THROW(hasty.transaction(Wrong::nothing), std::logic_error);
}

}  // namespace
}  // namespace tessera
