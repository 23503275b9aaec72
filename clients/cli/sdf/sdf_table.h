/*
 * Two tables of an IMU: the elements of SDF, for reading and writing, and the parameters of sdf_imu. Private to this
 * folder.
 */
#ifndef OTOLITH_SDF_TABLE_H
#define OTOLITH_SDF_TABLE_H

#include "sdf/sdf.h"

enum sdf_kind {
    SDF_SECTION,  /* elements */
    SDF_NUMBER,   /* double[count] */
    SDF_WHOLE,    /* int64_t */
    SDF_FLAG,     /* int64_t, 0 or 1 */
    SDF_WORD,     /* int64_t, one of the words */
    SDF_TEXT,     /* char[count] */
    SDF_POSE,     /* position_m and rpy_deg */
    SDF_NOISE_ALL /* Unity's form: one <noise> for all axes */
};

/* A word of an enumeration, or a word that may replace one value of a number. */
struct sdf_word {
    const char *word;
    double value;
};

struct sdf_words {
    const struct sdf_word *words;
    uint32_t count;
};

struct sdf_element {
    const char *name;
    enum sdf_kind kind;
    uint32_t count, offset;  /* number of values, and offset of the first in the struct of the enclosing section */
    double minimum, maximum; /* limits of SDF_NUMBER and SDF_WHOLE */
    struct sdf_words words;
    const char *attribute; /* an attribute of the element: parent_frame, or the type of a noise */
    uint32_t attribute_offset;
    struct sdf_words attribute_words;
    const struct sdf_element *children;
    uint32_t child_count;
};

extern const struct sdf_element sdf_sensor; /* offsets in struct oto_sdf_imu */
extern const struct sdf_element sdf_noise;  /* offsets in struct oto_sdf_noise */

struct sdf_param {
    const char *key;
    enum sdf_kind kind;
    uint32_t count, offset, stride;
    struct sdf_words words;
};
extern const struct sdf_param sdf_params[];
extern const uint32_t sdf_param_count;

/* NULL: no word has the value. */
const char *sdf_word_of(struct sdf_words words, double value);
/* Case is ignored. False: no such word. */
bool sdf_word_find(struct sdf_words words, const char *text, double *value);
/* Lists the words as text: "CUSTOM, ENU, NED". */
void sdf_words_list(struct sdf_words words, char *text, size_t bytes);

#endif
