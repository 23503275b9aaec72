/*
 * An estimator over logs in a test: the plugin as it is built, parameters from a file, the records of each port as they
 * come. The last record of every port is kept.
 */
#ifndef LOG_RUN_H
#define LOG_RUN_H

#include "oto_test.h"
#include "offline/estimate.h"

struct log_run {
    struct oto_estimate *estimate;
    struct oto_document *document;
    struct oto_log *logs[8];
    uint32_t log_count;
    struct oto_estimate_run run;
    struct oto_error error;
    _Alignas(8) unsigned char last[OTO_PLUGIN_MAX_PORTS][OTO_RECORD_MAX_BYTES];
    int64_t last_t_ns[OTO_PLUGIN_MAX_PORTS];
    uint64_t records[OTO_PLUGIN_MAX_PORTS];
    void (*each)(struct log_run *run, uint32_t port, int64_t t_ns, const void *payload); /* NULL: none */
    void *user;
};

static inline enum oto_status log_run_emit(void *context, uint32_t port, const struct oto_sample_head *head,
                                           const void *payload, struct oto_error *error)
{
    struct log_run *run = context;
    (void)error;
    memcpy(run->last[port], payload, oto_plugin_descriptor(oto_estimate_plugin(run->estimate))->outputs[port].type->bytes);
    run->last_t_ns[port] = head->t_ns;
    run->records[port]++;
    if (run->each != NULL) {
        run->each(run, port, head->t_ns, payload);
    }
    return OTO_OK;
}

/* Parameters from a file of configs/estimators, or from text where `yaml` is given. */
static inline void log_run_open(struct log_run *run, const char *plugin, const char *params_file, const char *yaml)
{
    memset(run, 0, sizeof *run);
    char path[512];
    (void)snprintf(path, sizeof path, OTO_PLUGIN_DIR "/%s.so", plugin);
    assert_ok(oto_estimate_open(path, &run->estimate, &run->error), run->error);
    if (yaml != NULL) {
        assert_ok(oto_document_parse("params", yaml, strlen(yaml), NULL, &run->document, &run->error), run->error);
    } else {
        (void)snprintf(path, sizeof path, OTO_SOURCE_DIR "/configs/estimators/%s", params_file != NULL ? params_file : "");
        assert_ok(oto_document_read(path, NULL, &run->document, &run->error), run->error);
    }
    assert_ok(oto_params_apply(oto_plugin_descriptor(oto_estimate_plugin(run->estimate)),
                               oto_document_root(run->document), oto_estimate_params(run->estimate), &run->error),
              run->error);
}

/* A log of doubles; `names` end in NULL. */
static inline struct oto_log *log_run_input(struct log_run *run, const char *input, const char *const *names)
{
    struct oto_field fields[32];
    struct oto_record_type type = {.name = "log", .fields = fields};
    for (uint32_t i = 0; names[i] != NULL; i++) {
        fields[i] = (struct oto_field){names[i], OTO_FIELD_F64, 1, 8 * i, "", "", ""};
        type.field_count++;
        type.bytes += 8;
    }
    struct oto_log **log = &run->logs[run->log_count++];
    assert_ok(oto_log_create(input, &type, log, &run->error), run->error);
    assert_ok(oto_estimate_bind(run->estimate, input, *log, &run->error), run->error);
    return *log;
}

static inline void log_run_add(struct log_run *run, struct oto_log *log, int64_t t_ns, const double *numbers)
{
    const struct oto_sample_head head = {.t_ns = t_ns, .sensor_time_ns = t_ns};
    assert_ok(oto_log_add(log, &head, numbers, &run->error), run->error);
}

static inline void log_run_execute(struct log_run *run)
{
    run->run.size = sizeof run->run;
    run->run.emit = log_run_emit;
    run->run.context = run;
    assert_ok(oto_estimate_execute(run->estimate, &run->run, &run->error), run->error);
}

static inline void log_run_close(struct log_run *run)
{
    oto_estimate_close(run->estimate);
    oto_document_close(run->document);
    for (uint32_t i = 0; i < run->log_count; i++) {
        oto_log_close(run->logs[i]);
    }
}

#endif
