#include <stdlib.h>

#include "attach/client_private.h"

/* True if topic and record type are equal, so that what a user knows about the channel (sizes, fields) stays valid. */
static bool is_same(const struct oto_channel *a, const struct oto_channel *b)
{
    return a->type_hash == b->type_hash && strcmp(a->topic, b->topic) == 0;
}

/* Looks first at the same index, where the channel usually is. */
static struct oto_channel *find_known(const struct oto_channel_book *book, const struct oto_channel *wanted)
{
    for (uint32_t d = 0; d < book->directory_count; d++) {
        const struct oto_segment_directory *directory = &book->directories[d];
        for (uint32_t i = 0; i < directory->channel_count; i++) {
            struct oto_channel *known = &directory->channels[(wanted->index + i) % directory->channel_count];
            if (is_same(known, wanted)) {
                return known;
            }
        }
    }
    return NULL;
}

static void retire_all(const struct oto_channel_book *book)
{
    for (uint32_t d = 0; d < book->directory_count; d++) {
        for (uint32_t i = 0; i < book->directories[d].channel_count; i++) {
            struct oto_channel *channel = &book->directories[d].channels[i];
            channel->view = (struct oto_ring_view){.ring = NULL};
            channel->flags = 0;
        }
    }
}

/* Takes everything from the new run except the type, whose memory is that of the first run. */
static void renew(struct oto_channel *known, const struct oto_channel *channel)
{
    const struct oto_record_type type = known->type;
    *known = *channel;
    known->type = type;
}

enum oto_status oto_channel_book_turn(struct oto_channel_book *book, struct oto_segment_directory *directory)
{
    struct oto_channel **now = calloc(directory->channel_count, sizeof *now);
    struct oto_segment_directory *directories =
        realloc(book->directories, (book->directory_count + (size_t)1) * sizeof *directories);
    if (directories != NULL) {
        book->directories = directories;
    }
    if (now == NULL || directories == NULL) {
        free(now);
        return OTO_NO_MEMORY;
    }
    bool is_new = false;
    retire_all(book);
    for (uint32_t i = 0; i < directory->channel_count; i++) {
        struct oto_channel *known = find_known(book, &directory->channels[i]);
        if (known != NULL) {
            renew(known, &directory->channels[i]);
        }
        now[i] = known != NULL ? known : &directory->channels[i];
        is_new = is_new || known == NULL;
    }
    free(book->now);
    book->now = now;
    book->count = directory->channel_count;
    if (is_new) {
        directories[book->directory_count++] = *directory;
    } else {
        oto_segment_directory_finish(directory);
    }
    return OTO_OK;
}

void oto_channel_book_finish(struct oto_channel_book *book)
{
    for (uint32_t d = 0; d < book->directory_count; d++) {
        oto_segment_directory_finish(&book->directories[d]);
    }
    free(book->directories);
    free(book->now);
    *book = (struct oto_channel_book){.count = 0};
}
