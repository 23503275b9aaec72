/* What the files of the part library share. [loop] */
#ifndef PARTS_PRIVATE_H
#define PARTS_PRIVATE_H

#include "terms.h"

/* A part as it is read: the public view first, so that one pointer serves both. */
struct part_file {
    struct oto_part part;
    struct oto_document *document;
    char *path;
};

/* One number of a triad: `map` is its entry {value, unit, is, source}. */
enum oto_status part_number_read(const struct oto_part *part, enum oto_part_triad triad, const struct oto_value *map,
                                 struct oto_part_number *number, struct oto_error *error);
/* "ds p.8": its first word must be the id of a document, and more must follow. */
enum oto_status part_source_read(const struct oto_part *part, const struct oto_value *map, const char **source,
                                 struct oto_error *error);
/* Converts digits, which need the resolution; checks what belongs together. */
enum oto_status part_mode_check(const struct oto_part *part, struct oto_part_mode *mode, struct oto_error *error);

bool part_has_triad(const struct oto_part_mode *mode, enum oto_part_triad triad);

/* Unknown keys of a map are errors with a suggestion. */
enum oto_status part_check_keys(const struct oto_value *map, const char *const *keys, size_t count,
                                struct oto_error *error);
/* The member of a map, or an error at the map that it is missing. */
enum oto_status part_require(const struct oto_value *map, const char *key, const struct oto_value **value,
                             struct oto_error *error);

/* From a number to the plugin's parameter: the value that is bound. */
double part_parameter_value(const struct oto_part_number *number, const struct part_term *term,
                            const struct oto_part_mode *mode, int axis);

#endif
