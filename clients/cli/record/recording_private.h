/* Shared by the files of a recording. */
#ifndef CLI_RECORD_RECORDING_PRIVATE_H
#define CLI_RECORD_RECORDING_PRIVATE_H

#include "base/output_file.h"
#include "mcap/writer.h"
#include "recording/names.h"
#include "record/recording.h"
#include "wire/ros_topic.h"
#include "wire/ros.h"

enum { RECORDING_MOST_VIEWS = 2 };

/* A view of a channel: a standard message beside its records, at most 100 times a simulated second. */
struct recording_view {
    enum oto_ros_view view;
    uint16_t id;
    int64_t next_ns;
};

struct recording_row {
    const struct oto_channel *channel;
    struct oto_reader reader;
    struct oto_ros_type *ros;
    char topic[OTO_ROS_TOPIC_BYTES];
    uint16_t schema, id;
    uint16_t head_id; /* channel of the sample heads, if the message cannot contain them; 0: none yet */
    struct recording_view views[RECORDING_MOST_VIEWS];
    uint32_t view_count;
    bool over; /* the channel has reached the end of the recording */
};

struct recording {
    bool over_wire; /* the client is a mirror (attach/mirror.h): no control, no statistics of the world */
    struct oto_client *client;
    struct oto_output_file output;
    struct oto_mcap_writer *writer;
    struct oto_ros_type *head_type;
    struct recording_row *rows;
    uint32_t count;
    uint64_t *next; /* of each row: the seq that is read next, to be acknowledged */
    bool unacknowledged; /* the server has not taken the last acknowledge */
    uint16_t schemas[OTO_ROS_DIAGNOSTICS + 1]; /* of views; 0: not added yet */
    uint16_t head_schema, clock_id, diagnostics_id;
    int64_t next_clock_ns, next_diagnostics_ns;
    int64_t start_ns, end_ns; /* simulated; end 0: none */
    bool has_end;
    int64_t flush_ns; /* real time of the next flush */
    struct oto_sample_head *heads;
    unsigned char *payloads;
    struct oto_buffer message;
    uint64_t samples, lost, last_ns;
    enum oto_status status; /* of the first failure; nothing is written after it */
    struct oto_error error;
    /* the log of inputs */
    char *log_path;
    uint64_t log_offset;
};

/* Adds a channel of the profile ros2. */
enum oto_status recording_add_channel(struct recording *recording, uint16_t schema, const char *topic, uint16_t *id,
                                      struct oto_error *error);

/* ---- recording_facts.c: what is in the file beside samples ---- */

/* Attaches world file, field tables, parameters and the facts of the start. */
enum oto_status recording_attach_origin(struct recording *recording, const struct recording_options *options,
                                        struct oto_error *error);
enum oto_status recording_attach(struct recording *recording, const char *name, const char *media_type, const void *data,
                                 size_t bytes, struct oto_error *error);
/* Attaches the whole lines that were added to the log of inputs since the last call. */
enum oto_status recording_attach_log(struct recording *recording, struct oto_error *error);
/* Adds the facts of the end and the metadata that rosbag2 reads. */
enum oto_status recording_add_end(struct recording *recording, struct oto_error *error);
/* Writes a DiagnosticArray of the world's counters. */
enum oto_status recording_put_diagnostics(struct recording *recording, const struct oto_clock *clock, struct oto_error *error);

/* ---- recording_files.c: files that the world names ---- */

/* Attaches the files. `world_path` is absolute; an override is "path=value". */
enum oto_status recording_attach_files(struct recording *recording, const char *world_path, const char *const *overrides,
                                       uint32_t override_count, struct oto_error *error);
/* Attaches the checkpoint from which the run was restored, if the log of inputs names one. */
enum oto_status recording_attach_restored(struct recording *recording, struct oto_error *error);

#endif
