/*
 * The Python process of a worker. Records stand in one memory file that both processes map; a request is one line of JSON on
 * descriptor 4 of the process, a reply one line of text on descriptor 5.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json.h"
#include "sweep/gauge.h"

enum { MEMORY = 3, REQUESTS = 4, REPLIES = 5, SPARE_RECORDS = 16, SPARE_BYTES = 4096 };

/* A channel that a function reads, and its records of this run. */
struct region {
    const char *topic; /* as the spec names it */
    const struct oto_value *place;
    struct oto_sim_channel channel;
    size_t offset, stride, count, capacity;
};

struct sweep_python {
    const struct sweep_spec *spec;
    pid_t pid;
    int memory;
    FILE *requests, *replies;
    unsigned char *bytes;
    size_t length;
    struct region regions[SWEEP_MOST_FUNCTIONS * SWEEP_MOST_CHANNELS];
    uint32_t region_count;
};

/* ---- the process ---- */

/* Finds _sweep.py: for PREFIX/bin/otolith in PREFIX/lib/python3/dist-packages/otolith, else in the checkout of the build. */
static enum oto_status find_script(char *path, size_t bytes, struct oto_error *error)
{
    char program[2048];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(program, '/');
        *(slash != NULL ? slash : program) = '\0';
    }
    (void)snprintf(path, bytes, "%s/lib/python3/dist-packages/otolith/_sweep.py", program);
    if (access(path, R_OK) != 0) {
        (void)snprintf(path, bytes, "%s/_sweep.py", OTO_SOURCE_PYTHON_DIR);
    }
    return access(path, R_OK) == 0 ? OTO_OK : oto_fail(error, OTO_NOT_FOUND, "the file '%.300s' of the Python client is missing", path);
}

/* Called in the child: moves the three descriptors to 3, 4 and 5. All other descriptors are close-on-exec. */
static void become_python(const char *program, const char *script, int memory, int requests, int replies)
{
    const int from[] = {memory, requests, replies};
    int high[3];
    for (int i = 0; i < 3; i++) {
        high[i] = fcntl(from[i], F_DUPFD, 16);
    }
    for (int i = 0; i < 3; i++) {
        (void)dup2(high[i], MEMORY + i);
        (void)close(high[i]);
    }
    (void)signal(SIGINT, SIG_IGN); /* the worker ends this process by closing the requests */
    (void)execlp(program, program, script, (char *)NULL);
    (void)dprintf(REPLIES, "error cannot start '%s': %s\n", program, strerror(errno));
    _exit(127);
}

static enum oto_status start(struct sweep_python *python, const char *program, struct oto_error *error)
{
    char script[4096];
    int requests[2] = {-1, -1}, replies[2] = {-1, -1};
    const enum oto_status status = find_script(script, sizeof script, error);
    if (status != OTO_OK) {
        return status;
    }
    python->memory = memfd_create("otolith-sweep-records", MFD_CLOEXEC);
    if (python->memory < 0 || pipe2(requests, O_CLOEXEC) != 0 || pipe2(replies, O_CLOEXEC) != 0) {
        return oto_fail(error, OTO_IO, "cannot start '%.200s': %s", program, strerror(errno));
    }
    python->pid = fork();
    if (python->pid == 0) {
        become_python(program, script, python->memory, requests[0], replies[1]);
    }
    (void)close(requests[0]);
    (void)close(replies[1]);
    python->requests = fdopen(requests[1], "w");
    python->replies = fdopen(replies[0], "r");
    return python->pid > 0 && python->requests != NULL && python->replies != NULL
               ? OTO_OK
               : oto_fail(error, OTO_IO, "cannot start '%.200s': %s", program, strerror(errno));
}

/* Sends what was written and reads the reply: "ok …" or "error …". *line is freed by the caller. */
static enum oto_status exchange(struct sweep_python *python, char **line, struct oto_error *error)
{
    size_t capacity = 0;
    (void)fputc('\n', python->requests);
    *line = NULL;
    ssize_t length = fflush(python->requests) == 0 ? getline(line, &capacity, python->replies) : -1;
    if (length < 0) {
        return cli_interrupted() ? oto_fail(error, OTO_CLOSED, "interrupted")
                                 : oto_fail(error, OTO_IO, "the Python process of the metrics ended during the run");
    }
    (*line)[strcspn(*line, "\n")] = '\0';
    return strncmp(*line, "ok", 2) == 0 ? OTO_OK : oto_fail(error, OTO_PLUGIN, "Python: %.400s", *line + strcspn(*line, " ") + 1);
}

static void write_list(struct oto_json *json, const char *name, const struct oto_value *list)
{
    oto_json_open(json, name, '[');
    for (uint32_t i = 0; i < list->count; i++) {
        oto_json_text(json, NULL, list->items[i]->text);
    }
    oto_json_close(json, ']');
}

