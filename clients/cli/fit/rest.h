/*
 * A sensor plugin at rest, in process, without a server: one unit of a part, sample by sample. The axes are those of
 * accelerometer (m/s²), gyroscope (rad/s) and magnetometer (µT), minus the truth. One thread.
 */
#ifndef CLI_FIT_REST_H
#define CLI_FIT_REST_H

#include "parts/library.h"
#include "sim/instance.h"

enum { REST_AXES = 3 * OTO_PART_TRIADS };

struct rest_setup {
    const char *plugin;
    const struct oto_part *part;
    const struct oto_part_mode *mode;
    double rate_hz;
    uint64_t seed;
    bool is_exact; /* without resolution and range, so that the samples are those before the digitiser */
};

struct rest {
    struct srv_instance instance;
    struct oto_setup setup;
    struct oto_sensor_input input;
    uint64_t n;
    int imu_port, mag_port; /* -1: none */
};

/* After a failure `rest` is closed. */
enum oto_status rest_open(struct rest *rest, const struct rest_setup *setup, struct oto_error *error);
/* Computes the next sample. False: the plugin discarded the sample or failed. Axes that the sensor does not have are 0. */
bool rest_sample(struct rest *rest, double axes[REST_AXES]);
void rest_close(struct rest *rest); /* zeroed is allowed */

#endif
