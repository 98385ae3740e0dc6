// Every worker of the machine runs a program of its own and exchanges with a partner on another IPU.
//
// A worker has constants of its own and one of 96 codes that differ in structure (recipe.h). Three rounds:
//   secret     f_own(seed): a pair of words that follows from own constants; goes to the partner.
//   answer     f_own(what the partner sent); goes back.
//   check      the worker runs the partner's code on a copy of the partner's constants and its own secret, so it alone
//   knows
//              what the answer to its secret must be; it writes a verdict, and a digest of all it has seen.
// The host computes all of it for itself and compares every word of every worker.
//
// Partners are on another IPU, so that each IPU talks with every other one: tile t and worker w choose one of the
// rounds of a round-robin tournament of the IPUs, and the partner is on tile T - 1 - t, worker 5 - w of the IPU that it
// gives. A worker that the round leaves out (one IPU, or an odd number) has its partner on its own IPU, by exchange.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <stdexcept>

#include "host/demo/builder.h"
#include "host/demo/kinds.h"
#include "host/demo/link_load.h"
#include "host/demo/recipe.h"
#include "hw/encode.h"
#include "hw/error.h"
#include "hw/generated/machine.h"
#include "hw/topology.h"

namespace tessera::demo {

namespace {

using isa::encode;
using isa::Op;

constexpr unsigned kCodes = 96;
constexpr std::uint32_t kPass = 1, kFail = 2, kDigestStart = 0x811C9DC5U, kDigestFactor = 0x01000193U;

/// Words that a worker leaves: its secret, the partner's, its answer to that, the partner's answer to its own, what
/// that must be, the verdict, the digest.
enum Box : unsigned {
  kSecret = 0,
  kQuestion = 2,
  kAnswer = 4,
  kReply = 6,
  kExpected = 8,
  kVerdict = 10,
  kDigest = 11,
  kBox = 12
};

/// A worker of the machine; `worker` counts from 0 here.
struct Who {
  unsigned ipu = 0, tile = 0, worker = 0;
};
std::string name_of(const Who& w) { return fmt::format("worker {} of tile {} of IPU {}", w.worker + 1, w.tile, w.ipu); }

/// Who talks with whom.
struct Partners {
  unsigned ipus = 1, tiles = 1;

  [[nodiscard]] Who of(const Who& w) const {
    const unsigned rounds = ipus % 2 == 0 ? ipus - 1 : ipus;
    const unsigned round =
        (3 * std::min(w.tile, tiles - 1 - w.tile) + std::min(w.worker, kWorkers - 1 - w.worker)) % rounds;
    return {ipu(w.ipu, round), tiles - 1 - w.tile, kWorkers - 1 - w.worker};
  }
  [[nodiscard]] std::uint32_t number(const Who& w) const { return (w.ipu * tiles + w.tile) * kWorkers + w.worker; }
  [[nodiscard]] std::uint32_t count() const { return ipus * tiles * kWorkers; }
  [[nodiscard]] Who who(std::uint32_t number) const {
    return {number / kWorkers / tiles, number / kWorkers % tiles, number % kWorkers};
  }

