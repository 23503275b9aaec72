#include "otolith/participant.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/client_private.h"
#include "base/futex.h"
#include "base/monotonic.h"

#define SPIN_NS 20000
#define SPIN_READS 32         /* iterations between two readings of the clock */
#define SLICE_NS 50000000     /* longest time until the death of the server is detected */
#define NS_PER_MS INT64_C(1000000)

struct oto_participant {
    struct oto_client *client;
    struct oto_mailbox_header *header; /* the mapped mailbox, readable and writable */
    uint64_t bytes;
    uint32_t vehicle_count;
    const struct oto_mailbox_vehicle *vehicles;
    uint64_t output_offset;
    struct oto_mailbox_vehicle *now; /* private copies at the grant: names and truths */
    uint64_t lock;     /* lock word of the grant to answer */
    bool may_answer;
    uint64_t refused_reported;
    double rate_hz;
    char controlled[OTO_PARTICIPANT_NAME_BYTES];
};

/* ---- joining ---- */

static enum oto_status refuse_mailbox(struct oto_error *error, const char *what)
{
    return oto_fail(error, OTO_CORRUPT, "the server's mailbox is not usable: %s", what);
}

static enum oto_status map(struct oto_participant *participant, int fd, uint64_t bytes, struct oto_error *error)
{
    struct stat facts;
    const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (bytes < OTO_MAILBOX_HEADER_BYTES || fstat(fd, &facts) != 0 || (uint64_t)facts.st_size != bytes) {
        return refuse_mailbox(error, "its size is not the one announced");
    }
    if ((fcntl(fd, F_GET_SEALS) & wanted) != wanted) {
        return refuse_mailbox(error, "its size is not sealed");
    }
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        return oto_fail(error, OTO_NO_MEMORY, "cannot map a mailbox of %llu bytes", (unsigned long long)bytes);
    }
    participant->header = base;
    participant->bytes = bytes;
    return OTO_OK;
}

static enum oto_status check(struct oto_participant *participant, struct oto_error *error)
{
    const struct oto_mailbox_header *header = participant->header;
    /* Both sides write to this memory: each number is read once, and only the checked copy is used. */
    const uint64_t count = __atomic_load_n(&header->vehicle_count, __ATOMIC_RELAXED);
    const uint64_t output_offset = __atomic_load_n(&header->output_offset, __ATOMIC_RELAXED);
    const uint64_t vehicle_offset = __atomic_load_n(&header->vehicle_offset, __ATOMIC_RELAXED);
    const uint64_t rate_num = __atomic_load_n(&header->rate_num, __ATOMIC_RELAXED);
    const uint64_t rate_den = __atomic_load_n(&header->rate_den, __ATOMIC_RELAXED);
    if (__atomic_load_n(&header->magic, __ATOMIC_ACQUIRE) != OTO_MAILBOX_MAGIC || header->endian != OTO_MAILBOX_ENDIAN) {
        return refuse_mailbox(error, "it has no mailbox header");
    }
    if (header->major != OTO_MAILBOX_MAJOR) {
        return oto_fail(error, OTO_VERSION, "the server's mailbox has layout %u.%u, this library supports %u", header->major,
                        header->minor, OTO_MAILBOX_MAJOR);
    }
    const uint64_t output_end = output_offset + count * 2 * sizeof(struct oto_mailbox_record);
    const uint64_t vehicle_end = vehicle_offset + count * sizeof(struct oto_mailbox_vehicle);
    if (header->record_bytes != sizeof(struct oto_mailbox_record) || header->mailbox_bytes != participant->bytes ||
        count > participant->bytes / sizeof(struct oto_mailbox_record) || output_offset > participant->bytes ||
        vehicle_offset > participant->bytes || output_offset % 64 != 0 || vehicle_offset % 64 != 0 || output_end > participant->bytes || vehicle_end > participant->bytes ||
        rate_num == 0 || rate_den == 0) {
        return refuse_mailbox(error, "its parts lie beyond its end");
    }
    participant->vehicle_count = (uint32_t)count;
    participant->output_offset = output_offset;
    participant->vehicles = (const void *)((const unsigned char *)header + vehicle_offset);
    participant->rate_hz = (double)rate_num / (double)rate_den;
    memcpy(participant->controlled, header->controlled, sizeof participant->controlled - 1);
    participant->now = calloc(count + 1, sizeof *participant->now);
    if (participant->now == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %llu vehicles", (unsigned long long)count);
    }
    memcpy(participant->now, participant->vehicles, count * sizeof *participant->now);
    for (uint32_t i = 0; i < participant->vehicle_count; i++) {
        participant->now[i].name[sizeof participant->now[i].name - 1] = '\0';
    }
    return OTO_OK;
}

