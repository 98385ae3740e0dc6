// The coverage plan: every point by name, in groups. docs/verification-plan.md is written from it, collectors count its
// points and no others.
//
// A name is group/part/..; its parts are names of the instruction table, of the CSR and trap tables, slots, roles.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tessera::coverage {

struct Group {
  std::string name;
  std::string text;  ///< what its points mean
  std::size_t first = 0, count = 0;
};

class Plan {
 public:
  Plan();
  [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }
  [[nodiscard]] const std::vector<std::string>& points() const { return points_; }
  [[nodiscard]] std::size_t size() const { return points_.size(); }
  /// Number of a point; std::logic_error if the plan does not name it.
  [[nodiscard]] std::size_t at(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const { return index_.count(name) != 0; }

 private:
  void group(const char* name, const char* text);
  void point(const std::string& name);
  template <typename List>
  void points(const std::string& prefix, const List& last) {
    for (const auto& part : last) point(prefix + "/" + part);
  }
  void instructions();
  void operands();
  void pairs();
  void slots();
  void waits();
  void traps();
  void loops();
  void streams();
  void random_and_matrix();
  void csrs();
  void exchange();
  void packets();
  void debug();

  std::vector<Group> groups_;
  std::vector<std::string> points_;
  std::unordered_map<std::string, std::size_t> index_;
};

/// The plan as docs/verification-plan.md shows it.
[[nodiscard]] std::string plan_page(const Plan& plan);

/// How often each point was hit.
using Counts = std::vector<std::uint64_t>;
/// Adds the counts of a file; names that the plan does not know are an Error (an old file). Missing points are 0.
void add_file(const Plan& plan, const std::string& path, Counts& counts);
void write_file(const Plan& plan, const Counts& counts, const std::string& path);

}  // namespace tessera::coverage
