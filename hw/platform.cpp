// Reads, checks and writes platform files. One table (visit) names every key with its type, range and unit; reading,
// writing, defaults and messages all come from it.
#include "hw/platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "hw/error.h"
#include "hw/read_file.h"
#include "hw/generated/machine.h"
#include "hw/platform_files.h"

namespace tessera {

namespace {

using Json = nlohmann::ordered_json;

/// Calls v.text / v.number / v.enter / v.leave for every key, in canonical order. P is Platform or const Platform.
template <typename P, typename V>
void visit(P&& p, V&& v) {
  const std::uint64_t many = 1000000;
  v.text("name", p.name);
  v.text("description", p.description);
  v.number("cards", p.cards, 1, 32);  // root ports of one bus
  v.number("ipus_per_card", p.ipus_per_card, 1, 2);
  v.number("tiles", p.tiles, 1, 4095);
  v.number("tiles_per_column", p.tiles_per_column, 1, 4095);
  v.number("sram_bytes", p.sram_bytes, kSramMin, kSramMax, 1024);
  v.number("workers", p.workers, kWorkers, kWorkers);
  v.number("clock_hz", p.clock_hz, 1000000, 100000000000);
  v.number("amp_sets", p.amp_sets, 1, 16);
  v.enter("exchange");
  v.number("base", p.exchange.base, 1, 4096);
  v.number("send_per_column", p.exchange.send_per_column, 0, 256);
  v.number("receive_per_column", p.exchange.receive_per_column, 0, 256);
  v.leave();
  v.enter("sync");
  v.number("internal", p.sync.internal, 1, many);
  v.number("group_base", p.sync.group_base, 1, many);
  v.number("group_hop", p.sync.group_hop, 0, many);
  v.number("host", p.sync.host, 1, many);
  v.leave();
  v.enter("packet");
  v.number("lanes_per_column", p.packet.lanes_per_column, 1, 16);
  v.number("lane_words_per_cycle", p.packet.lane_words_per_cycle, 1, 16);
  v.number("lane_latency", p.packet.lane_latency, 1, many);  // lanes are simulated that far ahead
  v.number("buffer_packets", p.packet.buffer_packets, 1, 1024);
  v.leave();
  v.enter("link");
  v.number("sibling_direct", p.link.sibling_direct, 0, 16);
  v.number("sibling_crossed", p.link.sibling_crossed, 0, 16);
  v.number("rail_up", p.link.rail_up, 0, 16);
  v.number("rail_down", p.link.rail_down, 0, 16);
  v.number("lanes", p.link.lanes, 1, 64);
  v.number("bits_per_second", p.link.bits_per_second, 1000000, 100000000000000);
  v.number("efficiency_permille", p.link.efficiency_permille, 1, 1000);
  v.number("frame_bytes", p.link.frame_bytes, 0, 256);
  v.number("latency", p.link.latency, 1, many);  // links are simulated that far ahead
  v.number("credits", p.link.credits, 1, 1024);
  v.number("replay_packets", p.link.replay_packets, 1, 1024);
  v.number("replay_timeout", p.link.replay_timeout, 1, 1000 * many);
  v.number("max_replays", p.link.max_replays, 1, 1000);
  v.number("training", p.link.training, 1, 1000 * many);
  v.number("max_trainings", p.link.max_trainings, 1, 1000);
  v.leave();
  v.topology("topology", p.topology);
  v.enter("pcie");
  v.number("card_bytes_per_cycle", p.pcie.card_bytes_per_cycle, 1, 4096);
  v.number("latency_ns", p.pcie.latency_ns, 0, many);
  v.number("completion_timeout_us", p.pcie.completion_timeout_us, 1, many);
  v.number("max_payload_bytes", p.pcie.max_payload_bytes, 128, 4096, 128);
  v.number("max_read_request_bytes", p.pcie.max_read_request_bytes, 128, 4096, 128);
  v.number("outstanding", p.pcie.outstanding, 1, 65536);
  v.leave();
  v.enter("card");
  v.number("controller_hz", p.card.controller_hz, 1000000, 10000000000);
  v.number("ram_bytes", p.card.ram_bytes, kSramMin, kSramMax, 1024);
  v.number("bus_cycles", p.card.bus_cycles, 1, 10000);
  v.number("pll_lock_us", p.card.pll_lock_us, 1, many);
  v.number("pll_timeout_us", p.card.pll_timeout_us, 1, many);
  v.number("link_timeout_us", p.card.link_timeout_us, 1, many);
  v.number("retries", p.card.retries, 0, 100);
  v.number("watchdog_us", p.card.watchdog_us, 100, many);
  v.number("ambient_mc", p.card.ambient_mc, 0, 100000);
  v.number("idle_mw", p.card.idle_mw, 0, many);
  v.number("busy_mw", p.card.busy_mw, 0, many);
  v.number("thermal_mc_per_w", p.card.thermal_mc_per_w, 0, 100000);
  v.number("thermal_ms", p.card.thermal_ms, 1, many);
  v.number("alarm_mc", p.card.alarm_mc, 0, 200000);
  v.leave();
  v.enter("host");
  v.number("service_ns", p.host.service_ns, 0, 1000000000);
  v.number("service_prefetch_ns", p.host.service_prefetch_ns, 0, 1000000000);
  v.leave();
  v.texts("faults", p.faults);
}

constexpr unsigned kMostIpus = 256;  // of a remote address

/// Writes the canonical JSON.
struct Writer {
  Json root = Json::object();
  Json* at = &root;
  void text(const char* key, const std::string& value) { (*at)[key] = value; }
  template <typename T>
  void number(const char* key, const T& value, std::uint64_t, std::uint64_t, std::uint64_t = 1) {
    (*at)[key] = value;
  }
  void texts(const char* key, const std::vector<std::string>& values) {
    Json& list = (*at)[key] = Json::array();
    for (const std::string& value : values) list.push_back(value);
  }
  void topology(const char* key, const Platform::Topology& value) {
    if (value.ladder) {
      (*at)[key] = "ladder";
      return;
    }
    Json links = Json::array(), routes = Json::array();
    for (const auto& bundle : value.bundles) links.push_back({bundle.a, bundle.b, bundle.links});
    for (const auto& route : value.routes) routes.push_back({route.from, route.to, route.via});
    (*at)[key] = {{"links", links}, {"routes", routes}};
  }
  void enter(const char* key) { at = &((*at)[key] = Json::object()); }
  void leave() { at = &root; }
};

/// Writes the JSON schema (draft 2020-12) of a platform file.
struct SchemaWriter {
  Json root = object();
  Json* at = &root;
  static Json object() {
    return {{"type", "object"},
            {"additionalProperties", false},
            {"required", Json::array()},
            {"properties", Json::object()}};
  }
  Json& add(const char* key, Json what) {
    (*at)["required"].push_back(key);
    return (*at)["properties"][key] = std::move(what);
  }
  void text(const char* key, const std::string&) { add(key, {{"type", "string"}}); }
  template <typename T>
  void number(const char* key, const T&, std::uint64_t low, std::uint64_t high, std::uint64_t step = 1) {
    Json what = {{"type", "integer"}, {"minimum", low}, {"maximum", high}};
    if (step != 1) what["multipleOf"] = step;
    add(key, std::move(what));
  }
  void texts(const char* key, const std::vector<std::string>&) {
    add(key, {{"type", "array"}, {"items", {{"type", "string"}}}});
  }
  void topology(const char* key, const Platform::Topology&) {
    const auto triples = [](std::uint64_t last_low, std::uint64_t last_high) -> Json {
      const Json ipu = {{"type", "integer"}, {"minimum", 0}, {"maximum", kMostIpus - 1}};
      const Json last = {{"type", "integer"}, {"minimum", last_low}, {"maximum", last_high}};
      return {{"type", "array"},
              {"items",
               {{"type", "array"}, {"prefixItems", Json::array({ipu, ipu, last})}, {"minItems", 3}, {"maxItems", 3}}}};
    };
    const Json table = {{"type", "object"},
                        {"additionalProperties", false},
                        {"required", Json::array({"links", "routes"})},
                        {"properties", {{"links", triples(1, 16)}, {"routes", triples(0, kMostIpus - 1)}}}};
    add(key, {{"oneOf", Json::array({Json{{"const", "ladder"}}, table})}});
  }
  void enter(const char* key) { at = &add(key, object()); }
  void leave() { at = &root; }
};

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

std::string nearest(const std::string& given, const std::vector<std::string>& valid) {
  std::string best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const std::string& name : valid) {
    const std::size_t d = edit_distance(given, name);
    if (d < best_distance) {
      best = name;
      best_distance = d;
    }
  }
  return best;
}

/// Reads and checks; names file and JSON path in every error.
class Reader {
 public:
  Reader(const Json& root, std::string file) : file_(std::move(file)), root_(root), at_(&root_) {
    if (!root_.is_object()) fail("", "must be an object", "see docs/schema/platform.json");
  }

