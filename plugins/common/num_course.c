#include "num_course.h"

#include <string.h>

enum oto_step_status num_course_step(const struct oto_instance *instance, const struct oto_step *now)
{
    (void)instance;
    (void)now;
    return OTO_STEP_OK;
}

static enum oto_step_status evaluate(const struct oto_instance *instance, struct oto_instant at,
                                     struct oto_truth_record *truth)
{
    const struct num_course *course = instance->data;
    num_blend_truth(instance->state, course->source, course->motion, at, truth);
    return OTO_STEP_OK;
}

static enum oto_status adopt(const struct oto_instance *instance, const struct oto_truth_record *truth,
                             struct oto_instant at)
{
    const struct num_course *course = instance->data;
    return num_blend_adopt(instance->state, course->source, course->motion, truth, at);
}

static const struct oto_motion_extension motion = {
    .size = sizeof motion, .flags = OTO_MOTION_ANY_TIME, .evaluate = evaluate, .adopt = adopt};

const void *num_course_extension(const char *id)
{
    return strcmp(id, OTO_EXTENSION_MOTION) == 0 ? &motion : NULL;
}
