/* otolith gnss-out TOPIC: sends satellite fixes as a receiver does, NMEA 0183 or UBX, over a terminal, TCP or UDP. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gnss/line.h"
#include "gnss/message.h"
#include "source.h"

enum { KEY_PTY = 0x100, KEY_TCP, KEY_UDP, KEY_UBX, KEY_NMEA };

struct options {
    struct cli_source_options source;
    uint64_t count; /* 0: until interrupted */
    enum gnss_line_kind kind;
    const char *where;
    bool nmea, ubx;
};

static void choose_line(struct options *options, enum gnss_line_kind kind, const char *where,
                        const struct argp_state *state)
{
    if (options->kind != GNSS_LINE_STDOUT) {
        argp_error(state, "give one of --pty, --tcp and --udp");
    }
    options->kind = kind;
    options->where = where;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->source;
        return 0;
    case 'n':
        options->count = cli_option_count(state, "-n", argument, 1, UINT64_MAX);
        return 0;
    case KEY_PTY:
        choose_line(options, GNSS_LINE_PTY, argument, state);
        return 0;
    case KEY_TCP:
        choose_line(options, GNSS_LINE_TCP, argument, state);
        return 0;
    case KEY_UDP:
        choose_line(options, GNSS_LINE_UDP, argument, state);
        return 0;
    case KEY_UBX:
        options->ubx = true;
        return 0;
    case KEY_NMEA:
        options->nmea = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum oto_status send_fix(const struct options *options, struct gnss_line *line,
                                const struct oto_navsat_record *fix, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    if (options->nmea || !options->ubx) {
        char text[GNSS_NMEA_BYTES];
        const size_t bytes = gnss_nmea(fix, text);
        status = gnss_line_send(line, text, bytes, error);
    }
    if (options->ubx && status == OTO_OK) {
        uint8_t message[GNSS_NAV_PVT_BYTES];
        gnss_nav_pvt(fix, message);
        status = gnss_line_send(line, message, sizeof message, error);
    }
    return status;
}

/* Copies a navsat record. If a fault has changed it so that no message can express it, the copy has no fix. */
static enum oto_status take_fix(const struct oto_wire_sample *sample, struct oto_navsat_record *fix, struct oto_error *error)
{
    if (oto_record_type_hash(sample->type) != oto_record_type_hash(&oto_navsat_type)) {
        return oto_fail(error, OTO_INVALID, "%s has records '%s', expected '%s'", sample->topic, sample->type->name,
                        oto_navsat_type.name);
    }
    memcpy(fix, sample->payload, sizeof *fix);
    if (!gnss_is_expressible(fix)) {
        const int64_t utc_ns = fix->utc_ns;
        memset(fix, 0, sizeof *fix);
        fix->utc_ns = utc_ns;
        fix->course_deg = fix->horizontal_accuracy_m = fix->vertical_accuracy_m = fix->speed_accuracy_m_s = -1.0;
    }
    return OTO_OK;
}

static int send_all(const struct options *options, struct cli_source *source, struct gnss_line *line)
{
    struct oto_wire_sample sample;
    struct oto_navsat_record fix;
    struct oto_error error = {0};
    uint64_t sent = 0;
    while (!cli_interrupted() && (options->count == 0 || sent < options->count)) {
        enum oto_status status = cli_source_next(source, 200, &sample, &error);
        if (status == OTO_TIMEOUT || status == OTO_AGAIN) {
            continue;
        }
        if (status == OTO_CLOSED) {
            return options->count == 0 ? CLI_OK : CLI_FAILED;
        }
        status = status == OTO_OK ? take_fix(&sample, &fix, &error) : status;
        status = status == OTO_OK ? send_fix(options, line, &fix, &error) : status;
        if (status != OTO_OK) {
            return cli_say(&error);
        }
        sent++;
    }
    return CLI_OK;
}

static int run(const struct options *options)
{
    struct gnss_line line;
    struct oto_error error = {0};
    char place[256];
    struct cli_source *source = cli_source_open(&options->source);
    if (source == NULL) {
        return CLI_FAILED;
    }
    if (gnss_line_open(&line, options->kind, options->where, place, sizeof place, &error) != OTO_OK) {
        cli_source_close(source);
        return cli_say(&error);
    }
    if (options->kind != GNSS_LINE_STDOUT) {
        cli_print_line(stderr, "otolith: fixes of %s at %s", options->source.topic, place);
    }
    const int code = send_all(options, source, &line);
    if (line.dropped > 0) {
        cli_print_line(stderr, "otolith: %" PRIu64 " messages were dropped because a reader did not take them", line.dropped);
    }
    gnss_line_close(&line);
    cli_source_close(source);
    return code;
}

int cli_gnss_out(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {NULL, 'n', "N", 0, "stop after N fixes", 1},
        {"nmea", KEY_NMEA, NULL, 0, "send NMEA 0183: GGA, RMC, GSA, VTG (default)", 1},
        {"ubx", KEY_UBX, NULL, 0, "send UBX-NAV-PVT; with --nmea both", 1},
        {"pty", KEY_PTY, "LINK", OPTION_ARG_OPTIONAL, "make a pseudo-terminal, with a symbolic link LINK to it", 2},
        {"tcp", KEY_TCP, "[HOST:]PORT", 0, "listen for TCP clients; host 127.0.0.1 by default, port 0 for any", 2},
        {"udp", KEY_UDP, "HOST:PORT", 0, "send datagrams, one for each message", 2},
        {0}};
    static const struct argp_child children[] = {{&cli_source_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .args_doc = "TOPIC",
                                     .doc = "Send satellite fixes as a receiver does: NMEA 0183 or UBX, to standard output, a "
                                            "pseudo-terminal, TCP clients or a UDP address.",
                                     .children = children};
    struct options options = {0};
    cli_parse(&argp, argc, argv, &options);
    cli_catch_signals();
    return run(&options);
}
