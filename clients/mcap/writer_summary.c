/* The end of a file: data end, summary section, footer. */
#include "mcap/writer_private.h"

static void put_statistics(const struct oto_mcap_writer *writer, struct oto_mcap_bytes *to)
{
    const size_t begin = oto_mcap_begin_record(to, OTO_MCAP_STATISTICS);
    oto_mcap_put_u64(to, writer->message_count);
    oto_mcap_put_u16(to, (uint16_t)writer->schema_count);
    oto_mcap_put_u32(to, writer->channel_count);
    oto_mcap_put_u32(to, writer->attachment_count);
    oto_mcap_put_u32(to, writer->metadata_count);
    oto_mcap_put_u32(to, writer->chunk_count);
    oto_mcap_put_u64(to, writer->start_ns);
    oto_mcap_put_u64(to, writer->end_ns);
    oto_mcap_put_u32(to, writer->channel_count * 10u);
    for (uint32_t i = 0; i < writer->channel_count; i++) {
        oto_mcap_put_u16(to, (uint16_t)(i + 1));
        oto_mcap_put_u64(to, writer->counts[i].messages);
    }
    oto_mcap_end_record(to, begin);
}

struct group {
    enum oto_mcap_opcode opcode;
    enum oto_mcap_parts part;
    const struct oto_mcap_bytes *records;
};

/* Puts the groups into `to`, and into `offsets` an offset record for each group that is not empty. */
static void put_groups(const struct oto_mcap_writer *writer, const struct group *groups, size_t count, uint64_t start,
                       struct oto_mcap_bytes *to, struct oto_mcap_bytes *offsets)
{
    for (size_t i = 0; i < count; i++) {
        const struct oto_mcap_bytes *records = groups[i].records;
        if (!oto_mcap_has(writer, groups[i].part) || records->bytes == 0) {
            continue;
        }
        const size_t begin = oto_mcap_begin_record(offsets, OTO_MCAP_SUMMARY_OFFSET);
        oto_mcap_put_u8(offsets, (uint8_t)groups[i].opcode);
        oto_mcap_put_u64(offsets, start + to->bytes);
        oto_mcap_put_u64(offsets, records->bytes);
        oto_mcap_end_record(offsets, begin);
        oto_mcap_put(to, records->data, records->bytes);
        to->failed = to->failed || records->failed;
    }
}

static void put_footer(struct oto_mcap_bytes *to, uint64_t summary_start,
                       uint64_t offsets_start)
{
    oto_mcap_put_u8(to, OTO_MCAP_FOOTER);
    oto_mcap_put_u64(to, OTO_MCAP_FOOTER_BYTES);
    oto_mcap_put_u64(to, summary_start);
    oto_mcap_put_u64(to, offsets_start);
    if (!to->failed) {
        oto_mcap_put_u32(to, oto_mcap_crc32(0, to->data, to->bytes));
    }
    oto_mcap_put(to, OTO_MCAP_MAGIC, OTO_MCAP_MAGIC_BYTES);
}

static enum oto_status put_data_end(struct oto_mcap_writer *writer, struct oto_error *error)
{
    writer->head.bytes = 0;
    const size_t begin = oto_mcap_begin_record(&writer->head, OTO_MCAP_DATA_END);
    oto_mcap_put_u32(&writer->head, writer->data_crc);
    oto_mcap_end_record(&writer->head, begin);
    const struct oto_mcap_part part = {.bytes = &writer->head};
    return oto_mcap_append(writer, &part, 1, error);
}

enum oto_status oto_mcap_writer_finish(struct oto_mcap_writer *writer, struct oto_error *error)
{
    enum oto_status status = oto_mcap_flush(writer, error);
    if (status == OTO_OK && (status = put_data_end(writer, error)) == OTO_OK) {
        struct oto_mcap_bytes summary = {0}, offsets = {0}, statistics = {0};
        const struct group groups[] = {
            {OTO_MCAP_SCHEMA, OTO_MCAP_REPEATED_SCHEMAS, &writer->schemas},
            {OTO_MCAP_CHANNEL, OTO_MCAP_REPEATED_CHANNELS, &writer->channels},
            {OTO_MCAP_STATISTICS, OTO_MCAP_STATISTICS_RECORD, &statistics},
            {OTO_MCAP_METADATA_INDEX, OTO_MCAP_METADATA_INDEXES, &writer->metadata_indexes},
            {OTO_MCAP_ATTACHMENT_INDEX, OTO_MCAP_ATTACHMENT_INDEXES, &writer->attachment_indexes},
            {OTO_MCAP_CHUNK_INDEX, OTO_MCAP_CHUNK_INDEXES, &writer->chunk_indexes},
        };
        const uint64_t start = writer->offset;
        put_statistics(writer, &statistics);
        put_groups(writer, groups, sizeof groups / sizeof *groups, start, &summary, &offsets);
        const bool has_summary = summary.bytes > 0, has_offsets = has_summary && oto_mcap_has(writer, OTO_MCAP_SUMMARY_OFFSETS);
        const uint64_t offsets_start = start + summary.bytes;
        if (has_offsets) {
            oto_mcap_put(&summary, offsets.data, offsets.bytes);
        }
        put_footer(&summary, has_summary ? start : 0, has_offsets ? offsets_start : 0);
        const struct oto_mcap_part part = {.bytes = &summary};
        status = oto_mcap_append(writer, &part, 1, error);
        oto_mcap_bytes_free(&summary);
        oto_mcap_bytes_free(&offsets);
        oto_mcap_bytes_free(&statistics);
    }
    return status;
}
