#include "play/playback.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/futex.h"

#define FIRST_SAMPLES_NS INT64_C(2000000000) /* duration of the recording that is searched for the first sample of each channel */
#define MIN_CAPACITY 256u
#define MAX_CAPACITY 65536u
#define RINGS_BYTES (UINT64_C(512) << 20) /* of all rings, if they need not be shorter than LEAST_CAPACITY */
#define LEAST_CAPACITY 16u
#define SLOT_BYTES 48u /* of a slot beside the record */

/* ---- channels ---- */

/* Capacity of a channel's ring: two seconds of records, within MIN_CAPACITY and MAX_CAPACITY; fewer of a fleet (limit_rings). */
static uint32_t capacity_of(const struct oto_channel *channel)
{
    const uint64_t rate_hz = channel->rate_den > 0 ? channel->rate_num / channel->rate_den + 1 : 0;
    return rate_hz * 2 < MIN_CAPACITY ? MIN_CAPACITY : rate_hz * 2 > MAX_CAPACITY ? MAX_CAPACITY : (uint32_t)rate_hz * 2;
}

/* Replaces the name of the recorded world in a topic by the name of the served world. */
static void rename_topic(const struct srv_playback *playback, const char *topic, char *to, size_t bytes)
{
    const size_t length = strlen(playback->recorded->world);
    const bool begins = strncmp(topic, playback->recorded->world, length) == 0 && topic[length] == '/';
    const int written = snprintf(to, bytes, "%s%s", begins ? playback->world : "", topic + (begins ? length : 0));
    if (written < 0 || (size_t)written >= bytes) { /* the new topic would be too long: keeps the recorded topic */
        (void)snprintf(to, bytes, "%.95s", topic);
    }
}

static uint32_t flags_of(const struct recorded_channel *channel)
{
    const char *type = channel->channel->type.name;
    return (channel->in_file ? OTO_CHANNEL_ENABLED : 0) | (strcmp(type, "truth") == 0 ? OTO_CHANNEL_TRUTH : 0) |
           (strcmp(type, "event") == 0 ? OTO_CHANNEL_EVENTS : 0);
}

static void specify(struct srv_playback *playback, uint32_t index, uint32_t *nodes)
{
    const struct recorded_channel *recorded = &playback->recorded->channels[index];
    const struct oto_channel *channel = recorded->channel;
    struct srv_channel_spec *spec = &playback->specs[index];
    *spec = (struct srv_channel_spec){.plugin = "recording",
                                      .plugin_version = "",
                                      .frame_id = channel->frame_id,
                                      .type = &channel->type,
                                      .rate_num = channel->rate_num,
                                      .rate_den = channel->rate_den,
                                      .capacity = capacity_of(channel),
                                      .flags = flags_of(recorded)};
    rename_topic(playback, channel->topic, spec->topic, sizeof spec->topic);
    rename_topic(playback, channel->node, spec->node, sizeof spec->node);
    const bool same = index > 0 && strcmp(channel->node, playback->recorded->channels[index - 1].channel->node) == 0;
    spec->node_index = (spec->flags & OTO_CHANNEL_EVENTS) != 0 ? UINT32_MAX : same ? *nodes - 1 : (*nodes)++;
    if ((spec->flags & OTO_CHANNEL_TRUTH) != 0) { /* the truth has a record each tick */
        playback->rate_num = channel->rate_num;
        playback->rate_den = channel->rate_den;
    }
}

/* Halves the rings of a fleet until all together have no more than RINGS_BYTES. */
static void limit_rings(struct srv_playback *playback)
{
    for (bool shorter = true; shorter;) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < playback->recorded->count; i++) {
            bytes += (uint64_t)playback->specs[i].capacity * (playback->specs[i].type->bytes + SLOT_BYTES);
        }
        shorter = false;
        for (uint32_t i = 0; i < playback->recorded->count && bytes > RINGS_BYTES; i++) {
            struct srv_channel_spec *spec = &playback->specs[i];
            const uint32_t half = spec->capacity / 2;
            shorter = shorter || half >= LEAST_CAPACITY;
            spec->capacity = half >= LEAST_CAPACITY ? half : spec->capacity;
        }
    }
}

