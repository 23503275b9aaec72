/*
 * Recording: IMU records a second that one core encodes as CDR and writes to an MCAP file with index and CRCs, plain and with
 * zstd. The records are those of a run, so that they compress as real ones do.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mcap/writer.h"
#include "otolith/records.h"
#include "otolith/sim.h"
#include "wire/ros.h"

enum { RECORDS = 4000, ROUNDS = 12 };

static double cpu_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* 20 s of the default car's IMU. */
static bool make_records(struct oto_sample_head *heads, struct oto_imu_record *records)
{
    const struct oto_sim_options options = {.size = sizeof options, .path = OTO_SOURCE_DIR "/configs/worlds/city_drive.yaml"};
    struct oto_sim *sim = NULL;
    struct oto_sim_channel imu;
    struct oto_error error = {0};
    size_t count = 0;
    if (oto_sim_open(&options, &sim, &error) != OTO_OK || oto_sim_channel(sim, "car/imu", &imu, &error) != OTO_OK) {
        (void)cli_say(&error);
        oto_sim_close(sim);
        return false;
    }
    while (count < RECORDS && oto_sim_step(sim, 500, &error) == OTO_OK) {
        count += oto_sim_read(sim, imu.index, heads + count, records + count, RECORDS - count, NULL);
    }
    oto_sim_close(sim);
    return count == RECORDS;
}

/* Seconds of CPU for `rounds` times all records; a negative number after an error. */
static double write_file(const char *path, int zstd_level, uint32_t rounds, const struct oto_sample_head *heads,
                         const struct oto_imu_record *records, uint64_t *bytes)
{
    FILE *file = fopen(path, "w");
    const struct oto_mcap_options options = {.fd = file != NULL ? fileno(file) : -1, .path = path, .profile = "ros2",
                                             .library = "otolith-bench", .parts = OTO_MCAP_ALL_PARTS, .zstd_level = zstd_level,
                                             .chunk_bytes = 1u << 20};
    struct oto_mcap_channel_spec spec = {.topic = "/car/imu", .message_encoding = "cdr"};
    struct oto_mcap_message message = {0};
    struct oto_mcap_writer *writer = NULL;
    struct oto_ros_type *ros = NULL;
    struct oto_buffer cdr = {0};
    struct oto_error error = {0};
    const double start_s = cpu_s();
    bool good = oto_mcap_writer_open(&options, &writer, &error) == OTO_OK && oto_ros_type_make(&oto_imu_type, &ros, &error) == OTO_OK &&
                oto_mcap_add_schema(writer, oto_ros_type_name(ros), "ros2msg", oto_ros_type_definition(ros),
                                    strlen(oto_ros_type_definition(ros)), &spec.schema, &error) == OTO_OK &&
                oto_mcap_add_channel(writer, &spec, &message.channel, &error) == OTO_OK;
    for (uint32_t i = 0; i < rounds * RECORDS && good; i++) {
        good = oto_ros_encode(ros, "car/imu", &heads[i % RECORDS], &records[i % RECORDS], &cdr) == OTO_OK;
        message.sequence = i;
        message.log_time_ns = message.publish_time_ns = (uint64_t)heads[i % RECORDS].t_ns;
        message.data = cdr.data;
        message.bytes = cdr.bytes;
        good = good && oto_mcap_write(writer, &message, &error) == OTO_OK;
    }
    good = good && oto_mcap_writer_finish(writer, &error) == OTO_OK;
    *bytes = good ? oto_mcap_writer_bytes(writer) : 0;
    const double used_s = cpu_s() - start_s;
    if (!good) {
        (void)cli_say(&error);
    }
    oto_mcap_writer_close(writer);
    oto_ros_type_free(ros);
    oto_buffer_free(&cdr);
    if (file != NULL) {
        (void)fclose(file);
    }
    return good ? used_s : -1.0;
}

static void measure(struct bench_context *context, const char *name, int zstd_level, double goal,
                    const struct oto_sample_head *heads, const struct oto_imu_record *records)
{
    const uint32_t rounds = context->smoke ? 2 : 50;
    struct bench_series rates = {0};
    struct bench_result result = {.name = name, .unit = "records/s", .goal = goal, .at_least = true};
    char path[] = "/tmp/otolith-bench.XXXXXX";
    const int fd = mkstemp(path);
    uint64_t bytes = 0;
    for (int i = 0; i < (context->smoke ? 1 : ROUNDS); i++) {
        const double used_s = write_file(path, zstd_level, rounds, heads, records, &bytes);
        if (used_s > 0) {
            series_add(&rates, rounds * RECORDS / used_s);
        }
    }
    if (fd >= 0) {
        (void)close(fd);
        (void)unlink(path);
    }
    result_from_series(&result, &rates);
    (void)snprintf(result.note, sizeof result.note, "%.1f bytes a record", (double)bytes / (rounds * RECORDS));
    bench_print(context, &result);
    series_free(&rates);
}

void bench_record(struct bench_context *context)
{
    struct oto_sample_head *heads = calloc(RECORDS, sizeof *heads);
    struct oto_imu_record *records = calloc(RECORDS, sizeof *records);
    if (heads != NULL && records != NULL && make_records(heads, records)) {
        measure(context, "record_imu_plain", 0, 1e6, heads, records);
        measure(context, "record_imu_zstd", 1, 3e5, heads, records);
    }
    free(heads);
    free(records);
}
