/* What a publisher may send: through the stream of a subscriber, and against each known type. */
#include "otolith/frame.h"
#include "sample_records.h"
#include "transport/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void decode_as(const uint8_t *data, size_t bytes, const struct oto_record_type *type)
{
    struct oto_frame frame;
    enum oto_status status = oto_frame_decode(data, bytes, &frame);
    for (uint32_t i = 0; status == OTO_OK && i < frame.count; i++) {
        struct oto_sample_head head;
        uint64_t payload[OTO_RECORD_MAX_BYTES / 8];
        char frame_id[OTO_WORLD_NAME_BYTES];
        status = oto_frame_sample(&frame, type, i, &head, payload, frame_id, sizeof frame_id);
    }
}

/* The first two bytes split the input into a schema and a frame of it. */
static void stream_both(const uint8_t *data, size_t bytes)
{
    struct oto_stream stream;
    struct oto_wire_sample sample;
    if (bytes < 2 || oto_stream_init(&stream, "", NULL) != OTO_OK) {
        return;
    }
    const size_t rest = bytes - 2, split = (data[0] * 256u + data[1]) % (rest + 1);
    (void)oto_stream_give(&stream, data + 2, split);
    if (oto_stream_give(&stream, data + 2 + split, rest - split) == OTO_OK) {
        while (oto_stream_take(&stream, &sample) == OTO_OK) {
            (void)oto_field_number(&sample.type->fields[0], sample.payload, 0);
        }
    }
    oto_stream_finish(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct oto_schema *schema = NULL;
    decode_as(data, bytes, &oto_imu_type);
    decode_as(data, bytes, &oto_event_type);
    decode_as(data, bytes, &every_type);
    if (oto_schema_decode(data, bytes, &schema) == OTO_OK) {
        oto_schema_close(schema);
    }
    stream_both(data, bytes);
    return 0;
}
