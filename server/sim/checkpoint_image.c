#include "sim/checkpoint_image.h"

#include <stdlib.h>
#include <string.h>

#include "sim/state_hash.h"

#define VERSION 4u
static const char magic[8] = {'O', 'T', 'O', 'C', 'K', 'P', 'T', '1'};

struct header {
    char magic[8];
    uint64_t version, tick, chain, hash;
    uint64_t text_bytes, state_bytes, text_hash, state_hash;
    uint64_t spare;
};
_Static_assert(sizeof(struct header) == 80, "the header's layout");

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* The hash of bytes that are padded with zeros to a multiple of 8. */
static uint64_t hash_of(const void *data, uint64_t bytes)
{
    struct srv_state_hash hash;
    srv_state_hash_begin(&hash, bytes);
    srv_state_hash_absorb(&hash, data, padded(bytes));
    return srv_state_hash_end(&hash);
}

static uint64_t hash_of_header(const struct header *header)
{
    struct header copy = *header;
    copy.hash = 0;
    return hash_of(&copy, sizeof copy);
}

void srv_checkpoint_finish(struct srv_checkpoint *checkpoint)
{
    oto_document_close(checkpoint->document);
    free(checkpoint->text);
    free(checkpoint->state);
    memset(checkpoint, 0, sizeof *checkpoint);
}

uint64_t srv_checkpoint_bytes(const struct srv_checkpoint *checkpoint)
{
    return sizeof(struct header) + padded(checkpoint->text_bytes) + padded(checkpoint->state_bytes);
}

void srv_checkpoint_pack(const struct srv_checkpoint *checkpoint, void *bytes)
{
    struct header header = {.version = VERSION,
                            .tick = checkpoint->tick,
                            .chain = checkpoint->chain,
                            .text_bytes = checkpoint->text_bytes,
                            .state_bytes = checkpoint->state_bytes,
                            .text_hash = hash_of(checkpoint->text, checkpoint->text_bytes),
                            .state_hash = hash_of(checkpoint->state, checkpoint->state_bytes)};
    unsigned char *at = bytes;
    memcpy(header.magic, magic, sizeof magic);
    header.hash = hash_of_header(&header);
    memcpy(at, &header, sizeof header);
    memcpy(at + sizeof header, checkpoint->text, padded(checkpoint->text_bytes));
    memcpy(at + sizeof header + padded(checkpoint->text_bytes), checkpoint->state, padded(checkpoint->state_bytes));
}

static enum oto_status check_header(const char *name, const struct header *header, uint64_t file_bytes,
                                    struct oto_error *error)
{
    if (memcmp(header->magic, magic, sizeof magic) != 0) {
        return oto_fail(error, OTO_CORRUPT, "'%.200s' is no checkpoint: it begins otherwise", name);
    }
    if (header->version != VERSION) {
        return oto_fail(error, OTO_VERSION, "'%.200s' is a checkpoint of version %llu; version %u is accepted", name,
                        (unsigned long long)header->version, VERSION);
    }
    if (header->hash != hash_of_header(header) || header->text_bytes > SRV_CHECKPOINT_MAX_BYTES ||
        header->state_bytes > SRV_CHECKPOINT_MAX_BYTES ||
        sizeof *header + padded(header->text_bytes) + padded(header->state_bytes) != file_bytes) {
        return oto_fail(error, OTO_CORRUPT, "'%.200s' is damaged: its header does not fit its %llu bytes", name,
                        (unsigned long long)file_bytes);
    }
    return OTO_OK;
}

/* Copies a section, pads it with zeros, and checks its hash. */
static enum oto_status take_section(const char *name, const void *from, const char *what, uint64_t bytes, uint64_t hash,
                                    void **section, struct oto_error *error)
{
    *section = calloc(1, padded(bytes) + 8);
    if (*section == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the %llu bytes of the %s in '%.200s'",
                        (unsigned long long)bytes, what, name);
    }
    memcpy(*section, from, padded(bytes));
    return hash_of(*section, bytes) == hash
               ? OTO_OK
               : oto_fail(error, OTO_CORRUPT, "'%.200s' is damaged: the hash of its %s is wrong", name, what);
}

enum oto_status srv_checkpoint_unpack(const char *name, const void *bytes, uint64_t count, struct srv_checkpoint *checkpoint,
                                      struct oto_error *error)
{
    const unsigned char *at = bytes;
    struct header header;
    void *text = NULL;
    memset(checkpoint, 0, sizeof *checkpoint);
    if (count < sizeof header) {
        return oto_fail(error, OTO_CORRUPT, "'%.200s' is no checkpoint: it has %llu bytes, and a checkpoint at least %zu", name,
                        (unsigned long long)count, sizeof header);
    }
    memcpy(&header, at, sizeof header);
    enum oto_status status = check_header(name, &header, count, error);
    if (status == OTO_OK) {
        status = take_section(name, at + sizeof header, "description", header.text_bytes, header.text_hash, &text, error);
        checkpoint->text = text;
    }
    if (status == OTO_OK) {
        status = take_section(name, at + sizeof header + padded(header.text_bytes), "state", header.state_bytes,
                              header.state_hash, &checkpoint->state, error);
    }
    checkpoint->tick = header.tick;
    checkpoint->chain = header.chain;
    checkpoint->text_bytes = header.text_bytes;
    checkpoint->state_bytes = header.state_bytes;
    if (status == OTO_OK) {
        status = oto_document_parse(name, checkpoint->text, checkpoint->text_bytes, NULL, &checkpoint->document, error);
    }
    if (status != OTO_OK) {
        srv_checkpoint_finish(checkpoint);
    }
    return status;
}
