/* Keys along dots, foreign keys along slashes, and suggestions for unknown ones. Pure. */
#include <stdlib.h>

#include "params.h"

bool param_path_join(const struct param_path *prefix, const char *key, struct param_path *path)
{
    const char *dot = prefix->dotted[0] != '\0' ? "." : "";
    const char *slash = prefix->foreign[0] != '\0' ? "/" : "";
    const int dotted = snprintf(path->dotted, sizeof path->dotted, "%s%s%s", prefix->dotted, dot, key);
    const int foreign = snprintf(path->foreign, sizeof path->foreign, "%s%s%s", prefix->foreign, slash, key);
    return dotted >= 0 && (size_t)dotted < sizeof path->dotted && foreign >= 0 &&
           (size_t)foreign < sizeof path->foreign;
}

static const char *own_key(const struct oto_param *param)
{
    return param->type != OTO_PARAM_IGNORED ? param->key : NULL;
}

/* The rest of `name` after the section; NULL if `name` is not in it. */
static const char *within(const char *name, const char *section, char separator)
{
    const size_t length = strlen(section);
    if (name == NULL || strncmp(name, section, length) != 0) {
        return NULL;
    }
    return length == 0 ? name : name[length] == separator ? name + length + 1 : NULL;
}

bool param_is_section(struct param_table table, const struct param_path *path)
{
    for (uint32_t i = 0; i < table.count; i++) {
        if (within(own_key(&table.params[i]), path->dotted, '.') != NULL ||
            within(table.params[i].alias, path->foreign, '/') != NULL) {
            return true;
        }
    }
    return false;
}

const struct oto_param *param_lookup(struct param_table table, const char *key, int64_t *element)
{
    *element = -1;
    for (uint32_t i = 0; i < table.count; i++) {
        const struct oto_param *param = &table.params[i];
        if (own_key(param) == NULL) {
            continue;
        }
        const char *rest = within(key, param->key, '.');
        if (strcmp(param->key, key) == 0 || (param->alias != NULL && strcmp(param->alias, key) == 0)) {
            return param;
        }
        if (rest != NULL && rest[0] != '\0' && strlen(rest) < 10 && strspn(rest, "0123456789") == strlen(rest)) {
            *element = strtol(rest, NULL, 10);
            return param;
        }
    }
    return NULL;
}

/* Finds a key that ends in the word: the user omitted its section. */
static const char *ends_in(struct param_table table, const char *word)
{
    const size_t length = strlen(word);
    for (uint32_t i = 0; i < table.count; i++) {
        const char *key = own_key(&table.params[i]);
        const size_t key_length = key != NULL ? strlen(key) : 0;
        if (key_length > length && key[key_length - length - 1] == '.' && strcmp(key + key_length - length, word) == 0) {
            return key;
        }
    }
    return NULL;
}

static const char *nearest(struct param_table table, const struct param_path *path)
{
    const char **names = calloc(table.count + 1u, sizeof *names);
    const char *found = ends_in(table, path->dotted);
    if (names == NULL || found != NULL) {
        free(names);
        return found;
    }
    for (uint32_t i = 0; i < table.count; i++) {
        names[i] = own_key(&table.params[i]);
    }
    found = oto_nearest_word(path->dotted, names, table.count);
    for (uint32_t i = 0; found == NULL && i < table.count; i++) {
        names[i] = table.params[i].type != OTO_PARAM_IGNORED ? table.params[i].alias : NULL;
    }
    found = found != NULL ? found : oto_nearest_word(path->foreign, names, table.count);
    free(names);
    return found;
}

/* Whether a key before `index` has this segment in the section. */
static bool is_listed(struct param_table table, uint32_t index, const char *section, const char *segment, size_t length)
{
    for (uint32_t i = 0; i < index; i++) {
        const char *rest = within(own_key(&table.params[i]), section, '.');
        if (rest != NULL && strcspn(rest, ".") == length && strncmp(rest, segment, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Writes "a, b, c": the next segments of the keys in a section, each once, cut with an ellipsis. */
static void list_members(struct param_table table, const char *section, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < table.count; i++) {
        const char *rest = within(own_key(&table.params[i]), section, '.');
        const size_t length = rest != NULL ? strcspn(rest, ".") : 0;
        if (length == 0 || is_listed(table, i, section, rest, length)) {
            continue;
        }
        if (used + length + 8 > bytes) {
            (void)snprintf(text + used, bytes - used, ", …");
            return;
        }
        used += (size_t)snprintf(text + used, bytes - used, "%s%.*s", used > 0 ? ", " : "", (int)length, rest);
    }
}

void param_suggest(struct param_table table, const struct param_path *prefix, const struct param_path *path, char *text,
                   size_t bytes)
{
    /* A section has the right name, so its keys are a better suggestion. */
    const char *word = param_is_section(table, path) ? NULL : nearest(table, path);
    if (word != NULL) {
        (void)snprintf(text, bytes, "; did you mean '%s'?", word);
        return;
    }
    char members[160];
    list_members(table, prefix->dotted, members, sizeof members);
    (void)snprintf(text, bytes, members[0] != '\0' ? "; accepted here: %s" : "; it has none%s", members);
}
