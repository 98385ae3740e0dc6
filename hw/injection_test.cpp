// The form of injected faults: what is read, what is refused and how the message helps.
#include "hw/injection.h"

#include <gtest/gtest.h>

#include "hw/error.h"

namespace tessera {
namespace {

std::string message(const std::string& text) {
  try {
    (void)parse_injection(text, "--inject");
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::usage);
    return error.what();
  }
  return "";
}

TEST(Injection, Reads) {
  const Injection i = parse_injection("link=0.3:bit_errors,rate_e12=50,at=1000000000000", "--inject");
  EXPECT_EQ(i.sort, "link");
  EXPECT_EQ(i.place, "0.3");
  EXPECT_EQ(i.kind, "bit_errors");
  EXPECT_EQ(i.value("rate_e12", 1), 50u);
  EXPECT_EQ(i.value("at", 1), 1000000000000u);
  EXPECT_EQ(i.value("count", 7), 7u);
  EXPECT_EQ(i.values.size(), 2u);
  EXPECT_EQ(i.text, "link=0.3:bit_errors,rate_e12=50,at=1000000000000");
  EXPECT_EQ(parse_injection("card=*:hang", "").place, "*");
  EXPECT_EQ(parse_injection("pcie=12:x", "").place, "12");
}

TEST(Injection, RefusesWhatHasAnotherForm) {
  for (const char* text : {"",
                           "link",
                           "link=0.3",
                           "link:down",
                           "=0.3:down",
                           "link=:down",
                           "link=0.:down",
                           "link=.3:down",
                           "link=0..3:down",
                           "link=a:down",
                           "link=0.3:",
                           "link=0.3:down,",
                           "link=0.3:down,at",
                           "link=0.3:down,at=",
                           "link=0.3:down,at=-1",
                           "link=0.3:down,at=1x",
                           "link=0.3:down,at= 1",
                           "link=0.3:down,=1",
                           "link=0.3:down,at=1000000000001",
                           "link=0.3:down,at=18446744073709551616",
                           "link=0.3:do wn",
                           "link=0.3:down,at=1,at=2",
                           "down:link=0.3"})
    EXPECT_NE(message(text).find("SORT=PLACE:KIND"), std::string::npos) << "'" << text << "' gave: " << message(text);
  EXPECT_NE(message("link=0.3:down,at=1x").find("'at=1x'"), std::string::npos);
  EXPECT_NE(message("link=0.3:down,at=1x").find("--inject"), std::string::npos);
}

TEST(Injection, Keys) {
  const Injection i = parse_injection("link=0.3:down,at=1", "");
  EXPECT_NO_THROW(check_injection_keys(i, {}, {"at", "for"}));
  EXPECT_NO_THROW(check_injection_keys(i, {"at"}, {}));
  EXPECT_THROW(check_injection_keys(i, {"for"}, {"at"}), Error);
  EXPECT_THROW(check_injection_keys(i, {}, {}), Error);
  try {
    check_injection_keys(i, {}, {"from", "for"});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("keys of down: from, for"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tessera
