/*
 * The random numbers of a sensor (A18): terms of the Philox counter. Terms are never renumbered, so that existing noise
 * does not change when terms are added. Within a term, deviate i belongs to one axis of one triad.
 */
#ifndef NUM_DRAWS_H
#define NUM_DRAWS_H

/* Domain SAMPLE, n = sample number. */
#define NUM_DRAW_DEVIATES 0u /* the family of num_suite.h: white, instability and walk of every axis */
#define NUM_DRAW_MAVS_W 1u   /* word = slot of the triad in its sensor */
#define NUM_DRAW_ODOMETER 2u /* deviates: speed, then the four wheels */
#define NUM_DRAW_CLOCK_JITTER 3u

/* Domain TURN_ON, n = 0, key of the node. Deviate = 3 id + axis, of num_triad_id. */
#define NUM_DRAW_TURN_ON_BIAS 0u
#define NUM_DRAW_INSTABILITY_START 1u /* deviate = (3 id + axis) NUM_INSTABILITY_POLES + process */

#define NUM_DRAW_SINE_PHASE 2u        /* word of (3 id + axis) NUM_SINES + sine */
#define NUM_DRAW_COLOUR_START 3u      /* deviate = 2 lane + state of the band limit of white noise */

/* Domain UNIT, n = 0, key of the unit. Deviate = 3 id + axis. */
#define NUM_DRAW_UNIT_BIAS 0u
#define NUM_DRAW_UNIT_SCALE 1u
#define NUM_DRAW_UNIT_CLOCK 2u /* deviate 0: rate error; word 1: output rate within its tolerance */
#define NUM_DRAW_UNIT_CROSS 3u /* deviate = 6 id + index in cross_axis_percent */
#define NUM_DRAW_UNIT_SLOPE 4u
#define NUM_DRAW_UNIT_SCALE_SLOPE 5u
#define NUM_DRAW_UNIT_G_SENSITIVITY 6u

#endif
