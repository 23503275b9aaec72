/*
 * otolith verify A B: compares two logs and reports the first tick at which they differ. otolith verify FILE.mcap: see
 * record/prove.h.
 */
#include "cli.h"
#include "json.h"
#include "record/prove.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain_text.h"
#include "sim/run_log.h"

enum { MOST_NODES = 65536, MOST_SHOWN = 8 };

/* One of the two logs, and the hashes of the tick that was read last. */
struct side {
    const char *path;
    struct oto_run_log_reader *reader;
    struct oto_run_log_line line;
    char **names; /* of the nodes */
    uint32_t count;
    uint64_t tick, chain, every;
    uint64_t *nodes; /* state hashes of the nodes; the entry `end` of a log has none */
    bool has_nodes, over, lost;
};

struct verdict {
    uint64_t same_until, tick, compared;
    bool same_any, differs;
    bool named[MOST_NODES];
};

static enum oto_status no_memory(struct oto_error *error)
{
    return oto_fail(error, OTO_NO_MEMORY, "out of memory");
}

static enum oto_status add_node(struct side *side, struct oto_error *error)
{
    const char *name = oto_run_log_text(&side->line, "node");
    if (name == NULL || side->count == MOST_NODES) {
        return oto_run_log_wrong(side->reader, error, name == NULL ? OTO_CORRUPT : OTO_LIMIT,
                             name == NULL ? "the text 'node' is missing" : "more than 65536 nodes");
    }
    char **names = realloc(side->names, (side->count + 1) * sizeof *names);
    if (names == NULL) {
        return no_memory(error);
    }
    side->names = names;
    names[side->count] = strdup(name);
    return names[side->count++] != NULL ? OTO_OK : no_memory(error);
}

static enum oto_status open_side(struct side *side, const char *path, struct oto_error *error)
{
    side->path = path;
    enum oto_status status = oto_run_log_open(path, &side->reader, &side->line, error);
    if (status == OTO_OK) {
        (void)oto_run_log_number(&side->line, "hashes_every", &side->every);
    }
    while (status == OTO_OK && strcmp(side->line.entry, "start") != 0) {
        status = strcmp(side->line.entry, "node") == 0 ? add_node(side, error) : OTO_OK;
        if (status == OTO_OK) {
            status = oto_run_log_next(side->reader, &side->line, error);
        }
    }
    if (status == OTO_CLOSED) {
        return oto_fail(error, OTO_CORRUPT, "the log '%.300s' ends before its run begins", path);
    }
    side->nodes = calloc((size_t)side->count + 1, sizeof *side->nodes);
    return status != OTO_OK ? status : side->nodes != NULL ? OTO_OK : no_memory(error);
}

static void close_side(struct side *side)
{
    for (uint32_t i = 0; i < side->count; i++) {
        free(side->names[i]);
    }
    free(side->names);
    free(side->nodes);
    oto_run_log_close(side->reader);
}

/* Reads up to the next hashes, or to the end of the log. */
static enum oto_status advance(struct side *side, struct oto_error *error)
{
    for (;;) {
        const enum oto_status status = oto_run_log_next(side->reader, &side->line, error);
        if (status == OTO_CLOSED) {
            side->over = true;
            return OTO_OK;
        }
        if (status != OTO_OK) {
            return status;
        }
        const bool hashes = strcmp(side->line.entry, "hashes") == 0, end = strcmp(side->line.entry, "end") == 0;
        side->lost = side->lost || strcmp(side->line.entry, "lost") == 0;
        if (!hashes && !end) {
            continue;
        }
        side->has_nodes = hashes;
        side->tick = side->line.tick;
        if (!side->line.has_tick || !oto_run_log_word(&side->line, "chain", &side->chain) ||
            (hashes && !oto_run_log_words(&side->line, "nodes", side->nodes, side->count))) {
            return oto_run_log_wrong(side->reader, error, OTO_CORRUPT, "the hashes are not whole");
        }
        return OTO_OK;
    }
}

static bool same_nodes(const struct side *a, const struct side *b)
{
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++) {
        same = strcmp(a->names[i], b->names[i]) == 0;
    }
    return same;
}

static void note_difference(const struct side *a, const struct side *b, struct verdict *verdict)
{
    verdict->differs = true;
    verdict->tick = a->tick;
    for (uint32_t i = 0; a->has_nodes && b->has_nodes && i < a->count; i++) {
        verdict->named[i] = a->nodes[i] != b->nodes[i];
    }
}

/* Compares the hashes of the ticks that both logs have. */
static enum oto_status compare(struct side *a, struct side *b, struct verdict *verdict, struct oto_error *error)
{
    enum oto_status status = advance(a, error);
    if (status == OTO_OK) {
        status = advance(b, error);
    }
    while (status == OTO_OK && !a->over && !b->over && !verdict->differs) {
        const bool both = a->tick == b->tick;
        if (both && a->chain != b->chain) {
            note_difference(a, b, verdict);
            break;
        }
        if (both) {
            verdict->same_any = true;
            verdict->same_until = a->tick;
            verdict->compared++;
        }
        struct side *behind = a->tick < b->tick ? a : b;
        status = advance(behind, error);
        if (status == OTO_OK && both) {
            status = advance(a, error);
        }
    }
    return status;
}

