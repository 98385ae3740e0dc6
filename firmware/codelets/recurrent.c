/* Recurrent cells: the product of a tile's rows of the recurrence matrix with the whole hidden state, and what LSTM,
 * GRU and RNN make of it. A tile owns some hidden units with all their gates, so that between product and cell nothing
 * is exchanged; one step is an exchange of the hidden state, a product and a cell.
 *
 * Units stand in any number on a tile, each with its gates side by side; rows of the batch are independent. What a cell
 * adds to the product (input product and biases, of all steps) stands beside it: z[step][batch][unit][gate] in f32.
 * Sums and cell states are f32, states that are exchanged have the model's type. The step is a counter on the tile that
 * the product advances, so cells see it from 1 on. All are multi-vertices. */
#include "math.h"
#include "row_product.h"

/* The product. partials[batch][row][worker] = rows of weights x h[batch]; the sum over workers is the result. Weights:
 * [group of 4 rows][worker][vector][4 rows] vectors of 8 bytes, zeros behind the last row; a worker takes `share`
 * vectors of the inner axis, the last workers what is left of `vectors`; both are even. h: `stride` elements from one
 * row of the batch to the next. */
#define RECURRENT_PRODUCT(type, lanes)                                                                              \
  VERTEX_MULTI(RecurrentProduct_##type, IN(type, weights, 8), IN(type, h, 8), OUT(f32, partials), INOUT(u32, step), \
               VALUE(u32, groups), VALUE(u32, vectors), VALUE(u32, share), VALUE(u32, batch), VALUE(u32, stride),   \
               VALUE(u32, advance)) {                                                                               \
    const uint32_t groups = state->groups, share = state->share, batch = state->batch;                              \
    const uint32_t n = share_of(state->vectors, share, worker);                                                     \
    if (worker == 0) *state->step += state->advance;                                                                \
    const type* h = state->h + worker * share * lanes;                                                              \
    f32* out = state->partials + worker;                                                                            \
    for (uint32_t b = 0; b < batch; ++b, h += state->stride) {                                                      \
      const type* weights = state->weights + worker * share * 4 * lanes;                                            \
      for (uint32_t g = 0; g < groups; ++g, weights += 6 * share * 4 * lanes, out += 24) {                          \
        if (n)                                                                                                      \
          product_##type(weights, h, out, n);                                                                       \
        else                                                                                                        \
          out[0] = out[6] = out[12] = out[18] = 0;                                                                  \
      }                                                                                                             \
    }                                                                                                               \
  }
RECURRENT_PRODUCT(f16, 4)
RECURRENT_PRODUCT(f32, 2)

/* Counts steps beside products of the matrix unit. */
VERTEX(RecurrentStep, INOUT(u32, step)) { *state->step += 1; }

/* Activations by number; parameters are alpha, beta of f, g, h, and the clip of what goes in. */
enum {
  RECURRENT_RELU,
  RECURRENT_TANH,
  RECURRENT_SIGMOID,
  RECURRENT_AFFINE,
  RECURRENT_LEAKY_RELU,
  RECURRENT_THRESHOLDED_RELU,
  RECURRENT_SCALED_TANH,
  RECURRENT_HARD_SIGMOID,
  RECURRENT_ELU,
  RECURRENT_SOFTSIGN,
  RECURRENT_SOFTPLUS
};
/* Flags of a cell: activations f, g, h in bits 3:0, 7:4, 11:8. */
enum {
  RECURRENT_REVERSE = 1 << 12,
  RECURRENT_CLIP = 1 << 13,
  RECURRENT_INPUT_FORGET = 1 << 14,
  RECURRENT_PEEPHOLES = 1 << 15
};

#ifdef __riscv
static inline f32 machine_tanh(f32 x) { return x_tanh_f32(x); }
static inline f32 machine_sigmoid(f32 x) { return x_sigmoid_f32(x); }
static inline f32 machine_exp(f32 x) { return x_exp_f32(x); }
static inline f32 machine_log(f32 x) { return x_log_f32(x); }
#else
#define MACHINE(function)                                                             \
  static inline f32 machine_##function(f32 x) {                                       \
    return tessera_f32_from_bits(tessera_host_##function##_f32(tessera_f32_bits(x))); \
  }
