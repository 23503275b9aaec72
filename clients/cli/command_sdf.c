/* otolith sdf import, otolith sdf export: convert IMUs between SDF XML and worlds. */
#include "cli.h"

#include <string.h>
#include <unistd.h>

#include "output.h"
#include "sdf/sdf.h"

struct arguments {
    const char *verb, *subject, *out;
    struct cli_common common;
    int count;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->common;
        return 0;
    case 'o':
        arguments->out = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->count == 2) {
            argp_error(state, "too many arguments: '%s'", argument);
        }
        *(arguments->count++ == 0 ? &arguments->verb : &arguments->subject) = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void say_warning(void *context, const char *sentence)
{
    (void)context;
    cli_print_line(stderr, "%s", sentence);
}

/* ---- output ---- */

typedef enum oto_status (*write_function)(const struct oto_sdf_world *world, const char *source, FILE *file,
                                          struct oto_error *error);

static enum oto_status write_xml(const struct oto_sdf_world *world, const char *source, FILE *file,
                                 struct oto_error *error)
{
    (void)source;
    return oto_sdf_to_xml(world, file, error);
}

static enum oto_status write_out(const struct oto_sdf_world *world, const char *source, write_function write,
                                 const char *path, struct oto_error *error)
{
    struct cli_output output;
    enum oto_status status = cli_output_open(&output, path, error);
    if (status == OTO_OK) {
        status = cli_output_close(&output, write(world, source, output.file, error), error);
    }
    return status;
}

/* ---- import ---- */

static enum oto_status import(const struct arguments *arguments, struct oto_error *error)
{
    struct oto_xml *xml = NULL;
    struct oto_sdf_world world = {0};
    enum oto_status status = oto_xml_read(arguments->subject, &xml, error);
    if (status == OTO_OK) {
        status = oto_sdf_from_xml(xml, say_warning, NULL, &world, error);
    }
    if (status == OTO_OK) {
        status = write_out(&world, arguments->subject, oto_sdf_to_yaml, arguments->out, error);
    }
    oto_sdf_world_finish(&world);
    oto_xml_close(xml);
    return status;
}

/* ---- export ---- */

static enum oto_status read_world(const char *path, struct oto_sdf_world *world, struct oto_error *error)
{
    char library[4096];
    struct oto_plugin *plugin = NULL;
    enum oto_status status = oto_plugin_find("sdf_imu", library, sizeof library, error);
    if (status == OTO_OK) {
        status = oto_plugin_open(library, NULL, &plugin, error);
    }
    if (status == OTO_OK) {
        status = oto_sdf_from_yaml(path, oto_plugin_descriptor(plugin), world, error);
    }
    if (status == OTO_OK && world->other_nodes > 0) {
        cli_print_line(stderr, "%s: warning: %u other node%s left out: SDF has elements for nodes of plugin sdf_imu only", path,
                       world->other_nodes, world->other_nodes == 1 ? " is" : "s are");
    }
    (void)oto_plugin_close(plugin);
    return status;
}

struct collecting {
    struct oto_sdf_imu *imu;
    struct oto_error *error;
    enum oto_status status;
};

static void collect(void *context, const struct oto_param_info *info)
{
    struct collecting *collecting = context;
    struct oto_error error = {0};
    const enum oto_status status = oto_sdf_set_param(collecting->imu, info->key, info->value, &error);
    if (status != OTO_OK && status != OTO_NOT_FOUND && collecting->status == OTO_OK) {
        collecting->status = status;
        *collecting->error = error;
    }
}

static bool is_clock_rate(const struct oto_client *client, const struct oto_channel *channel)
{
    const struct oto_segment_header *header = oto_client_header(client);
    return (unsigned __int128)channel->rate_num * header->rate_den ==
           (unsigned __int128)channel->rate_den * header->rate_num;
}

