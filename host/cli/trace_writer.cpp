#include "host/cli/trace_writer.h"

#include <fmt/format.h>

#include "hw/disassembler.h"
#include "hw/error.h"
#include "hw/generated/machine.h"

namespace tessera::cli {

namespace {

using Buffer = fmt::memory_buffer;

template <typename... Args>
void put(Buffer& out, fmt::format_string<Args...> text, Args&&... args) {
  fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
}

void put_writes(Buffer& out, const RetireRecord& r) {
  if (r.xrd != 0) put(out, " {}={:08x}", x_register_name(r.xrd), r.xval);
  for (const auto& f : r.fwrite) {
    if (f.valid == 0) continue;
    put(out, " {}={:08x}", f_register_name(f.reg), static_cast<std::uint32_t>(f.bits));
    if (f.valid == 2) put(out, " {}={:08x}", f_register_name(f.reg + 1u), static_cast<std::uint32_t>(f.bits >> 32));
  }
  if (r.fflags != 0) put(out, " fflags|={:02x}", r.fflags);
  if (r.csr != 0) {
    const char* name = csr_name(r.csr);
    put(out, " {}={:08x}", name != nullptr ? name : "csr", r.csr_value);
  }
  if (r.mem_write) {
    unsigned bytes = 0;
    for (unsigned mask = r.write_mask; mask != 0; mask >>= 1) bytes += mask & 1;
    put(out, " [{:08x}]={:0{}x}", r.write_addr, r.write_data, 2 * bytes);
  } else if (r.mem_read) {
    put(out, " [{:08x}]", r.read_addr[0]);
  }
  if (r.run[0] != 0) put(out, " run={} pc={:08x} a0={:08x} a1={:08x}", r.run[0], r.run[1], r.run[2], r.run[3]);
}

}  // namespace

TraceWriter::TraceWriter(const std::string& path)
    : path_(path), whole_(path), file_(whole_.file()), at_end_([this] { close(); }) {
  if (file_ == nullptr)
    throw Error(Category::usage, "cannot write the instruction trace", path, "check the path and free space");
  std::setvbuf(file_, nullptr, _IOFBF, 1 << 18);
}

void TraceWriter::retired(const RetireRecord& r) {
  if (file_ == nullptr) return;
  Buffer out;
  put(out, "{:10} {}{} {:08x} {:08x} {} {}", r.cycle, r.context == 0 ? 's' : 'w', int{r.context}, r.pc, r.word,
      r.paired ? '|' : ' ', disassemble(r.word, r.pc));
  if (r.trap) {
    const char* text = trap_text(r.cause);
    put(out, "  trap {} ({}) {:08x}", r.cause, text != nullptr ? text : "?", r.tval);
  } else {
    out.push_back(' ');
    put_writes(out, r);
  }
  out.push_back('\n');
  std::fwrite(out.data(), 1, out.size(), file_);
  ++lines_;
}

void TraceWriter::exchanged(const ExchangeWord& w) {
  if (file_ == nullptr) return;
  std::fprintf(file_, "%10llu x  %08x %08x   %s\n", static_cast<unsigned long long>(w.cycle), w.address, w.word,
               w.out ? "sent" : "received");
  ++lines_;
}

void TraceWriter::close() {
  if (file_ == nullptr) return;
  file_ = nullptr;
  if (!whole_.commit())
    throw Error(Category::usage, "the instruction trace could not be written whole", path_, "check free space");
}

void TraceWriter::check() const {
  if (file_ != nullptr && std::ferror(file_) != 0)
    throw Error(Category::usage, "the instruction trace could not be written whole", path_, "check free space");
}

}  // namespace tessera::cli
