/* Text that grows, for messages in JSON. After a failed allocation `failed` is set and additions do nothing. Pure. */
#ifndef WEB_TEXT_H
#define WEB_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct web_text {
    char *text;
    size_t bytes, room;
    bool failed;
};

void web_text_clear(struct web_text *text);
void web_text_free(struct web_text *text);
__attribute__((format(printf, 2, 3))) void web_text_add(struct web_text *text, const char *format, ...);
/* Adds a JSON string with its quotes; bytes that are not UTF-8 become '?'. */
void web_text_string(struct web_text *text, const char *value);
/* "key":"value", */
void web_text_member(struct web_text *text, const char *key, const char *value);
/* Adds a JSON number; null if it is not finite. */
void web_text_number(struct web_text *text, double value);
/* Removes a comma at the end. */
void web_text_trim(struct web_text *text);

#endif
