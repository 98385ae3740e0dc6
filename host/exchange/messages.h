// What an exchange phase shall move: messages between tiles of one IPU, in words. Input of the scheduler and the
// checker.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera {
struct Platform;
}

namespace tessera::exchange {

/// Delay of a word from s to d: base + send[s] + receive[d] cycles.
struct Delays {
  unsigned base = 20;
  std::vector<unsigned> send;     ///< one a tile
  std::vector<unsigned> receive;  ///< one a tile
  [[nodiscard]] unsigned tiles() const { return static_cast<unsigned>(send.size()); }
};
[[nodiscard]] Delays delays_of(const Platform& platform);

/// A place in a tile's memory: word offset from the SRAM start (base 0) or from CSR xbase1..3.
struct Place {
  std::uint16_t tile = 0;
  std::uint8_t base = 0;
  std::uint32_t address = 0;
};

/// Messages of one phase. Between them no destination word may be written twice, and no tile may send a word that it
/// receives: the checker proves both.
class Messages {
 public:
  struct Message {
    std::uint32_t words;
    std::uint32_t first_source, sources;            ///< in places()
    std::uint32_t first_destination, destinations;  ///< in places()
  };

  /// `words` words from source to every destination at once (multicast). 0 words or no destination: nothing.
  void add(Place source, const Place* destinations, std::size_t count, std::uint32_t words) {
    add_from(&source, 1, destinations, count, words);
  }
  void add(Place source, Place destination, std::uint32_t words) { add(source, &destination, 1, words); }
  void add(Place source, const std::vector<Place>& destinations, std::uint32_t words) {
    add(source, destinations.data(), destinations.size(), words);
  }
  /// Every candidate sends; each destination listens to the tile in its CSR xsource, which must be a candidate.
  void add_selected(const std::vector<Place>& candidates, const std::vector<Place>& destinations, std::uint32_t words) {
    add_from(candidates.data(), candidates.size(), destinations.data(), destinations.size(), words);
  }

  [[nodiscard]] const std::vector<Message>& list() const { return list_; }
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  void reserve(std::size_t messages, std::size_t places) {
    list_.reserve(messages);
    places_.reserve(places);
  }

 private:
  void add_from(const Place* sources, std::size_t source_count, const Place* destinations, std::size_t count,
                std::uint32_t words) {
    if (words == 0 || count == 0 || source_count == 0) return;
    const auto first = static_cast<std::uint32_t>(places_.size());
    places_.insert(places_.end(), sources, sources + source_count);
    places_.insert(places_.end(), destinations, destinations + count);
    list_.push_back({words, first, static_cast<std::uint32_t>(source_count),
                     first + static_cast<std::uint32_t>(source_count), static_cast<std::uint32_t>(count)});
  }

  std::vector<Message> list_;
  std::vector<Place> places_;
};

}  // namespace tessera::exchange
