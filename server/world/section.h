/*
 * World files as tables. One row gives a key's form, unit, range, default, place in memory and text. Parser and JSON
 * Schema are made from the rows. [loop]
 */
#ifndef SRV_CONFIG_SECTION_H
#define SRV_CONFIG_SECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "document/document.h"
#include "document/problems.h"

enum srv_form {
    SRV_FORM_F64, /* double, times `scale` */
    SRV_FORM_NS,  /* a number times `scale` as int64_t nanoseconds */
    SRV_FORM_U32,
    SRV_FORM_I32,
    SRV_FORM_U64,
    SRV_FORM_RATE, /* uint64_t numerator and denominator */
    SRV_FORM_BOOL,
    SRV_FORM_WORD,    /* int32_t, one of `words` */
    SRV_FORM_NAME,    /* char[bytes] of [A-Za-z0-9_-] */
    SRV_FORM_TOPIC,   /* char[bytes], printable */
    SRV_FORM_VEC3,    /* double[3] */
    SRV_FORM_TABLE,   /* struct srv_table: a number, or rows [x, number] */
    SRV_FORM_DATE,    /* int64_t days since 1970-01-01 */
    SRV_FORM_PATTERNS, /* char[bytes]: a pattern of names or a list of them, joined by commas (base/pattern.h) */
    SRV_FORM_LISTEN,  /* struct srv_publish_config's list of URLs */
    SRV_FORM_ORIGINS, /* char[SRV_ORIGINS_MAX][SRV_ORIGIN_BYTES]: a list of origins of web pages (base/origin.h) */
    SRV_FORM_ADDRESS, /* char[bytes]: an IP address and a port */
    SRV_FORM_VALUE,   /* const struct oto_value *: any value; the loader reads it */
    SRV_FORM_MAP,     /* const struct oto_value *: a map; without `section` the plugin defines its keys */
    SRV_FORM_LIST,    /* const struct oto_value *: a list of maps, each of `section` */
    SRV_FORM_SPREAD,  /* const struct oto_value *: a map of paths to rules of `section`, or lists of rules and numbers */
    SRV_FORM_NAMED,   /* const struct oto_value *: a map of names to incomplete maps of `section` */
    SRV_FORM_SECTION, /* a map whose keys are members of the same struct */
    SRV_FORM_LATER,   /* a known key that is refused with `text` */
    SRV_FORM_COUNT
};

#define SRV_KEY_REQUIRED (1u << 0)
#define SRV_KEY_OPEN_MIN (1u << 1)    /* the minimum itself is not allowed */
#define SRV_KEY_MAY_BE_NULL (1u << 2) /* `params:` without a value */
#define SRV_KEY_OF_DEFAULTS (1u << 4) /* `defaults` may give it, so that the schema does not require it */
#define SRV_KEY_ROWS_ONLY (1u << 3)   /* a table that must have rows */

struct srv_word {
    const char *name;
    int32_t value;
    const char *refused; /* a sentence: the word is known but not accepted */
};

struct srv_section;

struct srv_key {
    const char *name;
    enum srv_form form;
    uint32_t flags, offset, bytes;
    double minimum, maximum, scale; /* minimum and maximum both 0: no limits */
    const char *unit, *default_text, *text;
    const struct srv_word *words;      /* words that forms other than WORD also accept; stored at word_offset */
    uint32_t word_count, word_offset;  /* the number stored at word_offset is 0 if the value has its own form */
    const struct srv_section *section; /* a map that BOOL and WORD also accept instead of the value */
    const char *row_text;              /* TABLE: name of the first number of a row */
};

struct srv_section {
    const char *name, *text;
    const struct srv_key *keys;
    uint32_t key_count;
};

extern const struct srv_section srv_section_world, srv_section_vehicle, srv_section_motion, srv_section_node,
    srv_section_fault;
extern const struct srv_section srv_section_vibration, srv_section_sine, srv_section_psd, srv_section_noise,
    srv_section_engine,
    srv_section_order, srv_section_participant, srv_section_role, srv_section_spread;

void srv_section_defaults(const struct srv_section *section, void *target);
/* Reads a map into a struct with defaults. Unknown, refused and missing keys are errors. */
enum oto_status srv_section_read(const struct srv_section *section, const struct oto_value *map, void *target,
                                 struct oto_error *error);
/* As srv_section_read; continues after an error if the problems have a receiver. */
enum oto_status srv_section_read_all(const struct srv_section *section, const struct oto_value *map, void *target,
                                     struct oto_problems *problems);

/* Reads one value of its form, without words and sections. */
typedef enum oto_status (*srv_form_reader)(const struct srv_key *key, const struct oto_value *value, void *target,
                                           struct oto_error *error);
extern const srv_form_reader srv_form_readers[SRV_FORM_COUNT];
/* Reads a number within the key's range, without scaling. */
enum oto_status srv_number_read(const struct srv_key *key, const struct oto_value *value, double *number,
                                struct oto_error *error);
enum oto_status srv_table_read(const struct srv_key *key, const struct oto_value *value, void *target,
                               struct oto_error *error);
enum oto_status srv_word_read(const struct srv_key *key, const struct oto_value *value, void *target,
                              struct oto_error *error);

#endif
