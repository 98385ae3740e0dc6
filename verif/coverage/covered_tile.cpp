// Everything goes through; records, releases, tables and debug commands are shown to the collector on the way.
#include "verif/coverage/covered_tile.h"

#include "hw/generated/machine.h"

namespace tessera::coverage {
namespace {

class CoveredTile final : public TileModel {
 public:
  CoveredTile(const TileConfig& config, std::unique_ptr<TileModel> tile, const std::shared_ptr<Totals>& totals)
      : config_(config), tile_(std::move(tile)), collector_(config, totals), split_(collector_) {
    tile_->observe(&split_);
    if (tile_->interval_based()) return;
    collector_.read_packets_from([this] {
      std::vector<std::uint8_t> memory(config_.sram_bytes);
      tile_->read_memory(kSramBase, memory.data(), memory.size());
      return memory;
    });
  }
  ~CoveredTile() override { tile_->observe(nullptr); }

  [[nodiscard]] TileMode mode() const override { return tile_->mode(); }
  [[nodiscard]] bool interval_based() const override { return tile_->interval_based(); }
  void start(Address pc, Cycle at) override { tile_->start(pc, at); }
  void start_context(ContextId context, Address pc, Cycle at) override { tile_->start_context(context, pc, at); }

  TileStop run(Cycle limit, ExchangePort* port, PacketPort* packets) override {
    const TileStop stop = tile_->run(limit, port, packets);
    collector_.flush();
    if (stop.kind == TileStop::Kind::exchange) {
      ExchangeInputs in;
      in.sram = tile_->sram();
      in.sram_bytes = config_.sram_bytes;
      in.table = stop.value;
      in.issue = stop.cycle;
      in.release = release_;
      for (unsigned k = 0; k < 3; ++k) in.xbase[k] = tile_->supervisor_csr(csr::xbase1 + k);
      in.xsource = tile_->supervisor_csr(csr::xsource);
      in.tiles = config_.tiles;
      collector_.exchange(in);
    }
    if (stop.kind == TileStop::Kind::packet && tile_->sram() != nullptr) collector_.packet(stop.value, tile_->sram());
    return stop;
  }

  void release(Cycle z, bool vote) override {
    release_ = z;
    collector_.released(z);
    tile_->release(z, vote);
  }
  void finish_exchange(const ExchangeResult& result) override {
    collector_.exchange_ended(result);
    tile_->finish_exchange(result);
  }
  void finish_packets(Cycle cycle, std::uint32_t received_words) override {
    collector_.packet_ended(false);
    tile_->finish_packets(cycle, received_words);
  }
  void fail_packets(Cycle cycle, std::uint32_t received_words, std::uint32_t cause, std::uint32_t tval) override {
    collector_.packet_ended(true);
    tile_->fail_packets(cycle, received_words, cause, tval);
  }
  void packet_traffic(const PacketTraffic& traffic) override { tile_->packet_traffic(traffic); }

  void write_memory(Address address, const std::uint8_t* bytes, std::size_t count) override {
    tile_->write_memory(address, bytes, count);
  }
  void read_memory(Address address, std::uint8_t* bytes, std::size_t count) const override {
    tile_->read_memory(address, bytes, count);
  }
  std::uint8_t* sram() override { return tile_->sram(); }
  void memory_written(Address address, std::size_t count) override { tile_->memory_written(address, count); }
  [[nodiscard]] std::uint32_t supervisor_csr(unsigned number) const override { return tile_->supervisor_csr(number); }
  [[nodiscard]] ContextState context(ContextId context) const override { return tile_->context(context); }
  [[nodiscard]] std::optional<TileException> exception() const override { return tile_->exception(); }
  [[nodiscard]] std::uint64_t retired() const override { return tile_->retired(); }
  void observe(RetireObserver* observer) override { split_.other = observer; }
  void observe_events(EventObserver* observer) override { tile_->observe_events(observer); }

  void debug_attach(bool attached) override { tile_->debug_attach(attached); }
  void debug_halt(std::uint8_t contexts, Cycle at) override {
    for (unsigned c = 0; c < 7; ++c) {
      if ((contexts >> c & 1) != 0) collector_.debug_halt(c, at, tile_->context(static_cast<ContextId>(c)).run);
    }
    tile_->debug_halt(contexts, at);
  }
  void debug_resume(std::uint8_t contexts, Cycle at) override {
    for (unsigned c = 0; c < 7; ++c) {
      if ((contexts >> c & 1) != 0) collector_.debug_resume(c, at);
    }
    tile_->debug_resume(contexts, at);
  }
  [[nodiscard]] std::uint32_t debug_read(ContextId context, DebugSpace space, unsigned number) const override {
    const std::uint32_t value = tile_->debug_read(context, space, number);
    // Looking changes no state of the tile; that it was looked at is a point of the plan.
    collector_.debug_read(context, space, number, value);
    return value;
  }
  void debug_write(ContextId context, DebugSpace space, unsigned number, std::uint32_t value) override {
    collector_.debug_write(context, space, number, value);
    tile_->debug_write(context, space, number, value);
  }
  void set_groups(bool group1, bool group2) override { tile_->set_groups(group1, group2); }

 private:
  struct Split final : RetireObserver {
    explicit Split(Collector& c) : collector(c) {}
    void retired(const RetireRecord& record) override {
      collector.retired(record);
      if (other != nullptr) other->retired(record);
    }
    void exchanged(const ExchangeWord& word) override {
      if (other != nullptr) other->exchanged(word);
    }
    Collector& collector;
    RetireObserver* other = nullptr;
  };

  TileConfig config_;
  std::unique_ptr<TileModel> tile_;
  mutable Collector collector_;
  Split split_;
  Cycle release_ = 0;
};

}  // namespace

std::unique_ptr<TileModel> covered(const TileConfig& config, std::unique_ptr<TileModel> tile,
                                   const std::shared_ptr<Totals>& totals) {
  if (totals == nullptr) return tile;
  return std::make_unique<CoveredTile>(config, std::move(tile), totals);
}

}  // namespace tessera::coverage
