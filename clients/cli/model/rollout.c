/* otolith model rollout: predicts a state over a number of steps. */
#include "model/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* "NAME=NUMBER", or a number for the state at its position in the list. */
static enum oto_status read_word(const struct oto_model *model, const char *word, uint32_t place, double *state,
                                 struct oto_error *error)
{
    const char *equals = strchr(word, '=');
    char name[64];
    struct oto_error why = {0};
    uint32_t index = place;
    if (equals != NULL) {
        (void)snprintf(name, sizeof name, "%.*s", (int)(equals - word), word);
        const enum oto_status status = oto_model_index(model, name, &index, error);
        if (status != OTO_OK) {
            return status;
        }
    }
    if (index >= oto_model_size(model)) {
        return oto_fail(error, OTO_INVALID, "--state has more than the %" PRIu32 " numbers that the model has",
                        oto_model_size(model));
    }
    const enum oto_status status = model_number(equals != NULL ? equals + 1 : word, &state[index], &why);
    return status == OTO_OK ? OTO_OK : oto_fail(error, status, "--state: %s", why.text);
}

static enum oto_status read_state(struct oto_model *model, const char *text, struct oto_error *error)
{
    double state[OTO_MODEL_MAX_STATES];
    char *copy = strdup(text), *rest = NULL;
    uint32_t count = 0;
    enum oto_status status = copy != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for --state");
    oto_model_state(model, state);
    for (char *word = copy != NULL ? strtok_r(copy, ", ", &rest) : NULL; word != NULL && status == OTO_OK;
         word = strtok_r(NULL, ", ", &rest)) {
        status = read_word(model, word, count++, state, error);
    }
    free(copy);
    if (status == OTO_OK && strchr(text, '=') == NULL && count != oto_model_size(model)) {
        status = oto_fail(error, OTO_INVALID, "--state has %" PRIu32 " numbers, the model %" PRIu32
                          " (otolith model info names them); NAME=NUMBER gives some of them", count, oto_model_size(model));
    }
    return status == OTO_OK ? oto_model_reset(model, state, error) : status;
}

static enum oto_status read_dt(const char *text, int64_t *dt_ns, struct oto_error *error)
{
    const bool back = text[0] == '-';
    struct oto_error why = {0};
    const enum oto_status status = cli_duration(text + back, dt_ns, &why);
    *dt_ns = back ? -*dt_ns : *dt_ns;
    return status == OTO_OK ? OTO_OK : oto_fail(error, status, "--dt: %s", why.text);
}

static void write_row(FILE *to, const struct oto_model *model, uint64_t step, int64_t dt_ns, bool derived)
{
    double state[OTO_MODEL_MAX_STATES], more[OTO_MODEL_MAX_DERIVED];
    oto_model_state(model, state);
    model_print_number(to, step > 0 ? (double)step * (double)dt_ns / 1e9 : 0.0);
    for (uint32_t i = 0; i < oto_model_size(model); i++) {
        (void)fputc(',', to);
        model_print_number(to, state[i]);
    }
    oto_model_derived(model, more);
    for (uint32_t i = 0; derived && i < oto_model_of(model)->derived_count; i++) {
        (void)fputc(',', to);
        model_print_number(to, more[i]);
    }
    (void)fputc('\n', to);
}

static void write_header(FILE *to, const struct oto_model *model, bool derived)
{
    const struct oto_model_extension *extension = oto_model_of(model);
    (void)fputs("t_s", to);
    for (uint32_t i = 0; i < oto_model_size(model); i++) {
        (void)fprintf(to, ",%s", extension->states[i].name);
    }
    for (uint32_t i = 0; derived && i < extension->derived_count; i++) {
        (void)fprintf(to, ",%s", extension->derived[i].name);
    }
    (void)fputc('\n', to);
}

static enum oto_status roll(FILE *to, struct oto_model *model, uint64_t steps, int64_t dt_ns, bool derived,
                            struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    write_header(to, model, derived);
    write_row(to, model, 0, dt_ns, derived);
    for (uint64_t k = 1; k <= steps && status == OTO_OK; k++) {
        status = cli_interrupted() ? oto_fail(error, OTO_CLOSED, "interrupted after %" PRIu64 " steps", k - 1)
                                   : oto_model_predict(model, dt_ns, error);
        if (status == OTO_OK) {
            write_row(to, model, k, dt_ns, derived);
        }
    }
    return status;
}

static enum oto_status rollout(const struct model_options *options, struct oto_model **model, struct oto_error *error)
{
    struct cli_output output = {0};
    uint64_t steps = 0;
    int64_t dt_ns = 0;
    enum oto_status status = cli_count(options->steps, &steps, error);
    if (status == OTO_OK) {
        status = read_dt(options->dt, &dt_ns, error);
    }
    if (status == OTO_OK) {
        status = model_open(options, model, error);
    }
    if (status == OTO_OK) {
        status = read_state(*model, options->state, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    status = cli_output_open(&output, options->out, error);
    if (status == OTO_OK) {
        status = roll(output.file, *model, steps, dt_ns, options->derived, error);
    }
    return cli_output_close(&output, status, error);
}

int model_rollout(int argc, char **argv)
{
    static const char doc[] =
        "Predict N steps from a state: prints a CSV with t_s and the states, beginning with the initial one at t_s = 0.";
    struct model_options options;
    struct oto_model *model = NULL;
    struct oto_error error = {0};
    model_parse(argc, argv, "mPsoxntd", "", doc, &options);
    if (options.model == NULL || options.state == NULL || options.steps == NULL || options.dt == NULL) {
        (void)fprintf(stderr, "otolith: model rollout needs --model, --state, --steps and --dt\n");
        return CLI_USAGE;
    }
    cli_catch_signals();
    const enum oto_status status = rollout(&options, &model, &error);
    oto_model_close(model);
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}
