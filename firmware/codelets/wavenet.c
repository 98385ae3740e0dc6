/* WaveNet, one sample at a time (host/examples/wavenet.h): what stands between the products of a layer. A tile owns
 * some units of every layer; products leave partial sums of six workers a row (RecurrentProduct), which are added here
 * in worker order. States that are exchanged are f16, sums f32.
 *
 * A layer with dilation d sees its input now and d samples ago: the last d inputs stand in a ring[d][units] on the
 * tile. `time` counts samples; d is a power of two, so the place in the ring is time modulo d. */
#include "math.h"

#ifdef __riscv
static inline f32 wave_tanh(f32 x) { return x_tanh_f32(x); }
static inline f32 wave_sigmoid(f32 x) { return x_sigmoid_f32(x); }
static inline f32 wave_exp(f32 x) { return x_exp_f32(x); }
#else
#define WAVE_FUNCTION(function)                                                       \
  static inline f32 wave_##function(f32 x) {                                          \
    return tessera_f32_from_bits(tessera_host_##function##_f32(tessera_f32_bits(x))); \
  }
WAVE_FUNCTION(tanh)
WAVE_FUNCTION(sigmoid)
WAVE_FUNCTION(exp)
#endif

static inline f32 wave_sum(const f32* p, f32 bias) {
  const f32 a = tessera_f32(p[0] + p[1]), b = tessera_f32(p[2] + p[3]), c = tessera_f32(p[4] + p[5]);
  return tessera_f32(tessera_f32(tessera_f32(a + b) + c) + bias);
}

/* The embedding of the sample before, and the first layer's ring. Begins a sample: time advances. */
VERTEX(WaveEmbed, IN(u32, sample), IN(f16, table), OUT(f16, h), INOUT(f16, ring), OUT(f16, tap), INOUT(u32, time),
       VALUE(u32, units), VALUE(u32, depth)) {
  const uint32_t units = state->units, now = *state->time;
  const f16* row = state->table + *state->sample * units;
  f16* ring = state->ring + (now & (state->depth - 1)) * units;
  for (uint32_t i = 0; i < units; ++i) {
    const f16 x = row[i];
    state->h[i] = x;
    state->tap[i] = ring[i];
    ring[i] = x;
  }
  *state->time = now + 1;
}

/* z = tanh(filter) sigmoid(gate); rows 2u and 2u + 1 are filter and gate of unit u. */
VERTEX_MULTI(WaveGate, IN(f32, partials), IN(f32, bias), OUT(f16, z), VALUE(u32, units)) {
  for (uint32_t u = worker; u < state->units; u += 6) {
    const f32* p = state->partials + 12 * u;
    const f32 filter = wave_tanh(wave_sum(p, state->bias[2 * u]));
    const f32 gate = wave_sigmoid(wave_sum(p + 6, state->bias[2 * u + 1]));
    state->z[u] = tessera_f32_to_f16(tessera_f32(filter * gate));
  }
}

/* The first `units` rows go to the residual way and into the next layer's ring, the other `skips` rows to the sum of
 * the skip way, which the first layer sets. */
VERTEX_MULTI(WaveResidual, IN(f32, partials), IN(f32, bias), INOUT(f16, h), INOUT(f32, skip), INOUT(f16, ring),
             OUT(f16, tap), IN(u32, time), VALUE(u32, units), VALUE(u32, skips), VALUE(u32, depth), VALUE(u32, first)) {
  const uint32_t units = state->units, rows = units + state->skips;
  f16* ring = state->ring + (*state->time & (state->depth - 1)) * units;
  for (uint32_t row = worker; row < rows; row += 6) {
    const f32 sum = wave_sum(state->partials + 6 * row, state->bias[row]);
    if (row < units) {
      const f16 x = tessera_f32_to_f16(tessera_f32(tessera_f16_to_f32(state->h[row]) + sum));
      state->h[row] = x;
      state->tap[row] = ring[row];
      ring[row] = x;
    } else {
      f32* skip = &state->skip[row - units];
      *skip = state->first ? sum : tessera_f32(*skip + sum);
    }
  }
}