static enum oto_status send_functions(struct sweep_python *python, struct oto_error *error)
{
    char *line;
    struct oto_json json = {.to = python->requests};
    oto_json_open(&json, NULL, '[');
    for (uint32_t i = 0; i < python->spec->function_count; i++) {
        const struct sweep_function *function = &python->spec->functions[i];
        oto_json_open(&json, NULL, '{');
        oto_json_text(&json, "file", function->file);
        oto_json_text(&json, "function", function->name);
        write_list(&json, "channels", function->channels);
        write_list(&json, "columns", function->columns);
        oto_json_close(&json, '}');
    }
    oto_json_close(&json, ']');
    struct oto_error why = {0};
    const enum oto_status status = exchange(python, &line, &why);
    free(line);
    return status == OTO_OK ? OTO_OK : oto_value_fail(python->spec->functions[0].place, error, why.status, "%s", why.text);
}

static void list_regions(struct sweep_python *python)
{
    for (uint32_t f = 0; f < python->spec->function_count; f++) {
        const struct oto_value *channels = python->spec->functions[f].channels;
        for (uint32_t i = 0; i < channels->count; i++) {
            uint32_t r = 0;
            while (r < python->region_count && strcmp(python->regions[r].topic, channels->items[i]->text) != 0) {
                r++;
            }
            python->regions[r] = (struct region){.topic = channels->items[i]->text, .place = channels->items[i]};
            python->region_count += r == python->region_count;
        }
    }
}

struct sweep_python *sweep_python_create(const struct sweep_spec *spec, const char *program, struct oto_error *error)
{
    struct sweep_python *python = calloc(1, sizeof *python);
    if (python == NULL) {
        (void)oto_fail(error, OTO_NO_MEMORY, "no memory for the Python process");
        return NULL;
    }
    python->spec = spec;
    python->memory = -1;
    list_regions(python);
    enum oto_status status = start(python, program, error);
    if (status == OTO_OK) {
        status = send_functions(python, error);
    }
    if (status != OTO_OK) {
        sweep_python_destroy(python);
        return NULL;
    }
    return python;
}

