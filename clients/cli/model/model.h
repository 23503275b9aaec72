/* Options, model and CSV output of the subcommands of `otolith model`. */
#ifndef CLI_MODEL_H
#define CLI_MODEL_H

#include <limits.h>

#include "cli.h"
#include "output.h"
#include "plugin/host.h"

enum { MODEL_MOST_SETS = 256 };

struct model_options {
    const char *model, *params, *in, *out, *state, *steps, *dt, *target, *tolerance;
    char *sets[MODEL_MOST_SETS]; /* KEY=VALUE */
    uint32_t set_count;
    bool jacobian, derived, json;
};

int model_list(int argc, char **argv);
int model_info(int argc, char **argv);
int model_predict(int argc, char **argv);
int model_rollout(int argc, char **argv);
int model_check(int argc, char **argv);

/* `otolith model NAME [OPTION...]`: accepts the options in `letters`, and at most one argument, the model. */
void model_parse(int argc, char **argv, const char *letters, const char *synopsis, const char *doc,
                 struct model_options *options);
/* Opens the model of --model with the parameters of --params and --set. */
enum oto_status model_open(const struct model_options *options, struct oto_model **model, struct oto_error *error);
/* The name of a model: the plugin's id without the prefix motion_. */
const char *model_name(const struct oto_plugin_descriptor *descriptor);

/* Accepts one finite number. */
enum oto_status model_number(const char *text, double *number, struct oto_error *error);

/* Prints the fewest digits that read back as the same number. */
void model_print_number(FILE *to, double number);

#endif
