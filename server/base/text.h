/*
 * Builds sentences on the tick thread, which must not use stdio. Text that does not fit is cut; it always ends in a
 * NUL.
 */
#ifndef SRV_WORLD_TEXT_H
#define SRV_WORLD_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct srv_text {
    char *at;
    char *end; /* end of the room, which keeps one byte for the NUL */
};

static inline struct srv_text srv_text_begin(char *buffer, size_t bytes)
{
    const struct srv_text text = {buffer, buffer + bytes - 1};
    *buffer = '\0';
    return text;
}

static inline void srv_text_add(struct srv_text *text, const char *words)
{
    while (*words != '\0' && text->at < text->end) {
        *text->at++ = *words++;
    }
    *text->at = '\0';
}

static inline void srv_text_add_u64(struct srv_text *text, uint64_t number)
{
    char digits[24];
    char *at = digits + sizeof digits - 1;
    *at = '\0';
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    srv_text_add(text, at);
}

/* Adds a number with three decimals, for people to read; range ±1e15. */
static inline void srv_text_add_milli(struct srv_text *text, double number)
{
    if (number < 0) {
        srv_text_add(text, "-");
        number = -number;
    }
    const uint64_t thousandths = (uint64_t)(number * 1000.0 + 0.5);
    char places[5] = {'.', (char)('0' + thousandths / 100 % 10), (char)('0' + thousandths / 10 % 10),
                      (char)('0' + thousandths % 10), '\0'};
    srv_text_add_u64(text, thousandths / 1000);
    srv_text_add(text, places);
}

#endif
