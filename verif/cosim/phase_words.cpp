// Expands the runs of an exchange table into words.
#include "verif/cosim/phase_words.h"

#include <algorithm>
#include <cstring>

#include "hw/generated/machine.h"
#include "tlm/tile/exchange_engine.h"

namespace tessera {
namespace {

Word word_at(TileModel& tile, Address address) {
  Word word = 0;
  std::memcpy(&word, tile.sram() + (address - kSramBase), sizeof word);
  return word;
}

}  // namespace

void PhaseWords::begin(TileModel& tile, const TileConfig& config, const TileStop& stop, Cycle release) {
  sent.clear();
  received.clear();
  ExchangeInputs inputs;
  inputs.sram = tile.sram();
  inputs.sram_bytes = config.sram_bytes;
  inputs.table = stop.value;
  inputs.issue = stop.cycle;
  inputs.release = release;
  for (unsigned k = 0; k < 3; ++k) inputs.xbase[k] = tile.supervisor_csr(csr::xbase1 + k);
  inputs.xsource = tile.supervisor_csr(csr::xsource);
  inputs.tiles = config.tiles;
  const ExchangePhase phase = read_exchange_table(inputs);
  for (const SendRun& run : phase.sends) {
    for (std::uint32_t k = 0; k < run.words; ++k) {
      const Address address = run.address + 4 * k;
      sent.push_back({run.start + k, address, word_at(tile, address), true});
    }
  }
  for (const ReceiveRun& run : phase.receives) {
    for (std::uint32_t k = 0; k < run.words; ++k) {
      received.push_back({{run.start + k, run.address + 4 * k, 0, false}, run.source});
    }
  }
}

void PhaseWords::finish(TileModel& tile, const ExchangeResult& result) {
  if (result.underrun) {
    const Cycle cut = *result.underrun;
    received.erase(
        std::remove_if(received.begin(), received.end(), [cut](const Received& r) { return r.word.cycle >= cut; }),
        received.end());
  }
  for (Received& r : received) r.word.word = word_at(tile, r.word.address);
}

}  // namespace tessera
