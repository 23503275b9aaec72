/* Reading SDF XML in tests: a text becomes a world, with the warnings of it. */
#ifndef SDF_READING_H
#define SDF_READING_H

#include "oto_test.h"
#include "sdf/sdf.h"

struct warnings {
    unsigned count;
    char first[512], last[512];
};

static inline void take_warning(void *context, const char *sentence)
{
    struct warnings *warnings = context;
    (void)snprintf(warnings->last, sizeof warnings->last, "%s", sentence);
    if (warnings->count++ == 0) {
        (void)snprintf(warnings->first, sizeof warnings->first, "%s", sentence);
    }
}

static inline enum oto_status read_text(const char *text, size_t bytes, struct warnings *warnings, struct oto_sdf_world *world,
                                 struct oto_error *error)
{
    struct oto_xml *xml = NULL;
    *error = (struct oto_error){0};
    *world = (struct oto_sdf_world){0};
    *warnings = (struct warnings){0};
    enum oto_status status = oto_xml_parse("x.sdf", text, bytes, &xml, error);
    if (status == OTO_OK) {
        status = oto_sdf_from_xml(xml, take_warning, warnings, world, error);
    }
    oto_xml_close(xml);
    return status;
}

static inline struct oto_sdf_imu read_one(const char *text, unsigned warning_count, struct warnings *warnings)
{
    struct oto_sdf_world world;
    struct oto_error error;
    assert_ok(read_text(text, strlen(text), warnings, &world, &error), error);
    assert_int_equal(world.count, 1);
    if (warnings->count != warning_count) {
        print_error("%s\n", warnings->last);
    }
    assert_int_equal(warnings->count, warning_count);
    const struct oto_sdf_imu imu = world.imus[0];
    oto_sdf_world_finish(&world);
    return imu;
}

#endif
