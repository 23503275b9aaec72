/* What someone may give to `--replay` and `otolith verify`: each line of a log, to its end. */
#include <stdlib.h>
#include <string.h>

#include "memory_file.h"
#include "sim/run_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int holds)
{
    if (!holds) {
        abort();
    }
}

/* Reads every text to its end. */
static size_t walk(const struct oto_run_log_line *line)
{
    uint64_t words[4];
    size_t sum = 0;
    must(line->count <= OTO_RUN_LOG_MEMBERS && line->entry != NULL);
    for (uint32_t i = 0; i < line->count; i++) {
        const struct oto_run_log_member *member = &line->members[i];
        sum += strlen(member->key) + (member->kind == OTO_RUN_LOG_TEXT ? strlen(member->text) : 0);
        sum += oto_run_log_words(line, member->key, words, 4);
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct memory_file file = memory_file_make(data, bytes);
    struct oto_run_log_reader *reader = NULL;
    struct oto_run_log_line line;
    struct oto_error error = {.status = OTO_OK};
    size_t sum = 0;
    uint64_t tick = 0;
    enum oto_status status = oto_run_log_open(file.path, &reader, &line, &error);
    while (status == OTO_OK) {
        sum += walk(&line);
        must(line.tick >= tick);
        tick = line.tick;
        status = oto_run_log_next(reader, &line, &error);
    }
    must(sum <= bytes + OTO_RUN_LOG_MEMBERS * bytes && (status == OTO_CLOSED || error.text[0] != '\0'));
    oto_run_log_close(reader);
    memory_file_close(&file);
    return 0;
}
