/* The mailbox commands; docs/machine/card.md has their arguments and results. A handler fills results and says how the
 * command ended; arguments are checked before anything is changed. */
#include "card.h"

#define LOWEST_ALARM_MC 40000u
#define HIGHEST_ALARM_MC 125000u
#define HIGHEST_SANE_MC 150000u

struct request {
  uint32_t argument[4];
  uint32_t result[8];
};

static uint32_t firmware_version(void) { return ((const uint32_t*)TESSERA_SRAM_BASE)[1]; }

static bool no_ipu(const struct request* r) { return r->argument[0] >= card_ipus(); }

static bool no_link(const struct request* r) {
  return no_ipu(r) ||
         r->argument[1] >=
             read_register(TESSERA_CARD_IPU_PORTS + TESSERA_CARD_IPU_PORTS_STRIDE * r->argument[0]) ||
         link_state(r->argument[0], r->argument[1]) == TESSERA_CARD_LINK_ABSENT;
}

static uint32_t ping(struct request* r) {
  r->result[0] = r->argument[0];
  r->result[1] = firmware_version();
  r->result[2] = now_us();
  return TESSERA_CARD_ERROR_OK;
}

static uint32_t info(struct request* r) {
  r->result[0] = read_register(TESSERA_CARD_SERIAL);
  r->result[1] = read_register(TESSERA_CARD_NUMBER);
  r->result[2] = card_ipus();
  r->result[3] = firmware_version();
  r->result[4] = links_up() | links_down() << 16;
  r->result[5] = read_register(TESSERA_CARD_CONTROLLER_HZ);
  r->result[6] = ready_at_us;
  r->result[7] = read_register(TESSERA_CARD_RESET_CAUSE);
  return TESSERA_CARD_ERROR_OK;
}

enum { POWER_READ = 0, POWER_ON = 1, POWER_OFF = 2 };

static uint32_t power(struct request* r) {
  const uint32_t ipu = r->argument[0], what = r->argument[1];
  if (no_ipu(r) || what > POWER_OFF) return TESSERA_CARD_ERROR_BAD_ARGUMENT;
  if (what == POWER_OFF) ipu_off(ipu);
  if (what == POWER_ON && !ipu_is_on(ipu)) {
    if (!ipu_on(ipu)) return TESSERA_CARD_ERROR_TIMEOUT;
    ipu_allow_host(ipu);
  }
  r->result[0] = ipu_is_on(ipu);
  return TESSERA_CARD_ERROR_OK;
}

static uint32_t clock(struct request* r) {
  const uint32_t ipu = r->argument[0], mhz = r->argument[1], nominal = read_register(TESSERA_CARD_PLL_NOMINAL_MHZ);
  if (no_ipu(r) || mhz > 0xffff) return TESSERA_CARD_ERROR_BAD_ARGUMENT;
  if (mhz != 0 && !ipu_is_on(ipu)) return TESSERA_CARD_ERROR_NOT_NOW;
  if (mhz != 0 && mhz != nominal) return TESSERA_CARD_ERROR_NOT_SUPPORTED;
  r->result[0] = read_register(TESSERA_CARD_PLL_MHZ + pll_of(ipu));
  r->result[1] = FIELD(PLL_STATUS_LOCKED, read_register(TESSERA_CARD_PLL_STATUS + pll_of(ipu)));
  r->result[2] = nominal;
  return TESSERA_CARD_ERROR_OK;
}

static uint32_t reset_ipu(struct request* r) {
  if (no_ipu(r)) return TESSERA_CARD_ERROR_BAD_ARGUMENT;
  if (!ipu_is_on(r->argument[0])) return TESSERA_CARD_ERROR_NOT_NOW;
  ipu_pulse_reset(r->argument[0]);
  log_add(TESSERA_CARD_LOG_IPU_RESET, r->argument[0], 0);
  return TESSERA_CARD_ERROR_OK;
}

static uint32_t train(struct request* r) {
  return no_link(r) ? TESSERA_CARD_ERROR_BAD_ARGUMENT : train_link(r->argument[0], r->argument[1]);
}

static uint32_t disable(struct request* r) {
  if (no_link(r)) return TESSERA_CARD_ERROR_BAD_ARGUMENT;
  disable_link(r->argument[0], r->argument[1]);
  set_flag(PUT(CARD_STATE_DEGRADED, 1), links_down() != 0);
  return TESSERA_CARD_ERROR_OK;
}

static uint32_t link_status(struct request* r) {
  if (no_link(r)) return TESSERA_CARD_ERROR_BAD_ARGUMENT;
  r->result[0] = link_state(r->argument[0], r->argument[1]);
  r->result[1] = link_register(r->argument[0], r->argument[1], TESSERA_CARD_LINK_TRAININGS);
  r->result[2] = link_register(r->argument[0], r->argument[1], TESSERA_CARD_LINK_ERRORS);
  return TESSERA_CARD_ERROR_OK;
}

