// Merging by windows of time: FST readers push their changes and cannot be asked for the next one, so all changes of a
// window are gathered from every part, sorted by time and written. A reader skips whole sections outside a window.
#include "verif/cosim/wave_merge.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "gtkwave/fstapi.h"
#include "hw/error.h"

namespace tessera {
namespace {

constexpr std::size_t kViewSignals = 48;  // of one tile's RTL top level
// Changes in a section of the merged file, so that the writer finds a section in the host's cache (wave.h).
constexpr std::uint64_t kSectionChanges = 50'000;

struct ReaderClose {
  void operator()(void* reader) const { fstReaderClose(reader); }
};
using Reader = std::unique_ptr<void, ReaderClose>;

/// A signal of a part as it will stand in the merged file.
struct Variable {
  std::vector<std::string> scopes;
  std::string name;  // with its bit range, as in "pc_q [31:0]"
  std::uint32_t bits = 0;
  unsigned char type = 0;
  std::size_t part = 0;
  fstHandle handle = 0;
};

struct Part {
  Reader reader;
  std::vector<fstHandle> to_output;  // by the part's handle; 0 is not wanted
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> all;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1) {
    all.push_back(text.substr(begin, end - begin));
  }
  all.push_back(text.substr(begin));
  return all;
}

std::string join(const std::vector<std::string>& levels, const std::string& last) {
  std::string text;
  for (const std::string& level : levels) text += level + ".";
  return text + last;
}

std::string without_range(const std::string& name) { return name.substr(0, name.find(' ')); }

/// Verilator repeats the ports of the top module in a level above its scope (or at the root): that level is left out.
/// `depth` is the number of levels of the variables' place. A level that holds anything of its own stays as it is.
void drop_port_level(std::vector<Variable>& all, std::size_t depth) {
  // By name as well: a port that the top module drives through another signal has a handle of its own.
  std::set<fstHandle> inner;
  std::set<std::string> names;
  for (const Variable& v : all) {
    if (v.scopes.size() > depth) inner.insert(v.handle);
    if (v.scopes.size() == depth + 1) names.insert(v.name);
  }
  const auto repeated = [&](const Variable& v) {
    return v.scopes.size() == depth && (inner.count(v.handle) != 0 || names.count(v.name) != 0);
  };
  const bool own =
      std::any_of(all.begin(), all.end(), [&](const Variable& v) { return v.scopes.size() == depth && !repeated(v); });
  if (!own) all.erase(std::remove_if(all.begin(), all.end(), repeated), all.end());
}

/// Reads a part's hierarchy into `all`.
void read_hierarchy(void* reader, const MergeInput& input, std::size_t part, std::vector<Variable>& all) {
  const std::vector<std::string> prefix = split(input.scope, '.');
  std::vector<std::string> scopes = prefix;
  std::vector<Variable> found;
  std::set<std::string> tops;
  fstReaderIterateHierRewind(reader);
  while (const fstHier* h = fstReaderIterateHier(reader)) {
    if (h->htyp == FST_HT_SCOPE) {
      scopes.emplace_back(h->u.scope.name, h->u.scope.name_length);
      if (scopes.size() == prefix.size() + 1) tops.insert(scopes.back());
    } else if (h->htyp == FST_HT_UPSCOPE) {
      if (scopes.size() > prefix.size()) scopes.pop_back();
    } else if (h->htyp == FST_HT_VAR) {
      const auto& v = h->u.var;
      found.push_back({scopes, std::string(v.name, v.name_length), v.length, v.typ, part, v.handle});
    }
  }
  drop_port_level(found, prefix.size());
  // A model with a name has one level more: without its ports it holds nothing but the top module.
  drop_port_level(found, prefix.size() + 1);
  const bool only_scopes =
      std::all_of(found.begin(), found.end(), [&](const Variable& v) { return v.scopes.size() > prefix.size() + 1; });
  for (Variable& v : found) {
    if (tops.size() == 1 && only_scopes) v.scopes.erase(v.scopes.begin() + static_cast<std::ptrdiff_t>(prefix.size()));
    all.push_back(std::move(v));
  }
}

struct WriterClose {
  void operator()(void* writer) const { fstWriterClose(writer); }
};
using Writer = std::unique_ptr<void, WriterClose>;

/// Declares the variables, in scope order, and tells each part which output handle its own ones have.
void declare(void* writer, const std::vector<Variable>& variables, std::vector<Part>& parts) {
  std::vector<std::string> open;
  for (const Variable& v : variables) {
    std::size_t common = 0;
    while (common < open.size() && common < v.scopes.size() && open[common] == v.scopes[common]) ++common;
    while (open.size() > common) {
      fstWriterSetUpscope(writer);
      open.pop_back();
    }
    while (open.size() < v.scopes.size()) {
      fstWriterSetScope(writer, FST_ST_VCD_MODULE, v.scopes[open.size()].c_str(), nullptr);
      open.push_back(v.scopes[open.size()]);
    }
    auto& handles = parts[v.part].to_output;
    if (handles.size() <= v.handle) handles.resize(v.handle + 1, 0);
    const fstHandle handle = fstWriterCreateVar(writer, static_cast<fstVarType>(v.type), FST_VD_IMPLICIT, v.bits,
                                                v.name.c_str(), handles[v.handle]);
    if (handles[v.handle] == 0) handles[v.handle] = handle;
  }
  for (; !open.empty(); open.pop_back()) fstWriterSetUpscope(writer);
}

/// The changes of one window, from all parts.
class Window {
 public:
  struct Change {
    std::uint64_t time;
    fstHandle handle;
    std::uint32_t offset;
  };

