#include "record/run_recording.h"


#include "base/temporary_directory.h"

#define REATTACH_MS 5000

enum oto_status run_recording_prepare(struct run_recording *run, const char **log, struct oto_error *error)
{
    if (run->path == NULL || *log != NULL) {
        return OTO_OK;
    }
    const enum oto_status status =
        srv_temporary_directory_make("otolith-run", run->directory, sizeof run->directory, error);
    if (status != OTO_OK) {
        return status;
    }
    (void)snprintf(run->log, sizeof run->log, "%s/inputs", run->directory);
    *log = run->log;
    return OTO_OK;
}

enum oto_status run_recording_start(struct run_recording *run, const char *world, const char *log, struct oto_error *error)
{
    const struct oto_client_options client = {.size = sizeof client, .world = world, .name = "otolith run --mcap"};
    const struct recording_options options = {.path = run->path, .log_path = log};
    if (run->path == NULL) {
        return OTO_OK;
    }
    enum oto_status status = oto_client_open(&client, &run->client, error);
    if (status == OTO_OK && (status = recording_open(&options, run->client, &run->recording, error)) != OTO_OK) {
        oto_client_close(run->client);
        run->client = NULL;
    }
    return status;
}

/* Ends the recording and its connection, so that the world does not wait for a recording that has failed. */
static void end(struct run_recording *run)
{
    struct oto_error error = {0};
    if (run->recording == NULL) {
        return;
    }
    run->counts = recording_counts(run->recording);
    const enum oto_status closed = recording_close(run->recording, &error);
    run->recording = NULL;
    oto_client_close(run->client);
    run->client = NULL;
    if (run->status == OTO_OK && closed != OTO_OK) {
        run->status = closed;
        run->error = error;
    }
}

uint64_t run_recording_drain(struct run_recording *run)
{
    uint64_t count = 0;
    if (run->recording == NULL) {
        return 0;
    }
    run->status = recording_drain(run->recording, &count, &run->error);
    if (run->status != OTO_OK) {
        end(run);
    }
    return count;
}

enum oto_status run_recording_resume(struct run_recording *run, struct oto_error *error)
{
    if (run->recording == NULL) {
        return OTO_OK;
    }
    const enum oto_status status = oto_client_reattach(run->client, REATTACH_MS, error);
    return status == OTO_OK ? recording_resume(run->recording, error) : status;
}

enum oto_status run_recording_finish(struct run_recording *run, struct oto_error *error)
{
    while (run_recording_drain(run) > 0) {
    }
    end(run);
    srv_temporary_directory_remove(run->directory); /* the log, and after a crash the logs and checkpoints of later runs */
    if (run->status != OTO_OK) {
        *error = run->error;
    }
    return run->status;
}
