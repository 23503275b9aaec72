/*
 * The adapter of a motion that is a function of its own time alone, such as a route or a replay: nothing but `prepare` is
 * left to its plugin. The prepared data begin with a num_course, the state is a num_blend. For adapters alone.
 */
#ifndef NUM_COURSE_H
#define NUM_COURSE_H

#include "num_blend.h"
#include "otolith/plugin.h"

struct num_course {
    num_blend_source *source;
    const void *motion; /* the source's */
};

/* The truth is a function of time and of where the motion took over: there is nothing to advance. */
enum oto_step_status num_course_step(const struct oto_instance *instance, const struct oto_step *now);

/* The plugin's `extension`: OTO_EXTENSION_MOTION for any time; the motion begins here and now, moved and turned as a whole. */
const void *num_course_extension(const char *id);

#endif