  void begin(std::uint64_t from, std::uint64_t to) {
    from_ = from;
    to_ = to;
    changes_.clear();
    bytes_.clear();
  }
  void gather(Part& part) {
    part_ = &part;
    fstReaderSetFacProcessMaskAll(part.reader.get());
    fstReaderSetLimitTimeRange(part.reader.get(), from_, to_ - 1);
    fstReaderIterBlocks(part.reader.get(), &Window::on_change, this, nullptr);
  }
  std::vector<Change>& sorted() {
    const auto before = [](const Change& a, const Change& b) { return a.time < b.time; };
    // Those of a single part are.
    if (!std::is_sorted(changes_.begin(), changes_.end(), before))
      std::stable_sort(changes_.begin(), changes_.end(), before);
    return changes_;
  }
  [[nodiscard]] const char* value(const Change& c) const { return bytes_.data() + c.offset; }

 private:
  static void on_change(void* self, std::uint64_t time, fstHandle handle, const unsigned char* value) {
    auto& w = *static_cast<Window*>(self);
    if (time < w.from_ || time >= w.to_) return;
    if (handle >= w.part_->to_output.size() || w.part_->to_output[handle] == 0) return;
    const auto* text = reinterpret_cast<const char*>(value);
    w.changes_.push_back({time, w.part_->to_output[handle], static_cast<std::uint32_t>(w.bytes_.size())});
    w.bytes_.insert(w.bytes_.end(), text, text + std::char_traits<char>::length(text) + 1);
  }
  std::uint64_t from_ = 0, to_ = 0;
  Part* part_ = nullptr;
  std::vector<Change> changes_;
  std::vector<char> bytes_;
};

/// One group a part: the signals of its outermost levels.
std::vector<MergeResult::Group> choose_view(const std::vector<MergeInput>& inputs,
                                            const std::vector<Variable>& variables) {
  std::vector<MergeResult::Group> groups;
  for (std::size_t p = 0; p < inputs.size(); ++p) {
    MergeResult::Group group{inputs[p].scope, {}};
    std::size_t shallowest = ~std::size_t{0};
    const bool all = inputs[p].scope.size() > 4 && inputs[p].scope.compare(inputs[p].scope.size() - 4, 4, ".tlm") == 0;
    for (const Variable& v : variables) {
      if (v.part == p) shallowest = std::min(shallowest, v.scopes.size());
    }
    for (const Variable& v : variables) {
      if (v.part != p || v.type == FST_VT_VCD_PARAMETER) continue;
      if (!all && (v.scopes.size() != shallowest || group.signals.size() >= kViewSignals)) continue;
      std::string name = v.name;
      name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
      group.signals.push_back(join(v.scopes, name));
    }
    if (!group.signals.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

MergeResult merge_parts(const std::vector<MergeInput>& inputs, ScopePatterns& patterns, const std::string& output,
                        std::uint64_t from_ps, std::uint64_t to_ps, std::size_t window_events,
                        std::vector<std::string>& lost) {
  MergeResult result;
  std::vector<Part> parts(inputs.size());
  std::vector<Variable> found;
  std::uint64_t begin = ~std::uint64_t{0}, end = 0, sections = 1;
  for (std::size_t p = 0; p < inputs.size(); ++p) {
    parts[p].reader.reset(fstReaderOpen(inputs[p].path.c_str()));
    if (!parts[p].reader) {
      lost.push_back(inputs[p].scope);
      continue;
    }
    read_hierarchy(parts[p].reader.get(), inputs[p], p, found);
    if (fstReaderGetValueChangeSectionCount(parts[p].reader.get()) == 0) continue;
    begin = std::min(begin, fstReaderGetStartTime(parts[p].reader.get()));
    end = std::max(end, fstReaderGetEndTime(parts[p].reader.get()));
    sections = std::max(sections, fstReaderGetValueChangeSectionCount(parts[p].reader.get()));
  }
  std::vector<Variable> variables;
  for (Variable& v : found) {
    if (patterns.selects(join(v.scopes, without_range(v.name)))) variables.push_back(std::move(v));
  }
  result.signals = variables.size();
  result.view = choose_view(inputs, variables);

  const Writer writer(fstWriterCreate(output.c_str(), 1));
  if (!writer)
    throw Error(Category::usage, "the waveform cannot be written", output,
                "check the folder, free space and the limit of open files (ulimit -n); --wave-scope selects "
                "fewer tiles");
  fstWriterSetTimescale(writer.get(), -12);
  fstWriterSetPackType(writer.get(), FST_WR_PT_LZ4);
  fstWriterSetVersion(writer.get(), "Tessera");
  fstWriterSetDate(writer.get(), "");
  declare(writer.get(), variables, parts);

  begin = std::max(begin, from_ps);
  end = std::min(end, to_ps);
  std::vector<std::string> current(found.size() + 1);  // by output handle: values already written
  std::uint64_t written = ~std::uint64_t{0}, section = 0;
  std::uint64_t step = std::max<std::uint64_t>((end - std::min(begin, end)) / (sections * 4) + 1, 1000);
  Window window;
  for (std::uint64_t at = begin; at <= end && !variables.empty();) {
    window.begin(at, std::min(end, at + step - 1) + 1);
    for (Part& part : parts) {
      if (part.reader) window.gather(part);
    }
    std::vector<Window::Change>& changes = window.sorted();
    for (const Window::Change& c : changes) {
      const char* value = window.value(c);
      if (current[c.handle] == value) continue;
      current[c.handle] = value;
      if (c.time != written) {
        if (result.changes - section >= kSectionChanges) {
          section = result.changes;
          fstWriterFlushContext(writer.get());
        }
        fstWriterEmitTimeChange(writer.get(), written = c.time);
      }
      fstWriterEmitValueChange(writer.get(), c.handle, value);
      if (result.changes++ == 0) result.first_ps = c.time;
      result.last_ps = c.time;
    }
    at += step;
    // Aim at the memory that was asked for.
    if (changes.size() > window_events) step = std::max<std::uint64_t>(step / 2, 1000);
    if (changes.size() < window_events / 4) step *= 2;
  }
  // The dump reaches to the last time anything was sampled, even if nothing changed then.
  if (end != 0 && begin <= end && written != end) fstWriterEmitTimeChange(writer.get(), end);
  result.last_ps = std::max(result.last_ps, begin <= end ? end : 0);
  return result;
}

bool fst_is_whole(const std::string& fst) {
  std::ifstream in(fst, std::ios::binary);
  in.seekg(0, std::ios::end);
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(in.tellg(), 0));
  bool geometry = false, hierarchy = false;
  std::uint64_t at = 0;
  while (at + 9 <= size) {
    std::array<unsigned char, 9> head{};  // type, length of the block without the type, high byte first
    in.seekg(static_cast<std::streamoff>(at));
    if (!in.read(reinterpret_cast<char*>(head.data()), head.size())) return false;
    std::uint64_t length = 0;
    for (unsigned k = 1; k < 9; ++k) length = length << 8 | head[k];
    if (head[0] == FST_BL_SKIP || length < 8 || length > size - at - 1) return false;
    geometry = geometry || head[0] == FST_BL_GEOM;
    hierarchy = hierarchy || head[0] == FST_BL_HIER || head[0] == FST_BL_HIER_LZ4 || head[0] == FST_BL_HIER_LZ4DUO;
    at += 1 + length;
  }
  return at == size && geometry && hierarchy;
}

namespace {

[[noreturn]] void cannot_write(const std::string& file) {
  throw Error(Category::usage, "the waveform cannot be written", file, "check the folder and free space");
}

}  // namespace

void fst_to_vcd(const std::string& fst, const std::string& vcd) {
  const Reader reader(fstReaderOpen(fst.c_str()));
  if (!reader) throw std::runtime_error("cannot read " + fst);
  std::FILE* file = std::fopen(vcd.c_str(), "wb");
  if (file == nullptr) cannot_write(vcd);
  bool good = fstReaderProcessHier(reader.get(), file) != 0;
  fstReaderSetFacProcessMaskAll(reader.get());  // after the hierarchy, which makes the mask
  fstReaderIterBlocks(reader.get(), nullptr, nullptr, file);
  // The reader writes past the stream and tells no errors: when the disk is full one more byte does not go in either.
  good = std::fputc('\n', file) != EOF && std::fflush(file) == 0 && good;
  good = std::ferror(file) == 0 && good;
  good = std::fclose(file) == 0 && good;
  if (!good) cannot_write(vcd);
}

void write_view(const std::string& path, const std::string& wave, const std::vector<MergeResult::Group>& groups) {
  std::ofstream view(path);
  view << "[*] Signals of each traced tile: outermost level of RTL, contexts and ports of TLM.\n";
  view << "[dumpfile] \"" << std::filesystem::absolute(wave).string() << "\"\n";
  view << "[timestart] 0\n[size] 1600 900\n[pos] -1 -1\n";
  view << "*-20.0 0 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n";
  for (const MergeResult::Group& g : groups) view << "[treeopen] " << g.name << ".\n";
  for (const MergeResult::Group& g : groups) {
    view << "@800200\n-" << g.name << "\n";
    for (const std::string& signal : g.signals) {
      view << (signal.back() == ']' ? "@22\n" : "@28\n") << signal << "\n";
    }
    view << "@1000200\n-" << g.name << "\n";
  }
  if (!view.flush()) cannot_write(path);
}

}  // namespace tessera