  void text(const char* key, std::string& value) {
    const Json& json = take(key, "a string");
    if (!json.is_string()) fail(key, "must be a string", "");
    value = json.get<std::string>();
  }

  template <typename T>
  void number(const char* key, T& value, std::uint64_t low, std::uint64_t high, std::uint64_t step = 1) {
    const std::string range = low == high ? fmt::format("{}", low) : fmt::format("{}..{}", low, high);
    const std::string wanted =
        step == 1 ? fmt::format("an integer, {}", range) : fmt::format("an integer, {}, a multiple of {}", range, step);
    const Json& json = take(key, wanted);
    if (!json.is_number_integer()) fail(key, "must be " + wanted + ", but is " + json.dump(), "");
    if (!json.is_number_unsigned() || json.get<std::uint64_t>() < low || json.get<std::uint64_t>() > high ||
        json.get<std::uint64_t>() % step != 0)
      fail(key, "must be " + wanted + ", but is " + json.dump(), "");
    static_assert(std::is_unsigned_v<T>);
    value = json.get<T>();
  }

  void texts(const char* key, std::vector<std::string>& values) {
    const Json& json = take(key, "a list of strings");
    if (!json.is_array()) fail(key, "must be a list of strings", "");
    values.clear();
    for (const Json& item : json) {
      if (!item.is_string()) fail(key, "must be a list of strings, but holds " + item.dump(), "");
      values.push_back(item.get<std::string>());
    }
  }