static uint32_t sensors(struct request* r) {
  if (no_ipu(r)) return TESSERA_CARD_ERROR_BAD_ARGUMENT;
  const uint32_t at = sensor_of(r->argument[0]);
  r->result[0] = read_register(TESSERA_CARD_TEMPERATURE + at);
  r->result[1] = read_register(TESSERA_CARD_POWER_MW + at);
  r->result[2] = read_register(TESSERA_CARD_ALARM_AT + at);
  r->result[3] = read_register(TESSERA_CARD_ALARM_ON + at);
  return TESSERA_CARD_ERROR_OK;
}

static uint32_t set_alarm(struct request* r) {
  const uint32_t limit = r->argument[1];
  if (no_ipu(r) || (limit != 0 && (limit < LOWEST_ALARM_MC || limit > HIGHEST_ALARM_MC)))
    return TESSERA_CARD_ERROR_BAD_ARGUMENT;
  write_register(TESSERA_CARD_ALARM_AT + sensor_of(r->argument[0]), limit);
  return TESSERA_CARD_ERROR_OK;
}

static uint32_t read_log(struct request* r) {
  r->result[0] = log_count();
  if (r->argument[0] >= log_count()) return TESSERA_CARD_ERROR_BAD_ARGUMENT;
  const struct log_entry* entry = log_at(r->argument[0]);
  r->result[1] = entry->time;
  r->result[2] = entry->kind;
  r->result[3] = entry->a;
  r->result[4] = entry->b;
  return TESSERA_CARD_ERROR_OK;
}

enum { BAD_IMAGE = 1, BAD_MEMORY = 2, BAD_CLOCK = 4, BAD_SENSOR = 8 };

static uint32_t self_test(struct request* r) {
  uint32_t bad = 0;
  if (!image_is_whole()) bad |= BAD_IMAGE;
  if (!memory_works()) bad |= BAD_MEMORY;
  for (uint32_t i = 0; i < card_ipus(); ++i) {
    if (ipu_is_on(i) && !FIELD(PLL_STATUS_LOCKED, read_register(TESSERA_CARD_PLL_STATUS + pll_of(i)))) bad |= BAD_CLOCK;
    if (read_register(TESSERA_CARD_TEMPERATURE + sensor_of(i)) > HIGHEST_SANE_MC) bad |= BAD_SENSOR;
  }
  r->result[0] = bad;
  return bad == 0 ? TESSERA_CARD_ERROR_OK : TESSERA_CARD_ERROR_FAILED;
}

static uint32_t dispatch(uint32_t code, struct request* r) {
  switch (code) {
    case TESSERA_CARD_COMMAND_PING:
      return ping(r);
    case TESSERA_CARD_COMMAND_INFO:
      return info(r);
    case TESSERA_CARD_COMMAND_POWER:
      return power(r);
    case TESSERA_CARD_COMMAND_CLOCK:
      return clock(r);
    case TESSERA_CARD_COMMAND_RESET_IPU:
      return reset_ipu(r);
    case TESSERA_CARD_COMMAND_LINK_TRAIN:
      return train(r);
    case TESSERA_CARD_COMMAND_LINK_DISABLE:
      return disable(r);
    case TESSERA_CARD_COMMAND_LINK_STATUS:
      return link_status(r);
    case TESSERA_CARD_COMMAND_SENSORS:
      return sensors(r);
    case TESSERA_CARD_COMMAND_SET_ALARM:
      return set_alarm(r);
    case TESSERA_CARD_COMMAND_READ_LOG:
      return read_log(r);
    case TESSERA_CARD_COMMAND_SELF_TEST:
      return self_test(r);
    default:
      return TESSERA_CARD_ERROR_BAD_COMMAND;
  }
}

void serve_mailbox(uint32_t ipu) {
  const uint32_t at = mailbox_of(ipu);
  const uint32_t code = FIELD(MAILBOX_COMMAND_CODE, read_register(TESSERA_CARD_MAILBOX_COMMAND + at));
  struct request r;
  for (uint32_t i = 0; i < 8; ++i) r.result[i] = 0;
  for (uint32_t i = 0; i < 4; ++i) r.argument[i] = read_register(TESSERA_CARD_MAILBOX_ARGUMENT0 + at + 4 * i);
  write_register(TESSERA_CARD_PROGRESS, PUT(PROGRESS_COMMAND, code));
  const uint32_t error = dispatch(code, &r);
  if (error != TESSERA_CARD_ERROR_OK) log_add(TESSERA_CARD_LOG_COMMAND, code, error);
  for (uint32_t i = 0; i < 8; ++i) write_register(TESSERA_CARD_MAILBOX_RESULT + at + 4 * i, r.result[i]);
  write_register(TESSERA_CARD_MAILBOX_ANSWER + at, PUT(MAILBOX_ANSWER_ERROR, error));
}
