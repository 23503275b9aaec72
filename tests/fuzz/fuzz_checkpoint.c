/*
 * What someone may give to `--restore`. The input is a file, and, since the hashes of a file find every damage, also a
 * state that an engine is to take as it is.
 */
#include <stdlib.h>

#include "world_file.h"
#include "daemon/checkpoint/checkpoint_file.h"
#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* The world of corpus/fuzz_checkpoint: `file` is its checkpoint at 2 s, `state` what stands there behind the description. */
static const char world[] = "world: fuzz\n"
                            "seed: 3\n"
                            "clock: {rate_hz: 20}\n"
                            "ring_capacity: 2\n"
                            "vehicles:\n"
                            "  - name: car\n"
                            "    motion: {plugin: motion_script}\n"
                            "    nodes:\n"
                            "      - {name: imu, plugin: mems_imu, rate_hz: 10, faults: [{kind: delay, value: 0.5, at_s: 0.1}]}\n"
                            "      - {name: odo, plugin: odometer, rate_hz: 5}\n";

static void must(int holds)
{
    if (!holds) {
        abort();
    }
}

static void drop(void *context, const char *sentence)
{
    (void)context;
    (void)sentence;
}

static void read_file(const uint8_t *data, size_t bytes)
{
    struct memory_file file = memory_file_make(data, bytes);
    struct srv_checkpoint checkpoint = {0};
    struct oto_error error = {.status = OTO_OK};
    must(srv_checkpoint_read(file.path, &checkpoint, &error) == OTO_OK || error.text[0] != '\0');
    srv_checkpoint_finish(&checkpoint);
    memory_file_close(&file);
}

/* Made once: opening plugins is what takes long. */
static const struct srv_world_config *fixed_config(void)
{
    static struct srv_world_config config;
    static bool made;
    struct oto_error error = {.status = OTO_OK};
    if (!made) {
        struct memory_file file = memory_file_make(world, sizeof world - 1);
        must(world_file_load(file.path, NULL, 0, drop, NULL, &config, &error) == OTO_OK);
        memory_file_close(&file);
        made = true;
    }
    return &config;
}

static void load_state(const uint8_t *data, size_t bytes)
{
    const struct srv_engine_options options = {.start_paused = true, .epoch = 1};
    struct srv_engine *engine = NULL;
    struct oto_error error = {.status = OTO_OK};
    must(srv_engine_create(fixed_config(), &options, drop, NULL, &engine, &error) == OTO_OK);
    must(srv_engine_load(engine, data, bytes, &error) == OTO_OK || error.text[0] != '\0');
    srv_engine_destroy(engine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    read_file(data, bytes);
    load_state(data, bytes);
    return 0;
}
