/*
 * The part library: sensors as their data sheets describe them, one YAML file for each part (configs/parts/README.md),
 * and the conversion of its numbers to parameters of a sensor plugin. Every number keeps its printed unit, its kind
 * (typical or maximum), and the document and page of its source. A part belongs to one thread. [loop]
 */
#ifndef OTOLITH_PARTS_H
#define OTOLITH_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "plugin/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The suffix `_u` means the unit of the triad: m/s², rad/s or µT. */
enum oto_part_triad {
    OTO_PART_ACCELEROMETER = 0,
    OTO_PART_GYROSCOPE = 1,
    OTO_PART_MAGNETOMETER = 2,
    OTO_PART_TRIADS = 3
};
OTO_API const char *oto_part_triad_name(enum oto_part_triad triad); /* "accelerometer" */
OTO_API const char *oto_part_triad_unit(enum oto_part_triad triad); /* "m/s²" */

struct oto_part_document {
    const char *id, *title;
    const char *number, *revision, *date, *url; /* NULL: none */
};

struct oto_part_number {
    enum oto_part_triad triad;
    const char *term; /* "noise_density" */
    uint32_t count;   /* 1: one number for all axes; 3: one for each */
    double printed[3];
    const char *unit; /* as printed in the document */
    bool is_max;
    bool is_derived;    /* derived from other numbers, as `source` explains */
    bool is_spread;     /* ± printed: a standard deviation is drawn from it for each axis and unit */
    double sigma;       /* of a spread: how many standard deviations the number is; typ 1, max 3, or as the file states */
    double known_s[2];  /* of white noise and of a floor: averaging times at which the document shows it; 0: not stated */
    const char *source; /* "ds p.8 Table 1": document id, then the place in the document */
    bool is_applied;    /* false: the number is information only and sets no parameter */
    double value_u[3];  /* three values, in the triad's unit */
    const struct oto_value *place;
};

enum { OTO_PART_SERIES = 8 }; /* most terms of a series */

/* Terms of a fitted part that may occur several times: Gauss-Markov processes, and sines. */
struct oto_part_series {
    enum oto_part_triad triad;
    bool is_sine; /* false: Gauss-Markov */
    uint32_t count;
    double at[OTO_PART_SERIES];         /* correlation times, s; or frequencies, Hz */
    double value_u[3][OTO_PART_SERIES]; /* standard deviations; or amplitudes */
    const char *source;
    const struct oto_value *place;
};

enum { OTO_PART_SETTING_VALUES = 6 }; /* the elements of a matrix off its diagonal */

/* A number that names a parameter of the plugin, in the parameter's unit. */
struct oto_part_setting {
    const char *key; /* key of the parameter: "noise_density_pa_rthz" */
    uint32_t count;
    double values[OTO_PART_SETTING_VALUES];
    const char *unit;
    const char *is; /* "typ", "max" or "derived" */
    const char *source;
    const struct oto_value *place;
};

struct oto_part_mode {
    const char *name;
    const char *filter;    /* NULL: not specified */
    double output_rate_hz; /* 0: not specified */
    const char *output_rate_source;
    const struct oto_value *output_rate_place, *place;
    uint32_t number_count;
    struct oto_part_number *numbers;
    uint32_t series_count;
    struct oto_part_series series[2 * OTO_PART_TRIADS];
    uint32_t setting_count;
    struct oto_part_setting *settings; /* all numbers of a part of kind OTO_PART_KIND_SETTINGS; what the terms of a triad lack */
};

enum oto_part_kind { OTO_PART_KIND_MAGNETOMETER, OTO_PART_KIND_IMU, OTO_PART_KIND_SETTINGS };

struct oto_part {
    const char *name; /* "tdk/icm-42688-p" */
    const char *title, *vendor;
    bool is_imu;             /* kind is OTO_PART_KIND_IMU */
    enum oto_part_kind kind;
    const char *kind_name;   /* "imu", "magnetometer", "receiver", "pressure" */
    const char *path;        /* path of its file */
    uint32_t document_count, missing_count, mode_count, default_mode;
    struct oto_part_document *documents;
    const char **missing;    /* terms without a citable source, such as "gyroscope.in_run_bias_stability" */
    struct oto_part_mode *modes;
};

/*
 * Searches NAME.yaml in each directory of OTOLITH_PARTS_PATH (colon-separated), in `parts` beside the file `near` and
 * one folder above it (not if `near` is NULL), in the checkout that the program was built from, and in the installed
 * configs. A name that ends in .yaml, .yml or .json is a file, relative to `near`.
 */