/* "world/vehicle/node" */
static void name_imu(const struct oto_channel *channel, struct oto_sdf_world *world, struct oto_sdf_imu *imu)
{
    const char *first = strchr(channel->node, '/'), *second = first != NULL ? strchr(first + 1, '/') : NULL;
    if (second == NULL) {
        return;
    }
    (void)snprintf(world->name, sizeof world->name, "%.*s", (int)(first - channel->node), channel->node);
    (void)snprintf(imu->vehicle, sizeof imu->vehicle, "%.*s", (int)(second - first - 1), first + 1);
    (void)snprintf(imu->name, sizeof imu->name, "%s", second + 1);
    if (strcmp(channel->topic, channel->node) != 0) {
        (void)snprintf(imu->topic, sizeof imu->topic, "%s", channel->topic);
    }
    if (strcmp(channel->frame_id, first + 1) != 0) {
        (void)snprintf(imu->frame_id, sizeof imu->frame_id, "%s", channel->frame_id);
    }
}

static enum oto_status read_channel(struct oto_client *client, const char *name, struct oto_sdf_world *world,
                                    struct oto_error *error)
{
    struct oto_sdf_imu imu = oto_sdf_imu_default;
    struct collecting collecting = {&imu, error, OTO_OK};
    const struct oto_channel *channel = oto_client_find(client, name, error);
    if (channel == NULL) {
        return error->status;
    }
    if (strcmp(channel->plugin, "sdf_imu") != 0) {
        return oto_fail(error, OTO_INVALID, "'%s' is a node of plugin %s; SDF has elements for nodes of sdf_imu only",
                        channel->topic, channel->plugin);
    }
    name_imu(channel, world, &imu);
    enum oto_status status = oto_control_get(client, channel->node, NULL, collect, &collecting, error);
    status = status == OTO_OK ? collecting.status : status;
    if (imu.update_rate_hz != 0 || !is_clock_rate(client, channel)) {
        imu.update_rate_hz = (double)channel->rate_num / (double)channel->rate_den;
    }
    if (status == OTO_OK && oto_sdf_world_add(world, &imu) == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    return status;
}

static enum oto_status read_node(const struct arguments *arguments, struct oto_sdf_world *world,
                                 struct oto_error *error)
{
    struct oto_client_options options = {.size = sizeof options, .world = arguments->common.world, .name = "otolith",
                                         .role = arguments->common.role != NULL ? arguments->common.role : "observe"};
    struct oto_client *client = NULL;
    enum oto_status status = oto_client_open(&options, &client, error);
    if (status == OTO_OK) {
        status = read_channel(client, arguments->subject, world, error);
    }
    if (status == OTO_OK) {
        (void)fprintf(stderr, "otolith: the server does not publish the mount of a node: there is no <pose>\n");
    }
    oto_client_close(client);
    return status;
}

static bool is_file(const char *subject)
{
    const char *dot = strrchr(subject, '.');
    const bool has_ending =
        dot != NULL && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 || strcmp(dot, ".json") == 0);
    return has_ending || access(subject, F_OK) == 0;
}

static enum oto_status export(const struct arguments *arguments, struct oto_error *error)
{
    struct oto_sdf_world world = {0};
    enum oto_status status = is_file(arguments->subject) ? read_world(arguments->subject, &world, error)
                                                         : read_node(arguments, &world, error);
    if (status == OTO_OK) {
        status = write_out(&world, arguments->subject, write_xml, arguments->out, error);
    }
    oto_sdf_world_finish(&world);
    return status;
}

int cli_sdf(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"out", 'o', "FILE", 0, "output file, replaced when it is complete (default: standard output)", 0}, {0}};
    static const struct argp_child children[] = {{&cli_common_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .children = children,
        .args_doc = "import FILE.xml\nexport NODE|WORLD.yaml",
        .doc =
            "Convert IMUs between SDF XML (nested, or flat as Unity writes it) and worlds. `import` makes a world from a file; "
            "`export` writes the sdf_imu nodes of a world file, or a node of a running world, as SDF 1.9."};
    struct arguments arguments = {0};
    struct oto_error error = {0};
    cli_parse(&argp, argc, argv, &arguments);
    const bool is_import = arguments.count == 2 && strcmp(arguments.verb, "import") == 0;
    if (!is_import && (arguments.count != 2 || strcmp(arguments.verb, "export") != 0)) {
        (void)fprintf(stderr, "Usage: otolith sdf import FILE.xml [--out WORLD.yaml]\n"
                              "       otolith sdf export NODE|WORLD.yaml [--out FILE.sdf]\n");
        return CLI_USAGE;
    }
    return (is_import ? import(&arguments, &error) : export(&arguments, &error)) == OTO_OK ? CLI_OK : cli_say(&error);
}
