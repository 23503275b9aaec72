/*
 * Writes the files of MCAP's conformance suite: mcap_variants DIR < NAMES, one name a line, such as
 * "TenMessages-ch-chx-mx-rch-rsh-st-sum". test_mcap_conformance.py compares their hashes with upstream's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mcap/writer.h"

static const unsigned char DATA[] = {1, 2, 3}, SCHEMA[] = {4, 5, 6};

static void check(enum oto_status status, const struct oto_error *error)
{
    if (status != OTO_OK) {
        (void)fprintf(stderr, "%s\n", error->text);
        exit(1);
    }
}

static uint16_t add_example(struct oto_mcap_writer *writer)
{
    static const struct oto_mcap_pair metadata[] = {{"foo", "bar"}};
    struct oto_mcap_channel_spec spec = {.topic = "example", .message_encoding = "a", .metadata = metadata, .metadata_count = 1};
    struct oto_error error;
    uint16_t channel = 0;
    check(oto_mcap_add_schema(writer, "Example", "c", SCHEMA, sizeof SCHEMA, &spec.schema, &error), &error);
    check(oto_mcap_add_channel(writer, &spec, &channel, &error), &error);
    return channel;
}

static void write_one(struct oto_mcap_writer *writer, uint16_t channel, uint32_t sequence, uint64_t log_time, uint64_t publish_time)
{
    const struct oto_mcap_message message = {.channel = channel, .sequence = sequence, .log_time_ns = log_time,
                                             .publish_time_ns = publish_time, .data = DATA, .bytes = sizeof DATA};
    struct oto_error error;
    check(oto_mcap_write(writer, &message, &error), &error);
}

static void write_contents(struct oto_mcap_writer *writer, const char *name)
{
    static const struct oto_mcap_pair pair = {"foo", "bar"};
    static const uint64_t times[] = {0, 2, 1, 3, 3, 5, 4, 7, 8, 9};
    struct oto_error error;
    if (strcmp(name, "OneMessage") == 0) {
        write_one(writer, add_example(writer), 10, 2, 1);
    } else if (strcmp(name, "TenMessages") == 0) {
        const uint16_t channel = add_example(writer);
        for (uint32_t i = 0; i < 10; i++) {
            write_one(writer, channel, i, times[i], times[i]);
        }
    } else if (strcmp(name, "OneSchemalessMessage") == 0) {
        const struct oto_mcap_channel_spec spec = {.topic = "example", .message_encoding = "text"};
        uint16_t channel = 0;
        check(oto_mcap_add_channel(writer, &spec, &channel, &error), &error);
        write_one(writer, channel, 10, 2, 1);
    } else if (strcmp(name, "OneAttachment") == 0) {
        const struct oto_mcap_attachment attachment = {2, 1, "myFile", "application/octet-stream", DATA, sizeof DATA};
        check(oto_mcap_attach(writer, &attachment, &error), &error);
    } else if (strcmp(name, "OneMetadata") == 0) {
        check(oto_mcap_add_metadata(writer, "myMetadata", &pair, 1, &error), &error);
    }
}

static uint32_t part_named(const char *name)
{
    static const struct {
        const char *name;
        uint32_t part;
    } rows[] = {{"ch", OTO_MCAP_CHUNKS}, {"chx", OTO_MCAP_CHUNK_INDEXES}, {"mx", OTO_MCAP_MESSAGE_INDEXES},
                {"rch", OTO_MCAP_REPEATED_CHANNELS}, {"rsh", OTO_MCAP_REPEATED_SCHEMAS}, {"st", OTO_MCAP_STATISTICS_RECORD},
                {"sum", OTO_MCAP_SUMMARY_OFFSETS}, {"ax", OTO_MCAP_ATTACHMENT_INDEXES}, {"mdx", OTO_MCAP_METADATA_INDEXES}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return rows[i].part;
        }
    }
    (void)fprintf(stderr, "'%s' is no part of a variant's name\n", name);
    exit(1);
}

static void write_variant(const char *directory, char *name)
{
    char path[4096];
    struct oto_error error;
    struct oto_mcap_writer *writer = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    struct oto_mcap_options options = {
        .fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), .path = path, .profile = "", .library = "", .chunk_bytes = 1u << 20};
    char *rest = name;
    const char *contents = strsep(&rest, "-");
    for (const char *part; (part = strsep(&rest, "-")) != NULL;) {
        options.parts |= part_named(part);
    }
    check(oto_mcap_writer_open(&options, &writer, &error), &error);
    write_contents(writer, contents);
    check(oto_mcap_writer_finish(writer, &error), &error);
    oto_mcap_writer_close(writer);
    (void)close(options.fd);
}

int main(int argc, char **argv)
{
    char name[256];
    while (argc == 2 && fgets(name, sizeof name, stdin) != NULL) {
        name[strcspn(name, "\n")] = '\0';
        write_variant(argv[1], name);
    }
    return argc == 2 ? 0 : 2;
}
