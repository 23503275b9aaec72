#include "document/internal.h"

#include <ctype.h>

enum { WORD_MAX = 95 };

static size_t smallest(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Folds upper and lower case, and '-', '_' and space, into one letter each. */
static int folded(char letter)
{
    int lower = tolower((unsigned char)letter);
    return lower == '-' || lower == ' ' ? '_' : lower;
}

/*
 * Edit distance with transpositions (optimal string alignment): insertion, deletion, substitution, swap of neighbours.
 */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t cost = folded(a[i - 1]) != folded(b[j - 1]);
            row[j] = smallest(smallest(above[j] + 1, row[j - 1] + 1), above[j - 1] + cost);
            if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]))
                row[j] = smallest(row[j], before[j - 2] + 1);
        }
        size_t *recycled = before;
        before = above;
        above = row;
        row = recycled;
    }
    return above[b_length];
}

/* True if one word begins with the other, as `rate` and `rate_hz`. */
static bool is_beginning(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t common = smallest(a_length, b_length);
    for (size_t i = 0; i < common; i++)
        if (folded(a[i]) != folded(b[i]))
            return false;
    return common >= 3;
}

const char *oto_nearest_word(const char *word, const char *const *candidates, size_t count)
{
    size_t length = strlen(word);
    size_t best = (length < 6 ? 1 : length / 3) + 1;
    size_t closest = 0; /* smallest distance so far, which decides between candidates of equal rank */
    const char *nearest = NULL;
    if (length == 0 || length > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t candidate_length = candidates[i] != NULL ? strlen(candidates[i]) : 0;
        if (candidate_length == 0 || candidate_length > WORD_MAX)
            continue;
        size_t found = distance(word, length, candidates[i], candidate_length), apart = found;
        if (found > 1 && is_beginning(word, length, candidates[i], candidate_length))
            found = 1;
        if ((found < best || (found == best && nearest != NULL && apart < closest)) && found < candidate_length) {
            best = found;
            closest = apart;
            nearest = candidates[i];
        }
    }
    return nearest;
}
