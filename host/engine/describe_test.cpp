// What users read when the chip finds a fault: links, packets, controller, PCI Express.
#include <gtest/gtest.h>

#include "host/engine/engine.h"
#include "hw/generated/machine.h"

namespace tessera::engine {
namespace {

using driver::ExceptionInfo;

constexpr Address kTable = kSramBase + 0x1000;

/// One tile with a packet table of two descriptors: to IPU 3 tile 17, and with an xbase to IPU 1 tile 2.
executable::Executable packets() {
  executable::Executable e;
  executable::Program p;
  p.tiles = 2;
  PacketHeader header;
  header.descriptors = 2;
  std::vector<std::uint64_t> table{header.pack()};
  PacketDescriptor d;
  d.kind = 1;
  d.words = 8;
  PacketRemote remote;
  remote.ipu = 3;
  remote.tile = 17;
  remote.offset = 0x400;
  table.insert(table.end(), {d.pack(), remote.pack()});
  d.remote_base = 2;
  remote.ipu = 1;
  remote.tile = 2;
  remote.offset = 0x8;
  table.insert(table.end(), {d.pack(), remote.pack()});
  p.contents.emplace_back();
  for (const std::uint64_t w : table) {
    p.contents[0].push_back(static_cast<std::uint32_t>(w));
    p.contents[0].push_back(static_cast<std::uint32_t>(w >> 32));
  }
  p.blobs = {{1, kTable, 0}};
  p.phases = {{"halo to the right", 0, 0, 0, 0}};
  p.tables = {{1, kTable, kTable + 40, 0}};
  e.programs = {p};
  e.instances = {{0, 0, 0}, {1, 0, 1}};
  return e;
}

ExceptionInfo fault(ExceptionInfo::Kind kind, std::uint32_t value) {
  ExceptionInfo info;
  info.kind = kind;
  info.ipu = 1;
  info.tile = 1;
  info.value = value;
  return info;
}

TEST(Describe, PacketThatNobodyTakesNamesItsDescriptorsAndAddress) {
  const executable::Executable e = packets();
  const std::string text = describe(e, fault(ExceptionInfo::Kind::no_destination, 0x410));
  EXPECT_EQ(text,
            "IPU 1 tile 1: a packet that nobody takes"
            "\n  packet halo to the right: descriptor 0 of 2 at 0x41008, 8 words to IPU 3 tile 17 offset 0x400"
            "\n     or halo to the right: descriptor 1 of 2 at 0x41018, 8 words to IPU 1 tile 2 offset 0x8 + xbase2");
  // Outside the words of the first.
  EXPECT_EQ(describe(e, fault(ExceptionInfo::Kind::no_destination, 0x420)).find("tile 17"), std::string::npos);
  ExceptionInfo other = fault(ExceptionInfo::Kind::no_destination, 0x420);
  other.ipu = 5;  // runs no program of this executable
  EXPECT_EQ(describe(e, other), "IPU 5 tile 1: a packet that nobody takes, offset 0x420");
}

TEST(Describe, FaultsOutsideTheTilesNameTheirPlace) {
  const executable::Executable e = packets();
  ExceptionInfo info = fault(ExceptionInfo::Kind::link_failed, 1 << 8 | 4);
  info.detail = "link 1.4 to 2.6 (rail): failed, 0 lanes\ntile 1: in x.packet, pc 0x00040100";
  info.stands = {{{1}, "tile 1: in x.packet", 0x40100}};
  EXPECT_EQ(describe(e, info),
            "IPU-Link 1.4 has failed: link 1.4 to 2.6 (rail): failed, 0 lanes\n  tile 1: in x.packet, pc 0x40100");
  ExceptionInfo died = fault(ExceptionInfo::Kind::card, 7);
  died.reason = "its firmware has crashed";
  EXPECT_EQ(describe(e, died), "the controller of IPU 1's card has died: its firmware has crashed");
  EXPECT_NE(describe(e, fault(ExceptionInfo::Kind::pcie, 7)).find("PCI Express or DMA error of IPU 1"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::engine