static enum oto_status ask(struct oto_participant *participant, const struct oto_participant_options *options,
                           struct oto_error *error)
{
    struct oto_control_socket *socket = &participant->client->control;
    const struct oto_verb_value values[] = {{.text = options->name},
                                            {.text = options->role},
                                            {.text = options->on_timeout},
                                            {.u64 = options->step_n, .absent = options->step_n == 0},
                                            {.f64 = options->answer_ms, .absent = options->answer_ms < 0}};
    struct oto_message_writer request = oto_control_request(socket, OTO_VERB_JOIN);
    uint64_t bytes = 0;
    int fd = -1;
    oto_verb_write(&oto_verbs[OTO_VERB_JOIN], values, &request);
    enum oto_status status = oto_control_exchange(socket, &request, socket->timeout_ms, &fd, error);
    if (status != OTO_OK) {
        return status;
    }
    status = oto_message_u64(&socket->reply, "bytes", &bytes, error);
    if (status == OTO_OK && fd < 0) {
        status = oto_fail(error, OTO_CORRUPT, "the server did not pass a mailbox");
    }
    if (status == OTO_OK) {
        status = map(participant, fd, bytes, error);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return status == OTO_OK ? check(participant, error) : status;
}

enum oto_status oto_participant_join(const struct oto_participant_options *options,
                                     struct oto_participant **participant, struct oto_error *error)
{
    struct oto_participant_options asked = {.size = sizeof asked, .answer_ms = -1};
    *participant = NULL;
    memcpy(&asked, options, options->size < sizeof asked ? options->size : sizeof asked);
    if (asked.name == NULL || asked.name[0] == '\0') {
        return oto_fail(error, OTO_INVALID, "a participant needs a name: the one in the world file");
    }
    struct oto_participant *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a participant");
    }
    const struct oto_client_options client = {.size = sizeof client,
                                              .timeout_ms = asked.timeout_ms,
                                              .world = asked.world,
                                              .socket_path = asked.socket_path,
                                              .name = asked.name};
    enum oto_status status = oto_client_open(&client, &made->client, error);
    if (status == OTO_OK) {
        status = ask(made, &asked, error);
    }
    if (status != OTO_OK) {
        oto_participant_leave(made);
        return status;
    }
    *participant = made;
    return OTO_OK;
}

void oto_participant_leave(struct oto_participant *participant)
{
    if (participant == NULL) {
        return;
    }
    oto_client_close(participant->client);
    if (participant->header != NULL) {
        (void)munmap(participant->header, participant->bytes);
    }
    free(participant->now);
    free(participant);
}

/* ---- facts ---- */

struct oto_client *oto_participant_client(struct oto_participant *participant)
{
    return participant->client;
}

enum oto_participant_role oto_participant_role_of(const struct oto_participant *participant)
{
    return (enum oto_participant_role)participant->header->role;
}

uint32_t oto_participant_vehicle_count(const struct oto_participant *participant)
{
    return participant->vehicle_count;
}

const char *oto_participant_vehicle(const struct oto_participant *participant, uint32_t vehicle)
{
    return vehicle < participant->vehicle_count ? participant->now[vehicle].name : NULL;
}

struct oto_mailbox_header *oto_participant_mailbox(struct oto_participant *participant)
{
    return participant->header;
}

const struct oto_truth_record *oto_participant_truth(const struct oto_participant *participant, uint32_t vehicle)
{
    return vehicle < participant->vehicle_count ? &participant->now[vehicle].truth : NULL;
}

/* ---- waiting ---- */

/* Waits until the grant's futex differs from `seen`, spinning first. Returns after at most one slice. */
static void wait_grant(const struct oto_participant *participant, uint32_t seen, int64_t deadline_ns)
{
    struct oto_mailbox_header *header = participant->header;
    uint32_t *word = &header->grant.futex;
    const int64_t start_ns = srv_now_ns();
    int64_t at_ns = start_ns;
    while (at_ns - start_ns < SPIN_NS) {
        for (int i = 0; i < SPIN_READS; i++) {
            if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != seen) {
                return;
            }
            srv_pause();
        }
        at_ns = srv_now_ns();
    }
    const int64_t left_ns = deadline_ns - at_ns;
    if (left_ns > 0) {
        __atomic_store_n(&header->participant_waits, 1, __ATOMIC_SEQ_CST);
        srv_futex_wait(word, seen, left_ns < SLICE_NS ? left_ns : SLICE_NS);
        __atomic_store_n(&header->participant_waits, 0, __ATOMIC_RELAXED);
    }
}

