#include "sdf/sdf_value.h"

#include <math.h>

#include "document/document.h"

static void *at(const struct sdf_form *form, void *target, uint32_t index)
{
    return (char *)target + (size_t)index * form->stride;
}

static enum oto_status read_number(const struct sdf_form *form, const struct oto_value *scalar, void *target,
                                   struct oto_error *error)
{
    double number = 0;
    char what[160], words[96];
    if (!sdf_word_find(form->words, scalar->text, &number)) {
        if (oto_value_f64(scalar, &number, NULL) != OTO_OK) {
            sdf_words_list(form->words, words, sizeof words);
            (void)snprintf(what, sizeof what, "a finite number%s%s for <%s>", words[0] != '\0' ? " or " : "", words,
                           form->name);
            return oto_value_expected(scalar, error, what);
        }
        if (number < form->minimum || number > form->maximum) {
            return oto_value_fail(scalar, error, OTO_RANGE, "<%s> is %.32s; %g to %g is accepted", form->name,
                                  scalar->text, form->minimum, form->maximum);
        }
    }
    if (form->kind != SDF_WHOLE) {
        memcpy(target, &number, sizeof number);
        return OTO_OK;
    }
    const int64_t whole = fabs(number) < 1e15 ? (int64_t)number : 0;
    if ((double)whole != number) {
        return oto_value_fail(scalar, error, OTO_INVALID, "<%s> is %.32s, expected a whole number", form->name,
                              scalar->text);
    }
    memcpy(target, &whole, sizeof whole);
    return OTO_OK;
}

static enum oto_status read_flag(const struct sdf_form *form, const struct oto_value *scalar, void *target,
                                 struct oto_error *error)
{
    static const struct sdf_word flags[] = {{"false", 0}, {"true", 1}, {"0", 0}, {"1", 1}};
    double value = 0;
    char what[96];
    if (!sdf_word_find((struct sdf_words){flags, 4}, scalar->text, &value)) {
        (void)snprintf(what, sizeof what, "true, false, 1 or 0 for <%s>", form->name);
        return oto_value_expected(scalar, error, what);
    }
    const int64_t flag = (int64_t)value;
    memcpy(target, &flag, sizeof flag);
    return OTO_OK;
}

static enum oto_status read_word(const struct sdf_form *form, const struct oto_value *scalar, void *target,
                                 struct oto_error *error)
{
    double value = 0;
    char what[200], words[128];
    if (!sdf_word_find(form->words, scalar->text, &value)) {
        sdf_words_list(form->words, words, sizeof words);
        (void)snprintf(what, sizeof what, "one of %s for <%s>", words, form->name);
        return oto_value_expected(scalar, error, what);
    }
    const int64_t number = (int64_t)value;
    memcpy(target, &number, sizeof number);
    return OTO_OK;
}

enum oto_status sdf_scalar_read(const struct sdf_form *form, const struct oto_value *scalar, uint32_t index,
                                void *target, struct oto_error *error)
{
    void *place = at(form, target, index);
    if (form->kind == SDF_FLAG) {
        return read_flag(form, scalar, place, error);
    }
    return form->kind == SDF_WORD ? read_word(form, scalar, place, error) : read_number(form, scalar, place, error);
}

/* Reads a topic or the name of a frame; refuses a text that a world file does not accept. */
static enum oto_status read_text(const struct sdf_form *form, const struct oto_xml_element *element, const char *text,
                                 char *target, struct oto_error *error)
{
    const size_t length = strlen(text);
    if (length == 0 || length >= form->count) {
        return oto_xml_fail(element, error, OTO_LIMIT, "<%s> has %zu characters; 1 to %u are accepted", form->name,
                            length, form->count - 1);
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] <= ' ' || text[i] >= 0x7f) {
            return oto_xml_fail(element, error, OTO_INVALID, "<%s> is '%.96s', expected printable ASCII without spaces",
                                form->name, text);
        }
    }
    memcpy(target, text, length + 1);
    return OTO_OK;
}

static enum oto_status wrong_count(const struct sdf_form *form, const struct oto_xml_element *element, uint32_t got,
                                   struct oto_error *error)
{
    return oto_xml_fail(element, error, OTO_INVALID, "<%s> has %u value%s, expected %u", form->name, got,
                        got == 1 ? "" : "s", form->count);
}

enum oto_status sdf_text_read(const struct sdf_form *form, const struct oto_xml_element *element, const char *text,
                              void *target, struct oto_error *error)
{
    static const char blanks[] = " \t\r\n";
    uint32_t count = 0;
    if (form->kind == SDF_TEXT) {
        return read_text(form, element, text, target, error);
    }
    for (const char *from = text + strspn(text, blanks); *from != '\0'; count++) {
        char word[96];
        const size_t length = strcspn(from, blanks);
        const int shown = length < sizeof word ? (int)length : (int)sizeof word - 1;
        (void)snprintf(word, sizeof word, "%.*s", shown, from);
        const struct oto_value scalar = {.kind = OTO_VALUE_SCALAR,
                                         .file = element->file,
                                         .line = element->line,
                                         .column = element->column,
                                         .text = word};
        if (count == form->count) {
            return wrong_count(form, element, count + 1, error);
        }
        const enum oto_status status = sdf_scalar_read(form, &scalar, count, target, error);
        if (status != OTO_OK) {
            return status;
        }
        from += length;
        from += strspn(from, blanks);
    }
    return count == form->count ? OTO_OK : wrong_count(form, element, count, error);
}
