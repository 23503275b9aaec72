/*
 * Controls of a vehicle: numbers that a participant gives and that the vehicle's motion node obeys, as an autopilot's outputs do.
 * They are applied at a tick boundary, hold until others are given, and are part of the log of a run. The values of a multirotor
 * are 0 to 1, one for each rotor. Pure data: any thread.
 */
#ifndef OTOLITH_CONTROLS_H
#define OTOLITH_CONTROLS_H

#include "otolith/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The extension of motion nodes that take controls. */
#define OTO_EXTENSION_CONTROL "otolith.control/1"

struct oto_control_extension {
    uint32_t size;
    uint32_t reserved;
    /*
     * [tick] At a tick boundary: the values, all finite, hold from the next step on. They are kept in the instance's state; values
     * beyond what the motion accepts are clamped.
     */
    void (*control)(const struct oto_instance *instance, const double *values, uint32_t count);
};

#ifdef __cplusplus
}
#endif

#endif