MACHINE(tanh)
MACHINE(sigmoid)
MACHINE(exp)
MACHINE(log)
#endif

static __attribute__((noinline)) f32 other_activation(uint32_t function, f32 x, f32 alpha, f32 beta) {
  if (function == RECURRENT_RELU) return x > 0 || x != x ? tessera_f32(x) : 0;
  if (function == RECURRENT_AFFINE) return tessera_f32(tessera_f32(alpha * x) + beta);
  if (function == RECURRENT_LEAKY_RELU) return x >= 0 ? x : tessera_f32(alpha * x);
  if (function == RECURRENT_THRESHOLDED_RELU) return x >= alpha ? x : 0;
  if (function == RECURRENT_SCALED_TANH) return tessera_f32(alpha * machine_tanh(tessera_f32(beta * x)));
  if (function == RECURRENT_HARD_SIGMOID) {
    const f32 line = tessera_f32(tessera_f32(alpha * x) + beta);
    return line < 0 ? 0 : line > 1 ? 1 : line;
  }
  if (function == RECURRENT_ELU) return x >= 0 ? x : tessera_f32(alpha * tessera_f32(machine_exp(x) - 1.0f));
  const f32 magnitude = tessera_f32_from_bits(tessera_f32_bits(x) & 0x7fffffffu);
  if (function == RECURRENT_SOFTSIGN) return tessera_f32(x / tessera_f32(1.0f + magnitude));
  const f32 rest = machine_log(tessera_f32(1.0f + machine_exp(-magnitude))); /* softplus */
  return x > 0 ? tessera_f32(x + rest) : rest;
}

/* Activation k of the cell: 0 f, 1 g, 2 h. */
static inline f32 activate(uint32_t flags, const f32* parameters, uint32_t k, f32 x) {
  const uint32_t function = flags >> (4 * k) & 15;
  if (k < 2 && flags & RECURRENT_CLIP) {
    const f32 clip = parameters[6];
    x = x > clip ? clip : x < -clip ? -clip : x;
  }
  if (function == RECURRENT_SIGMOID) return machine_sigmoid(x);
  if (function == RECURRENT_TANH) return machine_tanh(x);
  return other_activation(function, x, parameters[2 * k], parameters[2 * k + 1]);
}

/* The sum over workers in their order, and z. */
static inline f32 gathered(const f32* partials, f32 z) {
  const f32 a = tessera_f32(partials[0] + partials[1]), b = tessera_f32(partials[2] + partials[3]);
  const f32 c = tessera_f32(partials[4] + partials[5]);
  return tessera_f32(tessera_f32(tessera_f32(a + b) + c) + z);
}

/* Where the products of unit j in row b of the batch stand, `gates` of them side by side, and one of them with z. From
 * RecurrentProduct: rows of the batch have `rows` rows of six partial sums. From the matrix unit (cells named Sums):
 * sets of eight sums, `rows` elements from set to set, eight from one row of the batch to the next; three gates take
 * the place of four. */
#define PLACE_(b, j, gates) (state->partials + ((b)*state->rows + (j) * (gates)) * 6)
#define PRODUCT_(p, gate, z) gathered((p) + 6 * (gate), z)
#define PLACE_Sums(b, j, gates) place_of_sums(state->partials, state->rows, b, (j) * ((gates) == 3 ? 4 : (gates)))
#define PRODUCT_Sums(p, gate, z) tessera_f32((p)[gate] + (z))
static inline const f32* place_of_sums(const f32* sums, uint32_t set, uint32_t b, uint32_t row) {
  return sums + row / 8 * set + b * 8 + row % 8;
}

/* Where the step of a row of the batch stands in x and y: the row's own length counts. Behind it: y is 0, states stay.
 */
static inline int position_of(uint32_t counter, i32 length, uint32_t flags, uint32_t* position) {
  const uint32_t step = counter - 1;
  *position = step;
  if ((i32)step >= length) return 0;
  if (flags & RECURRENT_REVERSE) *position = (u32)length - 1 - step;
  return 1;
}

#define TO_f32(x) (x)
#define FROM_f32(x) (x)
#define TO_f16(x) tessera_f32_to_f16(x)
#define FROM_f16(x) tessera_f16_to_f32(x)

