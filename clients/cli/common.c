/* What the commands share: errors, numbers from the command line, signals, and the connection to a world. */
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/mirror.h"
#include "base/duration.h"
#include "base/file_kind.h"
#include "base/json.h"
#include "base/monotonic.h"
#include "base/plain_text.h"

enum { SUBSCRIBE_TIMEOUT_MS = 10000 };

static bool line_lost;

bool cli_print_failed(void)
{
    return line_lost;
}

void cli_print_line(FILE *to, const char *format, ...)
{
    char *line = NULL;
    va_list arguments;
    va_start(arguments, format);
    const int length = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (length >= 0) {
        oto_plain_text_put(to, line);
        (void)fputc('\n', to);
        free(line);
    } else {
        line_lost = true;
    }
}

int cli_say(const struct oto_error *error)
{
    cli_print_line(stderr, "otolith: %s", error->text[0] != '\0' ? error->text : oto_status_text(error->status));
    return CLI_FAILED;
}

int cli_no_memory(void)
{
    (void)fprintf(stderr, "otolith: out of memory\n");
    return CLI_FAILED;
}

enum oto_status cli_positive(const char *text, double *number, struct oto_error *error)
{
    char *end;
    errno = 0;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !isfinite(value) || value <= 0.0) {
        return oto_fail(error, OTO_INVALID, "'%s' is not a positive number", text);
    }
    *number = value;
    return OTO_OK;
}

enum oto_status cli_count(const char *text, uint64_t *number, struct oto_error *error)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || strchr(text, '-') != NULL) {
        return oto_fail(error, OTO_INVALID, "'%s' is not a whole number from 0", text);
    }
    *number = value;
    return OTO_OK;
}

/* A negative number without the space that cli_parse put before it. */
static const char *as_typed(const char *text)
{
    return text[0] == ' ' && text[1] == '-' ? text + 1 : text;
}

enum oto_status cli_duration(const char *text, int64_t *ns, struct oto_error *error)
{
    const char *typed = as_typed(text);
    return srv_duration_parse(typed, ns) ? OTO_OK : oto_fail(error, OTO_INVALID, "'%s' is not a duration: expected " SRV_DURATION_FORM, typed);
}

int64_t cli_option_duration(const struct argp_state *state, const char *option, const char *text, int64_t least_ns)
{
    const char *typed = as_typed(text);
    int64_t ns = 0;
    if (!srv_duration_parse(typed, &ns) || ns < least_ns) {
        argp_error(state, "%s '%s': a duration from %" PRId64 " ns is accepted: " SRV_DURATION_FORM, option, typed, least_ns);
    }
    return ns;
}

double cli_option_positive(const struct argp_state *state, const char *option, const char *text, double most)
{
    struct oto_error error = {0};
    double number = 0.0;
    if (cli_positive(text, &number, &error) != OTO_OK) {
        argp_error(state, "%s '%s': a positive number is accepted", option, as_typed(text));
    } else if (number > most) {
        argp_error(state, "%s '%s': a number up to %g is accepted", option, as_typed(text), most);
    }
    return number;
}

uint64_t cli_option_count(const struct argp_state *state, const char *option, const char *text, uint64_t least, uint64_t most)
{
    struct oto_error error = {0};
    uint64_t number = 0;
    if (cli_count(text, &number, &error) != OTO_OK || number < least || number > most) {
        argp_error(state, "%s '%s': a whole number from %" PRIu64 " to %" PRIu64 " is accepted", option, as_typed(text), least, most);
    }
    return number;
}

int cli_numbers(const char *text, double *numbers, int least, int most)
{
    int count = 0;
    while (count < most) {
        char *end;
        numbers[count] = strtod(text, &end);
        if (end == text || !isfinite(numbers[count])) {
            return 0;
        }
        count++;
        if (*end == '\0') {
            return count >= least ? count : 0;
        }
        if (*end != ',') {
            return 0;
        }
        text = end + 1;
    }
    return 0;
}

enum oto_status cli_read_file(const char *path, char **text, size_t *length, struct oto_error *error)
{
    const char *why = NULL;
    enum oto_status status = srv_regular_read(path, SIZE_MAX, text, length, &why);
    if (status == OTO_OK && *length == 0) {
        free(*text);
        *text = NULL;
        status = OTO_IO;
        why = "it is empty";
    }
    return status == OTO_OK ? OTO_OK : oto_fail(error, status, "cannot read '%.256s': %s", path, why);
}

void cli_wait_for_records(struct oto_client *client, uint64_t tick, int32_t pause_ms)
{
    const struct timespec pause = {.tv_nsec = pause_ms * 1000000L};
    if (__atomic_load_n(&oto_client_header(client)->mode, __ATOMIC_ACQUIRE) == OTO_MODE_REALTIME) {
        (void)nanosleep(&pause, NULL);
    } else {
        (void)oto_client_wait_tick(client, tick, 50);
    }
}

