/*
 * An MCAP recording that `otolith record` or `otolith run --mcap` made, read back into otolith's channels, sample heads and
 * payloads. One thread.
 */
#ifndef CLI_RECORD_RECORDED_H
#define CLI_RECORD_RECORDED_H

#include "mcap/reader.h"
#include "otolith/frame.h"
#include "wire/ros_topic.h"
#include "wire/ros.h"

struct recorded_channel {
    const struct oto_channel *channel; /* the channel of the recorded world; its `view` is not valid */
    struct oto_ros_type *ros;
    char topic[OTO_ROS_TOPIC_BYTES];
    bool in_file;          /* the file has samples of this channel */
    uint64_t last_seq;     /* seq of the sample that was read last */
    bool has_head;         /* `head` was read and belongs to the next sample */
    struct oto_sample_head head;
};

struct recorded {
    struct oto_mcap_reader *reader;
    struct oto_schema **schemas; /* parts */
    uint32_t schema_count;
    struct recorded_channel *channels;
    uint32_t count;
    char world[OTO_WORLD_NAME_BYTES];
    struct oto_ros_type *head_type;
    struct recorded_message *targets; /* one for each MCAP channel */
    _Alignas(8) unsigned char payload[OTO_RECORD_MAX_BYTES];
};

struct recorded_sample {
    uint32_t index; /* of the channel */
    struct oto_sample_head head;
    const void *payload; /* payload and message are valid until the next call */
    const unsigned char *message;
    size_t bytes;
    uint64_t log_time_ns;
};

/* Opens a recording. OTO_UNSUPPORTED: an MCAP file without otolith's attachments. */
enum oto_status recorded_open(const char *path, struct recorded **recorded, struct oto_error *error);
void recorded_close(struct recorded *recorded); /* NULL is allowed */
/* The next sample; OTO_CLOSED after the last one. Other messages, and samples that cannot be decoded, are passed over. */
enum oto_status recorded_next(struct recorded *recorded, struct recorded_sample *sample, struct oto_error *error);
void recorded_seek(struct recorded *recorded, uint64_t t_ns);
/* Joins the attachments of a name and adds a NUL; the caller frees *text. *text NULL: there are none. */
enum oto_status recorded_attachments(const struct recorded *recorded, const char *name, char **text, size_t *bytes,
                                     struct oto_error *error);

#endif
