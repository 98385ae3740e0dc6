#include "verif/bench/figure.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace tessera::bench {

namespace {

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Text after the colon of the first line of a /proc file that begins with `key`.
std::string proc_field(const char* path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return "unknown";
}

/// Four digits that count, without an exponent.
std::string digits(double value) {
  const int decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : value >= 0.1 ? 3 : 5;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

Seconds timed(const std::function<void()>& work) {
  const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID), wall = seconds_of(CLOCK_MONOTONIC);
  work();
  return {seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu, seconds_of(CLOCK_MONOTONIC) - wall};
}

void Figure::add_rate(double amount, const Seconds& seconds) {
  cpu.push_back(amount / std::max(seconds.cpu, 1e-9));
  wall.push_back(amount / std::max(seconds.wall, 1e-9));
}

void Figure::add_time(const Seconds& seconds) {
  cpu.push_back(seconds.cpu);
  wall.push_back(seconds.wall);
}

double smallest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}

double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

Figure ratio(std::string name, const Figure& top, const Figure& bottom, std::string target, std::string meaning) {
  if (top.cpu.size() != bottom.cpu.size()) throw std::logic_error("a ratio of figures with different rounds");
  Figure figure{std::move(name), "ratio", std::move(target), std::move(meaning), {}, {}};
  for (std::size_t i = 0; i < top.cpu.size(); ++i) figure.cpu.push_back(top.cpu[i] / bottom.cpu[i]);
  return figure;
}

nlohmann::ordered_json to_json(const Report& report) {
  nlohmann::ordered_json json;
  json["name"] = report.name;
  json["figures"] = nlohmann::ordered_json::array();
  for (const Figure& figure : report.figures) {
    nlohmann::ordered_json entry;
    entry["name"] = figure.name;
    entry["unit"] = figure.unit;
    if (!figure.target.empty()) entry["target"] = figure.target;
    entry["meaning"] = figure.meaning;
    const auto add = [&entry](const char* clock, const std::vector<double>& values) {
      if (values.empty()) return;
      entry[clock] = {{"min", smallest(values)}, {"median", median(values)}, {"max", largest(values)}};
      entry[clock]["rounds"] = values;
    };
    add("cpu", figure.cpu);
    add("wall", figure.wall);
    json["figures"].push_back(std::move(entry));
  }
  json["notes"] = report.notes;
  return json;
}

std::vector<std::string> table(const Report& report) {
  std::vector<std::string> lines;
  for (const Figure& figure : report.figures)
    lines.push_back(fmt::format("{:<9} {:<30} {:<10} {:>10} {:>10} {:>10} {:>11}  {}", report.name, figure.name,
                                figure.unit, digits(smallest(figure.cpu)), digits(median(figure.cpu)),
                                digits(largest(figure.cpu)), figure.wall.empty() ? "" : digits(median(figure.wall)),
                                figure.target));
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  for (const std::string& note : report.notes) lines.push_back(fmt::format("{:<9} ({})", report.name, note));
  return lines;
}

nlohmann::ordered_json host_json() {
  utsname system{};
  uname(&system);
  nlohmann::ordered_json json;
  json["cpu"] = proc_field("/proc/cpuinfo", "model name");
  json["cpus"] = std::thread::hardware_concurrency();
  std::ifstream load("/proc/loadavg");
  double average = 0;
  if (load >> average) json["load_average"] = average;
  json["machine"] = system.machine;
  json["system"] = fmt::format("{} {}", system.sysname, system.release);
  json["compiler"] = TESSERA_COMPILER;
  json["build"] = TESSERA_BUILD;
  return json;
}

}  // namespace tessera::bench
