/* The truth of a thousand vehicles: one tick of each, step and evaluate, through the plugins as they were built. */
#include "base/monotonic.h"
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "plugin/host.h"

enum { VEHICLES = 1000 };
#define TICK_NS INT64_C(1000000)

struct fleet {
    struct oto_plugin *plugin;
    struct oto_params params;
    struct oto_setup setups[VEHICLES];
    struct oto_prepared prepared[VEHICLES];
    struct oto_instance instances[VEHICLES];
    char *states;
    struct oto_error error;
};

static bool fail(struct fleet *fleet)
{
    (void)fprintf(stderr, "otolith-bench: %s\n", fleet->error.text);
    return false;
}

static bool bind_fleet(struct fleet *fleet, const char *yaml)
{
    struct oto_document *document = NULL;
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(fleet->plugin);
    enum oto_status status = oto_params_default(descriptor, &fleet->params, &fleet->error);
    if (status == OTO_OK)
        status = oto_document_parse("bench", yaml, strlen(yaml), NULL, &document, &fleet->error);
    if (status == OTO_OK)
        status = oto_params_apply(descriptor, oto_document_root(document), &fleet->params, &fleet->error);
    oto_document_close(document);
    return status == OTO_OK || fail(fleet);
}

static bool make_vehicle(struct fleet *fleet, int i)
{
    const uint64_t bytes = oto_plugin_descriptor(fleet->plugin)->state_bytes;
    struct oto_setup *setup = &fleet->setups[i];
    *setup = (struct oto_setup){.size = sizeof *setup, .base_rate_num = 1000, .base_rate_den = 1, .rate_num = 1000,
                                .rate_den = 1, .rate_hz = 1000.0, .gravity_enu_m_s2 = {0, 0, -9.81},
                                .q_body_from_sensor = {1, 0, 0, 0}};
    (void)snprintf(setup->node, sizeof setup->node, "car%d/motion", i);
    setup->noise_key = oto_rng_key_make(1, setup->node);
    if (oto_prepare(fleet->plugin, setup, &fleet->params, NULL, NULL, &fleet->prepared[i], &fleet->error) != OTO_OK)
        return fail(fleet);
    fleet->instances[i] = (struct oto_instance){sizeof fleet->instances[i], 0, setup, fleet->params.block,
                                                fleet->prepared[i].data, fleet->states + (size_t)i * bytes};
    return oto_plugin_ops(fleet->plugin)->init == NULL ||
           oto_plugin_ops(fleet->plugin)->init(&fleet->instances[i], &fleet->error) == OTO_OK || fail(fleet);
}

static bool open_fleet(struct fleet *fleet, const char *name, const char *yaml)
{
    char path[1024];
    bool made;
    if (oto_plugin_find(name, path, sizeof path, &fleet->error) != OTO_OK ||
        oto_plugin_open(path, NULL, &fleet->plugin, &fleet->error) != OTO_OK)
        return fail(fleet);
    fleet->states = calloc(VEHICLES, oto_plugin_descriptor(fleet->plugin)->state_bytes + 8);
    made = fleet->states != NULL && bind_fleet(fleet, yaml);
    for (int i = 0; made && i < VEHICLES; i++)
        made = make_vehicle(fleet, i);
    return made;
}

static void close_fleet(struct fleet *fleet)
{
    for (int i = 0; i < VEHICLES; i++)
        oto_prepared_free(&fleet->prepared[i]);
    oto_params_free(&fleet->params);
    free(fleet->states);
    (void)oto_plugin_close(fleet->plugin);
    free(fleet);
}

/* Tick k of every vehicle, at different places of their drives. */
static void run_tick(struct fleet *fleet, uint64_t k)
{
    const struct oto_plugin_ops *ops = oto_plugin_ops(fleet->plugin);
    const struct oto_motion_extension *motion = oto_plugin_motion(fleet->plugin);
    const struct oto_step step = oto_step_make(k, k + 1, (struct oto_instant){(int64_t)(k + 1) * TICK_NS, 0.0}, NULL);
    for (int i = 0; i < VEHICLES; i++) {
        struct oto_truth_record truth;
        (void)ops->step(&fleet->instances[i], &step);
        (void)motion->evaluate(&fleet->instances[i], step.at, &truth);
        __asm__ volatile("" : : "r"(&truth) : "memory");
    }
}

void bench_motion(struct bench_context *context)
{
    static const struct {
        const char *name, *plugin, *yaml;
    } cases[] = {
        {"script_1000", "motion_script", "repeat: true"},
        {"city_1000", "motion_script", "generate: city"},
        {"city_on_road_1000", "motion_script",
         "{generate: city, road: {grade_rms_deg: 1, bank_rms_deg: 0.7, crown_deg: 0.5},"
         " suspension: {pitch_compliance_deg_s2_m: -0.3, roll_compliance_deg_s2_m: 0.35}}"},
        {"city_shaken_1000", "motion_script",
         "{generate: city, road: {grade_rms_deg: 1, bank_rms_deg: 0.7, crown_deg: 0.5},"
         " suspension: {pitch_compliance_deg_s2_m: -0.3, roll_compliance_deg_s2_m: 0.35},"
         " vibration: {pitch_rms_deg: 0.15, roll_rms_deg: 0.15, vertical_rms_m_s2: 0.6}}"},
        {"waypoints_1000", "motion_waypoints", "loop: false"},
    };
    const uint64_t warm = 20000, ticks = context->smoke ? 50 : 20000;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fleet *fleet = calloc(1, sizeof *fleet);
        struct bench_series series = {0};
        struct bench_result result = {.name = cases[i].name, .unit = "us", .goal = 1000.0, .reference = "a period of 1 kHz",
                                      .reference_p50 = 1000.0};
        if (fleet == NULL || !open_fleet(fleet, cases[i].plugin, cases[i].yaml))
            return;
        for (uint64_t k = 0; k < ticks; k++) {
            const int64_t start_ns = srv_now_ns();
            run_tick(fleet, warm + k);
            series_add(&series, (double)(srv_now_ns() - start_ns) * 1e-3);
        }
        result_from_series(&result, &series);
        bench_print(context, &result);
        series_free(&series);
        close_fleet(fleet);
    }
}
