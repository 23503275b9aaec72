/* otolith checkpoint, restore, branch: save the state of a world, restore it, start another world from it. */
#include "cli.h"
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/temporary_directory.h"
#include "document/document.h"
#include "server_process.h"

/* The server has another working directory than the caller, so it gets an absolute path. The file need not exist yet. */
static bool make_absolute(const char *path, char *absolute, size_t bytes)
{
    char folder[PATH_MAX] = "";
    if (path[0] != '/' && getcwd(folder, sizeof folder) == NULL) {
        (void)fprintf(stderr, "otolith: the current directory has no path: %s\n", strerror(errno));
        return false;
    }
    const int length = snprintf(absolute, bytes, "%s%s%s", folder, path[0] == '/' ? "" : "/", path);
    if (length < 0 || (size_t)length >= bytes) {
        (void)fprintf(stderr, "otolith: the path '%s' is too long\n", path);
        return false;
    }
    return true;
}

typedef enum oto_status ask_function(struct oto_client *client, const char *path, struct oto_reply *reply,
                                     struct oto_error *error);

static int ask(const struct cli_simple *simple, ask_function *function, const char *what)
{
    char path[PATH_MAX];
    struct oto_reply reply;
    struct oto_error error = {0};
    if (!make_absolute(simple->arguments[0], path, sizeof path)) {
        return CLI_FAILED;
    }
    struct oto_client *client = cli_open(&simple->common, NULL);
    if (client == NULL) {
        return CLI_FAILED;
    }
    const enum oto_status status = function(client, path, &reply, &error);
    oto_client_close(client);
    if (status != OTO_OK) {
        return cli_say(&error);
    }
    if (simple->common.json) {
        struct oto_json json = {.to = stdout};
        oto_json_open(&json, NULL, '{');
        oto_json_u64(&json, "tick", reply.tick);
        oto_json_text(&json, "file", path);
        oto_json_close(&json, '}');
        oto_json_more(&json, "\n", 1);
    } else {
        cli_print_line(stdout, "%s tick %" PRIu64 ": %s", what, reply.tick, path);
    }
    return CLI_OK;
}

int cli_checkpoint(int argc, char **argv)
{
    struct cli_simple simple;
    cli_parse_control(argc, argv, "FILE",
                     "Save the state of a running world at a tick boundary. `otolith run WORLD --restore FILE` continues from it "
                     "bit for bit.", 1, 1, &simple);
    return ask(&simple, oto_control_checkpoint, "saved at");
}

int cli_restore(int argc, char **argv)
{
    struct cli_simple simple;
    cli_parse_control(argc, argv, "FILE",
                     "Restore a running world from a checkpoint. The server starts a new run: clients see a new epoch.",
                     1, 1, &simple);
    return ask(&simple, oto_control_restore, "restored to");
}

/* ---- branch ---- */

#define BRANCH_ARGUMENTS 64

struct branch {
    struct cli_common common;
    const char *name;
    char *arguments[BRANCH_ARGUMENTS];
    int count;
    char *origin[BRANCH_ARGUMENTS]; /* the --set arguments of the running server */
    int inherited;
    bool stay;
    char directory[PATH_MAX - 16]; /* of the checkpoint; "": none */
};

static const struct argp_option branch_options[] = {
    {"set", 's', "PATH=VALUE", 0, "a value that differs in the branch, as for otolith run; may be repeated", 0},
    {"for", 'f', "TIME", 0, "end the branch after this simulated time", 0},
    {"mode", 'm', "MODE", 0, "clock mode of the branch", 0},
    {"stay", 'S', NULL, 0, "wait until the branch has ended", 0},
    {0},
};

static void pass_on(struct argp_state *state, char *name, char *value)
{
    struct branch *branch = state->input;
    if (branch->count + 10 > BRANCH_ARGUMENTS) {
        argp_error(state, "too many options");
    }
    branch->arguments[branch->count++] = name;
    branch->arguments[branch->count++] = value;
}