enum oto_status srv_playback_open(struct srv_playback *playback, const char *path, const char *name, struct oto_error *error)
{
    *playback = (struct srv_playback){.rate_num = 1000, .rate_den = 1};
    const enum oto_status status = recorded_open(path, &playback->recorded, error);
    if (status != OTO_OK) {
        return status;
    }
    const struct oto_mcap_facts *facts = oto_mcap_reader_facts(playback->recorded->reader);
    const uint32_t count = playback->recorded->count;
    uint32_t nodes = 0;
    (void)snprintf(playback->world, sizeof playback->world, "%s", name != NULL ? name : playback->recorded->world);
    playback->start_ns = (int64_t)facts->start_ns;
    playback->end_ns = (int64_t)facts->end_ns;
    playback->specs = calloc(count, sizeof *playback->specs);
    playback->rings = calloc(count, sizeof *playback->rings);
    if (playback->specs == NULL || playback->rings == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory to play '%.256s'", path);
    }
    for (uint32_t i = 0; i < count; i++) {
        specify(playback, i, &nodes);
    }
    limit_rings(playback);
    return OTO_OK;
}

void srv_playback_close(struct srv_playback *playback)
{
    if (playback->segment.header != NULL) {
        __atomic_store_n(&playback->segment.header->state, OTO_SERVER_CLOSING, __ATOMIC_RELEASE);
        srv_segment_finish(&playback->segment);
    }
    recorded_close(playback->recorded);
    free(playback->specs);
    free(playback->rings);
    *playback = (struct srv_playback){0};
}

/* ---- a run ---- */

static enum oto_status read_next(struct srv_playback *playback, struct oto_error *error)
{
    const enum oto_status status = recorded_next(playback->recorded, &playback->next, error);
    playback->has_next = status == OTO_OK;
    return status;
}

/* Numbers each ring from its first sample, so that readers do not count the samples before it as lost. */
static enum oto_status number_rings(struct srv_playback *playback, int64_t t_ns, struct oto_error *error)
{
    enum oto_status status;
    while ((status = read_next(playback, error)) == OTO_OK && (int64_t)playback->next.log_time_ns - t_ns < FIRST_SAMPLES_NS) {
        struct srv_ring *ring = &playback->rings[playback->next.index];
        if (__atomic_load_n(&ring->ring->first, __ATOMIC_RELAXED) == 0 && playback->next.head.seq > 0) {
            ring->head = playback->next.head.seq - 1;
            __atomic_store_n(&ring->ring->first, playback->next.head.seq, __ATOMIC_RELAXED);
            __atomic_store_n(&ring->ring->head, ring->head, __ATOMIC_RELEASE);
        }
    }
    return status == OTO_CLOSED ? OTO_OK : status;
}

static enum oto_status make_segment(struct srv_playback *playback, struct oto_error *error)
{
    const struct srv_segment_plan plan = {.world = playback->world,
                                          .rate_num = playback->rate_num,
                                          .rate_den = playback->rate_den,
                                          .channels = playback->specs,
                                          .channel_count = playback->recorded->count};
    struct srv_segment_identity identity;
    if (getrandom(&identity.epoch, sizeof identity.epoch, 0) != (ssize_t)sizeof identity.epoch) {
        return oto_fail(error, OTO_IO, "the kernel gave no random number for the epoch");
    }
    identity.lineage = identity.epoch;
    const enum oto_status status = srv_segment_create(&plan, &identity, &playback->segment, error);
    for (uint32_t i = 0; i < playback->recorded->count && status == OTO_OK; i++) {
        playback->rings[i] = srv_ring_make(playback->segment.header, &playback->segment.directory[i]);
    }
    return status;
}

enum oto_status srv_playback_start(struct srv_playback *playback, int64_t t_ns, struct oto_error *error)
{
    const uint64_t from_ns = t_ns > 0 ? (uint64_t)t_ns : 0;
    if (playback->segment.header != NULL) {
        __atomic_store_n(&playback->segment.header->state, OTO_SERVER_CLOSING, __ATOMIC_RELEASE);
        srv_futex_wake(&playback->segment.header->tick_futex);
        srv_segment_finish(&playback->segment);
    }
    enum oto_status status = make_segment(playback, error);
    recorded_seek(playback->recorded, from_ns);
    if (status == OTO_OK) {
        status = number_rings(playback, t_ns, error);
    }
    recorded_seek(playback->recorded, from_ns);
    playback->t_ns = t_ns;
    if (status == OTO_OK) {
        status = read_next(playback, error);
    }
    return status == OTO_CLOSED ? OTO_OK : status;
}

