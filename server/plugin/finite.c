#include "plugin/finite.h"

#include <string.h>

/*
 * A NaN or an infinity has an exponent of all ones: one more in its last place reaches the sign bit. The result is
 * tested once, after the loop, which the compiler can therefore vectorise.
 */
static bool doubles_are_finite(const unsigned char *data, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, data + 8 * (size_t)i, 8);
        sum |= (bits & UINT64_C(0x7ff0000000000000)) + UINT64_C(0x0010000000000000);
    }
    return sum >> 63 == 0;
}

static bool floats_are_finite(const unsigned char *data, uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, data + 4 * (size_t)i, 4);
        sum |= (bits & UINT32_C(0x7f800000)) + UINT32_C(0x00800000);
    }
    return sum >> 31 == 0;
}

bool oto_record_is_finite(const struct oto_float_run *runs, uint32_t run_count, const void *payload)
{
    bool finite = true;
    for (uint32_t i = 0; i < run_count; i++) {
        const unsigned char *data = (const unsigned char *)payload + runs[i].offset;
        finite = finite && (runs[i].bytes == 8 ? doubles_are_finite(data, runs[i].count)
                                               : floats_are_finite(data, runs[i].count));
    }
    return finite;
}

uint32_t oto_float_runs(const struct oto_record_type *type, struct oto_float_run *runs)
{
    uint32_t made = 0;
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        if (field->type != OTO_FIELD_F64 && field->type != OTO_FIELD_F32) {
            continue;
        }
        const uint32_t bytes = oto_field_type_bytes(field->type);
        struct oto_float_run *last = made > 0 ? &runs[made - 1] : NULL;
        if (last != NULL && last->bytes == bytes && last->offset + last->count * bytes == field->offset) {
            last->count += field->count;
        } else {
            runs[made++] = (struct oto_float_run){field->offset, field->count, bytes};
        }
    }
    return made;
}