/* The only object that the signal handler writes: the number of the first signal, 0 before it. */
static volatile sig_atomic_t signal_seen;

static void on_signal(int number)
{
    signal_seen = signal_seen != 0 ? signal_seen : number;
}

void cli_catch_signals(void)
{
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) { /* nohup ignores it */
        (void)sigaction(SIGHUP, &action, NULL);
    }
    (void)signal(SIGPIPE, SIG_IGN);
}

bool cli_interrupted(void)
{
    return signal_seen != 0;
}

int cli_signal_exit_code(void)
{
    return 128 + signal_seen;
}

/* With several worlds, "two/car/imu" says which one is meant. */
static const char *world_of(const struct cli_common *common, const char *name, struct oto_world_entry *worlds, size_t most)
{
    const size_t prefix = name != NULL ? strcspn(name, "/") : 0;
    if (common->world != NULL || getenv("OTOLITH_WORLD") != NULL || prefix == 0) {
        return common->world;
    }
    const size_t count = oto_worlds_list(worlds, most);
    for (size_t i = 0; i < count && i < most; i++) {
        if (worlds[i].alive && strlen(worlds[i].name) == prefix && strncmp(worlds[i].name, name, prefix) == 0) {
            return worlds[i].name;
        }
    }
    return NULL;
}

static struct oto_client *open_as(const struct cli_common *common, const char *name, const char *role)
{
    struct oto_world_entry worlds[CLI_WORLDS_MAX];
    struct oto_client_options options = {.size = sizeof options,
                                         .world = common->remote.url == NULL ? world_of(common, name, worlds, CLI_WORLDS_MAX) : NULL,
                                         .name = "otolith",
                                         .role = common->role != NULL ? common->role : role,
                                         .url = common->remote.url,
                                         .tls = cli_tls_files(&common->remote.tls)};
    struct oto_client *client = NULL;
    struct oto_error error = {0};
    if (oto_client_open(&options, &client, &error) != OTO_OK) {
        (void)cli_say(&error);
        return NULL;
    }
    return client;
}

struct oto_client *cli_open(const struct cli_common *common, const char *name)
{
    return open_as(common, name, NULL);
}

struct oto_client *cli_observe(const struct cli_common *common, const char *name)
{
    return open_as(common, name, "observe");
}

struct oto_client *cli_subscribe(const struct cli_remote *remote, const char *topic)
{
    struct oto_client *client = NULL;
    struct oto_error error = {0};
    if (oto_mirror_open(remote->url, topic, cli_tls_files(&remote->tls), SUBSCRIBE_TIMEOUT_MS, &client, &error) != OTO_OK) {
        (void)cli_say(&error);
    }
    return client;
}

void cli_await_sample(struct oto_client *client, int64_t wait_ns)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    const int64_t deadline_ns = srv_now_ns() + wait_ns;
    struct oto_clock clock;
    while (oto_client_clock(client, &clock) == OTO_AGAIN && srv_now_ns() < deadline_ns && !cli_interrupted() &&
           !oto_client_run_is_over(client)) {
        (void)nanosleep(&pause, NULL);
    }
}

bool cli_is_shown(const struct oto_channel *channel)
{
    return (channel->flags & OTO_CHANNEL_ENABLED) != 0 || oto_ring_newest(&channel->view) > 0;
}

const char *cli_shown_unit(const char *unit)
{
    return strcmp(unit, "1") == 0 ? "" : unit;
}

enum oto_status cli_sibling(const char *program, char *path, size_t bytes, struct oto_error *error)
{
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = '\0';
        char *slash = strrchr(self, '/');
        if (slash != NULL) {
            *slash = '\0';
            if ((size_t)snprintf(path, bytes, "%s/%s", self, program) < bytes && access(path, X_OK) == 0) {
                return OTO_OK;
            }
        }
    }
    return oto_fail(error, OTO_NOT_FOUND, "the program '%s' is not in the directory of this program", program);
}

static error_t parse_json(int key, char *argument, struct argp_state *state)
{
    bool *json = state->input;
    (void)argument;
    if (key != 'j') {
        return ARGP_ERR_UNKNOWN;
    }
    *json = true;
    return 0;
}

static const struct argp_option json_options[] = {{"json", 'j', NULL, 0, "print JSON", 10}, {0}};
const struct argp cli_json_argp = {.options = json_options, .parser = parse_json};

void cli_json_check(const struct argp_state *state, bool json, const char *option, const char *path)
{
    if (json && path != NULL && strcmp(path, "-") == 0) {
        argp_error(state, "--json and %s - would both write standard output: give %s a file", option, option);
    }
}

enum { KEY_ROLE = 0x100 }; /* an option without a one-letter name */

