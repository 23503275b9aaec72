/* Prints the result of a run. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "estimate/estimate.h"
#include "json.h"

/* ---- the estimator's own errors ---- */

void own_rmse_find(struct own_rmse *own, const struct oto_plugin_descriptor *descriptor)
{
    *own = (struct own_rmse){0};
    for (uint32_t i = 0; own->rmse == NULL && i < descriptor->output_count; i++) {
        const struct oto_record_type *type = descriptor->outputs[i].type;
        const struct oto_field *rmse = oto_record_field(type, "rmse"), *truths = oto_record_field(type, "truths");
        if (rmse != NULL && truths != NULL) {
            own->port = i;
            own->rmse = rmse;
            own->truths = truths;
            own->size = oto_record_field(type, "size");
        }
    }
}

void own_rmse_take(struct own_rmse *own, uint32_t port, const void *payload)
{
    if (own->rmse == NULL || port != own->port) {
        return;
    }
    const uint64_t all = own->rmse->count < OTO_MODEL_MAX_STATES ? own->rmse->count : OTO_MODEL_MAX_STATES;
    const double size = own->size != NULL ? oto_field_number(own->size, payload, 0) : (double)all;
    own->count = size < (double)all ? (uint64_t)size : all;
    own->compared = (uint64_t)oto_field_number(own->truths, payload, 0);
    for (uint32_t i = 0; i < own->count; i++) {
        own->values[i] = oto_field_number(own->rmse, payload, i);
    }
}

/* The name and unit that the estimator gives to a state; without them "state.INDEX". */
static struct oto_model_quantity state_of(const struct account *account, uint32_t index, char *number, size_t bytes)
{
    const struct oto_model_quantity *state = oto_estimate_state(account->estimate, index);
    (void)snprintf(number, bytes, "state.%" PRIu32, index);
    return state != NULL ? *state : (struct oto_model_quantity){.name = number, .unit = "", .frame = "", .text = ""};
}

/* A state that the truth does not contain has no error: its RMSE is 0. */
static bool was_compared(const struct own_rmse *own, uint32_t index)
{
    return own->values[index] != 0.0;
}

/* ---- text ---- */

static void print_own(FILE *to, const struct account *account)
{
    if (account->own->compared == 0) {
        return;
    }
    (void)fprintf(to, "RMSE against the truth, %" PRIu64 " times\n", account->own->compared);
    for (uint32_t i = 0; i < account->own->count; i++) {
        char number[32];
        const struct oto_model_quantity state = state_of(account, i, number, sizeof number);
        if (was_compared(account->own, i)) {
            (void)fprintf(to, "  %-24s %-12.6g %s\n", state.name, account->own->values[i], state.unit);
        }
    }
}

static void print_comparisons(FILE *to, const struct comparisons *comparisons)
{
    if (comparisons->count > 0) {
        (void)fprintf(to, "%-48s %10s %12s %12s %12s\n", "estimate=reference", "count", "rmse", "mean", "largest");
    }
    for (uint32_t i = 0; i < comparisons->count; i++) {
        const struct comparison *row = &comparisons->rows[i];
        (void)fprintf(to, "%-48s %10" PRIu64, row->argument, row->count);
        if (row->count > 0) {
            (void)fprintf(to, " %12.6g %12.6g %12.6g", comparison_rmse(row), comparison_mean(row), row->most);
        }
        (void)fputc('\n', to);
    }
}

void account_print(FILE *to, const struct account *account)
{
    print_own(to, account);
    print_comparisons(to, account->comparisons);
}

/* ---- JSON ---- */

/* {NAME: RMSE, …}, or {NAME: "unit", …} */
static void json_states(struct oto_json *json, const char *key, const struct account *account, bool units)
{
    oto_json_open(json, key, '{');
    for (uint32_t i = 0; i < account->own->count; i++) {
        char number[32];
        const struct oto_model_quantity state = state_of(account, i, number, sizeof number);
        if (was_compared(account->own, i) && units) {
            oto_json_text(json, state.name, state.unit);
        } else if (was_compared(account->own, i)) {
            oto_json_number(json, state.name, account->own->values[i]);
        }
    }
    oto_json_close(json, '}');
}

static void json_comparisons(struct oto_json *json, const struct comparisons *comparisons)
{
    oto_json_open(json, "compare", '[');
    for (uint32_t i = 0; i < comparisons->count; i++) {
        const struct comparison *row = &comparisons->rows[i];
        const char *equals = strchr(row->argument, '=');
        char estimate[256];
        (void)snprintf(estimate, sizeof estimate, "%.*s", (int)(equals - row->argument), row->argument);
        oto_json_open(json, NULL, '{');
        oto_json_text(json, "estimate", estimate);
        oto_json_text(json, "reference", equals + 1);
        oto_json_u64(json, "count", row->count);
        oto_json_number(json, "rmse", row->count > 0 ? comparison_rmse(row) : (double)NAN);
        oto_json_number(json, "mean", row->count > 0 ? comparison_mean(row) : (double)NAN);
        oto_json_number(json, "max", row->count > 0 ? row->most : (double)NAN);
        oto_json_close(json, '}');
    }
    oto_json_close(json, ']');
}

void account_print_json(FILE *to, const struct account *account)
{
    const struct oto_estimate_run *run = account->run;
    struct oto_json json = {.to = to};
    oto_json_open(&json, NULL, '{');
    oto_json_text(&json, "plugin", oto_plugin_descriptor(oto_estimate_plugin(account->estimate))->id);
    oto_json_u64(&json, "samples", run->samples);
    oto_json_u64(&json, "steps", run->steps);
    oto_json_u64(&json, "records", run->records);
    oto_json_u64(&json, "discarded", run->discarded);
    oto_json_u64(&json, "warned", run->warned);
    oto_json_u64(&json, "not_finite", run->not_finite);
    if (account->own->compared > 0) {
        oto_json_u64(&json, "truths", account->own->compared);
        json_states(&json, "rmse", account, false);
        json_states(&json, "rmse_units", account, true);
    }
    if (account->comparisons->count > 0) {
        json_comparisons(&json, account->comparisons);
    }
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}
