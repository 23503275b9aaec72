/*
 * A plugin of ABI 1.1, with the layout written out instead of included: hosts of other versions refuse it.
 */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

struct field { const char *name; uint32_t type, count, offset; const char *unit, *frame, *text; };
struct record { const char *name; uint32_t bytes, field_count; const struct field *fields; };
struct port { const char *name; const struct record *type; uint32_t enable_offset, reserved; };
struct output { void *payload; int64_t t_ns, sensor_time_ns; uint32_t flags, emit; };
struct step {
    uint32_t size, reserved;
    uint64_t tick, n;
    int64_t t_ns;
    double sub_ns;
    const void *input;
    int (*input_at)(void *, int64_t, double, void *);
    void *input_context;
    struct output *outputs;
    const void *samples;
    uint32_t sample_count, reserved_samples;
};
struct descriptor {
    uint32_t size, flags;
    const char *id, *kind, *version, *text;
    const struct port *outputs;
    uint32_t output_count, param_count;
    const void *params;
    uint64_t params_bytes, state_bytes;
    uint32_t state_version, migrates_from;
};
struct ops {
    uint32_t size, reserved;
    void *prepare, *init, *set_params;
    int (*step)(const void *instance, const struct step *step);
    void *migrate, *validate, *step_batch;
};
struct abi {
    uint32_t magic;
    uint16_t major, minor, pointer_bytes, descriptor_bytes, ops_bytes, step_bytes, input_bytes, param_bytes;
    uint32_t endian;
};
struct entry {
    uint32_t size, reserved;
    struct abi abi;
    const struct descriptor *descriptor;
    const struct ops *ops;
    const void *extension;
};

static const struct field fields[] = {{"n", 7, 1, 0, "", "", "sample number"}};
static const struct record type = {"old", 8, 1, fields};
static const struct port outputs[] = {{"", &type, UINT32_MAX, 0}};

static int step(const void *instance, const struct step *now)
{
    (void)instance;
    *(uint64_t *)now->outputs[0].payload = now->n;
    return 0;
}

static const struct descriptor descriptor = {sizeof descriptor, 0, "abi_1_1", "sensor", "1", "frozen at ABI 1.1",
                                             outputs, 1, 0, NULL, 0, 0, 1, 1};
static const struct ops ops = {.size = sizeof ops, .step = step};
extern EXPORT const struct entry otolith_plugin;
EXPORT const struct entry otolith_plugin = {
    sizeof(struct entry), 0, {0x4f544f50u, 1, 1, 8, 88, 64, 88, 392, 112, 0x01020304u}, &descriptor, &ops, NULL};
