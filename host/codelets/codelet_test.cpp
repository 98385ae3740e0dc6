// Notes against the ABI's layout rules; names.
#include "host/codelets/codelet.h"

#include <gtest/gtest.h>

#include "hw/error.h"

namespace tessera {
namespace {

TEST(CodeletLibrary, OffsetsFollowTheAbi) {
  std::size_t checked = 0;
  for (const auto& codelet : CodeletLibrary::builtin().codelets()) {
    std::uint32_t at = 0, align = 1;
    for (const auto& field : codelet.fields) {
      const std::uint32_t own = field.is_value() ? field_type_bytes(field.type) : 4;
      at = (at + own - 1) / own * own;
      EXPECT_EQ(field.offset, at) << codelet.name << "." << field.name;
      EXPECT_GE(field.align, field_type_bytes(field.type)) << codelet.name << "." << field.name;
      at += field.state_bytes();
      align = std::max(align, own);
      ++checked;
    }
    EXPECT_EQ(codelet.state_bytes, (at + align - 1) / align * align) << codelet.name;
  }
  EXPECT_GT(checked, 300u);
}

TEST(CodeletLibrary, UnknownNameGetsTheNearest) {
  try {
    (void)CodeletLibrary::builtin().at("Copy_u31");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::usage);
    EXPECT_NE(e.advice().find("Copy_u32"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