 private:
  /// Circle method: with an even number the last IPU sits in the middle; with an odd one it is not there.
  [[nodiscard]] unsigned ipu(unsigned i, unsigned round) const {
    const unsigned circle = ipus % 2 == 0 ? ipus - 1 : ipus;
    if (i == circle) return round;
    const unsigned other = (2 * round + circle - i) % circle;
    return other == i && ipus % 2 == 0 ? circle : other;
  }
};

/// The code that a worker runs.
unsigned code_of(const Partners& partners, const Who& w) { return (partners.number(w) * 29 + w.ipu) % kCodes; }

/// f(state, offset): verdict and digest of the box at state[0].
std::vector<std::uint32_t> check_code() {
  using compiler::Assembler;
  using compiler::Reg;
  constexpr int zero = 0, ra = 1, t0 = 5, t1 = 6, t2 = 7, a0 = 10, a2 = 12, a3 = 13, a4 = 14;
  const auto at = [](unsigned word) { return static_cast<int>(4 * word); };
  Assembler as(0);
  const auto op = [&](Op o, std::initializer_list<std::int64_t> x) { as.word(encode(o, x)); };
  op(Op::lw, {a2, 0, a0});
  as.li(static_cast<Reg>(a3), kPass);
  const Assembler::Label differ = as.label(), told = as.label(), head = as.label();
  for (unsigned i = 0; i < 2; ++i) {
    op(Op::lw, {t0, at(kReply + i), a2});
    op(Op::lw, {t1, at(kExpected + i), a2});
    as.bne(static_cast<Reg>(t0), static_cast<Reg>(t1), differ);
  }
  as.jal(static_cast<Reg>(zero), told);
  as.bind(differ);
  as.li(static_cast<Reg>(a3), kFail);
  as.bind(told);
  op(Op::sw, {a3, at(kVerdict), a2});
  as.li(static_cast<Reg>(a4), kDigestStart);
  as.li(static_cast<Reg>(t1), kDigestFactor);
  op(Op::addi, {a3, a2, at(kVerdict)});
  op(Op::addi, {t2, a2, 0});
  as.bind(head);
  op(Op::lw, {t0, 0, t2});
  op(Op::xor_, {a4, a4, t0});
  op(Op::mul, {a4, a4, t1});
  op(Op::addi, {t2, t2, 4});
  as.bne(static_cast<Reg>(t2), static_cast<Reg>(a3), head);
  op(Op::sw, {a4, at(kDigest), a2});
  op(Op::jalr, {zero, 0, ra});
  return as.finish();
}

/// Where things stand on a tile.
struct Places {
  Address constants = 0, copies = 0, boxes = 0;
  static constexpr Address kBlock = 4 * WorkerConstants::kWords;
  [[nodiscard]] Address own(unsigned worker) const { return constants + kBlock * worker; }
  [[nodiscard]] Address copy(unsigned worker) const { return copies + kBlock * worker; }
  [[nodiscard]] Address box(unsigned worker, unsigned word) const { return boxes + 4 * (kBox * worker + word); }
};

/// The whole computation, on the host: boxes by number of the worker.
struct Host {
  Partners partners;
  std::vector<Recipe> recipes;
  std::vector<WorkerConstants> constants;

