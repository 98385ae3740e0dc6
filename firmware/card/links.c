/* Link training: all ports at once, then those that did not come up once more, as often as the platform says. */
#include "card.h"

#define POLL_US 10u

static void select_link(uint32_t ipu, uint32_t port) {
  write_register(TESSERA_CARD_LINK_SELECT, PUT(LINK_SELECT_IPU, ipu) | PUT(LINK_SELECT_PORT, port));
}

uint32_t link_register(uint32_t ipu, uint32_t port, uint32_t offset) {
  select_link(ipu, port);
  return read_register(offset);
}

uint32_t link_state(uint32_t ipu, uint32_t port) { return link_register(ipu, port, TESSERA_CARD_LINK_STATE); }

static uint32_t ports_of(uint32_t ipu) {
  return read_register(TESSERA_CARD_IPU_PORTS + TESSERA_CARD_IPU_PORTS_STRIDE * ipu);
}

static void start_training(uint32_t ipu, uint32_t port) {
  select_link(ipu, port);
  write_register(TESSERA_CARD_LINK_CONTROL, PUT(LINK_CONTROL_TRAIN, 1));
}

void disable_link(uint32_t ipu, uint32_t port) {
  select_link(ipu, port);
  write_register(TESSERA_CARD_LINK_CONTROL, PUT(LINK_CONTROL_DISABLE, 1));
}

static uint32_t count_links(bool up) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < card_ipus(); ++i)
    for (uint32_t p = 0; p < ports_of(i); ++p) {
      const uint32_t state = link_state(i, p);
      count += state != TESSERA_CARD_LINK_ABSENT && (state == TESSERA_CARD_LINK_UP) == up;
    }
  return count;
}

uint32_t links_up(void) { return count_links(true); }
uint32_t links_down(void) { return count_links(false); }

static uint32_t links_training(void) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < card_ipus(); ++i)
    for (uint32_t p = 0; p < ports_of(i); ++p) count += link_state(i, p) == TESSERA_CARD_LINK_TRAINING;
  return count;
}

void train_all_links(void) {
  const uint32_t tries = read_register(TESSERA_CARD_BOOT_RETRIES) + 1;
  for (uint32_t n = 0; n < tries && links_down() != 0; ++n) {
    for (uint32_t i = 0; i < card_ipus(); ++i)
      for (uint32_t p = 0; p < ports_of(i); ++p) {
        const uint32_t state = link_state(i, p);
        if (state == TESSERA_CARD_LINK_DOWN || state == TESSERA_CARD_LINK_FAILED) start_training(i, p);
      }
    const uint32_t end = now_us() + read_register(TESSERA_CARD_BOOT_LINK_US);
    while (links_training() != 0 && (int32_t)(now_us() - end) < 0) sleep_us(POLL_US);
  }
  for (uint32_t i = 0; i < card_ipus(); ++i)
    for (uint32_t p = 0; p < ports_of(i); ++p) {
      const uint32_t state = link_state(i, p);
      if (state == TESSERA_CARD_LINK_ABSENT) continue;
      /* A link that is still training may find its other end later. */
      if (state != TESSERA_CARD_LINK_UP) log_add(TESSERA_CARD_LOG_LINK_DOWN, i, p);
    }
  set_flag(PUT(CARD_STATE_DEGRADED, 1), links_down() != 0);
}

uint32_t train_link(uint32_t ipu, uint32_t port) {
  uint32_t state = link_state(ipu, port);
  if (state == TESSERA_CARD_LINK_UP) disable_link(ipu, port);
  if (state != TESSERA_CARD_LINK_TRAINING) start_training(ipu, port);
  const uint32_t end = now_us() + read_register(TESSERA_CARD_BOOT_LINK_US);
  do {
    sleep_us(POLL_US);
    state = link_state(ipu, port);
  } while (state == TESSERA_CARD_LINK_TRAINING && (int32_t)(now_us() - end) < 0);
  log_add(state == TESSERA_CARD_LINK_UP ? TESSERA_CARD_LOG_LINK_UP : TESSERA_CARD_LOG_LINK_DOWN, ipu, port);
  set_flag(PUT(CARD_STATE_DEGRADED, 1), links_down() != 0);
  if (state == TESSERA_CARD_LINK_UP) return TESSERA_CARD_ERROR_OK;
  return state == TESSERA_CARD_LINK_TRAINING ? TESSERA_CARD_ERROR_TIMEOUT : TESSERA_CARD_ERROR_FAILED;
}