  void topology(const char* key, Platform::Topology& value) {
    const char* const wanted =
        "\"ladder\", or {\"links\": [[IPU, IPU, links], ...], \"routes\": [[from, to, via], ...]}";
    const Json& json = take(key, wanted);
    value = {};
    if (json == "ladder") return;
    if (!json.is_object() || json.size() != 2 || !json.contains("links") || !json.contains("routes"))
      fail(key, std::string("must be ") + wanted, "");
    value.ladder = false;
    for (const auto& t : triples(key, json["links"])) value.bundles.push_back({t[0], t[1], t[2]});
    for (const auto& t : triples(key, json["routes"])) value.routes.push_back({t[0], t[1], t[2]});
  }

  void enter(const char* key) {
    const Json& json = take(key, "an object");
    if (!json.is_object()) fail(key, "must be an object", "");
    at_ = &json;
    outer_ = std::exchange(known_, {});
    path_ = std::string("/") + key;
  }

  void leave() {
    check_unknown();
    at_ = &root_;
    known_ = std::exchange(outer_, {});
    path_.clear();
  }

  /// Keys that nobody asked for are errors: a value given is a value used.
  void check_unknown() const {
    for (const auto& [key, value] : at_->items())
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        fail(key.c_str(), "is not a parameter of a platform",
             fmt::format("did you mean '{}'? Valid here: {}", nearest(key, known_), fmt::join(known_, ", ")));
  }

 private:
  const Json& take(const char* key, const std::string& wanted) {
    known_.emplace_back(key);
    const auto it = at_->find(key);
    if (it == at_->end()) {
      // The likeliest reason for a missing key is a misspelt one: that is the better message.
      std::string similar;
      for (const auto& [other, value] : at_->items())
        if (edit_distance(other, key) <= 2 && other != key) similar = other;
      fail(key, "is missing; it is " + wanted,
           similar.empty() ? "start from `tessera platforms NAME --json FILE` and change what you need"
                           : fmt::format("'{}' is there: did you mean '{}'?", similar, key));
    }
    return *it;
  }