static error_t parse_branch(int key, char *argument, struct argp_state *state)
{
    static char set[] = "--set", duration[] = "--for", mode[] = "--mode";
    struct branch *branch = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &branch->common; return 0;
    case 's': pass_on(state, set, argument); return 0;
    case 'f': pass_on(state, duration, argument); return 0;
    case 'm': pass_on(state, mode, argument); return 0;
    case 'S': branch->stay = true; return 0;
    case ARGP_KEY_ARG: cli_take_argument(state, &branch->name, argument); return 0;
    case ARGP_KEY_END:
        if (branch->name == NULL) {
            argp_error(state, "the NAME of the branch is needed");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child branch_children[] = {{&cli_common_argp, 0, NULL, 0}, {0}};
static const struct argp branch_argp = {
    .options = branch_options,
    .parser = parse_branch,
    .args_doc = "NAME",
    .doc = "Start another world from the state of this one at a tick boundary: the same bit for bit except what --set changes. "
           "This world continues.\vThe branch is a world of its own with the name NAME: use --world NAME.",
    .children = branch_children,
};

/* Gets the world file and the --set values of the running server. The --set values of the branch are applied after them. */
static enum oto_status take_origin(const struct oto_value *info, struct branch *branch, char *path, size_t bytes,
                                   struct oto_error *error)
{
    static char set[] = "--set";
    const struct oto_value *file = oto_value_get(info, "file"), *overrides = oto_value_get(info, "overrides");
    if (file == NULL || file->kind != OTO_VALUE_SCALAR || strlen(file->text) >= bytes || overrides == NULL) {
        return oto_fail(error, OTO_UNSUPPORTED, "the server does not report its world file");
    }
    memcpy(path, file->text, strlen(file->text) + 1);
    for (uint32_t i = 0; i < overrides->count; i++) {
        const char *text = overrides->items[i]->text;
        if (strncmp(text, "world=", 6) == 0) {
            continue;
        }
        if (branch->inherited + 2 > BRANCH_ARGUMENTS) {
            return oto_fail(error, OTO_LIMIT, "the world was started with more than %d --set values",
                            BRANCH_ARGUMENTS / 2);
        }
        char *own = strdup(text);
        if (own == NULL) {
            return oto_fail(error, OTO_NO_MEMORY, "out of memory");
        }
        branch->origin[branch->inherited++] = set;
        branch->origin[branch->inherited++] = own;
    }
    return OTO_OK;
}

static enum oto_status ask_origin(struct oto_client *client, struct branch *branch, char *path, size_t bytes,
                                  struct oto_error *error)
{
    struct oto_reply reply;
    struct oto_document *document = NULL;
    enum oto_status status = oto_control_info(client, &reply, error);
    if (status == OTO_OK) {
        status = oto_document_parse("info", reply.text, strlen(reply.text), NULL, &document, error);
    }
    if (status == OTO_OK) {
        status = take_origin(oto_document_root(document), branch, path, bytes, error);
    }
    oto_document_close(document);
    return status;
}

/* Makes a temporary directory for the checkpoint from which the branch starts, and the path of the checkpoint in it. */
static enum oto_status make_place(struct branch *branch, char *checkpoint, size_t bytes, struct oto_error *error)
{
    const enum oto_status status =
        srv_temporary_directory_make("otolith-branch", branch->directory, sizeof branch->directory, error);
    (void)snprintf(checkpoint, bytes, "%s/state.ckpt", branch->directory);
    return status;
}

static enum oto_status save_for_branch(struct branch *branch, char *world, size_t world_bytes, char *checkpoint,
                                       size_t checkpoint_bytes, uint64_t *tick, struct oto_error *error)
{
    struct oto_reply reply;
    struct oto_client *client = cli_open(&branch->common, NULL);
    if (client == NULL) {
        return OTO_NOT_FOUND;
    }
    enum oto_status status = ask_origin(client, branch, world, world_bytes, error);
    if (status == OTO_OK) {
        status = make_place(branch, checkpoint, checkpoint_bytes, error);
    }
    if (status == OTO_OK) {
        status = oto_control_checkpoint(client, checkpoint, &reply, error);
    }
    if (status == OTO_OK) {
        *tick = reply.tick;
    }
    oto_client_close(client);
    return status;
}

/* The branch starts paused: one that runs as fast as it can could end before it is attached. */
static enum oto_status attach_and_resume(struct server_process *server, const char *name, struct oto_error *error)
{
    struct oto_reply reply;
    struct oto_client *client = server_attach(server, name, error);
    if (client == NULL) {
        return OTO_NOT_FOUND;
    }
    const bool steps = __atomic_load_n(&oto_client_header(client)->mode, __ATOMIC_RELAXED) == OTO_MODE_STEP;
    const enum oto_status status = steps ? OTO_OK : oto_control_resume(client, &reply, error);
    oto_client_close(client);
    return status;
}

static int start_branch(struct branch *branch, char *world, char *checkpoint, uint64_t tick)
{
    static char restore[] = "--restore", name[] = "--name", paused[] = "--start-paused", program[] = "otolithd";
    char *arguments[2 * BRANCH_ARGUMENTS + 8] = {program};
    struct server_process server = {0};
    struct oto_error error = {0};
    int count = 1;
    for (int i = 0; i < branch->inherited; i++) {
        arguments[count++] = branch->origin[i];
    }
    for (int i = 0; i < branch->count; i++) {
        arguments[count++] = branch->arguments[i];
    }
    arguments[count++] = restore;
    arguments[count++] = checkpoint;
    arguments[count++] = name;
    arguments[count++] = (char *)(uintptr_t)branch->name;
    arguments[count++] = paused;
    arguments[count++] = world;
    if (server_start(&server, arguments, &error) != OTO_OK) {
        return cli_say(&error);
    }
    const enum oto_status status = attach_and_resume(&server, branch->name, &error);
    if (status != OTO_OK) {
        server_stop(&server);
        return cli_interrupted() ? cli_signal_exit_code() : cli_say(&error);
    }
    cli_print_line(stdout, "world '%s' starts at tick %" PRIu64 " (pid %ld)", branch->name, tick, (long)server.pid);
    (void)fflush(stdout);
    while (branch->stay && !server_ended(&server)) {
        if (cli_interrupted()) { /* the branch is a world of its own */
            cli_print_line(stderr, "otolith: world '%s' goes on without this command; end it with `kill %ld`", branch->name, (long)server.pid);
            return cli_signal_exit_code();
        }
        (void)usleep(20000);
    }
    return branch->stay ? server.exit_code : CLI_OK;
}

int cli_branch(int argc, char **argv)
{
    struct branch branch = {0};
    struct oto_error error = {0};
    char world[PATH_MAX], checkpoint[PATH_MAX];
    uint64_t tick = 0;
    cli_parse(&branch_argp, argc, argv, &branch);
    cli_catch_signals();
    if (save_for_branch(&branch, world, sizeof world, checkpoint, sizeof checkpoint, &tick, &error) != OTO_OK) {
        srv_temporary_directory_remove(branch.directory);
        return error.status != OTO_OK ? cli_say(&error) : CLI_FAILED;
    }
    const int code = cli_interrupted() ? cli_signal_exit_code() : start_branch(&branch, world, checkpoint, tick);
    srv_temporary_directory_remove(branch.directory);
    for (int i = 1; i < branch.inherited; i += 2) {
        free(branch.origin[i]);
    }
    return code;
}
