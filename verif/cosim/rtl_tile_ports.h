// RtlTileModel, second part: the SRAM behind the memory ports of tile_core, words on the exchange port and packet lane.
#pragma once

#include "verif/cosim/rtl_tile_model.h"

namespace tessera {

template <class Model, bool traced>
void RtlTileModel<Model, traced>::write_memory(Address address, const std::uint8_t* bytes, std::size_t count) {
  const std::size_t offset = address - kSramBase;
  if (offset > sram_.size() || count > sram_.size() - offset) throw std::out_of_range("write outside the SRAM");
  if (count != 0) std::memcpy(sram_.data() + offset, bytes, count);
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::read_memory(Address address, std::uint8_t* bytes, std::size_t count) const {
  const std::size_t offset = address - kSramBase;
  if (offset > sram_.size() || count > sram_.size() - offset) throw std::out_of_range("read outside the SRAM");
  std::memcpy(bytes, sram_.data() + offset, count);
}

template <class Model, bool traced>
std::uint64_t RtlTileModel<Model, traced>::load(Address address) const {
  const std::size_t offset = address - kSramBase;
  std::uint64_t data = 0;
  if (offset <= sram_.size() - 8) std::memcpy(&data, sram_.data() + offset, 8);
  return data;
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::store(Address address, std::uint64_t data, unsigned mask) {
  const std::size_t offset = address - kSramBase;
  if (offset > sram_.size() - 8) return;
  if (mask == 0xff) {
    std::memcpy(sram_.data() + offset, &data, 8);
  } else {
    for (unsigned i = 0; i < 8; ++i)
      if ((mask >> i & 1) != 0) sram_[offset + i] = static_cast<std::uint8_t>(data >> 8 * i);
  }
  if (config_.tohost == 0 || tohost_) return;
  const Address word = config_.tohost & ~3u;
  if (word - address >= 8 || (mask >> (word - address) & 0xf) == 0) return;
  std::uint32_t value = 0;
  std::memcpy(&value, sram_.data() + (word - kSramBase), 4);
  // The store is in stage X, three cycles after its issue.
  if (value != 0) tohost_ = TileStop{TileStop::Kind::tohost, cycle() - 3, Zone::local, value};
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::serve_memory() {
  // Loads and fetch see the SRAM as it was before the store of the same cycle.
  // What is read stands on the pins after the edge.
  if (model_.fetch_req_o) fetch_data_ = load(model_.fetch_addr_o);
  if (model_.load_a_req_o) load_a_data_ = load(model_.load_a_addr_o);
  if (model_.load_b_req_o) load_b_data_ = load(model_.load_b_addr_o);
  if (model_.store_req_o && !tohost_) store(model_.store_addr_o, model_.store_data_o, model_.store_mask_o);
  if (model_.packet_store_req_o) {
    const Address address = model_.packet_store_addr_o;
    const std::uint64_t word = model_.packet_store_data_o;
    store(address & ~7u, word << (address & 4) * 8, 0xfu << (address & 4));
  }
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::serve_exchange(ExchangePort* port) {
  if (model_.tx_valid_o) {
    note_word(cycle());
    if (port != nullptr) port->send(cycle(), model_.tx_word_o);
    if (observer_ != nullptr) {
      ExchangeWord word;
      word.cycle = cycle();
      word.address = model_.tx_addr_o;
      word.word = model_.tx_word_o;
      word.out = true;
      observer_->exchanged(word);
    }
  }
  if (model_.rx_write_o) note_word(cycle() - 1);
  if (model_.rx_write_o && observer_ != nullptr) {
    ExchangeWord word;
    word.cycle = cycle() - 1;
    word.address = model_.rx_write_addr_o;
    word.word = model_.rx_write_word_o;
    observer_->exchanged(word);
  }
  if (model_.rx_listen_o) {
    const std::optional<Word> word = port != nullptr ? port->receive(cycle(), model_.rx_source_o) : std::nullopt;
    model_.rx_valid_i = word.has_value();
    model_.rx_word_i = word.value_or(0);
  }
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::serve_packets(PacketPort* packets) {
  model_.packet_rx_valid_i = 0;
  model_.packet_tx_ready_i = 0;
  if (packets == nullptr) return;
  if (model_.packet_tx_valid_o)
    model_.packet_tx_ready_i =
        packets->send(cycle(), model_.packet_tx_word_o, model_.packet_tx_first_o, model_.packet_tx_last_o);
  std::optional<std::pair<Word, bool>> word;
  if (early_packet_ && early_packet_->first == now_) {
    word = early_packet_->second;
    early_packet_.reset();
  } else if (now_ >= 0) {
    word = packets->receive(cycle());
  }
  if (!word) return;
  model_.packet_rx_valid_i = 1;
  model_.packet_rx_word_i = word->first;
  model_.packet_rx_last_i = word->second;
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::note_word(Cycle cycle) {
  first_word_ = std::min(first_word_, cycle);
  last_word_ = std::max(last_word_, cycle);
}

}  // namespace tessera
