// tessera devices: what the driver finds on PCI Express and hears from the cards' controllers. Nothing shown here is
// taken from the platform file: that only says which machine is simulated.

#include <fmt/format.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/cli/commands.h"
#include "host/cli/machine.h"
#include "host/driver/driver.h"
#include "hw/error.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

struct DevicesOptions {
  MachineOptions machine;
  bool all_links = false;
};

std::string address_text(PciAddress at) { return fmt::format("{:02x}:{:02x}.{}", at.bus, at.device, at.function); }

const char* bar_use(unsigned bar) { return bar == 0 ? "registers" : bar == 2 ? "tile memory" : "MSI-X"; }

std::string size_text(std::uint64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  return bytes % 1024 == 0 ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} bytes", bytes);
}

nlohmann::ordered_json link_json(unsigned ipu, const driver::LinkInfo& link) {
  nlohmann::ordered_json json;
  json["ipu"] = ipu;
  json["port"] = link.port;
  json["state"] = driver::to_string(link.state);
  json["lanes"] = link.lanes;
  json["peer"] = {{"ipu", link.peer_ipu}, {"port", link.peer_port}};
  json["use"] = driver::to_string(link.use);
  json["outstanding"] = link.outstanding;
  json["packets_sent"] = link.packets_sent;
  json["words_sent"] = link.words_sent;
  json["packets_received"] = link.packets_received;
  json["words_received"] = link.words_received;
  json["crc_errors"] = link.crc_errors;
  json["sequence_errors"] = link.sequence_errors;
  json["replays"] = link.replays;
  json["timeouts"] = link.timeouts;
  json["trainings"] = link.trainings;
  json["busy_cycles"] = link.busy_cycles;
  json["stalled_cycles"] = link.stalled_cycles;
  return json;
}

/// "IPU 1: 4 direct, 2 crossed; IPU 2: 2 rail (1 down)".
std::string links_text(const std::vector<driver::LinkInfo>& links) {
  std::map<unsigned, std::map<driver::LinkInfo::Use, std::pair<unsigned, unsigned>>> peers;  // all, not up
  for (const driver::LinkInfo& link : links) {
    auto& [all, bad] = peers[link.peer_ipu][link.use];
    ++all;
    bad += link.state == driver::LinkInfo::State::up ? 0 : 1;
  }
  std::string text;
  for (const auto& [peer, uses] : peers) {
    text += fmt::format("{}to IPU {}:", text.empty() ? "" : "; ", peer);
    bool first = true;
    for (const auto& [use, count] : uses) {
      text += fmt::format("{} {} {}", first ? "" : ",", count.first, driver::to_string(use));
      if (count.second != 0) text += fmt::format(" ({} not up)", count.second);
      first = false;
    }
  }
  return text.empty() ? "none" : text;
}

void show_card(Context& context, driver::Driver& driver, unsigned card) {
  driver::CardController& controller = driver.card(card);
  const driver::CardInfo info = controller.info();
  const std::string meaning = reg::card::text(controller.state()), state = meaning.substr(0, meaning.find(':'));
  auto& entry = context.result["cards"].emplace_back();
  entry["card"] = card;
  entry["state"] = state;
  entry["serial"] = info.serial;
  entry["firmware"] = fmt::format("{}.{}", info.firmware >> 16, info.firmware & 0xffff);
  entry["ipus"] = info.ipus;
  entry["ready_us"] = info.ready_us;
  entry["watchdog_restarts"] = info.restarts;
  entry["links_up"] = info.links_up;
  entry["links_down"] = info.links_down;
  context.print(fmt::format(
      "card {:<3} {}, serial {:08x}, firmware {}, ready {} us after power-on, {} of {} links up{}", card, state,
      info.serial, entry["firmware"].get<std::string>(), info.ready_us, info.links_up, info.links_up + info.links_down,
      info.restarts == 0 ? "" : fmt::format(", reset {} times by its watchdog", info.restarts)));
}

/// What a card's controller says of an IPU, if it still says anything.
struct CardSays {
  bool answers = true;
  driver::CardSensors sensors{};
  std::uint32_t mhz = 0;
};

CardSays ask(driver::Driver& driver, unsigned card, unsigned on_card) {
  CardSays says;
  try {
    driver::CardController& controller = driver.card(card);
    says.sensors = controller.sensors(on_card);
    says.mhz = controller.clock(on_card);
  } catch (const Error& error) {
    if (error.category() != Category::device_exception) throw;
    says.answers = false;
  }
  return says;
}

