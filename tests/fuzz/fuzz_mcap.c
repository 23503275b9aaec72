/* What someone may give to `otolith play` and `otolith verify`: every message, schema and attachment of a file, by both orders. */
#include <stdlib.h>

#include "mcap/reader.h"
#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int holds)
{
    if (!holds) {
        abort();
    }
}

static void read_attachments(struct oto_mcap_reader *reader)
{
    struct oto_error error;
    for (uint32_t i = 0; i < oto_mcap_reader_attachment_count(reader); i++) {
        unsigned char *text = NULL;
        size_t count = 0;
        must(oto_mcap_reader_attachment_name(reader, i) != NULL);
        if (oto_mcap_reader_attachment(reader, i, &text, &count, &error) == OTO_OK) {
            must(text[count] == 0);
        }
        free(text);
    }
}

/* Reads every byte. */
static void read_messages(struct oto_mcap_reader *reader)
{
    struct oto_mcap_read_message message;
    struct oto_error error;
    uint64_t sum = 0;
    while (oto_mcap_reader_next(reader, &message, &error) == OTO_OK) {
        for (size_t i = 0; i < message.bytes; i++) {
            sum += message.data[i];
        }
        const struct oto_mcap_read_channel *channel = oto_mcap_reader_channel(reader, message.channel);
        sum += channel != NULL && oto_mcap_reader_schema(reader, channel->schema) != NULL;
    }
    must(sum != UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    for (int as_written = 0; as_written < 2; as_written++) {
        struct memory_file file = memory_file_make(data, bytes);
        struct oto_mcap_reader *reader = NULL;
        struct oto_error error = {.status = OTO_OK};
        if (oto_mcap_reader_open(file.path, &reader, &error) == OTO_OK) {
            must(oto_mcap_reader_facts(reader)->complete_bytes <= bytes);
            read_attachments(reader);
            if (as_written) {
                oto_mcap_reader_as_written(reader);
            }
            read_messages(reader);
            oto_mcap_reader_seek(reader, oto_mcap_reader_facts(reader)->end_ns);
            read_messages(reader);
        } else {
            must(error.text[0] != '\0');
        }
        oto_mcap_reader_close(reader);
        memory_file_close(&file);
    }
    return 0;
}
