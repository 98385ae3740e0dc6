/* Power-on of a card and the loop after it: self check, PLLs, release of the IPUs from reset, link training, ready; then
 * mailboxes and alarms, asleep in between. After a reset by the watchdog the IPUs run on, so nothing but the self check
 * is done again. */
#include "card.h"

uint32_t ready_at_us;

void set_state(uint32_t state) {
  const uint32_t mask = ((1u << TESSERA_CARD_CARD_STATE_STATE_WIDTH) - 1) << TESSERA_CARD_CARD_STATE_STATE_LSB;
  const uint32_t old = read_register(TESSERA_CARD_CARD_STATE);
  write_register(TESSERA_CARD_CARD_STATE, (old & ~mask) | PUT(CARD_STATE_STATE, state));
}

void set_flag(uint32_t mask, bool on) {
  const uint32_t old = read_register(TESSERA_CARD_CARD_STATE);
  write_register(TESSERA_CARD_CARD_STATE, on ? old | mask : old & ~mask);
}

/* The end of a power-on that did not work: the host is told, the IPUs stay in reset. */
static void __attribute__((noreturn)) fail(uint32_t failure, uint32_t detail) {
  log_add(TESSERA_CARD_LOG_FAILED, failure, detail);
  write_register(TESSERA_CARD_CARD_STATE,
                 PUT(CARD_STATE_STATE, TESSERA_CARD_STATE_FAILED) | PUT(CARD_STATE_FAILURE, failure));
  write_register(TESSERA_CARD_EVENT_MASK, 0);
  for (;;) (void)read_register(TESSERA_CARD_EVENT_WAIT);
}

static void self_check(void) {
  if (!image_is_whole()) fail(TESSERA_CARD_FAILURE_IMAGE, 0);
  if (!memory_works()) fail(TESSERA_CARD_FAILURE_MEMORY, 0);
}

static void power_on(void) {
  const uint32_t ipus = card_ipus();
  set_state(TESSERA_CARD_STATE_CLOCKS);
  for (uint32_t i = 0; i < ipus; ++i)
    if (!pll_start(i, read_register(TESSERA_CARD_PLL_NOMINAL_MHZ))) fail(TESSERA_CARD_FAILURE_PLL, i);
  set_state(TESSERA_CARD_STATE_RELEASE);
  for (uint32_t i = 0; i < ipus; ++i)
    if (!ipu_on(i)) fail(TESSERA_CARD_FAILURE_PLL, i);
  set_state(TESSERA_CARD_STATE_TRAINING);
  train_all_links();
  for (uint32_t i = 0; i < ipus; ++i) ipu_allow_host(i);
}

static void serve(void) {
  const uint32_t alarm = PUT(EVENT_STATUS_ALARM, 1);
  const uint32_t doorbells = PUT(EVENT_STATUS_DOORBELL, (1u << card_ipus()) - 1);
  for (;;) {
    write_register(TESSERA_CARD_EVENT_MASK, alarm | doorbells);
    const uint32_t events = read_register(TESSERA_CARD_EVENT_WAIT) & (alarm | doorbells);
    write_register(TESSERA_CARD_EVENT_STATUS, events);
    if (events & alarm) alarms_changed();
    for (uint32_t i = 0; i < card_ipus(); ++i)
      if (events & PUT(EVENT_STATUS_DOORBELL, 1u << i)) serve_mailbox(i);
  }
}

void card_main(void);
void card_main(void) {
  const uint32_t reset = read_register(TESSERA_CARD_RESET_CAUSE);
  const bool restarted = FIELD(RESET_CAUSE_CAUSE, reset) == 1;
  write_register(TESSERA_CARD_WATCHDOG_US, read_register(TESSERA_CARD_BOOT_WATCHDOG_US));
  set_state(TESSERA_CARD_STATE_SELF_CHECK);
  log_add(TESSERA_CARD_LOG_POWER_ON, FIELD(RESET_CAUSE_CAUSE, reset), 0);
  if (restarted) log_add(TESSERA_CARD_LOG_WATCHDOG, FIELD(RESET_CAUSE_RESTARTS, reset), 0);
  self_check();
  bool on = true; /* not so if the watchdog acted before the card was ready */
  for (uint32_t i = 0; i < card_ipus(); ++i) on = on && ipu_is_on(i);
  if (!restarted || !on) power_on();
  ready_at_us = now_us();
  log_add(TESSERA_CARD_LOG_READY, links_up(), links_down());
  set_state(TESSERA_CARD_STATE_READY);
  serve();
}
