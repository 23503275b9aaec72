/*
 * What a damaged or hostile segment may lead a client to. The input patches a sound segment: five bytes each, an offset
 * of four (little-endian) and a value.
 */
#include "attach/segment_check.h"
#include "sample_segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void read_all(const struct oto_segment_directory *directory)
{
    for (uint32_t i = 0; i < directory->channel_count; i++) {
        const struct oto_channel *channel = &directory->channels[i];
        struct oto_reader reader = oto_reader_make(channel, OTO_READ_FROM_OLDEST);
        struct oto_sample_head head;
        uint64_t payload[OTO_RECORD_MAX_BYTES / 8];
        char text[256];
        for (int k = 0; k < 32 && oto_reader_next(&reader, &head, payload, sizeof payload) == OTO_OK; k++) {
            for (uint32_t f = 0; f < channel->type.field_count; f++) {
                const struct oto_field *field = &channel->type.fields[f];
                (void)oto_field_format(field, payload, field->type == OTO_FIELD_TEXT ? 0 : field->count - 1, text,
                                       sizeof text);
            }
        }
    }
}

static void check(const unsigned char *base)
{
    struct oto_segment_directory directory;
    struct oto_error error = {.status = OTO_OK};
    if (oto_segment_read(base, SAMPLE_SEGMENT_BYTES, &directory, &error) == OTO_OK) {
        read_all(&directory);
    } else if (error.text[0] == '\0') {
        abort();
    }
    oto_segment_directory_finish(&directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    unsigned char *base = sample_segment_make();
    for (uint32_t i = 0; i < SAMPLE_CHANNELS; i++) {
        sample_segment_push(base, i, 1);
    }
    for (; bytes >= 5; data += 5, bytes -= 5) {
        uint32_t offset;
        memcpy(&offset, data, sizeof offset);
        base[offset % SAMPLE_SEGMENT_BYTES] = data[4];
    }
    check(base);
    /* With a hash that fits, so that what lies behind it is reached; the counts decide what is hashed. */
    struct oto_segment_header *header = (struct oto_segment_header *)(void *)base;
    if (header->field_count <= 32) {
        sample_segment_hash(base);
        check(base);
    }
    free(base);
    return 0;
}