/* Gates i, o, f, c in this order, peepholes p[unit][i, o, f] if the flag is set; c is the cell state, c_out the same in
 * the model's type, h what is exchanged, y[step][batch][unit]. Cells with the usual activations and nothing else take a
 * short way, since a step waits for them: workers share the units of all rows of the batch. */
enum { LSTM_USUAL = RECURRENT_SIGMOID | RECURRENT_TANH << 4 | RECURRENT_TANH << 8 };

#define LSTM_STORE(type)                      \
  const type wide_h = TO_##type(h_value);     \
  state->c[b * pitch + j] = c;                \
  state->c_out[b * pitch + j] = TO_##type(c); \
  state->h[b * pitch + j] = wide_h;           \
  state->y[place + j] = wide_h;

#define LSTM_CELL(type, kind)                                                                                         \
  struct LstmCell##kind##_##type##_State;                                                                             \
  static __attribute__((noinline)) void lstm_general##kind##_##type(                                                  \
      const struct LstmCell##kind##_##type##_State* state, uint32_t worker);                                          \
  VERTEX_MULTI(LstmCell##kind##_##type, IN(f32, partials, 8), IN(f32, z), INOUT(f32, c), INOUT(type, h),              \
               INOUT(type, c_out), INOUT(type, y), IN(f32, peepholes), IN(f32, parameters), IN(u32, step),            \
               IN(i32, lengths), VALUE(u32, units), VALUE(u32, batch), VALUE(u32, rows), VALUE(u32, flags),           \
               VALUE(u32, pitch)) {                                                                                   \
    const uint32_t units = state->units, batch = state->batch, flags = state->flags, pitch = state->pitch;            \
    if ((flags & ~(uint32_t)RECURRENT_REVERSE) != LSTM_USUAL) {                                                       \
      lstm_general##kind##_##type(state, worker);                                                                     \
      return;                                                                                                         \
    }                                                                                                                 \
    for (uint32_t i = worker, b = 0; i < batch * units; i += 6) {                                                     \
      while (i >= (b + 1) * units) ++b;                                                                               \
      const uint32_t j = i - b * units;                                                                               \
      uint32_t at;                                                                                                    \
      const int inside = position_of(*state->step, state->lengths[b], flags, &at);                                    \
      const uint32_t place = (at * batch + b) * pitch;                                                                \
      if (!inside) {                                                                                                  \
        state->y[place + j] = 0;                                                                                      \
        continue;                                                                                                     \
      }                                                                                                               \
      const f32* z = state->z + (place + j) * 4;                                                                      \
      const f32* p = PLACE_##kind(b, j, 4);                                                                           \
      const f32 input = machine_sigmoid(PRODUCT_##kind(p, 0, z[0])), o = machine_sigmoid(PRODUCT_##kind(p, 1, z[1])); \
      const f32 f = machine_sigmoid(PRODUCT_##kind(p, 2, z[2])), g = machine_tanh(PRODUCT_##kind(p, 3, z[3]));        \
      const f32 c = tessera_fma(f, state->c[b * pitch + j], tessera_f32(input * g));                                  \
      const f32 h_value = tessera_f32(o * machine_tanh(c));                                                           \
      LSTM_STORE(type)                                                                                                \
    }                                                                                                                 \
  }                                                                                                                   \
  static void lstm_general##kind##_##type(const struct LstmCell##kind##_##type##_State* state, uint32_t worker) {     \
    const uint32_t units = state->units, batch = state->batch, flags = state->flags, pitch = state->pitch;            \
    const f32* parameters = state->parameters;                                                                        \
    for (uint32_t b = 0; b < batch; ++b) {                                                                            \
      uint32_t at;                                                                                                    \
      const int inside = position_of(*state->step, state->lengths[b], flags, &at);                                    \
      const uint32_t place = (at * batch + b) * pitch;                                                                \
      for (uint32_t j = worker; j < units; j += 6) {                                                                  \
        if (!inside) {                                                                                                \
          state->y[place + j] = 0;                                                                                    \
          continue;                                                                                                   \
        }                                                                                                             \
        const f32* z = state->z + (place + j) * 4;                                                                    \
        const f32* p = PLACE_##kind(b, j, 4);                                                                         \
        const f32 old = state->c[b * pitch + j];                                                                      \
        f32 i = PRODUCT_##kind(p, 0, z[0]), o = PRODUCT_##kind(p, 1, z[1]), f = PRODUCT_##kind(p, 2, z[2]);           \
        const f32* peepholes = flags & RECURRENT_PEEPHOLES ? state->peepholes + 3 * j : 0;                            \
        if (peepholes) i = tessera_fma(peepholes[0], old, i), f = tessera_fma(peepholes[2], old, f);                  \
        i = activate(flags, parameters, 0, i);                                                                        \
        f = flags & RECURRENT_INPUT_FORGET ? tessera_f32(1.0f - i) : activate(flags, parameters, 0, f);               \
        const f32 g = activate(flags, parameters, 1, PRODUCT_##kind(p, 3, z[3]));                                     \
        const f32 c = tessera_fma(f, old, tessera_f32(i * g));                                                        \
        if (peepholes) o = tessera_fma(peepholes[1], c, o);                                                           \
        o = activate(flags, parameters, 0, o);                                                                        \
        const f32 h_value = tessera_f32(o * activate(flags, parameters, 2, c));                                       \
        LSTM_STORE(type)                                                                                              \
      }                                                                                                               \
    }                                                                                                                 \
  }
LSTM_CELL(f32, )
LSTM_CELL(f16, )
LSTM_CELL(f16, Sums)

/* One gate: h = f(..). */
#define RNN_CELL(type, kind)                                                                               \
  VERTEX_MULTI(RnnCell##kind##_##type, IN(f32, partials), IN(f32, z), INOUT(type, h), INOUT(type, y),      \
               IN(f32, parameters), IN(u32, step), IN(i32, lengths), VALUE(u32, units), VALUE(u32, batch), \
               VALUE(u32, rows), VALUE(u32, flags), VALUE(u32, pitch)) {                                   \
    const uint32_t units = state->units, batch = state->batch, flags = state->flags, pitch = state->pitch; \
    for (uint32_t b = 0; b < batch; ++b) {                                                                 \
      uint32_t at;                                                                                         \
      const int inside = position_of(*state->step, state->lengths[b], flags, &at);                         \
      const uint32_t place = (at * batch + b) * pitch;                                                     \
      for (uint32_t j = worker; j < units; j += 6) {                                                       \
        type h = 0;                                                                                        \
        if (inside) {                                                                                      \
          const f32 sum = PRODUCT_##kind(PLACE_##kind(b, j, 1), 0, state->z[place + j]);                   \
          h = TO_##type(activate(flags, state->parameters, 0, sum));                                       \
          state->h[b * pitch + j] = h;                                                                     \
        }                                                                                                  \
        state->y[place + j] = h;                                                                           \
      }                                                                                                    \
    }                                                                                                      \
  }
RNN_CELL(f32, )
RNN_CELL(f16, )
RNN_CELL(f16, Sums)

/* GRU, gates z, r, h. full is the hidden state in f32, h the same in the model's type. GruCell: one product of all
 * three, the reset after it (linear_before_reset); inner is the recurrence bias of h. Else GruGates takes a product of
 * two and gives reset x state for the second product, and GruUpdate takes that; update[batch][unit] between them. */
static inline f32 gru_mix(f32 update, f32 fresh, f32 old) {
  return tessera_fma(update, old, tessera_f32(tessera_f32(1.0f - update) * fresh));
}

#define GRU_CELLS(type, kind)                                                                                    \
  VERTEX_MULTI(GruCell##kind##_##type, IN(f32, partials), IN(f32, z), INOUT(f32, full), INOUT(type, h),          \
               INOUT(type, y), IN(f32, inner), IN(f32, parameters), IN(u32, step), IN(i32, lengths),             \
               VALUE(u32, units), VALUE(u32, batch), VALUE(u32, rows), VALUE(u32, flags), VALUE(u32, pitch)) {   \
    const uint32_t units = state->units, batch = state->batch, flags = state->flags, pitch = state->pitch;       \
    const f32* parameters = state->parameters;                                                                   \
    for (uint32_t b = 0; b < batch; ++b) {                                                                       \
      uint32_t at;                                                                                               \
      const int inside = position_of(*state->step, state->lengths[b], flags, &at);                               \
      const uint32_t place = (at * batch + b) * pitch;                                                           \
      for (uint32_t j = worker; j < units; j += 6) {                                                             \
        type h = 0;                                                                                              \
        if (inside) {                                                                                            \
          const f32* z = state->z + (place + j) * 3;                                                             \
          const f32* p = PLACE_##kind(b, j, 3);                                                                  \
          const f32 update = activate(flags, parameters, 0, PRODUCT_##kind(p, 0, z[0]));                         \
          const f32 reset = activate(flags, parameters, 0, PRODUCT_##kind(p, 1, z[1]));                          \
          const f32 fresh =                                                                                      \
              activate(flags, parameters, 1, tessera_fma(reset, PRODUCT_##kind(p, 2, state->inner[j]), z[2]));   \
          const f32 full = gru_mix(update, fresh, state->full[b * pitch + j]);                                   \
          state->full[b * pitch + j] = full;                                                                     \
          state->h[b * pitch + j] = h = TO_##type(full);                                                         \
        }                                                                                                        \
        state->y[place + j] = h;                                                                                 \
      }                                                                                                          \
    }                                                                                                            \
  }                                                                                                              \
  VERTEX_MULTI(GruGates##kind##_##type, IN(f32, partials), IN(f32, z), IN(f32, full), INOUT(type, h),            \
               INOUT(f32, update), IN(f32, parameters), IN(u32, step), IN(i32, lengths), VALUE(u32, units),      \
               VALUE(u32, batch), VALUE(u32, rows), VALUE(u32, flags), VALUE(u32, pitch)) {                      \
    const uint32_t units = state->units, batch = state->batch, flags = state->flags, pitch = state->pitch;       \
    const f32* parameters = state->parameters;                                                                   \
    for (uint32_t b = 0; b < batch; ++b) {                                                                       \
      uint32_t at;                                                                                               \
      if (!position_of(*state->step, state->lengths[b], flags, &at)) continue;                                   \
      for (uint32_t j = worker; j < units; j += 6) {                                                             \
        const f32* z = state->z + ((at * batch + b) * pitch + j) * 3;                                            \
        const f32* p = PLACE_##kind(b, j, 2);                                                                    \
        const f32 reset = activate(flags, parameters, 0, PRODUCT_##kind(p, 1, z[1]));                            \
        state->update[b * pitch + j] = activate(flags, parameters, 0, PRODUCT_##kind(p, 0, z[0]));               \
        state->h[b * pitch + j] = TO_##type(tessera_f32(reset * state->full[b * pitch + j]));                    \
      }                                                                                                          \
    }                                                                                                            \
  }                                                                                                              \
  VERTEX_MULTI(GruUpdate##kind##_##type, IN(f32, partials), IN(f32, z), IN(f32, update), INOUT(f32, full),       \
               INOUT(type, h), INOUT(type, y), IN(f32, parameters), IN(u32, step), IN(i32, lengths),             \
               VALUE(u32, units), VALUE(u32, batch), VALUE(u32, rows), VALUE(u32, flags), VALUE(u32, pitch)) {   \
    const uint32_t units = state->units, batch = state->batch, flags = state->flags, pitch = state->pitch;       \
    const f32* parameters = state->parameters;                                                                   \
    for (uint32_t b = 0; b < batch; ++b) {                                                                       \
      uint32_t at;                                                                                               \
      const int inside = position_of(*state->step, state->lengths[b], flags, &at);                               \
      const uint32_t place = (at * batch + b) * pitch;                                                           \
      for (uint32_t j = worker; j < units; j += 6) {                                                             \
        type h = 0;                                                                                              \
        if (inside) {                                                                                            \
          const f32* p = PLACE_##kind(b, j, 1);                                                                  \
          const f32 fresh = activate(flags, parameters, 1, PRODUCT_##kind(p, 0, state->z[(place + j) * 3 + 2])); \
          const f32 full = gru_mix(state->update[b * pitch + j], fresh, state->full[b * pitch + j]);             \
          state->full[b * pitch + j] = full;                                                                     \
          state->h[b * pitch + j] = h = TO_##type(full);                                                         \
        }                                                                                                        \
        state->y[place + j] = h;                                                                                 \
      }                                                                                                          \
    }                                                                                                            \
  }
GRU_CELLS(f32, )
GRU_CELLS(f16, )
GRU_CELLS(f16, Sums)
