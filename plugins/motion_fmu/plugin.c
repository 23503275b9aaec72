/*
 * The adapter of an FMU to the plugin ABI: parameter table, mapping of variables, steps, truth. The FMU runs one communication step
 * ahead of the vehicle, so that a quantity that it does not give can be a central difference.
 */
#include "otolith/controls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "course.h"
#include "fmu.h"
#include "otolith/detmath.h"
#include "unit.h"

#define MOST_STARTS 60
#define SAVED_BYTES 16384
#define MOST_TICKS_A_STEP 1000u

_Static_assert(QUANTITIES + MOST_STARTS + OTO_CONTROLS <= FMU_VARIABLES, "a description has room for all variables of a world");

struct start_params {
    char variable[FMU_NAME_BYTES];
    double value;
};

struct input_params {
    char variable[FMU_NAME_BYTES];
    int64_t control;
    double scale, offset;
};

struct params {
    char path[FMU_PATH_BYTES];
    double step_s;
    char truth[QUANTITIES][FMU_NAME_BYTES];
    uint64_t start_count;
    struct start_params starts[MOST_STARTS];
    uint64_t input_count;
    struct input_params inputs[OTO_CONTROLS];
};

/* clang-format off */
static const struct oto_param start_params[] = {
    {.key = "variable", .type = OTO_PARAM_TEXT, .count = FMU_NAME_BYTES, .offset = OTO_PARAM_AT(struct start_params, variable),
     .flags = OTO_PARAM_REQUIRED, .unit = "", .text = "name of a parameter or an input of the FMU"},
    {.key = "value", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct start_params, value), .flags = OTO_PARAM_REQUIRED,
     .unit = "", .text = "in the variable's own unit; 0 or 1 for a Boolean"},
};

static const struct oto_param input_params[] = {
    {.key = "variable", .type = OTO_PARAM_TEXT, .count = FMU_NAME_BYTES, .offset = OTO_PARAM_AT(struct input_params, variable),
     .flags = OTO_PARAM_REQUIRED, .unit = "", .text = "name of an input of the FMU"},
    {.key = "control", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct input_params, control), .flags = OTO_PARAM_REQUIRED,
     .minimum = 1, .maximum = OTO_CONTROLS, .unit = "", .text = "number of the control, from 1"},
    {.key = "scale", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct input_params, scale), .default_value = 1, .unit = "",
     .text = "input = scale * control + offset, in the variable's own unit"},
    {.key = "offset", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct input_params, offset), .unit = "",
     .text = "in the variable's own unit"},
};

static const struct oto_param params[] = {
    {.key = "path", .type = OTO_PARAM_PATH, .count = FMU_PATH_BYTES, .offset = OTO_PARAM_AT(struct params, path),
     .flags = OTO_PARAM_REQUIRED, .unit = "", .text = "an FMU for co-simulation, FMI 2.0 or 3.0"},
    {.key = "step_s", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, step_s), .maximum = 100, .unit = "s",
     .text = "communication step, a multiple of the tick; 0: one tick, or the FMU's fixedInternalStepSize"},