  [[nodiscard]] Pair run(std::uint32_t worker, Pair x) const {
    return recipes[code_of(partners, partners.who(worker))].evaluate(x, constants[worker]);
  }
  [[nodiscard]] std::uint32_t partner(std::uint32_t worker) const {
    return partners.number(partners.of(partners.who(worker)));
  }
  [[nodiscard]] std::vector<std::array<std::uint32_t, kBox>> boxes() const;
};

std::vector<std::array<std::uint32_t, kBox>> Host::boxes() const {
  const std::uint32_t count = partners.count();
  std::vector<Pair> secret(count), answer(count);
  // The seed of a worker's secret is its keys 2 and 3.
  for (std::uint32_t w = 0; w < count; ++w) secret[w] = run(w, {constants[w].words[2], constants[w].words[3]});
  for (std::uint32_t w = 0; w < count; ++w) answer[w] = run(w, secret[partner(w)]);
  std::vector<std::array<std::uint32_t, kBox>> boxes(count);
  for (std::uint32_t w = 0; w < count; ++w) {
    const Pair question = secret[partner(w)], reply = answer[partner(w)], expected = run(partner(w), secret[w]);
    boxes[w] = {secret[w].a,
                secret[w].b,
                question.a,
                question.b,
                answer[w].a,
                answer[w].b,
                reply.a,
                reply.b,
                expected.a,
                expected.b,
                reply == expected ? kPass : kFail,
                kDigestStart};
    for (unsigned i = 0; i < kVerdict; ++i) boxes[w][kDigest] = (boxes[w][kDigest] ^ boxes[w][i]) * kDigestFactor;
  }
  return boxes;
}

constexpr const char* kBoxNames[kBox] = {"secret", "secret", "question",       "question",       "answer",  "answer",
                                         "reply",  "reply",  "expected reply", "expected reply", "verdict", "digest"};

/// What a worker that is not as it should be has.
std::string difference(const Host& host, std::uint32_t w, const std::uint32_t* got,
                       const std::array<std::uint32_t, kBox>& want) {
  unsigned i = 0;
  while (got[i] == want[i]) ++i;
  const Who who = host.partners.who(w);
  const Recipe& recipe = host.recipes[code_of(host.partners, who)];
  return fmt::format("{} (code {}: {}) has {} 0x{:08x}, not 0x{:08x}", name_of(who), code_of(host.partners, who),
                     recipe.text(), kBoxNames[i], got[i], want[i]);
}

std::vector<Verdict> verify(const Host& host, const Memory& memory) {
  Verdict words, verdicts;
  words.text = fmt::format("words of {} workers compared with the host's computation, digests among them",
                           host.partners.count());
  verdicts.text = "workers found the answer that only they could know";
  const std::vector<std::array<std::uint32_t, kBox>> want = host.boxes();
  std::uint64_t wrong = 0, refused = 0;
  bool named = false;
  std::string first_refusal;
  for (std::uint32_t w = 0; w < want.size();) {
    const std::vector<std::uint32_t> got = memory.tensor("boxes", host.partners.who(w).ipu);
    if (got.size() != std::size_t{host.partners.tiles} * kWorkers * kBox)
      throw std::logic_error("workers: a tensor of another size");
    for (std::size_t i = 0; i < got.size(); i += kBox, ++w) {
      words.values += kBox;
      const bool passes = got[i + kVerdict] == kPass;
      verdicts.values += passes ? 1 : 0;
      if (!passes && refused++ == 0)
        first_refusal =
            name_of(host.partners.who(w)) + " refused the answer of " + name_of(host.partners.who(host.partner(w)));
      // Who went wrong himself is told before who was told something wrong.
      const bool own = got[i] != want[w][0] || got[i + 1] != want[w][1];
      if (std::equal(want[w].begin(), want[w].end(), got.begin() + static_cast<std::ptrdiff_t>(i))) continue;
      ++wrong;
      if (words.failure.empty() || (own && !named)) words.failure = difference(host, w, &got[i], want[w]);
      named = named || own;
    }
  }
  if (wrong > 1) words.failure += fmt::format(" ({} workers differ in all)", wrong);
  if (refused > 0) verdicts.failure = fmt::format("{} did not: {}", refused, first_refusal);
  if (!words.failure.empty() && !verdicts.failure.empty()) words.failure += "; " + first_refusal;
  return {words, verdicts};
}

/// "IPU:TILE:WORKER" -> number of the worker; nothing if the text is empty.
std::optional<std::uint32_t> parse_worker(const std::string& text, const Partners& partners) {
  if (text.empty()) return std::nullopt;
  unsigned values[3] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  bool good = true;
  for (unsigned i = 0; i < 3 && good; ++i) {
    const auto [next, error] = std::from_chars(at, end, values[i]);
    good = error == std::errc() && (i == 2 ? next == end : next != end && *next == ':');
    at = good && i < 2 ? next + 1 : next;
  }
  if (good && values[0] < partners.ipus && values[1] < partners.tiles && values[2] >= 1 && values[2] <= kWorkers)
    return partners.number({values[0], values[1], values[2] - 1});
  throw Error(Category::usage, fmt::format("--flip {} names no worker of this machine", text), "",
              fmt::format("write IPU:TILE:WORKER, up to {}:{}:{}", partners.ipus - 1, partners.tiles - 1, kWorkers));
}

/// Adds the steps of the three rounds.
class Program {
 public:
  Program(Builder& b, const Host& host, std::optional<std::uint32_t> flipped) : b_(b), host_(host), flipped_(flipped) {}

