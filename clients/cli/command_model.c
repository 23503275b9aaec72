/* otolith model: lists motion models and computes their predictions. */
#include "cli.h"

#include <string.h>

#include "model/model.h"
#include "document/document.h"

static const struct cli_command subcommands[] = {
    {"list", model_list, "the models that are there"},
    {"info", model_info, "a model's states, derived quantities and parameters"},
    {"predict", model_predict, "one prediction for each row of a CSV, and its Jacobian"},
    {"rollout", model_rollout, "predicts a state over a number of steps"},
    {"check", model_check, "whether a trajectory is one that the model drives"},
};
enum { SUBCOMMANDS = sizeof subcommands / sizeof *subcommands };

static int help(FILE *to, int code)
{
    (void)fprintf(to, "usage: otolith model COMMAND [OPTION...]      otolith model COMMAND --help lists its options\n\n");
    for (int i = 0; i < SUBCOMMANDS; i++) {
        (void)fprintf(to, "  %-8s %s\n", subcommands[i].name, subcommands[i].summary);
    }
    return code;
}

int cli_model(int argc, char **argv)
{
    const char *names[SUBCOMMANDS];
    char name[64];
    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        return help(argc < 2 ? stderr : stdout, argc < 2 ? CLI_USAGE : CLI_OK);
    }
    for (int i = 0; i < SUBCOMMANDS; i++) {
        names[i] = subcommands[i].name;
        if (strcmp(argv[1], subcommands[i].name) == 0) {
            (void)snprintf(name, sizeof name, "otolith model %s", subcommands[i].name);
            argv[1] = name;
            return subcommands[i].run(argc - 1, argv + 1);
        }
    }
    const char *near = oto_nearest_word(argv[1], names, SUBCOMMANDS);
    (void)fprintf(stderr, "otolith: there is no 'model %s'%s%s%s\n", argv[1], near != NULL ? "; did you mean '" : "",
                  near != NULL ? near : "", near != NULL ? "'?" : "; otolith model --help lists the subcommands");
    return CLI_USAGE;
}