/* Checks the state of the mailbox. OTO_OK: the participant may continue. */
static enum oto_status check_state(struct oto_participant *participant, struct oto_error *error)
{
    switch (__atomic_load_n(&participant->header->grant.state, __ATOMIC_ACQUIRE)) {
    case OTO_MAILBOX_JOINED:
        return OTO_OK;
    case OTO_MAILBOX_DROPPED:
        return oto_fail(error, OTO_CLOSED, "the world dropped participant '%.31s', whose answer was invalid or late: join again", participant->header->name);
    default:
        return oto_fail(error, OTO_CLOSED, "the run has ended");
    }
}

static enum oto_status check_refusals(struct oto_participant *participant, struct oto_error *error)
{
    const struct oto_mailbox_notice *notice = &participant->header->notice;
    const uint64_t refused = __atomic_load_n(&notice->refused, __ATOMIC_ACQUIRE);
    if (refused == participant->refused_reported) {
        return OTO_OK;
    }
    participant->refused_reported = refused;
    participant->may_answer = false;
    return oto_fail(error, OTO_INVALID, "at tick %llu %.150s", (unsigned long long)notice->tick, notice->text);
}

/* Reads a complete grant whose lock word differs from `lock`. */
static bool take_grant(struct oto_participant *participant, struct oto_grant *grant)
{
    const struct oto_mailbox_grant *shared = &participant->header->grant;
    const uint64_t lock = __atomic_load_n(&shared->lock, __ATOMIC_ACQUIRE);
    if (lock % 2 != 0 || lock == 0 || lock == participant->lock) {
        return false;
    }
    grant->tick = __atomic_load_n(&shared->tick, OTO_ORDER_LOAD_);
    grant->until = __atomic_load_n(&shared->until, OTO_ORDER_LOAD_);
    grant->t_ns = __atomic_load_n(&shared->t_ns, OTO_ORDER_LOAD_);
    grant->until_ns = __atomic_load_n(&shared->until_ns, OTO_ORDER_LOAD_);
    for (uint32_t i = 0; i < participant->vehicle_count; i++) {
        oto_words_load(&participant->now[i].truth, &participant->vehicles[i].truth, sizeof(struct oto_truth_record));
    }
    OTO_FENCE_(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&shared->lock, OTO_ORDER_LOAD_) != lock) {
        return false;
    }
    grant->dt_s = (double)(grant->until - grant->tick) / participant->rate_hz;
    participant->lock = lock;
    participant->may_answer = true;
    return true;
}

static enum oto_status closed_by_death(struct oto_error *error)
{
    return oto_fail(error, OTO_CLOSED, "the server has ended");
}

enum oto_status oto_participant_wait(struct oto_participant *participant, int32_t timeout_ms, struct oto_grant *grant,
                                     struct oto_error *error)
{
    int64_t deadline_ns = 0;
    for (bool first = true;; first = false) {
        const uint32_t seen = __atomic_load_n(&participant->header->grant.futex, __ATOMIC_ACQUIRE);
        enum oto_status status = check_state(participant, error);
        if (status == OTO_OK) {
            status = check_refusals(participant, error);
        }
        if (status != OTO_OK || take_grant(participant, grant)) {
            return status;
        }
        const int64_t at_ns = srv_now_ns();
        deadline_ns = first ? at_ns + timeout_ms * NS_PER_MS : deadline_ns;
        if (!first && !oto_client_server_alive(participant->client)) {
            return closed_by_death(error);
        }
        if (at_ns >= deadline_ns) {
            return oto_fail(error, OTO_TIMEOUT, "there was no grant within %d ms", timeout_ms);
        }
        wait_grant(participant, seen, deadline_ns);
    }
}

/* ---- answering ---- */

static void wake_server(struct oto_participant *participant)
{
    struct oto_mailbox_header *header = participant->header;
    (void)__atomic_add_fetch(&header->answer.futex, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&header->server_waits, __ATOMIC_SEQ_CST) != 0) {
        srv_futex_wake(&header->answer.futex);
    }
}