  [[nodiscard]] std::vector<std::array<unsigned, 3>> triples(const char* key, const Json& json) const {
    std::vector<std::array<unsigned, 3>> list;
    const auto good = [](const Json& number) {
      return number.is_number_unsigned() && number.get<std::uint64_t>() < kMostIpus;
    };
    for (const Json& item : json) {
      if (!item.is_array() || item.size() != 3 || !std::all_of(item.begin(), item.end(), good))
        fail(key, fmt::format("holds {}; each entry is three numbers below {}", item.dump(), kMostIpus), "");
      list.push_back({item[0].get<unsigned>(), item[1].get<unsigned>(), item[2].get<unsigned>()});
    }
    return list;
  }

  [[noreturn]] void fail(const char* key, const std::string& why, const std::string& advice) const {
    const std::string path = path_ + "/" + key;
    throw Error(Category::usage, fmt::format("platform: {} {}", path, why), fmt::format("{}, {}", file_, path), advice);
  }

  std::string file_;
  const Json& root_;
  const Json* at_;
  std::string path_;
  std::vector<std::string> known_, outer_;
};

std::string read_file(const std::string& path) {
  try {
    return read_whole_file(path, "platform");
  } catch (const Error& error) {
    throw Error(error.category(), error.message(), path,
                fmt::format("give a file or one of: {}", fmt::join(platform_names(), ", ")));
  }
}

}  // namespace

unsigned Platform::column_distance(unsigned tile) const {
  // Columns left of the spine: the first half. An odd number leaves the middle column beside the spine.
  const unsigned c = column(tile), left = columns() / 2;
  return c < left ? left - 1 - c : c - left;
}

unsigned Platform::min_exchange_delay() const {
  unsigned least_send = ~0u, least_receive = ~0u;
  for (unsigned t = 0; t < tiles; ++t) {
    least_send = std::min(least_send, send_delay(t));
    least_receive = std::min(least_receive, receive_delay(t));
  }
  return exchange.base + least_send + least_receive;
}

unsigned Platform::max_exchange_delay() const {
  unsigned most_send = 0, most_receive = 0;
  for (unsigned t = 0; t < tiles; ++t) {
    most_send = std::max(most_send, send_delay(t));
    most_receive = std::max(most_receive, receive_delay(t));
  }
  return exchange.base + most_send + most_receive;
}

Address Platform::sram_end() const { return kSramBase + sram_bytes; }

Cycle Platform::cycles_of_ns(std::uint64_t ns) const {
  const __uint128_t product = static_cast<__uint128_t>(ns) * clock_hz;
  return static_cast<Cycle>((product + 999999999) / 1000000000);
}

std::string Platform::to_json() const {
  Writer writer;
  visit(*this, writer);
  return writer.root.dump(2) + "\n";
}

std::string platform_schema() {
  SchemaWriter writer;
  visit(Platform{}, writer);
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Tessera platform"}};
  schema.update(writer.root);
  return schema.dump(2) + "\n";
}

std::uint64_t Platform::hash() const {
  Writer writer;
  visit(*this, writer);
  writer.root.erase("name");
  writer.root.erase("description");
  writer.root.erase("faults");
  std::uint64_t h = 0xCBF29CE484222325u;
  for (const char c : writer.root.dump()) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return h;
}

std::vector<std::string> platform_names() {
  std::vector<std::string> names;
  for (const auto& file : detail::platform_files()) names.push_back(file.name);
  return names;
}

Platform load_platform_text(const std::string& text, const std::string& where) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw Error(Category::usage, fmt::format("platform: not valid JSON: {}", error.what()), where,
                "see docs/schema/platform.json");
  }
  Platform platform;
  Reader reader(json, where);
  visit(platform, reader);
  reader.check_unknown();
  return platform;
}

Platform load_platform(const std::string& name_or_path) {
  for (const auto& file : detail::platform_files())
    if (file.name == name_or_path) return load_platform_text(file.text, file.name);
  std::error_code ignored;
  const bool path = std::filesystem::exists(name_or_path, ignored) || name_or_path.find('/') != std::string::npos ||
                    (name_or_path.size() > 5 && name_or_path.compare(name_or_path.size() - 5, 5, ".json") == 0);
  if (!path)
    throw Error(Category::usage, fmt::format("there is no platform '{}'", name_or_path), "",
                fmt::format("did you mean '{}'? Built in: {}; or give a file name that ends in .json",
                            nearest(name_or_path, platform_names()), fmt::join(platform_names(), ", ")));
  return load_platform_text(read_file(name_or_path), name_or_path);
}

}  // namespace tessera
