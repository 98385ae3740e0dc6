/* Sleep, the event log, the self check, and what happens at a trap. */
#include "card.h"

/* Sleep ------------------------------------------------------------------------------------------------------------ */

void sleep_until(uint32_t time_us) {
  const uint32_t timer = PUT(EVENT_STATUS_TIMER, 1);
  const uint32_t mask = read_register(TESSERA_CARD_EVENT_MASK);
  write_register(TESSERA_CARD_EVENT_STATUS, timer);
  write_register(TESSERA_CARD_EVENT_MASK, timer);
  write_register(TESSERA_CARD_TIMER_US, time_us);
  (void)read_register(TESSERA_CARD_EVENT_WAIT);
  write_register(TESSERA_CARD_EVENT_STATUS, timer);
  write_register(TESSERA_CARD_EVENT_MASK, mask);
}

void sleep_us(uint32_t us) { sleep_until(now_us() + us + 1); }

/* Event log -------------------------------------------------------------------------------------------------------- */

#define LOG_ENTRIES 32u
static struct log_entry entries[LOG_ENTRIES];
static uint32_t added; /* since the firmware began */

void log_add(uint32_t kind, uint32_t a, uint32_t b) {
  const struct log_entry entry = {now_us(), kind, a, b};
  entries[added++ % LOG_ENTRIES] = entry;
}

uint32_t log_count(void) { return added < LOG_ENTRIES ? added : LOG_ENTRIES; }

const struct log_entry* log_at(uint32_t index) {
  const uint32_t oldest = added < LOG_ENTRIES ? 0 : added % LOG_ENTRIES;
  return &entries[(oldest + index) % LOG_ENTRIES];
}

/* Self check ------------------------------------------------------------------------------------------------------- */

#define HEADER_WORDS 8u
#define HEADER_BYTES_AT 2u
#define HEADER_CHECKSUM_AT 3u

static uint32_t* memory_at(uint32_t address) { return (uint32_t*)(uintptr_t)address; }

bool image_is_whole(void) {
  const uint32_t* image = memory_at(TESSERA_SRAM_BASE);
  const uint32_t words = image[HEADER_BYTES_AT] / 4;
  if (words < HEADER_WORDS || words > read_register(TESSERA_CARD_RAM_BYTES) / 4) return false;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < words; ++i) sum = (sum << 1 | sum >> 31) + (i == HEADER_CHECKSUM_AT ? 0 : image[i]);
  return sum == image[HEADER_CHECKSUM_AT];
}

extern uint32_t card_end[];

/* One word in 64 bytes of the memory that nothing uses, with its address and the opposite: finds an address or data line
 * that is stuck. Leaves the last kilobyte to the stack. */
bool memory_works(void) {
  const uint32_t first = ((uint32_t)(uintptr_t)card_end + 63) & ~63u;
  const uint32_t last = TESSERA_SRAM_BASE + read_register(TESSERA_CARD_RAM_BYTES) - 1024;
  for (uint32_t flip = 0;; flip = ~flip) {
    for (uint32_t at = first; at < last; at += 64) *(volatile uint32_t*)memory_at(at) = at ^ flip;
    for (uint32_t at = first; at < last; at += 64)
      if (*(volatile uint32_t*)memory_at(at) != (at ^ flip)) return false;
    if (flip != 0) return true;
  }
}

/* Traps ------------------------------------------------------------------------------------------------------------ */

void card_crash(uint32_t cause, uint32_t pc, uint32_t ra, uint32_t sp, uint32_t value);

/* The crash record goes to every mailbox, then the host is told; the processor sleeps until the card is reset. */
void card_crash(uint32_t cause, uint32_t pc, uint32_t ra, uint32_t sp, uint32_t value) {
  const uint32_t record[8] = {cause, pc, value, ra, sp, now_us(), read_register(TESSERA_CARD_PROGRESS),
                              memory_at(TESSERA_SRAM_BASE)[1]};
  write_register(TESSERA_CARD_WATCHDOG_US, 0);
  for (uint32_t i = 0; i < card_ipus(); ++i) {
    for (uint32_t n = 0; n < 8; ++n) write_register(TESSERA_CARD_MAILBOX_RESULT + mailbox_of(i) + 4 * n, record[n]);
    write_register(TESSERA_CARD_MAILBOX_ANSWER + mailbox_of(i), PUT(MAILBOX_ANSWER_ERROR, TESSERA_CARD_ERROR_FAILED));
  }
  set_state(TESSERA_CARD_STATE_CRASHED);
  write_register(TESSERA_CARD_EVENT_MASK, 0);
  for (;;) (void)read_register(TESSERA_CARD_EVENT_WAIT);
}