static void print_nodes(const struct side *a, const struct verdict *verdict)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        if (!verdict->named[i]) {
            continue;
        }
        if (shown < MOST_SHOWN) {
            (void)fputs(shown > 0 ? ", " : "", stdout);
            oto_plain_text_put(stdout, a->names[i]);
        }
        shown++;
    }
    if (shown > MOST_SHOWN) {
        (void)printf(" and %u more", shown - MOST_SHOWN);
    } else if (shown == 0) {
        (void)printf("no node: the difference is in samples or inputs");
    }
}

static void print_json(const struct side *a, const struct side *b, const struct verdict *verdict)
{
    struct oto_json json = {.to = stdout};
    oto_json_open(&json, NULL, '{');
    oto_json_flag(&json, "same", !verdict->differs);
    oto_json_u64(&json, "compared", verdict->compared);
    if (verdict->same_any) {
        oto_json_u64(&json, "same_until", verdict->same_until);
    } else {
        oto_json_text(&json, "same_until", NULL);
    }
    if (verdict->differs) {
        oto_json_open(&json, "first_difference", '{');
        oto_json_u64(&json, "tick", verdict->tick);
        oto_json_open(&json, "nodes", '[');
        for (uint32_t i = 0; i < a->count; i++) {
            if (verdict->named[i]) {
                oto_json_text(&json, NULL, a->names[i]);
            }
        }
        oto_json_close(&json, ']');
        oto_json_close(&json, '}');
    } else {
        oto_json_text(&json, "first_difference", NULL);
    }
    oto_json_flag(&json, "incomplete", a->lost || b->lost);
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}

static void print_text(const struct side *a, const struct side *b, const struct verdict *verdict)
{
    const uint64_t every = a->every > b->every ? a->every : b->every;
    if (!verdict->differs) {
        (void)printf("the same through tick %" PRIu64 " (%" PRIu64 " hashes compared)%s\n", verdict->same_until,
                     verdict->compared, a->lost || b->lost ? "; a log is incomplete" : "");
        return;
    }
    (void)printf("differ at tick %" PRIu64 " in ", verdict->tick);
    print_nodes(a, verdict);
    if (verdict->same_any) {
        (void)printf("; the same through tick %" PRIu64, verdict->same_until);
    }
    (void)printf("\n");
    if (every > 1) {
        (void)printf("hashes are %" PRIu64 " ticks apart: replay both logs with --log-hashes 1 to find the exact tick\n", every);
    }
}

/* Both logs and the verdict; on the heap, because they are too large for the stack. */
struct verification {
    struct side a, b;
    struct verdict verdict;
};

static int verify(struct verification *all, const struct cli_simple *simple)
{
    struct oto_error error = {0};
    struct side *a = &all->a, *b = &all->b;
    enum oto_status status = open_side(a, simple->arguments[0], &error);
    if (status == OTO_OK) {
        status = open_side(b, simple->arguments[1], &error);
    }
    if (status == OTO_OK && !same_nodes(a, b)) {
        status = oto_fail(&error, OTO_INVALID, "'%.200s' and '%.200s' are logs of worlds with other nodes", a->path, b->path);
    }
    if (status == OTO_OK) {
        status = compare(a, b, &all->verdict, &error);
    }
    if (status == OTO_OK && !all->verdict.differs && !all->verdict.same_any) {
        status = oto_fail(&error, OTO_INVALID, "'%.200s' and '%.200s' have no hashes of the same tick", a->path, b->path);
    }
    if (status != OTO_OK) {
        return cli_say(&error);
    }
    if (simple->common.json) {
        print_json(a, b, &all->verdict);
    } else {
        print_text(a, b, &all->verdict);
    }
    return all->verdict.differs ? CLI_FAILED : CLI_OK;
}

int cli_verify(int argc, char **argv)
{
    struct cli_simple simple;
    cli_parse_simple(argc, argv, "FILE.mcap\nLOG LOG",
                     "Run the world of a recording again and compare every sample with the file; or compare the logs of two runs "
                     "(otolith run --log): the first tick whose hashes differ, and the nodes. "
                     "Exit code 0: the same over their common length; 1: they differ.",
                     1, 2, &simple);
    if (simple.count == 1) {
        return prove_recording(simple.arguments[0], simple.common.json);
    }
    struct verification *all = calloc(1, sizeof *all);
    if (all == NULL) {
        return cli_no_memory();
    }
    const int code = verify(all, &simple);
    close_side(&all->a);
    close_side(&all->b);
    free(all);
    return code;
}