/// Shows one thing; what is wrong with it is shown in its place, and the rest still is. Keeps the first error.
void attempt(Context& context, const std::string& what, std::exception_ptr& first, const std::function<void()>& show) {
  try {
    show();
  } catch (const Error& error) {
    if (error.category() != Category::device_exception) throw;
    if (first == nullptr) first = std::current_exception();
    const std::string where = error.where().substr(0, error.where().find('\n'));
    context.print(fmt::format("{}{}{}", what, error.message(), where.empty() ? "" : " (" + where + ")"));
    context.result["failed"].push_back({{"what", what}, {"message", error.message()}, {"where", error.where()}});
  }
}

void show_ipu(Context& context, driver::Driver& driver, unsigned ipu, unsigned on_card, bool all_links) {
  const driver::IpuInfo& info = driver.info(ipu);
  const CardSays says = ask(driver, info.card, on_card);
  const driver::CardSensors& sensors = says.sensors;
  const std::optional<driver::Claim> holder = driver.holder(ipu);
  const std::string state = driver.state(ipu);
  auto& entry = context.result["ipus"].emplace_back();
  entry["ipu"] = ipu;
  entry["card"] = driver.info(ipu).card;
  entry["address"] = address_text(info.function);
  entry["tiles"] = info.tiles;
  entry["sram_bytes"] = info.sram_bytes;
  if (says.answers) {
    entry["clock_mhz"] = says.mhz;
    entry["temperature_c"] = sensors.temperature_mc / 1000.0;
    entry["power_w"] = sensors.power_mw / 1000.0;
    entry["alarm"] = sensors.alarm;
  }
  entry["state"] = state;
  entry["claimed_by"] = holder ? nlohmann::ordered_json(holder->client) : nlohmann::ordered_json();
  std::string bars;
  for (const driver::IpuInfo::Bar& bar : info.bars) {
    entry["bars"].push_back({{"bar", bar.number}, {"address", bar.address}, {"bytes", bar.bytes}});
    bars += fmt::format("{}BAR{} 0x{:x} {} {}", bars.empty() ? "" : ", ", bar.number, bar.address, size_text(bar.bytes),
                        bar_use(bar.number));
  }
  const std::vector<driver::LinkInfo> links = driver.links(ipu);
  for (const driver::LinkInfo& link : links) context.result["links"].push_back(link_json(ipu, link));
  const std::string sensed = says.answers
                                 ? fmt::format("{} MHz, {:.1f} C, {:.1f} W{}", says.mhz, sensors.temperature_mc / 1000.0,
                                               sensors.power_mw / 1000.0, sensors.alarm ? " ALARM" : "")
                                 : "the controller does not answer";
  context.print(fmt::format("  IPU {:<3} {}  {} tiles x {}, {}, {}, {}", ipu, address_text(info.function), info.tiles,
                            size_text(info.sram_bytes), sensed, state,
                            holder ? "claimed by " + holder->client : "free"));
  context.print(fmt::format("          {}", bars));
  context.print(fmt::format("          links {}", links_text(links)));
  if (!all_links) return;
  for (const driver::LinkInfo& link : links) context.print("            " + driver::link_text(ipu, link));
}

int run_devices(Context& context, const DevicesOptions& options) {
  Progress progress(context.quiet);
  const Platform platform = load_platform(options.machine.platform);
  options.machine.check(platform);
  const executable::Executable nothing;
  Machine machine(context, options.machine, platform, nothing, progress);
  driver::Driver& driver = machine.driver();
  for (const char* key : {"cards", "ipus", "links"}) context.result[key] = nlohmann::ordered_json::array();
  unsigned ipu = 0;
  std::exception_ptr failed;
  for (unsigned card = 0; card < driver.cards(); ++card) {
    attempt(context, fmt::format("card {:<3} ", card), failed, [&] { show_card(context, driver, card); });
    for (unsigned on_card = 0; ipu < driver.ipus() && driver.info(ipu).card == card; ++ipu, ++on_card)
      attempt(context, fmt::format("  IPU {:<3} ", ipu), failed,
              [&] { show_ipu(context, driver, ipu, on_card, options.all_links); });
  }
  context.result["cycle"] = machine.system().now();
  Shutdown::check();
  if (failed != nullptr) std::rethrow_exception(failed);
  machine.require_all_ipus();
  return 0;
}

}  // namespace

void add_devices_command(CLI::App& app, Context& context) {
  add_command(app, context, "devices", "What the driver finds: cards, IPUs, links, as PCI Express and controllers tell",
              "tessera devices --platform dss8440", [](CLI::App& sub) -> Body {
                auto options = std::make_shared<DevicesOptions>();
                options->machine.add_platform_to(sub);
                sub.add_flag("--all-links", options->all_links, "A line for each link, with its counters");
                return [options](Context& c) { return run_devices(c, *options); };
              });
}

}  // namespace tessera::cli
