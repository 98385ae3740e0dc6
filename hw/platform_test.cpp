// Platform files: what is built in, strictness of the reader, canonical text, delays.
#include "hw/platform.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "hw/error.h"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

/// Loads pocket with one change; gives the message of the error, or "" if it loads.
template <typename Change>
std::string message_after(Change change) {
  Json json = Json::parse(load_platform("pocket").to_json());
  change(json);
  try {
    (void)load_platform_text(json.dump(), "my.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::usage);
    return error.what();
  }
  return "";
}

TEST(Platform, BuiltIn) {
  EXPECT_EQ(platform_names(), (std::vector<std::string>{"c2", "dss8440", "pocket"}));
  EXPECT_EQ(load_platform("pocket").tiles, 16u);
  EXPECT_EQ(load_platform("pocket").columns(), 4u);
  EXPECT_EQ(load_platform("c2").tiles, 1216u);
  EXPECT_EQ(load_platform("c2").columns(), 16u);
  const Platform big = load_platform("dss8440");
  EXPECT_EQ(big.ipus() * big.tiles * big.workers, 116736u);
}

TEST(Platform, Delays) {
  const Platform c2 = load_platform("c2");
  EXPECT_EQ(c2.send_delay(0), 14u);      // column 0: 7 columns from the spine
  EXPECT_EQ(c2.send_delay(7 * 76), 0u);  // columns 7 and 8 stand beside it
  EXPECT_EQ(c2.receive_delay(8 * 76), 0u);
  EXPECT_EQ(c2.receive_delay(1215), 14u);
  EXPECT_EQ(c2.exchange_delay(0, 1215), 48u);
  EXPECT_EQ(c2.min_exchange_delay(), 20u);
  EXPECT_EQ(c2.max_exchange_delay(), 48u);
  EXPECT_EQ(c2.cycles_of_ns(2000), 3200u);
  EXPECT_EQ(c2.sram_end(), 0x80000u);
}

TEST(Platform, AnyNumberOfTiles) {
  for (unsigned tiles : {1u, 3u, 5u, 17u, 4095u}) {
    EXPECT_EQ(message_after([&](Json& j) { j["tiles"] = tiles; }), "") << tiles;
    Json json = Json::parse(load_platform("pocket").to_json());
    json["tiles"] = tiles;
    const Platform p = load_platform_text(json.dump(), "x");
    unsigned last = 0;
    for (unsigned t = 0; t < tiles; ++t) {
      ASSERT_LT(p.column(t), p.columns());
      ASSERT_LE(p.column_distance(t), p.columns() / 2);
      last = p.column(t);
    }
    EXPECT_EQ(last + 1, p.columns());
  }
}

TEST(Platform, CanonicalRoundTrip) {
  for (const std::string& name : platform_names()) {
    const Platform p = load_platform(name);
    EXPECT_EQ(load_platform_text(p.to_json(), "x"), p);
    EXPECT_EQ(load_platform_text(p.to_json(), "x").hash(), p.hash());
  }
  EXPECT_NE(load_platform("c2").hash(), load_platform("dss8440").hash());
}

TEST(Platform, HashIgnoresNamesOnly) {
  const Platform p = load_platform("pocket");
  Platform q = p;
  q.name = "other";
  q.description = "";
  EXPECT_EQ(p.hash(), q.hash());
  q.exchange.base += 1;
  EXPECT_NE(p.hash(), q.hash());
}

TEST(Platform, StrictReader) {
  EXPECT_NE(message_after([](Json& j) { j["tile"] = 4; }).find("did you mean 'tiles'"), std::string::npos);
  EXPECT_NE(message_after([](Json& j) { j["exchange"]["bsae"] = 4; }).find("did you mean 'base'"), std::string::npos);
  EXPECT_NE(message_after([](Json& j) { j["exchange"]["bsae"] = 4; }).find("my.json, /exchange/bsae"),
            std::string::npos);
  EXPECT_NE(message_after([](Json& j) { j["tiles"] = 0; }).find("1..4095"), std::string::npos);
  EXPECT_NE(message_after([](Json& j) { j["tiles"] = 4096; }).find("1..4095"), std::string::npos);
  EXPECT_NE(message_after([](Json& j) { j["tiles"] = -1; }).find("1..4095"), std::string::npos);
  EXPECT_NE(message_after([](Json& j) { j["tiles"] = 1.5; }).find("integer"), std::string::npos);
  EXPECT_NE(message_after([](Json& j) { j["tiles"] = "16"; }).find("integer"), std::string::npos);
  EXPECT_NE(message_after([](Json& j) { j["workers"] = 5; }).find("/workers"), std::string::npos);
  EXPECT_NE(message_after([](Json& j) { j["sram_bytes"] = 65536 - 1024; }).find("65536..786432"), std::string::npos);
  EXPECT_NE(message_after([](Json& j) { j["sram_bytes"] = 100000; }).find("multiple of 1024"), std::string::npos);
  EXPECT_NE(message_after([](Json& j) { j.erase("sync"); }).find("/sync is missing"), std::string::npos);
  EXPECT_NE(message_after([](Json& j) { j["sync"] = 3; }).find("must be an object"), std::string::npos);
  EXPECT_NE(message_after([](Json& j) { j["name"] = 3; }).find("must be a string"), std::string::npos);
  EXPECT_NE(message_after([](Json& j) { j = Json::array(); }).find("must be an object"), std::string::npos);
}

TEST(Platform, SchemaInTheManual) {
  std::ifstream in(TESSERA_SOURCE "/docs/schema/platform.json");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(text, platform_schema()) << "put this text into docs/schema/platform.json";
  EXPECT_EQ(Json::parse(text)["properties"]["tiles"]["maximum"], 4095);
}

TEST(Platform, BadNamesAndFiles) {
  const auto message = [](const std::string& name) {
    try {
      (void)load_platform(name);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message("pockt").find("did you mean 'pocket'"), std::string::npos);
  EXPECT_NE(message("/nowhere/x.json").find("cannot read"), std::string::npos);
  EXPECT_NE(message("/").find("platform"), std::string::npos);
  EXPECT_NE(message("/dev/full").find("which has no end"), std::string::npos) << "a device without an end";
  EXPECT_THROW((void)load_platform_text("{", "x"), Error);
  EXPECT_THROW((void)load_platform_text("", "x"), Error);
}

}  // namespace
}  // namespace tessera