  void run() {
    for (unsigned i = 0; i < kCodes; ++i)
      codes_.push_back(b_.code(fmt::format("worker_code_{:02}", i), host_.recipes[i].code(), Recipe::kStack));
    check_ = b_.code("worker_check", check_code());
    at_.constants = b_.allocate(kWorkers * WorkerConstants::kWords);
    at_.copies = b_.allocate(kWorkers * WorkerConstants::kWords);
    at_.boxes = b_.allocate(kWorkers * kBox);
    load();
    b_.compute("secret", calls([this](const Who& w, std::vector<Call>& out) {
                 out.push_back(call(w, code_of(host_.partners, w), at_.own(w.worker) + 8, at_.own(w.worker), kSecret));
               }));
    move("question", kSecret, kQuestion);
    b_.compute(
        "answer", calls([this](const Who& w, std::vector<Call>& out) {
          out.push_back(call(w, code_of(host_.partners, w), at_.box(w.worker, kQuestion), at_.own(w.worker), kAnswer));
        }));
    move("reply", kAnswer, kReply);
    b_.compute("check", calls([this](const Who& w, std::vector<Call>& out) {
                 out.push_back(call(w, code_of(host_.partners, host_.partners.of(w)), at_.box(w.worker, kSecret),
                                    at_.copy(w.worker), kExpected));
                 out.push_back({tile(w), worker(w.worker + 1), check_, {at_.box(w.worker, 0)}});
               }));
    b_.tensor("boxes", executable::Type::u32, at_.boxes, kWorkers * kBox);
  }

 private:
  static TileRef tile(const Who& w) { return {static_cast<std::uint16_t>(w.ipu), static_cast<std::uint16_t>(w.tile)}; }

  Call call(const Who& w, unsigned code, Address x, Address constants, unsigned result) const {
    return {tile(w), worker(w.worker + 1), codes_[code], {x, constants, at_.box(w.worker, result)}};
  }

  template <typename F>
  std::vector<Call> calls(const F& add) const {
    std::vector<Call> calls;
    for (std::uint32_t n = 0; n < host_.partners.count(); ++n) add(host_.partners.who(n), calls);
    return calls;
  }

  /// Own constants and the copies of the partners', one piece a tile.
  void load() {
    std::vector<Initial> own, copies;
    for (std::uint32_t n = 0; n < host_.partners.count(); n += kWorkers) {
      const TileRef t = tile(host_.partners.who(n));
      own.push_back({t, at_.constants, {}});
      copies.push_back({t, at_.copies, {}});
      for (std::uint32_t w = n; w < n + kWorkers; ++w) {
        WorkerConstants mine = host_.constants[w];
        if (flipped_ == w) mine.words[WorkerConstants::kData + 5] ^= 1U << 7;
        const WorkerConstants& theirs = host_.constants[host_.partner(w)];
        own.back().words.insert(own.back().words.end(), mine.words.begin(), mine.words.end());
        copies.back().words.insert(copies.back().words.end(), theirs.words.begin(), theirs.words.end());
      }
    }
    b_.initial("constants", std::move(own));
    b_.initial("partners' constants", std::move(copies));
  }

  /// Two words of every box to the partner's: packets to another IPU, exchange inside.
  void move(const std::string& name, unsigned from, unsigned to) {
    std::vector<PacketMove> packets;
    std::vector<exchange::Messages> messages(b_.ipus());
    bool local = false;
    for (std::uint32_t n = 0; n < host_.partners.count(); ++n) {
      const Who w = host_.partners.who(n), p = host_.partners.of(w);
      const Address source = at_.box(w.worker, from), target = at_.box(p.worker, to);
      if (w.ipu != p.ipu) {
        packets.push_back({tile(w), source, tile(p), target, 2});
        continue;
      }
      local = true;
      messages[w.ipu].add({static_cast<std::uint16_t>(w.tile), 0, (source - kSramBase) / 4},
                          {static_cast<std::uint16_t>(p.tile), 0, (target - kSramBase) / 4}, 2);
    }
    if (!packets.empty()) b_.packets(name, packets);
    if (local) b_.exchange(name + " inside", messages);
  }

