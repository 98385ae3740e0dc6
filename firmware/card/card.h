/* The controller's firmware: access to its peripherals, time, and what the files of this folder offer each other.
 * Registers and the values of their fields are generated (hw/registers/card.toml). Times are microseconds. */
#ifndef TESSERA_FIRMWARE_CARD_H
#define TESSERA_FIRMWARE_CARD_H

#include <stdbool.h>
#include <stdint.h>

#include "tessera/machine.h"

/* Most IPUs that the registers have room for. */
#define CARD_MOST_IPUS TESSERA_CARD_IPU_CONTROL_COUNT

/* A field of a register from its value, and a value at its place. */
#define FIELD(name, value) (((value) >> TESSERA_CARD_##name##_LSB) & ((1u << TESSERA_CARD_##name##_WIDTH) - 1))
#define PUT(name, value) ((uint32_t)(value) << TESSERA_CARD_##name##_LSB)

static inline uint32_t read_register(uint32_t offset) { return *(volatile uint32_t*)(TESSERA_CARD_BASE + offset); }
static inline void write_register(uint32_t offset, uint32_t value) {
  *(volatile uint32_t*)(TESSERA_CARD_BASE + offset) = value;
}

static inline uint32_t now_us(void) { return read_register(TESSERA_CARD_TIME_US); }
static inline uint32_t card_ipus(void) { return read_register(TESSERA_CARD_IPUS); }

/* One IPU's register in a window. */
static inline uint32_t lines_of(uint32_t ipu) {
  return TESSERA_CARD_IPU_CONTROL + TESSERA_CARD_IPU_CONTROL_STRIDE * ipu;
}
static inline uint32_t pll_of(uint32_t ipu) { return TESSERA_CARD_PLL_STATUS_STRIDE * ipu; }
static inline uint32_t sensor_of(uint32_t ipu) { return TESSERA_CARD_TEMPERATURE_STRIDE * ipu; }
static inline uint32_t mailbox_of(uint32_t ipu) { return TESSERA_CARD_MAILBOX_COMMAND_STRIDE * ipu; }

/* time.c: sleeps; events other than the timer's stay for later. */
void sleep_until(uint32_t time_us);
void sleep_us(uint32_t us);

/* log.c: the last entries, oldest first. */
struct log_entry {
  uint32_t time, kind, a, b;
};
void log_add(uint32_t kind, uint32_t a, uint32_t b);
uint32_t log_count(void);
const struct log_entry* log_at(uint32_t index);

/* check.c */
bool image_is_whole(void);
bool memory_works(void);

/* power.c: clocks, lines and sensors of an IPU. */
bool pll_start(uint32_t ipu, uint32_t mhz); /* true if it locks, with retries */
bool ipu_on(uint32_t ipu);                  /* clock and reset: true if its PLL locks; the host has no access yet */
void ipu_off(uint32_t ipu);
void ipu_pulse_reset(uint32_t ipu);
void ipu_allow_host(uint32_t ipu);
bool ipu_is_on(uint32_t ipu);
void alarms_changed(void);

/* links.c */
void train_all_links(void);
uint32_t train_link(uint32_t ipu, uint32_t port); /* error */
void disable_link(uint32_t ipu, uint32_t port);
uint32_t link_state(uint32_t ipu, uint32_t port);
uint32_t link_register(uint32_t ipu, uint32_t port, uint32_t offset);
uint32_t links_up(void);
uint32_t links_down(void);

/* commands.c: works on the command in the mailbox of an IPU and answers it. */
void serve_mailbox(uint32_t ipu);

/* main.c: what the host sees in mailbox_status. */
void set_state(uint32_t state);
void set_flag(uint32_t mask, bool on);
extern uint32_t ready_at_us;

#endif /* TESSERA_FIRMWARE_CARD_H */
