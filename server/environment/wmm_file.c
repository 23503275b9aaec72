/* Parses coefficient files. An error is a sentence with file and line. */
#include "environment/internal.h"

#include <errno.h>
#include <stdbool.h>

#include "base/file_kind.h"
#include "document/internal.h"

enum { MAX_FILE_BYTES = 64 * 1024, MAX_LINE_BYTES = 160, MAX_WORDS = 6 };
#define MAX_COEFFICIENT_NT 1e5 /* the largest coefficient, of the dipole, is 3e4 */
#define MIN_EPOCH 1900.0
#define MAX_EPOCH 2200.0

struct reader {
    const char *file, *text;
    size_t bytes, at;
    uint32_t line; /* number of the line in `buffer`, from 1 */
    char buffer[MAX_LINE_BYTES + 1];
    char *words[MAX_WORDS];
    size_t word_count; /* includes words for which `words` has no room */
    struct oto_error *error;
};

/* The place of a word in the line; word NULL: the start of the line. */
static struct doc_place place_of(const struct reader *reader, const char *word)
{
    const uint32_t column = word != NULL ? (uint32_t)(word - reader->buffer) + 1 : 1;
    return (struct doc_place){reader->file, reader->line, column};
}

#define FAIL(reader, word, status, ...) doc_fail(place_of(reader, word), (reader)->error, status, __VA_ARGS__)

static void split(struct reader *reader)
{
    char *rest = NULL;
    reader->word_count = 0;
    for (char *word = strtok_r(reader->buffer, " \t", &rest); word != NULL; word = strtok_r(NULL, " \t", &rest)) {
        if (reader->word_count < MAX_WORDS) {
            reader->words[reader->word_count] = word;
        }
        reader->word_count++;
    }
}

/* Splits the next line into words; OTO_AGAIN after the last line. */
static enum oto_status next_line(struct reader *reader)
{
    size_t length = 0;
    if (reader->at == reader->bytes) {
        return OTO_AGAIN;
    }
    reader->line++;
    for (; reader->at < reader->bytes && reader->text[reader->at] != '\n'; reader->at++) {
        const char c = reader->text[reader->at];
        if (c == '\r') {
            continue;
        }
        if ((c < ' ' && c != '\t') || c == 0x7f) {
            return FAIL(reader, NULL, OTO_SYNTAX, "expected text, got a byte that is no text; is this a .COF file?");
        }
        if (length == MAX_LINE_BYTES) {
            return FAIL(reader, NULL, OTO_LIMIT, "expected lines of at most %d characters", MAX_LINE_BYTES);
        }
        reader->buffer[length++] = c;
    }
    reader->at += reader->at < reader->bytes;
    reader->buffer[length] = '\0';
    split(reader);
    return OTO_OK;
}

static enum oto_status read_number(struct reader *reader, const char *what, const char *word, double low, double high,
                                   double *number)
{
    if (doc_number_f64(word, number) != DOC_NUMBER_OK) {
        return FAIL(reader, word, OTO_SYNTAX, "%s: expected a number, got '%s'", what, word);
    }
    if (!(*number >= low && *number <= high)) {
        return FAIL(reader, word, OTO_RANGE, "%s: expected a number from %g to %g, got '%s'", what, low, high, word);
    }
    return OTO_OK;
}

