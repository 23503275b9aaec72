/*
 * The adapter of a motion that is a function of its own time only, such as a route or a replay: the plugin implements
 * only `prepare`. The prepared data begin with a num_course, the state is a num_blend. For adapters only.
 */
#ifndef NUM_COURSE_H
#define NUM_COURSE_H

#include "num_blend.h"
#include "otolith/plugin.h"

struct num_course {
    num_blend_source *source;
    const void *motion; /* data of the source */
};

/* The truth is a function of time and of the blend, so there is nothing to advance. */
enum oto_step_status num_course_step(const struct oto_instance *instance, const struct oto_step *now);

/*
 * The plugin's `extension`: OTO_EXTENSION_MOTION at any time. After a swap the motion starts at the current place,
 * moved and turned as a whole.
 */
const void *num_course_extension(const char *id);

#endif
