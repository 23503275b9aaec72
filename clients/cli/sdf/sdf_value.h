/* Reads values of XML and of world files into a description. Private to this folder. */
#ifndef OTOLITH_SDF_VALUE_H
#define OTOLITH_SDF_VALUE_H

#include "sdf/sdf_table.h"

/* The requirements on a value. */
struct sdf_form {
    const char *name; /* of the element or parameter, for messages */
    enum sdf_kind kind;
    uint32_t count, stride;
    double minimum, maximum;
    struct sdf_words words;
};

/* Reads one scalar into element `index` of the target. Errors name the scalar's place. */
enum oto_status sdf_scalar_read(const struct sdf_form *form, const struct oto_value *scalar, uint32_t index,
                                void *target, struct oto_error *error);
/* Reads the text of an element: `count` values, separated by blanks. */
enum oto_status sdf_text_read(const struct sdf_form *form, const struct oto_xml_element *element, const char *text,
                              void *target, struct oto_error *error);

#endif
