/* Lockstep: ticks a second when another process gives the truth, in C and in Python. */
#include "base/monotonic.h"
#include "bench.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "otolith/participant.h"

static const char *const options[] = {"--no-publish", "--mode", "lockstep", "--set",
                                      "vehicles.car.motion={participant: physics}", NULL};
static const char *const alone[] = {"--no-publish", "--mode", "asap", "--for", "100s", NULL};

/* Ticks a second of the same car by itself, as fast as it goes. */
static double alone_hz(void)
{
    struct bench_world world;
    double hz = 0.0;
    if (bench_world_start(&world, alone)) {
        while (oto_client_server_alive(world.client) && !cli_interrupted() &&
               oto_client_wait_tick(world.client, UINT64_MAX, 100) == OTO_TIMEOUT) {
        }
        hz = 1e5 / ((double)(srv_now_ns() - world.spawned_ns) * 1e-9);
    }
    bench_world_stop(&world);
    return hz;
}

static bool play(struct oto_participant *physics, uint64_t ticks, struct oto_error *error)
{
    struct oto_grant grant = {0};
    struct oto_truth_record truth = {.velocity_enu_m_s = {10, 0, 0}, .q_enu_from_body = {1, 0, 0, 0}};
    for (uint64_t i = 0; i < ticks; i++) {
        if (oto_participant_wait(physics, 5000, &grant, error) != OTO_OK) {
            return false;
        }
        truth.position_enu_m.x = 1e-8 * (double)grant.until_ns;
        (void)oto_participant_set(physics, 0, &truth, OTO_TRUTH_HAS_ACCEL | OTO_TRUTH_HAS_ANGULAR_ACCEL);
        (void)oto_participant_done(physics, grant.until);
    }
    return true;
}

static void measure_c(struct bench_context *context, double reference_hz)
{
    struct bench_result result = {.name = "lockstep_c", .unit = "ticks/s", .goal = 15000.0, .at_least = true,
                                  .reference = "the same car by itself, asap", .reference_p50 = reference_hz,
                                  .note = "one participant, spinning 20 us before it sleeps"};
    struct bench_series rate = {0};
    struct bench_world world;
    struct oto_participant *physics = NULL;
    struct oto_error error = {0};
    const uint64_t block = context->smoke ? 500 : 10000;
    const struct oto_participant_options join = {
        .size = sizeof join, .world = "demo", .name = "physics", .answer_ms = -1};
    bool good = bench_world_start(&world, options) && oto_participant_join(&join, &physics, &error) == OTO_OK;
    for (int i = 0; good && i < (context->smoke ? 2 : 50) && !cli_interrupted(); i++) {
        const int64_t start_ns = srv_now_ns();
        good = play(physics, block, &error);
        series_add(&rate, (double)block / ((double)(srv_now_ns() - start_ns) * 1e-9));
    }
    oto_participant_leave(physics);
    bench_world_stop(&world);
    if (good) {
        result_from_series(&result, &rate);
        bench_print(context, &result);
    } else {
        (void)cli_say(&error);
    }
    series_free(&rate);
}

/* lockstep.py prints ticks a second, one block a line. */
static void measure_python(struct bench_context *context, double reference_hz)
{
    struct bench_result result = {.name = "lockstep_python", .unit = "ticks/s", .goal = 15000.0, .at_least = true,
                                  .reference = "the same car by itself, asap", .reference_p50 = reference_hz,
                                  .note = "otolith.Participant: wait, set, done"};
    struct bench_series rate = {0};
    struct bench_world world;
    struct oto_error error = {0};
    char library[PATH_MAX], command[2 * PATH_MAX + 256], line[64];
    if (cli_sibling("../lib/libotolith.so", library, sizeof library, &error) != OTO_OK ||
        !bench_world_start(&world, options)) {
        (void)cli_say(&error);
        return;
    }
    (void)snprintf(command, sizeof command, "OTOLITH_LIBRARY='%s' /usr/bin/python3 '%s/tests/bench/lockstep.py' %d %d",
                   library, OTO_SOURCE_DIR, context->smoke ? 500 : 5000, context->smoke ? 2 : 20);
    FILE *python = popen(command, "re");
    while (python != NULL && fgets(line, sizeof line, python) != NULL) {
        series_add(&rate, strtod(line, NULL));
    }
    if (python != NULL && pclose(python) == 0 && rate.count > 0) {
        result_from_series(&result, &rate);
        bench_print(context, &result);
    }
    bench_world_stop(&world);
    series_free(&rate);
}

void bench_lockstep(struct bench_context *context)
{
    const double reference_hz = alone_hz();
    measure_c(context, reference_hz);
    measure_python(context, reference_hz);
}
