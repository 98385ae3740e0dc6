// tessera-coverage: the plan as a page; counts of many files merged into a table, a page of HTML and an exit code.
//
//   tessera-coverage plan                      writes docs/verification-plan.md to standard output
//   tessera-coverage report FOLDER [--html FILE] [--misses N]
//                                              merges FOLDER/*.points; exit code 1 if a point was missed
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "hw/error.h"
#include "verif/coverage/plan.h"

namespace fs = std::filesystem;
using namespace tessera::coverage;  // NOLINT: a small program about nothing else

namespace {

std::size_t hit_of(const Group& group, const Counts& counts) {
  std::size_t hit = 0;
  for (std::size_t n = group.first; n < group.first + group.count; ++n) hit += counts[n] != 0;
  return hit;
}

void write_html(const Plan& plan, const Counts& counts, const std::string& path) {
  std::ofstream out(path);
  out << "<!doctype html><meta charset=\"utf-8\"><title>Tessera: coverage of the plan</title>\n"
         "<style>body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:.1em .8em;"
         "text-align:left}td.n{text-align:right}.miss{background:#fdd}.hit{background:#dfd}</style>\n"
         "<h1>Coverage of the plan</h1>\n<table><tr><th>group<th>hit<th>points\n";
  for (const Group& group : plan.groups()) {
    const std::size_t hit = hit_of(group, counts);
    out << fmt::format("<tr class=\"{}\"><td><a href=\"#{}\">{}</a><td class=n>{}<td class=n>{}\n",
                       hit == group.count ? "hit" : "miss", group.name, group.name, hit, group.count);
  }
  out << "</table>\n";
  for (const Group& group : plan.groups()) {
    out << fmt::format("<h2 id=\"{}\">{}</h2>\n<p>{}</p>\n<table>\n", group.name, group.name, group.text);
    for (std::size_t n = group.first; n < group.first + group.count; ++n) {
      out << fmt::format("<tr class=\"{}\"><td>{}<td class=n>{}\n", counts[n] != 0 ? "hit" : "miss", plan.points()[n],
                         counts[n]);
    }
    out << "</table>\n";
  }
  if (!out) throw tessera::Error(tessera::Category::usage, "cannot write the page", path);
}

int report(const std::string& folder, const std::string& html, std::size_t misses) {
  const Plan plan;
  Counts counts(plan.size());
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".points") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) add_file(plan, file.string(), counts);
  std::size_t all = 0;
  fmt::print("{:<12} {:>6} {:>7}\n", "group", "hit", "points");
  for (const Group& group : plan.groups()) {
    const std::size_t hit = hit_of(group, counts);
    all += hit;
    fmt::print("{:<12} {:>6} {:>7}{}\n", group.name, hit, group.count, hit == group.count ? "" : "  *");
  }
  fmt::print("{:<12} {:>6} {:>7}  from {} files\n", "all", all, plan.size(), files.size());
  std::size_t shown = 0;
  for (std::size_t n = 0; n < plan.size() && shown < misses; ++n) {
    if (counts[n] == 0) fmt::print("missed: {}\n", plan.points()[n]), ++shown;
  }
  if (plan.size() - all > shown) fmt::print("and {} more\n", plan.size() - all - shown);
  if (!html.empty()) write_html(plan, counts, html);
  return all == plan.size() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"coverage of the verification plan"};
  app.require_subcommand(1);
  std::string folder, html;
  std::size_t misses = 10'000;
  app.add_subcommand("plan", "the plan as docs/verification-plan.md");
  CLI::App* merge = app.add_subcommand("report", "merges counts and shows them");
  merge->add_option("folder", folder, "folder with *.points")->required();
  merge->add_option("--html", html, "also as a page");
  merge->add_option("--misses", misses, "name at most so many missed points");
  CLI11_PARSE(app, argc, argv);
  try {
    if (merge->parsed()) return report(folder, html, misses);
    std::fputs(plan_page(Plan()).c_str(), stdout);
    return 0;
  } catch (const tessera::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return tessera::exit_code(error.category());
  }
}