/* ---- publishing ---- */

/* Marks the slots of records that the file lacks as overwritten, so that a reader skips them and counts them as lost. */
static void skip_to(struct srv_ring *ring, uint64_t seq)
{
    const uint64_t capacity = ring->mask + 1, first = seq > ring->head + capacity ? seq - capacity : ring->head + 1;
    for (uint64_t lost = first; lost < seq; lost++) {
        unsigned char *slot = ring->slots + ((lost - 1) & ring->mask) * ring->stride;
        __atomic_store_n((uint64_t *)(void *)slot, 2 * lost + 3, __ATOMIC_RELEASE);
    }
    ring->head = seq - 1;
}

static void push(struct srv_playback *playback)
{
    struct recorded_sample *sample = &playback->next;
    struct srv_ring *ring = &playback->rings[sample->index];
    if (sample->head.seq <= ring->head || sample->head.seq > OTO_SEQ_MAX) {
        playback->out_of_order++;
        return;
    }
    if (sample->head.seq > ring->head + 1) {
        skip_to(ring, sample->head.seq);
    }
    srv_ring_push(ring, &sample->head, sample->payload);
    playback->published++;
}

/* Floor of t·rate. */
static uint64_t tick_of(const struct srv_playback *playback, int64_t t_ns)
{
    const unsigned __int128 ticks = (unsigned __int128)(uint64_t)(t_ns > 0 ? t_ns : 0) * playback->rate_num;
    return (uint64_t)(ticks / playback->rate_den / 1000000000u);
}

static void publish_clock(struct srv_playback *playback)
{
    struct oto_segment_header *header = playback->segment.header;
    struct oto_clock clock = {0};
    (void)oto_segment_clock(header, &clock);
    clock.tick = tick_of(playback, playback->t_ns);
    clock.sim_time_ns = playback->t_ns;
    srv_clock_publish(header, &clock);
    __atomic_store_n(&header->tick_futex, (uint32_t)clock.tick, __ATOMIC_RELEASE);
    srv_futex_wake(&header->tick_futex);
}

enum oto_status srv_playback_advance(struct srv_playback *playback, int64_t t_ns, uint32_t most,
                                     srv_playback_room_function *has_room, void *context, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    uint32_t count = 0;
    while (status == OTO_OK && playback->has_next && (int64_t)playback->next.log_time_ns <= t_ns) {
        if (count == most || !has_room(context, playback->next.index)) {
            status = OTO_AGAIN;
            break;
        }
        playback->t_ns = (int64_t)playback->next.log_time_ns > playback->t_ns ? (int64_t)playback->next.log_time_ns : playback->t_ns;
        push(playback);
        count++;
        status = read_next(playback, error);
    }
    if (status == OTO_OK && playback->has_next) {
        playback->t_ns = t_ns;
    }
    publish_clock(playback);
    return playback->has_next || status == OTO_AGAIN ? status : status == OTO_OK ? OTO_CLOSED : status;
}

void srv_playback_state(const struct srv_playback *playback, enum oto_server_state state, enum oto_clock_mode mode,
                        double scale)
{
    struct oto_segment_header *header = playback->segment.header;
    struct oto_clock clock = {0};
    (void)oto_segment_clock(header, &clock);
    clock.tick = tick_of(playback, playback->t_ns);
    clock.sim_time_ns = playback->t_ns;
    clock.scale = scale;
    clock.real_time_factor = state == OTO_SERVER_RUNNING ? scale : 0.0;
    srv_clock_publish(header, &clock);
    __atomic_store_n(&header->mode, (uint32_t)mode, __ATOMIC_RELEASE);
    __atomic_store_n(&header->state, (uint32_t)state, __ATOMIC_RELEASE);
    srv_futex_wake(&header->tick_futex);
}
