#include "document/internal.h"

#include <stdlib.h>

enum { BLOCK_BYTES = 64 * 1024 };

struct doc_block {
    struct doc_block *next;
    size_t used, size;
    _Alignas(8) unsigned char bytes[];
};

void *doc_arena_alloc(struct doc_arena *arena, size_t bytes)
{
    size_t need = (bytes + 7) & ~(size_t)7;
    struct doc_block *block = arena->blocks;
    if (block == NULL || block->size - block->used < need) {
        size_t size = need > BLOCK_BYTES ? need : BLOCK_BYTES;
        block = calloc(1, sizeof *block + size);
        if (block == NULL)
            return NULL;
        block->size = size;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *memory = block->bytes + block->used;
    block->used += need;
    return memory;
}

char *doc_arena_text(struct doc_arena *arena, const char *text, size_t bytes)
{
    char *copy = doc_arena_alloc(arena, bytes + 1);
    if (copy != NULL && bytes > 0)
        memcpy(copy, text, bytes);
    return copy;
}

void doc_arena_finish(struct doc_arena *arena)
{
    while (arena->blocks != NULL) {
        struct doc_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}
