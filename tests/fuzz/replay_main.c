/*
 * Replaces libFuzzer in an ordinary build: gives a target every file of a corpus, then each file damaged in ways
 * that are the same on every run.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (1u << 20)
#define DAMAGES 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A copy of exactly that size, so that a sanitizer sees a read beyond its end. */
static void give(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes + (bytes == 0));
    memcpy(copy, data, bytes);
    (void)LLVMFuzzerTestOneInput(copy, bytes);
    free(copy);
}

/* xorshift64 (Marsaglia 2003). */
static uint64_t next_number(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void give_damaged(const uint8_t *data, size_t bytes)
{
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0x9f, 0xc0, 0xc6, 0xcf, 0xdb, 0xdd, 0xdf, 0xff};
    uint64_t state = UINT64_C(88172645463325252) + bytes;
    uint8_t *copy = malloc(bytes + 1);
    for (int i = 0; i < DAMAGES && bytes > 0; i++) {
        memcpy(copy, data, bytes);
        for (uint64_t k = next_number(&state) % 4; k < 4; k++) {
            copy[next_number(&state) % bytes] = k == 0 ? (uint8_t)next_number(&state)
                                                       : values[next_number(&state) % sizeof values];
        }
        give(copy, i % 3 == 0 ? next_number(&state) % bytes : bytes);
    }
    free(copy);
}

static int replay(const char *folder, const char *name)
{
    static uint8_t data[MAX_BYTES];
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    const size_t bytes = fread(data, 1, sizeof data, file);
    (void)fclose(file);
    give(data, bytes);
    give_damaged(data, bytes);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    int count = 0, failed = 0;
    if (folder == NULL) {
        (void)fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
        return 2;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] != '.') {
            failed |= replay(argv[1], entry->d_name);
            count++;
        }
    }
    (void)closedir(folder);
    (void)printf("%d inputs, %d damaged copies of each\n", count, DAMAGES);
    return failed != 0 || count == 0;
}
