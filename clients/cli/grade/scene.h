/* A world of one vehicle, its IMU and its speed, as far as a grade simulates one: from the document to instances. */
#ifndef CLI_GRADE_SCENE_H
#define CLI_GRADE_SCENE_H

#include "grade/grade.h"

struct scene_node {
    struct oto_plugin *plugin;
    struct oto_params params;
    struct oto_prepared prepared;
    struct oto_setup setup;
    struct oto_instance instance;
    void *state;
    unsigned char *payloads;
    struct oto_output outputs[OTO_PLUGIN_MAX_PORTS];
    double rpy_deg[3];
    uint64_t n; /* samples taken */
};

struct scene {
    struct grade_path_law law;
    struct scene_node motion, imu, speed;
    const struct oto_value *calibration; /* node */
    uint64_t calibration_rate_num, calibration_rate_den;
    uint64_t clock_num, clock_den;
    uint64_t tick;      /* taken */
    int64_t tick_end_ns;
};

enum oto_status scene_bind(struct grade_plugins *plugins, const struct oto_document *document, struct scene *scene,
                           struct oto_error *error);
void scene_finish(struct scene *scene);

/* Instant n/rate. */
struct oto_instant scene_instant(uint64_t n, uint64_t rate_num, uint64_t rate_den);
/* Moves the motion on to a tick that ends at or after an instant. */
enum oto_status scene_advance(struct scene *scene, struct oto_instant at, struct oto_error *error);
/* Takes the next sample of a sensor: its first port's payload, NULL where it gives none this time. */
enum oto_status scene_sample(struct scene *scene, struct scene_node *node, struct oto_instant at, const void **payload,
                             struct oto_error *error);

#endif
