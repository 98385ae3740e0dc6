/* Clocks, lines and sensors of the IPUs. */
#include "card.h"

#define POLL_US 20u
#define RESET_US 10u /* least time in reset */

static bool wait_for_lock(uint32_t ipu) {
  const uint32_t end = now_us() + read_register(TESSERA_CARD_BOOT_PLL_US);
  for (;;) {
    if (FIELD(PLL_STATUS_LOCKED, read_register(TESSERA_CARD_PLL_STATUS + pll_of(ipu)))) return true;
    if ((int32_t)(now_us() - end) >= 0) return false;
    sleep_us(POLL_US);
  }
}

bool pll_start(uint32_t ipu, uint32_t mhz) {
  const uint32_t tries = read_register(TESSERA_CARD_BOOT_RETRIES) + 1;
  write_register(TESSERA_CARD_PLL_MHZ + pll_of(ipu), mhz);
  for (uint32_t n = 1; n <= tries; ++n) {
    write_register(TESSERA_CARD_PLL_CONTROL + pll_of(ipu), PUT(PLL_CONTROL_ENABLE, 1));
    if (wait_for_lock(ipu)) return true;
    if (n < tries) log_add(TESSERA_CARD_LOG_PLL_RETRY, ipu, n);
  }
  write_register(TESSERA_CARD_PLL_CONTROL + pll_of(ipu), 0);
  return false;
}

bool ipu_on(uint32_t ipu) {
  const bool locked = FIELD(PLL_STATUS_LOCKED, read_register(TESSERA_CARD_PLL_STATUS + pll_of(ipu)));
  if (!locked && !pll_start(ipu, read_register(TESSERA_CARD_PLL_NOMINAL_MHZ))) return false;
  write_register(lines_of(ipu), PUT(IPU_CONTROL_CLOCK, 1) | PUT(IPU_CONTROL_RESET, 1));
  sleep_us(RESET_US);
  write_register(lines_of(ipu), PUT(IPU_CONTROL_CLOCK, 1));
  return true;
}

void ipu_off(uint32_t ipu) {
  write_register(lines_of(ipu), PUT(IPU_CONTROL_RESET, 1));
  write_register(TESSERA_CARD_PLL_CONTROL + pll_of(ipu), 0);
}

void ipu_pulse_reset(uint32_t ipu) {
  const uint32_t lines = read_register(lines_of(ipu));
  write_register(lines_of(ipu), lines | PUT(IPU_CONTROL_RESET, 1));
  sleep_us(RESET_US);
  write_register(lines_of(ipu), lines & ~PUT(IPU_CONTROL_RESET, 1));
}

void ipu_allow_host(uint32_t ipu) { write_register(lines_of(ipu), read_register(lines_of(ipu)) | PUT(IPU_CONTROL_HOST, 1)); }

bool ipu_is_on(uint32_t ipu) {
  const uint32_t lines = read_register(lines_of(ipu));
  return FIELD(IPU_CONTROL_CLOCK, lines) && FIELD(IPU_CONTROL_HOST, lines);
}

/* Tells the host and the log which alarms are on; the hardware keeps the temperatures of going on and off apart. */
void alarms_changed(void) {
  static uint32_t known; /* bit i: IPU i above its alarm */
  uint32_t on = 0;
  for (uint32_t i = 0; i < card_ipus(); ++i) {
    on |= read_register(TESSERA_CARD_ALARM_ON + sensor_of(i)) << i;
    if (((on ^ known) >> i & 1) == 0) continue;
    log_add(on >> i & 1 ? TESSERA_CARD_LOG_ALARM : TESSERA_CARD_LOG_ALARM_OVER, i,
            read_register(TESSERA_CARD_TEMPERATURE + sensor_of(i)));
  }
  known = on;
  set_flag(PUT(CARD_STATE_ALARM, 1), on != 0);
}
