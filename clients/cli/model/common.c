/* Options, parameters and output of `otolith model`. */
#include "model/model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "document/document.h"
#include "sim/model.h"

static const struct argp_option every_option[] = {
    {"model", 'm', "MODEL", 0, "a model's name (otolith model list), a plugin's, or a file", 0},
    {"params", 'P', "FILE", 0, "its parameters, YAML or JSON", 0},
    {"set", 's', "KEY=VALUE", 0, "one parameter, after the file; the value is YAML; may be repeated", 0},
    {"in", 'i', "FILE", 0, "CSV of states", 0},
    {"out", 'o', "FILE", 0, "CSV of states after dt_s; - is stdout", 0},
    {"jacobian", 'J', NULL, 0, "also the Jacobian at the old state, as columns J_row_col", 0},
    {"derived", 'd', NULL, 0, "also values derived from the new state, for example speed or heading", 0},
    {"state", 'x', "A,B,...", 0, "numbers in the order of the states, or NAME=NUMBER,... over rest at the origin", 0},
    {"steps", 'n', "N", 0, "number of predictions", 0},
    {"dt", 't', "TIME", 0, "length of a step, for example 100ms; negative predicts backwards", 0},
    {"target", 'g', "X,Y[,HEADING]", 0, "target of the trajectory, m and rad", 0},
    {"tolerance", 'p', "PERCENT", 0, "of each expected number, of 1 where that is smaller (default 5)", 0},
    {"json", 'j', NULL, 0, "print JSON", 0},
};
enum { OPTIONS = sizeof every_option / sizeof *every_option };

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct model_options *options = state->input;
    switch (key) {
    case 'm': options->model = argument; return 0;
    case 'P': options->params = argument; return 0;
    case 's': cli_add_set(state, options->sets, &options->set_count, MODEL_MOST_SETS, argument); return 0;
    case 'i': options->in = argument; return 0;
    case 'o': options->out = argument; return 0;
    case 'x': options->state = argument; return 0;
    case 'n': options->steps = argument; return 0;
    case 't': options->dt = cli_argument(argument); return 0;
    case 'g': options->target = argument; return 0;
    case 'p': options->tolerance = argument; return 0;
    case 'J': options->jacobian = true; return 0;
    case 'd': options->derived = true; return 0;
    case 'j': options->json = true; return 0;
    case ARGP_KEY_ARG: cli_take_argument(state, &options->model, argument); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void model_parse(int argc, char **argv, const char *letters, const char *synopsis, const char *doc,
                 struct model_options *options)
{
    struct argp_option rows[OPTIONS + 1] = {{0}};
    int count = 0;
    for (int i = 0; i < OPTIONS; i++) {
        if (strchr(letters, every_option[i].key) != NULL) {
            rows[count++] = every_option[i];
        }
    }
    const struct argp argp = {.options = rows, .parser = parse, .args_doc = synopsis, .doc = doc};
    *options = (struct model_options){0};
    cli_parse(&argp, argc, argv, options);
}

/* ---- the model ---- */

/* Names that other software uses for our models. */
static const struct {
    const char *other, *name;
} synonyms[] = {{"cv", "constant_velocity"}, {"ca", "constant_acceleration"}, {"cvtr", "ctrv"},
                {"linear_tire", "linear_tyre"}, {"bicycle", "kinematic_bicycle"}, {"rigid_body", "rigid_body_6dof"}};

static void warn(void *context, const char *sentence)
{
    (void)context;
    (void)fprintf(stderr, "otolith: warning: %s\n", sentence);
}

static enum oto_status set_all(const struct model_options *options, struct oto_model *model, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; i < options->set_count && status == OTO_OK; i++) {
        char key[128];
        const char *setting = options->sets[i], *equals = strchr(setting, '=');
        (void)snprintf(key, sizeof key, "%.*s", (int)(equals - setting), setting);
        status = oto_model_set(model, strncmp(key, "params.", 7) == 0 ? key + 7 : key, equals + 1, error);
    }
    return status;
}

enum oto_status model_open(const struct model_options *options, struct oto_model **model, struct oto_error *error)
{
    const char *name = options->model;
    struct oto_document *document = NULL;
    enum oto_status status = OTO_OK;
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        name = strcmp(name, synonyms[i].other) == 0 ? synonyms[i].name : name;
    }
    if (options->params != NULL) {
        status = oto_document_read(options->params, NULL, &document, error);
    }
    if (status == OTO_OK) {
        status = srv_model_open(name, document != NULL ? oto_document_root(document) : NULL, warn, NULL, model, error);
    }
    oto_document_close(document);
    if (status == OTO_OK) {
        status = set_all(options, *model, error);
    }
    return status;
}

const char *model_name(const struct oto_plugin_descriptor *descriptor)
{
    static const char prefix[] = "motion_";
    return strncmp(descriptor->id, prefix, strlen(prefix)) == 0 ? descriptor->id + strlen(prefix) : descriptor->id;
}

/* ---- numbers and files ---- */

enum oto_status model_number(const char *text, double *number, struct oto_error *error)
{
    char *end;
    errno = 0;
    *number = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(*number)) {
        return oto_fail(error, OTO_INVALID, "expected a finite number, got '%.60s'", text);
    }
    return OTO_OK;
}

void model_print_number(FILE *to, double number)
{
    oto_json_put_number(to, number);
}
