/* A segment of two channels of IMU records, 128 slots each. */
#ifndef SEGMENT_FIXTURE_H
#define SEGMENT_FIXTURE_H

#include "oto_test.h"

#include "otolith/records.h"
#include "daemon/segment/segment.h"

static inline void segment_specs(struct srv_channel_spec specs[2])
{
    memset(specs, 0, 2 * sizeof *specs);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(specs[i].topic, sizeof specs[i].topic, "demo/car/imu%d", i);
        (void)snprintf(specs[i].node, sizeof specs[i].node, "demo/car/imu%d", i);
        specs[i].plugin = "mems_imu";
        specs[i].plugin_version = "1.0.0";
        specs[i].frame_id = "car/imu";
        specs[i].type = &oto_imu_type;
        specs[i].rate_num = 200;
        specs[i].rate_den = 1;
        specs[i].capacity = 100;
        specs[i].node_index = (uint32_t)i;
    }
}

static inline struct srv_segment segment_make(void)
{
    struct srv_channel_spec specs[2];
    segment_specs(specs);
    const struct srv_segment_plan plan = {.world = "demo", .seed = 42, .rate_num = 1000, .rate_den = 1,
                                          .channels = specs, .channel_count = 2};
    struct srv_segment segment;
    struct oto_error error = {0};
    assert_ok(srv_segment_create(&plan, &(struct srv_segment_identity){.epoch = 7}, &segment, &error), error);
    return segment;
}

#endif