OTO_API enum oto_status oto_part_find(const char *name, const char *near, char *path, size_t path_bytes,
                                      struct oto_error *error);
/* Calls `each` with the name of every part in those directories, sorted, each name once. Stops at an error. */
OTO_API enum oto_status oto_parts_each(enum oto_status (*each)(void *context, const char *name, struct oto_error *error),
                                       void *context, struct oto_error *error);

/* Reads and checks a file. Errors: IO, SYNTAX, LIMIT, INVALID, RANGE, CONFLICT with file:line:column. */
OTO_API enum oto_status oto_part_read(const char *path, struct oto_part **part, struct oto_error *error);
/* Finds and reads a part. The file must contain the same name. */
OTO_API enum oto_status oto_part_open(const char *name, const char *near, struct oto_part **part, struct oto_error *error);
OTO_API void oto_part_close(struct oto_part *part); /* NULL is allowed */

/* A mode by its name; NULL: the default mode. */
OTO_API enum oto_status oto_part_mode_find(const struct oto_part *part, const char *name,
                                           const struct oto_part_mode **mode, struct oto_error *error);
/* Whether a mode gives a number of a triad. */
OTO_API bool oto_part_has_triad(const struct oto_part_mode *mode, enum oto_part_triad triad);
/* The number that a mode gives for a term; NULL if it gives none. */
OTO_API const struct oto_part_number *oto_part_number(const struct oto_part_mode *mode, enum oto_part_triad triad,
                                                      const char *term);

/*
 * Sets the parameters that the plugin has, through oto_params_apply. Errors have the place of the number in the part
 * file. A plugin with none of the part's triads is refused.
 */
OTO_API enum oto_status oto_part_apply(const struct oto_part *part, const struct oto_part_mode *mode,
                                       const struct oto_plugin_descriptor *descriptor, struct oto_params *params,
                                       oto_warn_function warn, void *warn_context, struct oto_error *error);

/* The noise of a triad in one convention. The other conventions differ by √2 and units. */
struct oto_part_noise {
    bool has_white, has_instability, has_walk;
    double white_u_rthz[3];  /* single-sided density as in data sheets; Allan's N is this / √2; of an rms, at the mode's
                              * output rate */
    bool has_rms;
    double rms_u[3];         /* noise of one sample at every rate */
    double instability_u[3]; /* B of IEEE Std 952: the Allan floor is 0.664 B */
    double walk_u_rts[3];    /* K */
};
OTO_API void oto_part_noise(const struct oto_part_mode *mode, enum oto_part_triad triad, struct oto_part_noise *noise);
/* True if nothing gives the triad white or correlated noise, nor a default: it is simulated without noise. */
OTO_API bool oto_part_is_noiseless(const struct oto_part_mode *mode, enum oto_part_triad triad);
/* The averaging time to which a part's flicker floor is continued, where its document states nothing. */
#define OTO_PART_FLOOR_MAX_S 1e5
#define OTO_PART_ALLAN_FLOOR 0.66428 /* sqrt(2 ln 2 / π): floor over B */
/*
 * The averaging time at which white noise is taken to meet the floor, where the document gives one of the two and no averaging
 * times. In the documents of the library that give both, the median is 13 s.
 */
#define OTO_PART_MEET_S 10.0

/* How far the documents know the Allan deviation of a triad, and what the default adds to it. */
struct oto_part_curve {
    double known_s;     /* longest averaging time that the documents show; 0: not stated */
    bool default_floor; /* no document gives a floor: `value_u` is the default B */
    bool default_white; /* no document gives white noise: `value_u` is the default single-sided density */
    double meet_s;      /* averaging time at which white noise and default meet */
    double value_u[3];
};
OTO_API void oto_part_curve(const struct oto_part_mode *mode, enum oto_part_triad triad, struct oto_part_curve *curve);

/* Warns about parameters that are probably wrong. Each sentence names the parameter, its value, and the reason. */
OTO_API void oto_params_check_plausible(const struct oto_plugin_descriptor *descriptor, const struct oto_params *params,
                                        oto_warn_function warn, void *warn_context);
/* The single-sided density above which a warning is given: 18 times the worst part of the library. */
OTO_API double oto_implausible_density_u_rthz(enum oto_part_triad triad);

#ifdef __cplusplus
}
#endif

#endif
