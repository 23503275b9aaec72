/*
 * A counter that misbehaves from sample `at` on. It is compiled several times, each with another misbehaviour as the default, so that a test needs no parameters, and with other constants and state versions, for swaps.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "otolith/plugin.h"

#ifndef TROUBLE_ID
#define TROUBLE_ID "counter"
#endif
#ifndef TROUBLE_KIND
#define TROUBLE_KIND TROUBLE_NONE
#endif
#ifndef TROUBLE_INCREMENT
#define TROUBLE_INCREMENT 1.0
#endif
#ifndef TROUBLE_STATE_VERSION
#define TROUBLE_STATE_VERSION 1
#endif

enum trouble {
    TROUBLE_NONE, TROUBLE_NAN, TROUBLE_SLOW, TROUBLE_STUCK, TROUBLE_CRASH, TROUBLE_DISCARD, TROUBLE_WARN,
    TROUBLE_ERROR, TROUBLE_FATAL, TROUBLE_MALLOC, TROUBLE_RANDOM, TROUBLE_PREPARE, TROUBLE_INIT, TROUBLE_INVALID,
    TROUBLE_ENDLESS, TROUBLE_OVERFLOW
};
static const struct oto_named_value trouble_names[] = {
    {"none", TROUBLE_NONE},       {"nan", TROUBLE_NAN},         {"slow", TROUBLE_SLOW},    {"stuck", TROUBLE_STUCK},
    {"crash", TROUBLE_CRASH},     {"discard", TROUBLE_DISCARD}, {"warn", TROUBLE_WARN},    {"error", TROUBLE_ERROR},
    {"fatal", TROUBLE_FATAL},     {"malloc", TROUBLE_MALLOC},   {"random", TROUBLE_RANDOM}, {"prepare", TROUBLE_PREPARE},
    {"init", TROUBLE_INIT},       {"invalid", TROUBLE_INVALID}, {"endless", TROUBLE_ENDLESS},
    {"overflow", TROUBLE_OVERFLOW}};

#ifndef TROUBLE_STAMP
#define TROUBLE_STAMP 0.0
#endif
/* A constant of the code, to be found in the file's bytes. */
static const volatile double stamp = TROUBLE_STAMP;

struct params {
    double increment;
    int64_t trouble;
    int64_t at;
    double slow_ms;
    int64_t rows;
};
static const struct oto_param params[] = {
    {.key = "increment", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, increment),
     .flags = OTO_PARAM_RUNTIME, .minimum = -1000, .maximum = 1000, .default_value = TROUBLE_INCREMENT, .unit = "1",
     .text = "added each sample"},
    {.key = "trouble", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct params, trouble),
     .flags = OTO_PARAM_RUNTIME, .default_value = TROUBLE_KIND, .unit = "", .text = "what goes wrong",
     .names = trouble_names, .name_count = sizeof trouble_names / sizeof *trouble_names},
    {.key = "at", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct params, at),
     .flags = OTO_PARAM_RUNTIME, .default_value = 5, .unit = "", .text = "the sample from which on"},
    {.key = "slow_ms", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, slow_ms),
     .flags = OTO_PARAM_RUNTIME, .minimum = 0, .maximum = 60000, .default_value = 20, .unit = "ms",
     .text = "how long a slow step takes"},
    {.key = "fixed", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct params, rows),
     .default_value = 0, .unit = "", .text = "may not change while running"},
};

struct state {
    uint64_t steps;
    double value;
#ifdef TROUBLE_STATE_BYTES
    unsigned char rest[TROUBLE_STATE_BYTES];
#endif
#if TROUBLE_STATE_VERSION > 1
    double previous;
#endif
};

struct record {
    double value;
    uint64_t n;
};
static const struct oto_field fields[] = {
    {"value", OTO_FIELD_F64, 1, offsetof(struct record, value), "1", "", "the sum"},
    {"n", OTO_FIELD_U64, 1, offsetof(struct record, n), "", "", "the sample's number"},
};
static const struct oto_record_type type = {"counter", sizeof(struct record), 2, fields};
static const struct oto_port outputs[] = {{"", &type, OTO_PORT_ALWAYS, 0}};

/* Burns processor time: what other programs take meanwhile does not count. */
static void burn(double milliseconds)
{
    struct timespec used;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    const double end = (double)used.tv_sec * 1e3 + (double)used.tv_nsec * 1e-6 + milliseconds;
    while ((double)used.tv_sec * 1e3 + (double)used.tv_nsec * 1e-6 < end) {
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    }
}

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    const struct params *p = block;
    (void)host;
    (void)setup;
    *data = NULL;
    while (p->trouble == TROUBLE_ENDLESS) { /* prepare does not return */
        burn(1000);
    }
    return p->trouble == TROUBLE_PREPARE ? oto_fail(error, OTO_INVALID, "trouble: prepare was told to fail") : OTO_OK;
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    const struct params *p = instance->params;
    return p->trouble == TROUBLE_INIT ? oto_fail(error, OTO_INVALID, "trouble: init was told to fail") : OTO_OK;
}