  Builder& b_;
  const Host& host_;
  std::optional<std::uint32_t> flipped_;
  std::vector<Code> codes_;
  Code check_;
  Places at_;
};

/// The links' bound for two words of each worker that has its partner elsewhere, headers of packets counted.
Bound links_bound(const Platform& platform, const Host& host, const std::string& step) {
  const Topology topology(platform);
  LinkLoad load(topology);
  std::vector<std::uint64_t> bytes(std::size_t{host.partners.ipus} * host.partners.ipus, 0);
  for (std::uint32_t n = 0; n < host.partners.count(); ++n) {
    const Who w = host.partners.who(n), p = host.partners.of(w);
    if (w.ipu != p.ipu)
      bytes[w.ipu * host.partners.ipus + p.ipu] += 4 * (kPacketHeaderWords + 2) + platform.link.frame_bytes;
  }
  for (unsigned i = 0; i < host.partners.ipus; ++i)
    for (unsigned j = 0; j < host.partners.ipus; ++j)
      if (bytes[i * host.partners.ipus + j] != 0) load.add(i, j, bytes[i * host.partners.ipus + j]);
  const LinkLoad::Busiest busiest = load.busiest(platform);
  Bound bound;
  bound.step = step;
  bound.cycles = static_cast<std::uint64_t>(busiest.cycles);
  bound.reason = fmt::format("links {} -> {}", busiest.from, busiest.to);
  return bound;
}

void check_links(const Platform& platform) {
  if (platform.ipus() == 1) return;
  const Topology topology(platform);
  for (unsigned i = 0; i < topology.ipus(); ++i)
    for (unsigned j = 0; j < topology.ipus(); ++j) {
      if (i == j || topology.next(i, j)) continue;
      throw Error(Category::unsupported,
                  fmt::format("no links lead from IPU {} to IPU {}, and every IPU talks with all", i, j),
                  "platform " + platform.name, "join the IPUs by links, or use one: --ipus 1");
    }
}

Demonstration make(const Platform& platform, const Arguments& arguments) {
  check_links(platform);
  Builder b("workers", platform);
  const auto host = std::make_shared<Host>();
  host->partners = {b.ipus(), b.tiles()};
  host->recipes = different_recipes(kCodes);
  for (std::uint32_t n = 0; n < host->partners.count(); ++n)
    host->constants.push_back(constants_of(arguments.seed(), n));
  std::uint32_t abroad = 0;
  for (std::uint32_t n = 0; n < host->partners.count(); ++n)
    abroad += host->partners.of(host->partners.who(n)).ipu != host->partners.who(n).ipu ? 1 : 0;
  Program(b, *host, parse_worker(arguments.text("flip"), host->partners)).run();
  Demonstration demo;
  demo.executable = b.build();
  demo.about = {fmt::format("{} workers on {} tiles of {} IPUs, {} codes; {} partners on another IPU",
                            host->partners.count(), b.ipus() * b.tiles(), b.ipus(), kCodes, abroad)};
  if (abroad > 0) demo.bounds = {links_bound(platform, *host, "question"), links_bound(platform, *host, "reply")};
  demo.verify = [host](const Memory& memory) { return verify(*host, memory); };
  return demo;
}

}  // namespace

Kind workers() {
  Kind kind;
  kind.name = "workers";
  kind.does =
      "every worker runs its own program, exchanges with a partner on another IPU and checks what only it can know";
  kind.example = "tessera demo workers --platform dss8440";
  kind.parameters = {{"flip", "", "IPU:TILE:WORKER whose constants get a wrong bit, which must be found"}};
  kind.make = make;
  return kind;
}

}  // namespace tessera::demo
