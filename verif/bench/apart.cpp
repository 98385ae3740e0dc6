#include "verif/bench/apart.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "hw/error.h"

namespace tessera::bench {

std::string run_apart(const std::function<std::string()>& task) {
  int ends[2];
  if (pipe(ends) != 0) throw Error(Category::internal, "cannot make a pipe", "bench", "close other programs");
  const pid_t pid = fork();
  if (pid < 0) throw Error(Category::internal, "cannot start a process", "bench", "close other programs");
  if (pid == 0) {
    close(ends[0]);
    std::string text;
    try {
      text = task();
    } catch (const std::exception& error) {
      text = nlohmann::json{{"error", error.what()}}.dump();
    }
    const bool written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 1; n != 0;) {
    n = read(ends[0], buffer, sizeof buffer);
    if (n < 0 && errno != EINTR) break;
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return text;
}

}  // namespace tessera::bench
