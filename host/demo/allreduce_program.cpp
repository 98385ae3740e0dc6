// The programs of an all-reduce. In the ring xbase1 holds the address of the chunk that goes out next and xbase3 the
// way to the chunk after it, so one packet table serves all steps.
#include <algorithm>

#include "host/demo/allreduce.h"
#include "host/demo/seeded.h"
#include "hw/generated/isa.h"
#include "hw/generated/machine.h"

namespace tessera::demo {

namespace {

using compiler::Assembler;

std::uint32_t word(Address address) { return address; }

}  // namespace

executable::Executable AllReduce::build() {
  Builder builder("all-reduce", platform_);
  const unsigned align = 4 * std::min<unsigned>(pitch_, kPacketMaxWords);  // see pitch_of
  data_ = builder.allocate(pitch_ * ipus(), align);
  buffer_ = builder.allocate(ring_way_ ? pitch_ : pitch_ * ipus(), align);
  std::vector<executable::TensorRun> runs;
  const std::uint64_t piece = std::uint64_t{pitch_} * ipus();
  for (unsigned k = 0; k < tiles_.size(); ++k) runs.push_back({tiles_[k], data_, 4, k * piece, piece});
  builder.tensor("sum", executable::Type::f32, {tiles_.size(), piece}, std::move(runs));
  fill(builder);
  if (ring_way_) {
    build_ring(builder);
  } else {
    build_direct(builder);
  }
  return builder.build();
}

void AllReduce::fill(Builder& builder) {
  const Code code = builder.codelet("FillSeeded_f32");
  std::vector<Call> calls;
  for (unsigned i = 0; i < ipus(); ++i)
    for (unsigned k = 0; k < tiles_.size(); ++k) {
      const std::uint64_t first = std::uint64_t{k} * ipus() * chunk_;
      calls.push_back({tile(i, k),
                       kAllWorkers,
                       code,
                       {word(data_), seed_of(options_.seed, i), static_cast<std::uint32_t>(first),
                        static_cast<std::uint32_t>(words_), ipus(), chunk_, pitch_, chunk_}});
    }
  builder.compute("fill", std::move(calls));
}

void AllReduce::build_ring(Builder& builder) {
  const unsigned p = ipus();
  const std::uint32_t step = 4 * pitch_, all = step * p;
  std::vector<unsigned> way(platform_.tiles, 0);  // by tile: bytes from chunk to chunk
  for (unsigned k = 0; k < tiles_.size(); ++k) way[tiles_[k]] = clockwise(k) ? all - step : step;
  builder.set_xbase(1, [&](TileRef t) { return data_ + step * position_[t.ipu]; });
  builder.set_xbase(3, [&](TileRef t) { return way[t.tile]; });

  // s0, the vertices' offset, is the chunk that a step brings and the next one sends. The rest stays in registers,
  // since what the supervisor does between packets and the next sync all IPUs wait for.
  const auto advance = [](Assembler& as) {
    as.add(compiler::s0, compiler::s0, compiler::t3);
    const Assembler::Label inside = as.label();
    as.bgeu(compiler::t4, compiler::s0, inside);
    as.add(compiler::s0, compiler::s0, compiler::t5);
    as.bind(inside);
  };
  const Address end = data_ + all;
  builder.supervisor("first chunk", [=](Assembler& as) {
    as.csrr(compiler::s0, csr::xbase1);
    as.csrr(compiler::t3, csr::xbase3);
    as.li(compiler::t4, end - 1);
    as.li(compiler::t5, 0U - all);
    as.li(compiler::t6, 0U - kSramBase);
    advance(as);
  });
  const auto next_chunk = [=](Assembler& as) {
    as.csrw(csr::xbase1, compiler::s0);
    as.add(compiler::t0, compiler::s0, compiler::t6);  // the same from the start of SRAM, as remote addresses count
    as.csrw(csr::xbase2, compiler::t0);
    advance(as);
  };

  std::vector<PacketMove> reduce, gather;
  std::vector<Call> adds;
  const Code add = builder.codelet("AddInto_f32");
  for (unsigned i = 0; i < p; ++i)
    for (unsigned k = 0; k < tiles_.size(); ++k) {
      const TileRef to = tile(next(i, clockwise(k)), k);
      reduce.push_back({tile(i, k), 0, to, buffer_, chunk_, 1, 0});
      gather.push_back({tile(i, k), 0, to, kSramBase, chunk_, 1, 2});
      adds.push_back({tile(i, k), kAllWorkers, add, {word(buffer_), 0, chunk_ / 2}});
    }
  builder.begin_repeat(p - 1);
  builder.packets("reduce-scatter", reduce);
  builder.compute("add", std::move(adds));
  builder.supervisor("next chunk", next_chunk);  // while workers add
  builder.end_repeat();
  builder.begin_repeat(p - 1);
  builder.packets("all-gather", gather);
  builder.supervisor("next chunk", next_chunk);
  builder.end_repeat();
}

void AllReduce::build_direct(Builder& builder) {
  const unsigned p = ipus();
  std::vector<PacketMove> scatter, gather;
  std::vector<Call> sums;
  const Code sum = builder.codelet("SumSlots_f32");
  for (unsigned i = 0; i < p; ++i)
    for (unsigned k = 0; k < tiles_.size(); ++k) {
      const Address own = data_ + 4 * pitch_ * i;
      for (unsigned d = 1; d < p; ++d) {  // each IPU begins with another
        const unsigned q = (i + d) % p;
        scatter.push_back({tile(i, k), data_ + 4 * pitch_ * q, tile(q, k), buffer_ + 4 * pitch_ * i, chunk_});
        gather.push_back({tile(i, k), own, tile(q, k), own, chunk_});
      }
      sums.push_back({tile(i, k), kAllWorkers, sum, {word(buffer_), word(own), p, pitch_, i, chunk_}});
    }
  builder.packets("scatter", scatter);
  builder.compute("sum", std::move(sums));
  builder.packets("gather", gather);
}

}  // namespace tessera::demo