#define QUANTITY_X(name, key_, unit_, m, s, rad, text_) \
    {.key = "truth." key_, .type = OTO_PARAM_TEXT, .count = FMU_NAME_BYTES, \
     .offset = OTO_PARAM_AT(struct params, truth[QUANTITY_##name]), .unit = "", .text = "variable: " text_},
    QUANTITY_TABLE(QUANTITY_X)
#undef QUANTITY_X
    {.key = "start", .type = OTO_PARAM_LIST, .count = MOST_STARTS, .offset = OTO_PARAM_AT(struct params, start_count), .unit = "",
     .text = "start values of the FMU's parameters and inputs", .items = start_params,
     .item_count = sizeof start_params / sizeof *start_params, .item_bytes = sizeof(struct start_params)},
    {.key = "inputs", .type = OTO_PARAM_LIST, .count = OTO_CONTROLS, .offset = OTO_PARAM_AT(struct params, input_count), .unit = "",
     .text = "inputs of the FMU that follow the vehicle's controls", .items = input_params,
     .item_count = sizeof input_params / sizeof *input_params, .item_bytes = sizeof(struct input_params)},
};
/* clang-format on */

_Static_assert(offsetof(struct params, starts) == offsetof(struct params, start_count) + sizeof(uint64_t),
               "a list is its length, then its items");
_Static_assert(offsetof(struct params, inputs) == offsetof(struct params, input_count) + sizeof(uint64_t),
               "a list is its length, then its items");

static const struct {
    const char *key;
    struct unit_dimension dimension;
} quantities[QUANTITIES] = {
#define QUANTITY_X(name, key, unit, m, s, rad, text) {"truth." key, {m, s, rad, unit}},
    QUANTITY_TABLE(QUANTITY_X)
#undef QUANTITY_X
};

/* The window of communication points about the present FMU step, and the FMU's own state after the last of them. */
struct motion_state {
    uint64_t ticks;  /* made */
    uint64_t points; /* computed: the FMU stands at number points - 1 */
    struct oto_instant start_at, end_at;
    struct course_point window[4];
    double controls[OTO_CONTROLS];
    uint64_t controls_are_new; /* 1: the FMU has not got them yet */
    uint64_t saved_bytes; /* 0: the FMU's state cannot be saved */
    unsigned char saved[SAVED_BYTES];
};

/* An input of the FMU that follows a control. */
struct control_mapping {
    uint32_t variable; /* index in the description */
    uint32_t control;  /* from 0 */
    double scale, offset;
};

struct mapping {
    bool is_given;
    uint32_t variable; /* index in the description */
    struct unit_conversion conversion;
};

/* Prepared data. The FMU in it lives as long as the process. */
struct prepared {
    struct fmu fmu;
    uint64_t points; /* computed by the FMU; differs from the state's after a restart or a restore */
    struct mapping mappings[QUANTITIES];
    uint32_t given; /* bit i: quantity i */
    struct control_mapping inputs[OTO_CONTROLS];
    uint32_t input_count;
    bool has_rpy, saves;
    uint32_t ticks_a_step;
    double tick_s, step_s;
    double tick_num, tick_den; /* a tick lasts tick_den / tick_num s */
};

/* ---- mapping ---- */

static bool is_named(const struct params *p, uint32_t quantity)
{
    return p->truth[quantity][0] != '\0';
}

static enum oto_status check_groups(const struct params *p, struct prepared *prepared, struct oto_error *error)
{
    uint32_t quaternion = 0, rpy = 0, all = 0;
    for (uint32_t i = 0; i < QUANTITIES; i++) {
        const bool named = is_named(p, i);
        all += named;
        quaternion += named && i >= QUANTITY_Q_W && i <= QUANTITY_Q_Z;
        rpy += named && i >= QUANTITY_ROLL && i <= QUANTITY_YAW;
        prepared->given |= named ? 1u << i : 0;
    }
    if (all == 0) {
        return oto_fail(error, OTO_INVALID, "truth: no variable is mapped; at least one is needed, for example truth.position_x_m");
    }
    if ((quaternion != 0 && quaternion != 4) || (quaternion != 0 && rpy != 0)) {
        return oto_fail(error, OTO_INVALID, "truth: %u of q_w, q_x, q_y, q_z and %u of roll_rad, pitch_rad, yaw_rad are mapped; all four of "
                        "the quaternion, or any of the angles, are accepted", quaternion, rpy);
    }
    for (uint32_t i = 0; i < 6; i++) {
        const uint32_t from = i < 3 ? QUANTITY_VELOCITY_X + i : QUANTITY_ACCEL_X + i - 3;
        if (is_named(p, from) && !is_named(p, QUANTITY_POSITION_X + i % 3)) {
            return oto_fail(error, OTO_INVALID, "%s is mapped and %s is not: map the position of this axis too", quantities[from].key,
                            quantities[QUANTITY_POSITION_X + i % 3].key);
        }
    }
    prepared->has_rpy = rpy != 0;
    return OTO_OK;
}

static void name_variables(const struct params *p, struct fmu_description *description)
{
    description->count = 0;
    for (uint32_t i = 0; i < QUANTITIES; i++) {
        if (is_named(p, i)) {
            memcpy(description->variables[description->count++].name, p->truth[i], FMU_NAME_BYTES);
        }
    }
    for (uint32_t i = 0; i < p->start_count; i++) {
        memcpy(description->variables[description->count++].name, p->starts[i].variable, FMU_NAME_BYTES);
    }
    for (uint32_t i = 0; i < p->input_count; i++) {
        memcpy(description->variables[description->count++].name, p->inputs[i].variable, FMU_NAME_BYTES);
    }
}

/* Whether the FMU has the variable, and the name is that of a single number. */
static enum oto_status check_variable(const struct fmu_variable *variable, struct oto_error *error)
{
    if (!variable->is_found) {
        return oto_fail(error, OTO_NOT_FOUND, "the FMU has no variable '%s'", variable->name);
    }
    if (variable->rank > 0 && variable->elements == 0) {
        return oto_fail(error, OTO_UNSUPPORTED, "variable '%s' is an array whose size the FMU's description does not give, or larger than "
                        "%u numbers in %u dimensions, which are accepted", variable->name, FMU_ELEMENTS, FMU_RANK);
    }
    if (variable->rank > 0 && variable->element == variable->elements) {
        return oto_fail(error, OTO_INVALID, "variable '%s' is no element of the array of %u numbers (%u dimensions); one is named with an "
                        "index from 1 for each dimension, as in 'position[3]' or 'inertia[1,2]'", variable->name, variable->elements,
                        variable->rank);
    }
    return variable->rank == 0 || variable->type == FMU_FLOAT64 || variable->type == FMU_FLOAT32
               ? OTO_OK
               : oto_fail(error, OTO_UNSUPPORTED, "variable '%s' is in an array of another type; of Float64 and Float32 arrays are accepted",
                          variable->name);
}

static enum oto_status map_quantity(const struct oto_host *host, struct prepared *prepared, uint32_t quantity, uint32_t index,
                                    struct oto_error *error)
{
    const struct fmu_variable *variable = &prepared->fmu.description.variables[index];
    struct mapping *mapping = &prepared->mappings[quantity];
    bool is_assumed = false;
    char sentence[400];
    struct oto_error why = {0};
    *mapping = (struct mapping){.is_given = true, .variable = index};
    if (check_variable(variable, &why) != OTO_OK) {
        return oto_fail(error, why.status, "%s: %s", quantities[quantity].key, why.text);
    }
    if (variable->type != FMU_FLOAT64 && variable->type != FMU_FLOAT32) {
        return oto_fail(error, OTO_INVALID, "%s: variable '%s' is of another type; a Real, Float64 or Float32 is accepted",
                        quantities[quantity].key, variable->name);
    }
    if (unit_convert(variable, quantities[quantity].dimension, &mapping->conversion, &is_assumed, &why) != OTO_OK) {
        return oto_fail(error, why.status, "%s: %s", quantities[quantity].key, why.text);
    }
    if (is_assumed) {
        (void)snprintf(sentence, sizeof sentence, "%s: variable '%s' has no unit; its values are taken as %s", quantities[quantity].key,
                       variable->name, quantities[quantity].dimension.si);
        host->warn(host->context, sentence);
    }
    return OTO_OK;
}

static enum oto_status map_all(const struct oto_host *host, const struct params *p, struct prepared *prepared, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    uint32_t index = 0;
    for (uint32_t i = 0; status == OTO_OK && i < QUANTITIES; i++) {
        if (is_named(p, i)) {
            status = map_quantity(host, prepared, i, index++, error);
        }
    }
    return status;
}

static enum oto_status set_starts(const struct params *p, struct prepared *prepared, struct oto_error *error)
{
    const uint32_t first = prepared->fmu.description.count - (uint32_t)(p->start_count + p->input_count);
    struct oto_error why = {0};
    for (uint32_t i = 0; i < p->start_count; i++) {
        const struct fmu_variable *variable = &prepared->fmu.description.variables[first + i];
        if (check_variable(variable, &why) != OTO_OK) {
            return oto_fail(error, why.status, "start[%u]: %s", i, why.text);
        }
        if (!variable->is_settable) {
            return oto_fail(error, OTO_INVALID, "start[%u]: '%s' is no parameter or input of the FMU", i, variable->name);
        }
        if (!fmu_write(&prepared->fmu, variable, p->starts[i].value)) {
            return oto_fail(error, OTO_INVALID, "start[%u]: the FMU does not accept %g for '%s'%s%.100s", i, p->starts[i].value,
                            p->starts[i].variable, prepared->fmu.said[0] != '\0' ? ": " : "", prepared->fmu.said);
        }
    }
    return OTO_OK;
}

/* Inputs that follow controls. */
static enum oto_status map_inputs(const struct params *p, struct prepared *prepared, struct oto_error *error)
{
    const uint32_t first = prepared->fmu.description.count - (uint32_t)p->input_count;
    struct oto_error why = {0};
    for (uint32_t i = 0; i < p->input_count; i++) {
        const struct input_params *input = &p->inputs[i];
        const struct fmu_variable *variable = &prepared->fmu.description.variables[first + i];
        if (check_variable(variable, &why) != OTO_OK) {
            return oto_fail(error, why.status, "inputs[%u]: %s", i, why.text);
        }
        if (!variable->is_input || variable->type == FMU_OTHER) {
            return oto_fail(error, OTO_INVALID, "inputs[%u]: '%s' is no input of the FMU with a number; variables with causality \"input\" are "
                            "accepted", i, variable->name);
        }
        prepared->inputs[prepared->input_count++] =
            (struct control_mapping){first + i, (uint32_t)input->control - 1, input->scale, input->offset};
    }
    return OTO_OK;
}

/* ---- preparation ---- */

/* A communication step is a tick, or the fewest ticks that are a multiple of the wanted step, else of the FMU's fixed step. */
static enum oto_status choose_step(const struct oto_setup *setup, const struct params *p, struct prepared *prepared,
                                   struct oto_error *error)
{
    const double fixed_s = p->step_s > 0.0 ? p->step_s : prepared->fmu.description.fixed_step_s;
    prepared->tick_num = (double)setup->base_rate_num;
    prepared->tick_den = (double)setup->base_rate_den;
    prepared->tick_s = prepared->tick_den / prepared->tick_num;
    for (uint32_t ticks = 1; ticks <= MOST_TICKS_A_STEP; ticks++) {
        const double steps = fixed_s > 0.0 ? ticks * prepared->tick_s / fixed_s : 1.0;
        const double whole = oto_round_half_away(steps);
        if (whole >= 1.0 && oto_fabs(steps - whole) <= 1e-9 * whole) {
            prepared->ticks_a_step = ticks;
            prepared->step_s = ticks * prepared->tick_den / prepared->tick_num;
            return OTO_OK;
        }
    }
    return oto_fail(error, OTO_UNSUPPORTED, "%s of %g s: no multiple of it is a whole number of ticks of %g s up to %u; choose another "
                    "clock.rate_hz", p->step_s > 0.0 ? "step_s" : "the FMU has a fixed step", fixed_s, prepared->tick_s, MOST_TICKS_A_STEP);
}

static enum oto_status make_directory(char *path, size_t bytes, struct oto_error *error)
{
    const char *base = getenv("TMPDIR");
    const int length = snprintf(path, bytes, "%s/fmu-XXXXXX", base != NULL ? base : "/tmp");
    return length > 0 && (size_t)length < bytes && mkdtemp(path) != NULL
               ? OTO_OK
               : oto_fail(error, OTO_IO, "the FMU cannot be unpacked: no directory '%.200s' can be made", path);
}

static void warn_of_state(const struct oto_host *host, struct prepared *prepared)
{
    char sentence[400];
    const size_t bytes = fmu_save(&prepared->fmu, NULL, 0);
    prepared->saves = bytes > 0 && bytes <= SAVED_BYTES;
    if (prepared->saves) {
        return;
    }
    if (bytes > 0) {
        (void)snprintf(sentence, sizeof sentence, "the state of the FMU '%.200s' has %zu bytes, and at most %d are kept: this world has no "
                       "checkpoints, and the vehicle does not survive the end of its plugin host", prepared->fmu.path, bytes, SAVED_BYTES);
    } else {
        (void)snprintf(sentence, sizeof sentence, "the FMU '%.200s' cannot save its state (canGetAndSetFMUState and canSerializeFMUState): this "
                       "world has no checkpoints, and the vehicle does not survive the end of its plugin host", prepared->fmu.path);
    }
    host->warn(host->context, sentence);
}

static enum oto_status open_fmu(const struct oto_host *host, const struct oto_setup *setup, const struct params *p,
                                struct prepared *prepared, struct oto_error *error)
{
    char directory[FMU_PATH_BYTES];
    enum oto_status status = make_directory(directory, sizeof directory, error);
    if (status == OTO_OK) {
        name_variables(p, &prepared->fmu.description);
        status = fmu_open(&prepared->fmu, p->path, directory, error);
    }
    if (status == OTO_OK) {
        status = map_all(host, p, prepared, error);
    }
    if (status == OTO_OK) {
        status = map_inputs(p, prepared, error);
    }
    if (status == OTO_OK) {
        status = choose_step(setup, p, prepared, error);
    }
    if (status == OTO_OK) {
        status = fmu_instantiate(&prepared->fmu, setup->node, error);
    }
    if (status == OTO_OK) {
        status = set_starts(p, prepared, error);
    }
    return status == OTO_OK ? fmu_initialize(&prepared->fmu, error) : status;
}

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block, const void **data,
                               struct oto_error *error)
{
    const struct params *p = block;
    struct prepared *prepared = host->alloc(host->context, sizeof *prepared);
    if (prepared == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %zu bytes of prepared data", sizeof *prepared);
    }
    enum oto_status status = check_groups(p, prepared, error);
    if (status == OTO_OK) {
        status = open_fmu(host, setup, p, prepared, error);
    }
    if (status != OTO_OK) {
        fmu_close(&prepared->fmu);
        return status;
    }
    prepared->points = 1;
    warn_of_state(host, prepared);
    *data = prepared;
    return OTO_OK;
}

/* ---- steps ---- */

/* The FMU itself is changed by steps, as the flag OTO_PLUGIN_HOST_ONLY allows. */
static struct prepared *prepared_of(const struct oto_instance *instance)
{
    return (struct prepared *)(uintptr_t)instance->data;
}

static bool read_point(struct prepared *prepared, struct course_point *point)
{
    *point = (struct course_point){{0}};
    point->values[QUANTITY_Q_W] = 1.0;
    for (uint32_t i = 0; i < QUANTITIES; i++) {
        const struct mapping *mapping = &prepared->mappings[i];
        double value = 0.0;
        if (!mapping->is_given) {
            continue;
        }
        if (!fmu_read(&prepared->fmu, &prepared->fmu.description.variables[mapping->variable], &value)) {
            return false;
        }
        point->values[i] = unit_apply(mapping->conversion, value);
    }
    return course_complete(point, prepared->has_rpy);
}

/* Hands new controls to the FMU. */
static enum fmu_result obey(struct prepared *prepared, struct motion_state *state)
{
    struct fmu_input inputs[OTO_CONTROLS];
    for (uint32_t i = 0; i < prepared->input_count; i++) {
        const struct control_mapping *mapping = &prepared->inputs[i];
        inputs[i] = (struct fmu_input){&prepared->fmu.description.variables[mapping->variable],
                                       mapping->scale * state->controls[mapping->control] + mapping->offset};
    }
    state->controls_are_new = 0;
    return fmu_write_inputs(&prepared->fmu, inputs, prepared->input_count);
}

/* Computes the next communication point. */
static enum fmu_result advance(struct prepared *prepared, struct motion_state *state, struct course_point *point)
{
    const double at_s = (double)(prepared->points - 1) * prepared->ticks_a_step * prepared->tick_den / prepared->tick_num;
    enum fmu_result result = state->controls_are_new != 0 ? obey(prepared, state) : FMU_DONE;
    if (result == FMU_DONE) {
        result = fmu_step(&prepared->fmu, at_s, prepared->step_s);
    }
    if (result != FMU_DONE || !read_point(prepared, point)) {
        return result != FMU_DONE ? result : FMU_FAILED;
    }
    state->points = ++prepared->points;
    if (prepared->saves) {
        state->saved_bytes = fmu_save(&prepared->fmu, state->saved, sizeof state->saved);
    }
    return prepared->saves && (state->saved_bytes == 0 || state->saved_bytes > SAVED_BYTES) ? FMU_FAILED : FMU_DONE;
}

/* The point before the first: position and attitude continue their first step backwards. */
static void extrapolate(const struct course_point *first, const struct course_point *second, struct course_point *before)
{
    const double *a = first->values, *b = second->values;
    const oto_quat q = oto_quat_make(a[QUANTITY_Q_W], a[QUANTITY_Q_X], a[QUANTITY_Q_Y], a[QUANTITY_Q_Z]);
    const oto_quat next = oto_quat_make(b[QUANTITY_Q_W], b[QUANTITY_Q_X], b[QUANTITY_Q_Y], b[QUANTITY_Q_Z]);
    for (uint32_t i = 0; i < QUANTITIES; i++) {
        before->values[i] = 2.0 * a[i] - b[i];
    }
    const oto_quat back = oto_quat_normalize(oto_quat_mul(q, oto_quat_mul(oto_quat_conj(next), q)));
    before->values[QUANTITY_Q_W] = back.w;
    before->values[QUANTITY_Q_X] = back.x;
    before->values[QUANTITY_Q_Y] = back.y;
    before->values[QUANTITY_Q_Z] = back.z;
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    struct prepared *prepared = prepared_of(instance);
    struct motion_state *state = instance->state;
    if (!read_point(prepared, &state->window[2])) {
        return oto_fail(error, OTO_INVALID, "%.200s: its variables at time zero cannot be read, or are not finite", prepared->fmu.path);
    }
    if (advance(prepared, state, &state->window[3]) != FMU_DONE) {
        return oto_fail(error, OTO_INVALID, "%.150s: its first step of %g s fails%s%.150s", prepared->fmu.path, prepared->step_s,
                        prepared->fmu.said[0] != '\0' ? ": " : "", prepared->fmu.said);
    }
    extrapolate(&state->window[2], &state->window[3], &state->window[1]);
    state->window[0] = state->window[1];
    return OTO_OK;
}

static enum oto_step_status report(const struct prepared *prepared, const struct oto_instance *instance, const char *what)
{
    (void)fprintf(stderr, "%s: the FMU '%s' %s%s%s\n", instance->setup->node, prepared->fmu.path, what,
                  prepared->fmu.said[0] != '\0' ? ": " : "", prepared->fmu.said);
    return OTO_STEP_ERROR;
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    struct prepared *prepared = prepared_of(instance);
    struct motion_state *state = instance->state;
    if (prepared->points != state->points) {
        if (state->saved_bytes == 0 || !fmu_restore(&prepared->fmu, state->saved, state->saved_bytes)) {
            return report(prepared, instance, "cannot continue from its last state");
        }
        prepared->points = state->points;
    }
    if (state->ticks % prepared->ticks_a_step == 0) {
        memmove(state->window, state->window + 1, 3 * sizeof *state->window);
        const enum fmu_result result = advance(prepared, state, &state->window[3]);
        if (result != FMU_DONE) {
            return report(prepared, instance, result == FMU_ENDED ? "ended the simulation" : "failed in a step");
        }
    }
    state->ticks++;
    state->start_at = state->end_at;
    state->end_at = now->at;
    return OTO_STEP_OK;
}

static void control(const struct oto_instance *instance, const double *values, uint32_t count)
{
    struct motion_state *state = instance->state;
    memcpy(state->controls, values, (count < OTO_CONTROLS ? count : OTO_CONTROLS) * sizeof *values);
    state->controls_are_new = 1;
}

static enum oto_status validate(const struct oto_instance *instance)
{
    const struct motion_state *state = instance->state;
    return state->saved_bytes > 0 && state->saved_bytes <= SAVED_BYTES ? OTO_OK : OTO_UNSUPPORTED;
}

static enum oto_step_status evaluate(const struct oto_instance *instance, struct oto_instant at, struct oto_truth_record *truth)
{
    const struct prepared *prepared = instance->data;
    const struct motion_state *state = instance->state;
    double s = 1.0;
    if (state->ticks > 0) {
        const double part = (double)((state->ticks - 1) % prepared->ticks_a_step);
        const double back_ns = oto_instant_is_before(at, state->end_at) ? oto_instant_span_ns(at, state->end_at) : 0.0;
        const bool is_start = oto_instant_is_equal(at, state->start_at);
        const double ticks = is_start ? part : part + 1.0 - back_ns * 1e-9 / prepared->tick_s;
        s = ticks / prepared->ticks_a_step;
    }
    course_truth(state->window, prepared->given, prepared->step_s, s, truth);
    return OTO_STEP_OK;
}

static const struct oto_motion_extension motion = {.size = sizeof motion, .evaluate = evaluate};
static const struct oto_control_extension controls = {.size = sizeof controls, .control = control};

static const void *extension(const char *id)
{
    if (strcmp(id, OTO_EXTENSION_CONTROL) == 0) {
        return &controls;
    }
    return strcmp(id, OTO_EXTENSION_MOTION) == 0 ? &motion : NULL;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .flags = OTO_PLUGIN_HOST_ONLY, .id = "motion_fmu", .kind = OTO_KIND_MOTION, .version = "1.1.0",
    .text = "an FMU for co-simulation (FMI 2.0 or 3.0) as a vehicle's motion",
    .param_count = sizeof params / sizeof *params, .params = params, .params_bytes = sizeof(struct params),
    .state_bytes = sizeof(struct motion_state), .state_version = 2, .migrates_from = 2};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .prepare = prepare, .init = init, .step = step, .validate = validate};
OTO_PLUGIN_DEFINE_HOST_ONLY(descriptor, ops, extension);