/* Frames smaller than the guard page behind the stack: none jumps over it. */
static __attribute__((noinline)) void overflow(void)
{
    volatile char frame[1024];
    frame[0] = 1;
    if (frame[0] == 1) {
        overflow();
    }
    frame[1] = frame[0];
}

static enum oto_step_status make_trouble(const struct params *p, struct state *state, struct record *record)
{
    switch (p->trouble) {
    case TROUBLE_NAN: record->value = (double)NAN; return OTO_STEP_OK;
    case TROUBLE_SLOW: burn(p->slow_ms); return OTO_STEP_OK;
    case TROUBLE_STUCK: burn(60e3); return OTO_STEP_OK;
    case TROUBLE_CRASH: {
        volatile int *volatile nowhere = NULL; /* volatile: the compiler must not remove the store */
        *nowhere = 1;
        return OTO_STEP_OK;
    }
    case TROUBLE_OVERFLOW: overflow(); return OTO_STEP_OK;
    case TROUBLE_DISCARD: return OTO_STEP_DISCARD;
    case TROUBLE_WARN: return OTO_STEP_WARN;
    case TROUBLE_ERROR: return OTO_STEP_ERROR;
    case TROUBLE_FATAL: return OTO_STEP_FATAL;
    case TROUBLE_MALLOC: {
        void *volatile memory = malloc(64);
        free(memory);
        return OTO_STEP_OK;
    }
    case TROUBLE_RANDOM: record->value += (double)((uintptr_t)state % 4096) + (double)clock(); return OTO_STEP_OK;
    default: return OTO_STEP_OK;
    }
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    const struct params *p = instance->params;
    struct state *state = instance->state;
    struct record *record = now->outputs[0].payload;
    state->steps++;
    state->value += p->increment;
    record->value = state->value + stamp;
    record->n = now->n;
    return now->n >= (uint64_t)p->at ? make_trouble(p, state, record) : OTO_STEP_OK;
}

#ifdef TROUBLE_MIGRATES
static enum oto_status migrate(const struct oto_instance *instance, const void *old_state, uint64_t old_bytes,
                               uint32_t old_version)
{
    struct state *state = instance->state;
    if (old_version != 1 || old_bytes < 2 * sizeof(uint64_t)) {
        return OTO_VERSION;
    }
    memcpy(state, old_state, 2 * sizeof(uint64_t));
    return OTO_OK;
}
#define MIGRATE migrate
#define MIGRATES_FROM 1
#else
#define MIGRATE NULL
#define MIGRATES_FROM TROUBLE_STATE_VERSION
#endif

static enum oto_status validate(const struct oto_instance *instance)
{
    const struct params *p = instance->params;
    const struct state *state = instance->state;
    return p->trouble != TROUBLE_INVALID && isfinite(state->value) ? OTO_OK : OTO_PLUGIN;
}

#ifdef TROUBLE_BATCH
/* One after the other; TROUBLE_BATCH above 1 tells on it: the value is then how many there were. */
static void step_batch(const struct oto_instance *const *instances, const struct oto_step *const *steps, uint32_t count,
                       enum oto_step_status *statuses)
{
    for (uint32_t i = 0; i < count; i++) {
        statuses[i] = step(instances[i], steps[i]);
        if (TROUBLE_BATCH > 1) {
            ((struct record *)steps[i]->outputs[0].payload)->value = count;
        }
    }
}
#define BATCH step_batch
#else
#define BATCH NULL
#endif

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = TROUBLE_ID, .kind = OTO_KIND_SENSOR, .version = "1.0.0",
    .text = "counts samples, and misbehaves when told to", .outputs = outputs, .output_count = 1,
    .param_count = sizeof params / sizeof *params, .params = params, .params_bytes = sizeof(struct params),
    .state_bytes =
#ifdef TROUBLE_CLAIMED_STATE_BYTES
        TROUBLE_CLAIMED_STATE_BYTES,
#else
        sizeof(struct state),
#endif
    .state_version = TROUBLE_STATE_VERSION, .migrates_from = MIGRATES_FROM};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .prepare = prepare, .init = init, .step = step,
                                          .migrate = MIGRATE, .validate = validate,
                                          .step_batch = BATCH};
OTO_PLUGIN_DEFINE(descriptor, ops, NULL);
