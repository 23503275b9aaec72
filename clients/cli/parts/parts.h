/* Printing and conversion of parts. Each function writes to a stream. */
#ifndef CLI_PARTS_H
#define CLI_PARTS_H

#include <stdio.h>

#include "base/json.h"
#include "parts/library.h"

/* Prints the averaging times of a number, and to which times the model continues a floor. */
void parts_show_known(FILE *to, const struct oto_part_number *number);
/* Prints what the default adds to the numbers of a triad, or that it is simulated without noise. */
void parts_show_default(FILE *to, const struct oto_part_mode *mode, enum oto_part_triad triad);
void parts_show_curve_json(struct oto_json *json, const struct oto_part_mode *mode, enum oto_part_triad triad);
/* Prints the numbers of a part in every convention. */
void parts_show(FILE *to, const struct oto_part *part, const struct oto_part_mode *mode);
void parts_show_json(FILE *to, const struct oto_part *part, const struct oto_part_mode *mode);

/*
 * Simulates a part at rest and prints the differences from its document, or from the default, as rows of a Markdown table. Adds
 * to `beyond` the number of rows that differ by more than 5 %, or whose floor is not flat at 30 000 s.
 */
void parts_check_head(FILE *to);
enum oto_status parts_check(FILE *to, const struct oto_part *part, const struct oto_part_mode *mode, uint32_t *beyond,
                            struct oto_error *error);

enum parts_format { PARTS_KALIBR, PARTS_SDF, PARTS_MATLAB, PARTS_MAVS };
/* rate_hz 0: the rate of the mode. A value without a source in the part is 0, with a comment in the output. */
enum oto_status parts_export(FILE *to, enum parts_format format, const struct oto_part *part,
                             const struct oto_part_mode *mode, double rate_hz, struct oto_error *error);

/*
 * Writes a part file from the JSON of MATLAB's imuSensor or of MAVS, or from the imu.yaml of Kalibr or allan_variance_ros.
 * `entry`: the name of the part if the file has several; NULL: the only one. `name` is the name of the new part. Nothing is
 * written on failure.
 */
enum oto_status parts_import(FILE *to, const char *path, const char *entry, const char *name, oto_warn_function warn,
                             void *warn_context, struct oto_error *error);

/* The functions below are shared by the files of import and export. */
void parts_export_json(FILE *to, bool is_mavs, const struct oto_part *part, const struct oto_part_mode *mode, double rate_hz);
/* Finds the map with Kalibr's keys; NULL: there is none. */
const struct oto_value *parts_find_kalibr(const struct oto_value *root, const char *entry);
enum oto_status parts_put_kalibr(FILE *to, const char *path, const char *name, const struct oto_value *map,
                                 struct oto_error *error);

#endif