enum oto_status oto_participant_set(struct oto_participant *participant, uint32_t vehicle,
                                    const struct oto_truth_record *truth, uint32_t flags)
{
    if (vehicle >= participant->vehicle_count) {
        return OTO_RANGE;
    }
    if (!participant->may_answer) {
        return OTO_AGAIN;
    }
    struct oto_mailbox_record *record = oto_mailbox_records(participant->header, participant->output_offset,
                                                            participant->vehicle_count, participant->lock) +
                                        vehicle;
    oto_words_store(&record->truth, truth, sizeof *truth);
    __atomic_store_n(&record->flags, flags, __ATOMIC_RELAXED);
    return OTO_OK;
}

enum oto_status oto_participant_done(struct oto_participant *participant, uint64_t tick)
{
    struct oto_mailbox_answer *answer = &participant->header->answer;
    if (!participant->may_answer) {
        return OTO_AGAIN;
    }
    struct oto_mailbox_record *records = oto_mailbox_records(participant->header, participant->output_offset,
                                                             participant->vehicle_count, participant->lock);
    for (uint32_t i = 0; i < participant->vehicle_count; i++) {
        __atomic_store_n(&records[i].tick, tick, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&answer->tick, tick, __ATOMIC_RELAXED);
    __atomic_store_n(&answer->bytes, participant->vehicle_count * (uint64_t)sizeof *records, __ATOMIC_RELAXED);
    __atomic_store_n(&answer->grant, participant->lock, __ATOMIC_RELEASE);
    participant->may_answer = false;
    wake_server(participant);
    return OTO_OK;
}

/* ---- controls ---- */

const char *oto_participant_controlled(const struct oto_participant *participant)
{
    return participant->controlled[0] != '\0' ? participant->controlled : NULL;
}

enum oto_status oto_participant_control(struct oto_participant *participant, const double *values, uint32_t count)
{
    struct oto_mailbox_controls *controls = &participant->header->controls;
    double all[OTO_CONTROLS] = {0.0};
    if (participant->controlled[0] == '\0') {
        return OTO_UNSUPPORTED;
    }
    if (count > OTO_CONTROLS) {
        return OTO_RANGE;
    }
    for (uint32_t i = 0; i < count; i++) {
        all[i] = values[i];
        if (!isfinite(values[i])) {
            return OTO_INVALID;
        }
    }
    const uint64_t lock = (__atomic_load_n(&controls->lock, __ATOMIC_RELAXED) | 1) + 1;
    __atomic_store_n(&controls->lock, lock - 1, __ATOMIC_RELAXED);
    OTO_FENCE_(__ATOMIC_RELEASE);
    oto_words_store(controls->values, all, sizeof all);
    __atomic_store_n(&controls->lock, lock, __ATOMIC_RELEASE);
    return OTO_OK;
}

/* ---- master of the clock ---- */

uint64_t oto_participant_completed(const struct oto_participant *participant)
{
    return __atomic_load_n(&participant->header->grant.completed, __ATOMIC_ACQUIRE);
}

enum oto_status oto_participant_run_until(struct oto_participant *participant, uint64_t tick, struct oto_error *error)
{
    const uint64_t completed = oto_participant_completed(participant);
    if (tick > completed && tick - completed > OTO_MAILBOX_MAX_RUN_TICKS) {
        return oto_fail(error, OTO_RANGE, "%llu ticks beyond the %llu completed; at most %llu are accepted",
                        (unsigned long long)(tick - completed), (unsigned long long)completed,
                        (unsigned long long)OTO_MAILBOX_MAX_RUN_TICKS);
    }
    __atomic_store_n(&participant->header->answer.run_until, tick, __ATOMIC_RELEASE);
    wake_server(participant);
    return OTO_OK;
}

enum oto_status oto_participant_wait_completed(struct oto_participant *participant, uint64_t tick, int32_t timeout_ms,
                                               struct oto_error *error)
{
    const int64_t deadline_ns = srv_now_ns() + timeout_ms * NS_PER_MS;
    for (bool first = true;; first = false) {
        const uint32_t seen = __atomic_load_n(&participant->header->grant.futex, __ATOMIC_ACQUIRE);
        if (oto_participant_completed(participant) >= tick) {
            return OTO_OK;
        }
        const enum oto_status status = check_state(participant, error);
        if (status != OTO_OK) {
            return status;
        }
        if (!first && !oto_client_server_alive(participant->client)) {
            return closed_by_death(error);
        }
        if (srv_now_ns() >= deadline_ns) {
            return oto_fail(error, OTO_TIMEOUT, "tick %llu was not completed within %d ms", (unsigned long long)tick,
                            timeout_ms);
        }
        wait_grant(participant, seen, deadline_ns);
    }
}
