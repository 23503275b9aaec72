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
#define NUM_DRAW_GNSS 4u /* deviates: drives of each mode, position then velocity, east, north, up; white noise; jitter */
#define NUM_DRAW_BAROMETER 5u    /* deviates: pressure, temperature */
#define NUM_DRAW_MISSED_TICKS 6u /* n = number of the miss, word = wheel */

/* Domain TURN_ON, n = 0, key of the node. Deviate = 3 id + axis, of num_triad_id. */
#define NUM_DRAW_TURN_ON_BIAS 0u
#define NUM_DRAW_INSTABILITY_START 1u /* deviate = (3 id + axis) NUM_INSTABILITY_POLES + process */

#define NUM_DRAW_SINE_PHASE 2u        /* word of (3 id + axis) NUM_SINES + sine */
#define NUM_DRAW_COLOUR_START 3u      /* deviate = 2 lane + state of the band limit of white noise */
#define NUM_DRAW_GNSS_START 2u      /* deviate = 6 (mode - 1) + process */
#define NUM_DRAW_BAROMETER_START 3u /* deviates: offset */

/* Domain WORLD: the same for all sensors of a world, with the stream "weather". */
#define NUM_DRAW_WEATHER 0u /* n = number of the minute */

/* Domain FAULT, n = 0, draw = id of the fault. */
#define NUM_DRAW_FAULT_AZIMUTH 0xa21u /* word 0: direction of a displacement */

/* Domain UNIT, n = 0, key of the unit. Deviate = 3 id + axis. */
#define NUM_DRAW_UNIT_BIAS 0u
#define NUM_DRAW_UNIT_SCALE 1u
#define NUM_DRAW_UNIT_CLOCK 2u /* deviate 0: rate error; word 1: output rate within its tolerance */
#define NUM_DRAW_UNIT_CROSS 3u /* deviate = 6 id + index in cross_axis_percent */
#define NUM_DRAW_UNIT_SLOPE 4u
#define NUM_DRAW_UNIT_SCALE_SLOPE 5u
#define NUM_DRAW_UNIT_G_SENSITIVITY 6u
#define NUM_DRAW_UNIT_BAROMETER 7u /* deviates: offset, temperature slope */
#define NUM_DRAW_UNIT_WHEELS 8u    /* deviates: radius of each wheel, track width */

#endif