/* y = max(0, x). */
VERTEX_MULTI(WaveRelu, IN(f32, x), OUT(f16, y), VALUE(u32, rows)) {
  for (uint32_t row = worker; row < state->rows; row += 6) {
    const f32 x = state->x[row];
    state->y[row] = tessera_f32_to_f16(x > 0 ? x : 0);
  }
}

/* y = max(0, sum + bias). */
VERTEX_MULTI(WaveHidden, IN(f32, partials), IN(f32, bias), OUT(f16, y), VALUE(u32, rows)) {
  for (uint32_t row = worker; row < state->rows; row += 6) {
    const f32 x = wave_sum(state->partials + 6 * row, state->bias[row]);
    state->y[row] = tessera_f32_to_f16(x > 0 ? x : 0);
  }
}

/* Logits of a tile's classes and the largest of them. */
VERTEX(WaveLogits, IN(f32, partials), IN(f32, bias), OUT(f32, logits), OUT(f32, largest), VALUE(u32, rows)) {
  f32 largest = wave_sum(state->partials, state->bias[0]);
  state->logits[0] = largest;
  for (uint32_t row = 1; row < state->rows; ++row) {
    const f32 x = wave_sum(state->partials + 6 * row, state->bias[row]);
    state->logits[row] = x;
    if (x > largest) largest = x;
  }
  *state->largest = largest;
}

/* exp(logit - the largest of all tiles), and the sum over the tile's classes. */
VERTEX(WaveExp, IN(f32, logits), IN(f32, maxima), OUT(f32, e), OUT(f32, sum), VALUE(u32, rows), VALUE(u32, tiles)) {
  f32 largest = state->maxima[0];
  for (uint32_t i = 1; i < state->tiles; ++i)
    if (state->maxima[i] > largest) largest = state->maxima[i];
  f32 sum = 0;
  for (uint32_t row = 0; row < state->rows; ++row) {
    const f32 e = wave_exp(tessera_f32(state->logits[row] - largest));
    state->e[row] = e;
    sum = tessera_f32(sum + e);
  }
  *state->sum = sum;
}

/* Draws a class with probability e / sum: the first whose running sum exceeds u times the sum, u in [0, 1) from the
 * seed's upper 24 bits (seed = 1664525 seed + 1013904223). With `greedy`: the class with the largest e, the first of
 * equals. Keeps sample and probability at `place` of a block. */
VERTEX(WaveChoose, IN(f32, e), IN(f32, sums), INOUT(u32, seed), OUT(u32, sample), INOUT(u32, samples),
       INOUT(f32, chances), INOUT(u32, place), VALUE(u32, rows), VALUE(u32, tiles), VALUE(u32, block),
       VALUE(u32, greedy)) {
  const uint32_t rows = state->rows, tiles = state->tiles, last = rows * tiles - 1;
  f32 total = 0;
  for (uint32_t i = 0; i < tiles; ++i) total = tessera_f32(total + state->sums[i]);
  const uint32_t seed = *state->seed * 1664525u + 1013904223u;
  *state->seed = seed;
  uint32_t chosen = 0;
  if (state->greedy) {
    for (uint32_t i = 1; i <= last; ++i)
      if (state->e[i] > state->e[chosen]) chosen = i;
  } else {
    const f32 aim = tessera_f32(tessera_f32((f32)(i32)(seed >> 8) * 0x1p-24f) * total);
    f32 running = 0;
    uint32_t tile = 0;
    for (; tile + 1 < tiles; ++tile) {
      const f32 next = tessera_f32(running + state->sums[tile]);
      if (next > aim) break;
      running = next;
    }
    for (chosen = tile * rows; chosen < (tile + 1) * rows - 1; ++chosen) {
      running = tessera_f32(running + state->e[chosen]);
      if (running > aim) break;
    }
  }
  const uint32_t place = *state->place;
  *state->sample = chosen;
  state->samples[place] = chosen;
  state->chances[place] = tessera_f32(state->e[chosen] / total);
  *state->place = place + 1 == state->block ? 0 : place + 1;
}