void sweep_python_destroy(struct sweep_python *python)
{
    if (python == NULL) {
        return;
    }
    if (python->requests != NULL) {
        (void)fclose(python->requests);
    }
    if (python->replies != NULL) {
        (void)fclose(python->replies);
    }
    if (python->pid > 0) {
        (void)kill(python->pid, SIGKILL);
        while (waitpid(python->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (python->bytes != NULL) {
        (void)munmap(python->bytes, python->length);
    }
    if (python->memory >= 0) {
        (void)close(python->memory);
    }
    free(python);
}

/* ---- records ---- */

static double length_of(const struct sweep_python *python, const struct region *region)
{
    return (double)region->stride * ((double)python->spec->duration_ns * 1e-9 * sweep_rate_hz(&region->channel) + SPARE_RECORDS);
}

static enum oto_status find_channel(struct region *region, const struct oto_sim *sim, struct oto_error *error)
{
    struct oto_error why = {0};
    enum oto_status status = oto_sim_channel(sim, region->topic, &region->channel, &why);
    if (status == OTO_OK && region->channel.rate_num == 0) {
        status = oto_fail(&why, OTO_UNSUPPORTED, "'%.80s' has no rate; sampled channels are accepted", region->topic);
    }
    region->stride = status == OTO_OK ? sizeof(struct oto_sample_head) + region->channel.type->bytes : 0;
    return status == OTO_OK ? OTO_OK : oto_value_fail(region->place, error, status, "%s", why.text);
}

enum oto_status sweep_python_bind(struct sweep_python *python, const struct oto_sim *sim, struct oto_error *error)
{
    double needed = 0.0;
    size_t offset = 0;
    for (uint32_t i = 0; i < python->region_count; i++) {
        const enum oto_status status = find_channel(&python->regions[i], sim, error);
        if (status != OTO_OK) {
            return status;
        }
        needed += length_of(python, &python->regions[i]) + SPARE_BYTES;
    }
    if (needed > 1e15) {
        return oto_fail(error, OTO_LIMIT, "the records of a run for Python would take %.0f GiB", needed / 0x1p30);
    }
    for (uint32_t i = 0; i < python->region_count; i++) {
        struct region *region = &python->regions[i];
        region->offset = offset;
        region->capacity = (size_t)length_of(python, region) / region->stride;
        offset = (offset + region->capacity * region->stride + SPARE_BYTES - 1) / SPARE_BYTES * SPARE_BYTES;
    }
    if (offset <= python->length) {
        return OTO_OK;
    }
    if (python->bytes != NULL) {
        (void)munmap(python->bytes, python->length);
    }
    python->bytes = NULL;
    python->length = 0;
    void *bytes = ftruncate(python->memory, (off_t)offset) == 0 ? mmap(NULL, offset, PROT_READ | PROT_WRITE, MAP_SHARED, python->memory, 0)
                                                                : MAP_FAILED;
    if (bytes == MAP_FAILED) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %zu bytes of records: %s", offset, strerror(errno));
    }
    python->bytes = bytes;
    python->length = offset;
    return OTO_OK;
}

uint64_t sweep_python_bytes(const struct sweep_python *python)
{
    double bytes = 64.0 * 0x1p20; /* memory of an interpreter with NumPy */
    for (uint32_t i = 0; i < python->region_count; i++) {
        bytes += length_of(python, &python->regions[i]);
    }
    return (uint64_t)bytes;
}

bool sweep_python_reads(const struct sweep_python *python, uint32_t channel)
{
    bool is_read = false;
    for (uint32_t i = 0; i < python->region_count; i++) {
        is_read = is_read || python->regions[i].channel.index == channel;
    }
    return is_read;
}

void sweep_python_begin(struct sweep_python *python)
{
    for (uint32_t i = 0; i < python->region_count; i++) {
        python->regions[i].count = 0;
    }
}

static enum oto_status take(struct sweep_python *python, struct region *region, const struct oto_sample_head *heads,
                            const unsigned char *payloads, size_t count, struct oto_error *error)
{
    const size_t bytes = region->channel.type->bytes;
    if (region->count + count > region->capacity) {
        return oto_fail(error, OTO_LIMIT, "'%s' has more records than its rate allows", region->topic);
    }
    for (size_t i = 0; i < count; i++) {
        unsigned char *to = python->bytes + region->offset + region->count++ * region->stride;
        memcpy(to, &heads[i], sizeof heads[i]);
        memcpy(to + sizeof heads[i], payloads + i * bytes, bytes);
    }
    return OTO_OK;
}

enum oto_status sweep_python_take(struct sweep_python *python, uint32_t channel, const struct oto_sample_head *heads,
                                  const unsigned char *payloads, size_t count, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; status == OTO_OK && i < python->region_count; i++) {
        if (python->regions[i].channel.index == channel) { /* a channel has two regions if the spec names it by two names */
            status = take(python, &python->regions[i], heads, payloads, count, error);
        }
    }
    return status;
}

/* ---- the call ---- */

static void write_region(struct oto_json *json, const struct region *region)
{
    const struct oto_record_type *type = region->channel.type;
    oto_json_open(json, region->topic, '{');
    oto_json_u64(json, "offset", region->offset);
    oto_json_u64(json, "count", region->count);
    oto_json_u64(json, "bytes", type->bytes);
    oto_json_open(json, "fields", '[');
    for (uint32_t i = 0; i < type->field_count; i++) {
        oto_json_open(json, NULL, '[');
        oto_json_text(json, NULL, type->fields[i].name);
        oto_json_u64(json, NULL, type->fields[i].type);
        oto_json_u64(json, NULL, type->fields[i].count);
        oto_json_u64(json, NULL, type->fields[i].offset);
        oto_json_close(json, ']');
    }
    oto_json_close(json, ']');
    oto_json_close(json, '}');
}

static void write_request(const struct sweep_python *python, const struct sweep_case *made)
{
    struct oto_json json = {.to = python->requests};
    oto_json_open(&json, NULL, '{');
    oto_json_u64(&json, "run", made->run);
    oto_json_u64(&json, "seed", made->seed);
    oto_json_u64(&json, "length", python->length);
    oto_json_open(&json, "values", '{');
    for (uint32_t i = 0; i < made->count; i++) {
        char path[1024];
        const char *value = sweep_case_value(made, i);
        (void)snprintf(path, sizeof path, "%.*s", (int)(value - made->overrides[i] - 1), made->overrides[i]);
        oto_json_text(&json, path, value);
    }
    oto_json_close(&json, '}');
    oto_json_open(&json, "channels", '{');
    for (uint32_t i = 0; i < python->region_count; i++) {
        write_region(&json, &python->regions[i]);
    }
    oto_json_close(&json, '}');
    oto_json_close(&json, '}');
}

enum oto_status sweep_python_call(struct sweep_python *python, const struct sweep_case *made, double *results,
                                  struct oto_error *error)
{
    char *line;
    uint32_t wanted = 0, found = 0;
    for (uint32_t f = 0; f < python->spec->function_count; f++) {
        wanted += python->spec->functions[f].columns->count;
    }
    write_request(python, made);
    enum oto_status status = exchange(python, &line, error);
    for (char *at = status == OTO_OK ? line + 2 : NULL, *end; at != NULL && found < wanted; at = end) {
        results[found] = strtod(at, &end);
        if (end == at) {
            break;
        }
        found++;
    }
    free(line);
    return status == OTO_OK && found < wanted ? oto_fail(error, OTO_CORRUPT, "Python returned %" PRIu32 " of %" PRIu32 " numbers", found, wanted)
                                              : status;
}
