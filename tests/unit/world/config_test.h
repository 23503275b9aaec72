/* Writes worlds to files in the test's folder, and loads them. */
#ifndef CONFIG_TEST_H
#define CONFIG_TEST_H

#include "oto_test.h"

#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "world_file.h"

struct heard {
    unsigned warnings;
    char last[512];
};

static inline void hear(void *context, const char *sentence)
{
    struct heard *heard = context;
    heard->warnings++;
    (void)snprintf(heard->last, sizeof heard->last, "%s", sentence);
}

static char config_folder[] = "/tmp/otolith-config-XXXXXX";

/* A group's setup: its files are written to a folder of its own, wherever the test is started. */
static inline int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(config_folder) != NULL ? chdir(config_folder) : -1;
}

static inline int remove_entry(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

static inline int leave_folder(void **state)
{
    (void)state;
    return chdir("/") != 0 ? -1 : nftw(config_folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static inline enum oto_status load_text(const char *text, const struct srv_override *overrides, uint32_t count,
                                        struct heard *heard, struct srv_world_config *config, struct oto_error *error)
{
    write_text("w.yaml", text);
    return world_file_load("w.yaml", overrides, count, heard != NULL ? hear : NULL, heard, config, error);
}

#endif