/* "WMM-2025" becomes "wmm2025". */
static enum oto_status read_name(struct reader *reader, const char *word, struct oto_wmm *model)
{
    size_t length = 0;
    for (const char *c = word; *c != '\0'; c++) {
        const bool upper = *c >= 'A' && *c <= 'Z';
        if (upper || (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9')) {
            if (length == sizeof model->name - 1) {
                return FAIL(reader, word, OTO_SYNTAX,
                            "expected a model name of at most %zu letters and digits, got '%s'", length, word);
            }
            model->name[length++] = (char)(upper ? *c - 'A' + 'a' : *c);
        }
    }
    if (length == 0) {
        return FAIL(reader, word, OTO_SYNTAX, "expected a model name such as WMM-2025, got '%s'", word);
    }
    return OTO_OK;
}

static enum oto_status read_header(struct reader *reader, struct oto_wmm *model)
{
    enum oto_status status = next_line(reader);
    if (status != OTO_OK && status != OTO_AGAIN) {
        return status;
    }
    if (status == OTO_AGAIN || reader->word_count != 3) {
        return FAIL(reader, NULL, OTO_SYNTAX,
                    "expected epoch, model name and date, as in '2025.0 WMM-2025 11/13/2024'");
    }
    status = read_number(reader, "epoch", reader->words[0], MIN_EPOCH, MAX_EPOCH, &model->epoch_year);
    return status == OTO_OK ? read_name(reader, reader->words[1], model) : status;
}

static bool is_end_mark(const struct reader *reader)
{
    return reader->word_count == 1 && strlen(reader->words[0]) >= 4 &&
           strspn(reader->words[0], "9") == strlen(reader->words[0]);
}

static enum oto_status read_index(struct reader *reader, int *index)
{
    double n = 0, m = 0;
    enum oto_status status = read_number(reader, "degree n", reader->words[0], 1, OTO_WMM_DEGREE, &n);
    if (status == OTO_OK) {
        status = read_number(reader, "order m", reader->words[1], 0, n, &m);
    }
    if (status == OTO_OK && (n != (double)(int)n || m != (double)(int)m)) {
        return FAIL(reader, reader->words[0], OTO_SYNTAX, "expected whole numbers n and m, got '%s %s'",
                    reader->words[0], reader->words[1]);
    }
    *index = (int)n * ((int)n + 1) / 2 + (int)m;
    return status;
}

static enum oto_status read_term(struct reader *reader, struct oto_wmm *model, bool *seen)
{
    static const char *const names[] = {"g", "h", "g per year", "h per year"};
    double numbers[4];
    int index = 0;
    if (reader->word_count != MAX_WORDS) {
        return FAIL(reader, NULL, OTO_SYNTAX, "expected n, m, g, h and the yearly change of g and h, got %zu words",
                    reader->word_count);
    }
    enum oto_status status = read_index(reader, &index);
    for (size_t i = 0; i < 4 && status == OTO_OK; i++) {
        status =
            read_number(reader, names[i], reader->words[i + 2], -MAX_COEFFICIENT_NT, MAX_COEFFICIENT_NT, &numbers[i]);
    }
    if (status != OTO_OK) {
        return status;
    }
    if (seen[index]) {
        return FAIL(reader, NULL, OTO_EXISTS, "the term n = %s, m = %s is listed twice", reader->words[0],
                    reader->words[1]);
    }
    seen[index] = true;
    model->g_nt[index] = numbers[0];
    model->h_nt[index] = numbers[1];
    model->g_nt_yr[index] = numbers[2];
    model->h_nt_yr[index] = numbers[3];
    return OTO_OK;
}

static enum oto_status read_terms(struct reader *reader, struct oto_wmm *model, bool *seen)
{
    enum oto_status status = next_line(reader);
    for (; status == OTO_OK && !is_end_mark(reader); status = next_line(reader)) {
        status = read_term(reader, model, seen);
        if (status != OTO_OK) {
            return status;
        }
    }
    if (status == OTO_AGAIN) {
        return FAIL(reader, NULL, OTO_SYNTAX, "the file ends before its line of nines: is it cut off?");
    }
    return status;
}

enum oto_status oto_wmm_parse(const char *file, const char *text, size_t bytes, struct oto_wmm *model,
                              struct oto_error *error)
{
    struct reader reader = {.file = file, .text = text, .bytes = bytes, .error = error};
    struct oto_wmm read = {0};
    bool seen[OTO_WMM_TERMS] = {[0] = true};
    if (bytes > MAX_FILE_BYTES) {
        return FAIL(&reader, NULL, OTO_LIMIT, "expected a .COF file of at most %d bytes", MAX_FILE_BYTES);
    }
    enum oto_status status = read_header(&reader, &read);
    if (status == OTO_OK) {
        status = read_terms(&reader, &read, seen);
    }
    for (int n = 1; n <= OTO_WMM_DEGREE && status == OTO_OK; n++) {
        for (int m = 0; m <= n && status == OTO_OK; m++) {
            if (!seen[n * (n + 1) / 2 + m]) {
                status = FAIL(&reader, NULL, OTO_SYNTAX, "the term n = %d, m = %d is missing: expected all to n = %d",
                              n, m, OTO_WMM_DEGREE);
            }
        }
    }
    if (status == OTO_OK) {
        *model = read;
    }
    return status;
}

enum oto_status oto_wmm_read(const char *path, struct oto_wmm *model, struct oto_error *error)
{
    char text[MAX_FILE_BYTES + 1];
    const char *why_not = NULL;
    FILE *file = srv_regular_fopen(path, &why_not);
    if (file == NULL) {
        return oto_fail(error, OTO_IO, "%s: %s", path, why_not);
    }
    const size_t bytes = fread(text, 1, sizeof text, file);
    const bool failed = ferror(file) != 0;
    const int why = errno;
    (void)fclose(file);
    if (failed) {
        return oto_fail(error, OTO_IO, "%s: %s", path, strerror(why));
    }
    return oto_wmm_parse(path, text, bytes, model, error);
}
