#include "gate/keys.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define DAY_S 86400
#define WARNING_DAYS 30

static const char *file_of(const struct srv_keys *keys, size_t i)
{
    const char *const all[SRV_KEYS_FILES] = {keys->files.cert, keys->files.key, keys->files.ca, keys->files.crl};
    return all[i];
}

static struct stat look(const char *path)
{
    struct stat facts = {.st_ino = 0};
    if (path != NULL && stat(path, &facts) != 0) {
        facts = (struct stat){.st_ino = 0};
    }
    return facts;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size && a->st_mode == b->st_mode &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

enum oto_status srv_keys_load(struct srv_keys *keys, struct oto_error *error)
{
    struct oto_tls_context *context;
    for (size_t i = 0; i < SRV_KEYS_FILES; i++) {
        keys->seen[i] = look(file_of(keys, i));
    }
    const enum oto_status status = oto_tls_context_server(&keys->files, &context, error);
    if (status == OTO_OK) {
        oto_tls_context_free(keys->context);
        keys->context = context;
        keys->next_warning_s = 0;
    }
    return status;
}

bool srv_keys_have_changed(const struct srv_keys *keys)
{
    bool changed = false;
    for (size_t i = 0; i < SRV_KEYS_FILES; i++) {
        const struct stat now = look(file_of(keys, i));
        changed = changed || !is_same(&now, &keys->seen[i]);
    }
    return changed;
}

static void write_date(int64_t at_s, char text[24])
{
    const time_t at = (time_t)at_s;
    struct tm parts;
    if (gmtime_r(&at, &parts) == NULL || strftime(text, 24, "%Y-%m-%d %H:%M UTC", &parts) == 0) {
        (void)snprintf(text, 24, "an unknown date");
    }
}

bool srv_keys_warning(struct srv_keys *keys, int64_t now_s, char *sentence, size_t bytes)
{
    int64_t from_s, until_s;
    char date[24];
    if (now_s < keys->next_warning_s) {
        return false;
    }
    keys->next_warning_s = now_s + DAY_S;
    oto_tls_context_validity(keys->context, &from_s, &until_s);
    if (now_s < from_s) {
        write_date(from_s, date);
        (void)snprintf(sentence, bytes, "the certificate %s is not valid before %s; clients refuse it", keys->files.cert, date);
        return true;
    }
    if (until_s - now_s >= WARNING_DAYS * DAY_S) {
        return false;
    }
    write_date(until_s, date);
    if (until_s <= now_s) {
        (void)snprintf(sentence, bytes, "the certificate %s expired at %s; clients refuse it", keys->files.cert, date);
    } else {
        (void)snprintf(sentence, bytes, "the certificate %s expires in %lld days, at %s; a new file is used without a restart",
                       keys->files.cert, (long long)((until_s - now_s) / DAY_S), date);
    }
    return true;
}

void srv_keys_finish(struct srv_keys *keys)
{
    oto_tls_context_free(keys->context);
    keys->context = NULL;
}
