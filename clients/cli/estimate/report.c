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

static void member(FILE *to, const char *name, uint64_t number)
{
    (void)fprintf(to, ", \"%s\": %" PRIu64, name, number);
}

/* {NAME: RMSE, …}, or {NAME: "unit", …} */
static void json_states(FILE *to, const struct account *account, bool units)
{
    const char *comma = "";
    for (uint32_t i = 0; i < account->own->count; i++) {
        char number[32];
        const struct oto_model_quantity state = state_of(account, i, number, sizeof number);
        if (!was_compared(account->own, i)) {
            continue;
        }
        (void)fputs(comma, to);
        comma = ", ";
        oto_json_put_text(to, state.name);
        (void)fputs(": ", to);
        if (units) {
            oto_json_put_text(to, state.unit);
        } else {
            oto_json_put_number(to, account->own->values[i]);
        }
    }
    (void)fputc('}', to);
}

static void json_own(FILE *to, const struct account *account)
{
    if (account->own->compared == 0) {
        return;
    }
    member(to, "truths", account->own->compared);
    (void)fputs(", \"rmse\": {", to);
    json_states(to, account, false);
    (void)fputs(", \"rmse_units\": {", to);
    json_states(to, account, true);
}

static void json_comparisons(FILE *to, const struct comparisons *comparisons)
{
    for (uint32_t i = 0; i < comparisons->count; i++) {
        const struct comparison *row = &comparisons->rows[i];
        const char *equals = strchr(row->argument, '=');
        char estimate[256];
        (void)snprintf(estimate, sizeof estimate, "%.*s", (int)(equals - row->argument), row->argument);
        (void)fputs(i > 0 ? ", {\"estimate\": " : ", \"compare\": [{\"estimate\": ", to);
        oto_json_put_text(to, estimate);
        (void)fputs(", \"reference\": ", to);
        oto_json_put_text(to, equals + 1);
        member(to, "count", row->count);
        json_member(to, ", ", "rmse", row->count > 0 ? comparison_rmse(row) : (double)NAN);
        json_member(to, ", ", "mean", row->count > 0 ? comparison_mean(row) : (double)NAN);
        json_member(to, ", ", "max", row->count > 0 ? row->most : (double)NAN);
        (void)fputc('}', to);
    }
    (void)fputs(comparisons->count > 0 ? "]" : "", to);
}

void account_print_json(FILE *to, const struct account *account)
{
    const struct oto_estimate_run *run = account->run;
    (void)fputs("{\"plugin\": ", to);
    oto_json_put_text(to, oto_plugin_descriptor(oto_estimate_plugin(account->estimate))->id);
    member(to, "samples", run->samples);
    member(to, "steps", run->steps);
    member(to, "records", run->records);
    member(to, "discarded", run->discarded);
    member(to, "warned", run->warned);
    member(to, "not_finite", run->not_finite);
    json_own(to, account);
    json_comparisons(to, account->comparisons);
    (void)fputs("}\n", to);
}
