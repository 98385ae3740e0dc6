// Numbers of the PCI Express standard that driver and model share: configuration-space offsets, capability ids, bits.
// Nothing here is particular to the machine but the identity of its functions.
#pragma once

#include <cstdint>

namespace tessera::pcie {

// Identity.
inline constexpr std::uint16_t kVendor = 0x1e55;  ///< not assigned by PCI-SIG; the machine is a model
inline constexpr std::uint16_t kDeviceRootPort = 0x0010, kDeviceUpstream = 0x0011, kDeviceDownstream = 0x0012,
                               kDeviceIpu = 0x00c2;
inline constexpr std::uint32_t kClassBridge = 0x060400, kClassAccelerator = 0x120000;

// Header, common.
inline constexpr unsigned kVendorId = 0x00, kDeviceId = 0x02, kCommand = 0x04, kStatus = 0x06, kRevision = 0x08,
                          kClassCode = 0x09, kCacheLine = 0x0c, kHeaderType = 0x0e, kBar0 = 0x10, kCapabilities = 0x34,
                          kInterruptLine = 0x3c, kInterruptPin = 0x3d;
inline constexpr std::uint16_t kCommandMemory = 1 << 1, kCommandBusMaster = 1 << 2, kCommandParity = 1 << 6,
                               kCommandSerr = 1 << 8, kCommandIntxOff = 1 << 10;
inline constexpr std::uint16_t kStatusCapabilities = 1 << 4, kStatusTargetAbortSent = 1 << 11,
                               kStatusTargetAbortGot = 1 << 12, kStatusMasterAbortGot = 1 << 13,
                               kStatusSystemError = 1 << 14, kStatusPoisonGot = 1 << 15;
// Type 0.
inline constexpr unsigned kSubsystemVendor = 0x2c, kSubsystem = 0x2e, kExpansionRom = 0x30;
// Type 1.
inline constexpr unsigned kPrimaryBus = 0x18, kSecondaryBus = 0x19, kSubordinateBus = 0x1a, kMemoryBase = 0x20,
                          kMemoryLimit = 0x22, kPrefetchBase = 0x24, kPrefetchLimit = 0x26, kPrefetchBaseHigh = 0x28,
                          kPrefetchLimitHigh = 0x2c, kSecondaryStatus = 0x1e, kBridgeControl = 0x3e;
inline constexpr std::uint16_t kBridgeParity = 1 << 0, kBridgeSerr = 1 << 1, kBridgeReset = 1 << 6;
// Base address registers.
inline constexpr std::uint32_t kBar64 = 0b100, kBarPrefetchable = 0b1000;

// Capabilities.
inline constexpr std::uint8_t kCapPower = 0x01, kCapExpress = 0x10, kCapMsix = 0x11;
inline constexpr std::uint16_t kExtCapAer = 0x0001, kExtCapVendor = 0x000b;
// Power management capability, from its start.
inline constexpr unsigned kPowerCaps = 0x02, kPowerControl = 0x04;
inline constexpr std::uint16_t kPowerState = 0x3, kPowerNoSoftReset = 1 << 3;
inline constexpr unsigned kExtendedStart = 0x100;
// PCI Express capability, from its start.
inline constexpr unsigned kExpressCaps = 0x02, kDeviceCaps = 0x04, kDeviceControl = 0x08, kDeviceStatus = 0x0a,
                          kLinkCaps = 0x0c, kLinkControl = 0x10, kLinkStatus = 0x12, kRootControl = 0x1c,
                          kDeviceCaps2 = 0x24, kDeviceControl2 = 0x28;
inline constexpr unsigned kPortEndpoint = 0, kPortRoot = 4, kPortUpstream = 5, kPortDownstream = 6;
inline constexpr std::uint32_t kDeviceCapsFlr = 1u << 28, kDeviceCapsRoleBased = 1u << 15;
inline constexpr std::uint16_t kDeviceControlCorrectable = 1 << 0, kDeviceControlNonFatal = 1 << 1,
                               kDeviceControlFatal = 1 << 2, kDeviceControlUnsupported = 1 << 3,
                               kDeviceControlFlr = 1 << 15;
inline constexpr std::uint16_t kDeviceStatusUnsupported = 1 << 3, kDeviceStatusFatal = 1 << 2,
                               kDeviceStatusNonFatal = 1 << 1, kDeviceStatusCorrectable = 1 << 0,
                               kDeviceStatusPending = 1 << 5;
inline constexpr std::uint32_t kLinkCapsActiveReporting = 1u << 20;
inline constexpr std::uint16_t kLinkStatusActive = 1 << 13;
// MSI-X capability, from its start.
inline constexpr unsigned kMsixControl = 0x02, kMsixTable = 0x04, kMsixPending = 0x08;
inline constexpr std::uint16_t kMsixEnable = 1 << 15, kMsixFunctionMask = 1 << 14;
// MSI-X table entry, 16 bytes.
inline constexpr unsigned kMsixEntryBytes = 16, kMsixAddressLow = 0, kMsixAddressHigh = 4, kMsixData = 8,
                          kMsixVectorControl = 12;
// Advanced error reporting, from its start.
inline constexpr unsigned kAerUncorrectable = 0x04, kAerUncorrectableMask = 0x08, kAerSeverity = 0x0c,
                          kAerCorrectable = 0x10, kAerCorrectableMask = 0x14, kAerControl = 0x18, kAerHeaderLog = 0x1c,
                          kAerRootCommand = 0x2c, kAerRootStatus = 0x30, kAerErrorSource = 0x34;
inline constexpr std::uint32_t kAerSurpriseDown = 1u << 5, kAerPoisoned = 1u << 12, kAerCompletionTimeout = 1u << 14,
                               kAerCompleterAbort = 1u << 15, kAerUnsupportedRequest = 1u << 20;
inline constexpr std::uint32_t kRootCorrectable = 1 << 0, kRootSeveralCorrectable = 1 << 1, kRootUncorrectable = 1 << 2,
                               kRootSeveralUncorrectable = 1 << 3, kRootFirstFatal = 1 << 4, kRootNonFatal = 1 << 5,
                               kRootFatal = 1 << 6;
// Vendor-specific extended capability of the card's upstream port: what its link has carried, read only; high words as
// of the last read of their low word. Id and version in the header, from its start.
inline constexpr unsigned kVendorHeader = 0x04, kVendorUpBytes = 0x08, kVendorDownBytes = 0x10, kVendorUpPackets = 0x18,
                          kVendorDownPackets = 0x20, kVendorBytes = 0x28;
inline constexpr std::uint16_t kVendorLinkCounters = 0x0001;
// The same of a root port: error messages that arrived.
inline constexpr unsigned kVendorCorrectable = 0x08, kVendorNonFatal = 0x0c, kVendorFatal = 0x10,
                          kVendorErrorBytes = 0x14;
inline constexpr std::uint16_t kVendorErrorCounters = 0x0002;

// Bus addresses that the root complex takes for messages, as on PCs.
inline constexpr std::uint64_t kMessageBase = 0xfee00000, kMessageSize = 0x00100000;

// The IPU's function.
inline constexpr unsigned kBarRegisters = 0, kBarTiles = 2, kBarMsix = 4;
inline constexpr unsigned kVectors = 8;
inline constexpr std::uint32_t kMsixBarSize = 0x1000, kMsixTableOffset = 0, kMsixPendingOffset = 0x800;

}  // namespace tessera::pcie
