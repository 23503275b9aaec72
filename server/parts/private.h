/* Shared by the files of the part library. [loop] */
#ifndef PARTS_PRIVATE_H
#define PARTS_PRIVATE_H

#include "terms.h"

/* A part while it is read. The public struct is the first member, so that one pointer serves for both. */
struct part_file {
    struct oto_part part;
    struct oto_document *document;
    char *path;
};

/* Reads one number of a triad: `map` is its entry {value, unit, is, source}. */
enum oto_status part_number_read(const struct oto_part *part, enum oto_part_triad triad, const struct oto_value *map,
                                 struct oto_part_number *number, struct oto_error *error);
/* True for the terms that may occur several times: gauss_markov and sine. */
bool part_is_series(const char *term);
enum oto_status part_series_read(const struct oto_part *part, enum oto_part_triad triad, const struct oto_value *map,
                                 struct oto_part_series *series, struct oto_error *error);
/* Reads a source such as "ds p.8": the first word is the id of a document, and a place must follow. */
enum oto_status part_source_read(const struct oto_part *part, const struct oto_value *map, const char **source,
                                 struct oto_error *error);
/* Converts counts, which need the resolution, and checks the mode as a whole. */
enum oto_status part_mode_check(const struct oto_part *part, struct oto_part_mode *mode, struct oto_error *error);

/* Reads the `parameters` of a mode, those of `common` first. */
enum oto_status part_settings_read(const struct oto_part *part, const struct oto_value *common, const struct oto_value *map,
                                   struct oto_part_mode *mode, struct oto_error *error);
/* Checks the units, and for parts without triads that the plugin has all parameters that the mode sets; otherwise INVALID. */
enum oto_status part_settings_fit(const struct oto_part *part, const struct oto_part_mode *mode,
                                  const struct oto_plugin_descriptor *descriptor, struct oto_error *error);

/* The Gauss-Markov processes of a triad; NULL: none. */
const struct oto_part_series *part_markov(const struct oto_part_mode *mode, enum oto_part_triad triad);

/* Refuses unknown keys of a map, with a suggestion. */
enum oto_status part_check_keys(const struct oto_value *map, const char *const *keys, size_t count,
                                struct oto_error *error);
/* Gets the value of a key, or reports at the map's place that it is missing. */
enum oto_status part_require(const struct oto_value *map, const char *key, const struct oto_value **value,
                             struct oto_error *error);

/* Converts a number to the value of the plugin's parameter. */
double part_parameter_value(const struct oto_part_number *number, const struct part_term *term, int axis);

#endif