static error_t parse_common(int key, char *argument, struct argp_state *state)
{
    struct cli_common *common = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &common->json;
        return 0;
    case 'w':
        common->world = argument;
        return 0;
    case KEY_ROLE:
        if (strcmp(argument, "observe") != 0 && strcmp(argument, "operate") != 0 && strcmp(argument, "admin") != 0) {
            argp_error(state, "--role takes observe, operate or admin, not '%s'", argument);
        }
        common->role = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option common_options[] = {
    {"world", 'w', "NAME", 0, "name of the world (default: $OTOLITH_WORLD, else the only running world)", 10},
    {"role", KEY_ROLE, "ROLE", 0, "observe, operate or admin: attach with at most this role", 10},
    {0},
};

void cli_take_argument(const struct argp_state *state, const char **place, const char *argument)
{
    if (*place != NULL) {
        argp_error(state, "'%s' is one argument too many", argument);
    }
    *place = argument;
}

uint32_t cli_processors(uint32_t most)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 0 && processors < (long)most ? (uint32_t)processors : 1;
}

int cli_finish(struct oto_client *client, const struct cli_common *common, enum oto_status status, const struct oto_reply *reply,
               const struct oto_error *error, const char *format, ...)
{
    char line[4600];
    va_list arguments;
    oto_client_close(client);
    if (status != OTO_OK) {
        return cli_say(error);
    }
    if (common->json) {
        struct oto_json json = {.to = stdout};
        oto_json_open(&json, NULL, '{');
        oto_json_u64(&json, "tick", reply->tick);
        oto_json_text(&json, "text", reply->text);
        oto_json_close(&json, '}');
        oto_json_more(&json, "\n", 1);
        return CLI_OK;
    }
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    cli_print_line(stdout, "%s", line);
    return CLI_OK;
}

void cli_add_set(const struct argp_state *state, char **sets, uint32_t *count, uint32_t most, char *argument)
{
    if (strchr(argument, '=') == NULL || *count == most) {
        argp_error(state, "--set takes KEY=VALUE, at most %u times, not '%s'", most, argument);
    }
    sets[(*count)++] = argument;
}

static const struct argp_child common_children[] = {{&cli_json_argp, 0, NULL, 0}, {0}};
const struct argp cli_common_argp = {.options = common_options, .parser = parse_common, .children = common_children};

static error_t parse_simple(int key, char *argument, struct argp_state *state)
{
    struct cli_simple *simple = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &simple->common;
        if (simple->controls) {
            state->child_inputs[1] = &simple->common.remote;
        }
        return 0;
    case ARGP_KEY_ARG:
        if (simple->count >= (int)(sizeof simple->arguments / sizeof *simple->arguments)) {
            argp_error(state, "too many arguments: '%s'", argument);
        }
        simple->arguments[simple->count++] = cli_argument(argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/*
 * argp takes "-0.5" for an option. No option is a digit, so a space is put before every argument that begins as a
 * negative number. All readers of numbers skip the space; cli_argument() removes it from positional arguments. The
 * copies live as long as the program.
 */
static char *protect_number(char *argument)
{
    char *copy = NULL;
    const char *digit = argument + (argument[0] == '-' && argument[1] == '.' ? 2 : 1);
    if (argument[0] != '-' || *digit < '0' || *digit > '9') {
        return argument;
    }
    if (asprintf(&copy, " %s", argument) < 0) {
        exit(cli_no_memory());
    }
    return copy;
}

char *cli_argument(char *argument)
{
    return argument + (as_typed(argument) - argument);
}

void cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    for (int i = 1; i < argc; i++) {
        argv[i] = protect_number(argv[i]);
    }
    argp_err_exit_status = CLI_USAGE;
    const error_t failed = argp_parse(argp, argc, argv, 0, NULL, input);
    if (failed != 0) {
        (void)fprintf(stderr, "otolith: the command line cannot be read: %s\n", strerror(failed));
        exit(CLI_FAILED);
    }
}

static void parse_command(int argc, char **argv, const char *synopsis, const char *doc, int least, int most,
                          const struct argp_child *children, struct cli_simple *simple)
{
    const struct argp argp = {.parser = parse_simple, .args_doc = synopsis, .doc = doc, .children = children};
    cli_parse(&argp, argc, argv, simple);
    if (simple->count < least || simple->count > most) {
        (void)fprintf(stderr, "Usage: %s [OPTION...] %s\n", argv[0], synopsis);
        exit(CLI_USAGE);
    }
}

void cli_parse_simple(int argc, char **argv, const char *synopsis, const char *doc, int least, int most,
                      struct cli_simple *simple)
{
    static const struct argp_child children[] = {{&cli_common_argp, 0, NULL, 0}, {0}};
    *simple = (struct cli_simple){.controls = false};
    parse_command(argc, argv, synopsis, doc, least, most, children, simple);
}

void cli_parse_control(int argc, char **argv, const char *synopsis, const char *doc, int least, int most,
                       struct cli_simple *simple)
{
    static const struct argp_child children[] = {{&cli_common_argp, 0, NULL, 0}, {&cli_remote_argp, 0, NULL, 0}, {0}};
    *simple = (struct cli_simple){.controls = true};
    parse_command(argc, argv, synopsis, doc, least, most, children, simple);
}
