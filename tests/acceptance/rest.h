/*
 * The built plugin mems_imu at rest, in process, without a server: loaded, parameters by key, one sample after the
 * other. Its six axes come out as numbers: x y z of the accelerometer in m/s², then of the gyroscope in rad/s.
 */
#ifndef REST_H
#define REST_H

#include "oto_test.h"
#include "otolith/plugin.h"
#include "otolith/records.h"
#include "sim/instance.h"

enum { REST_AXES = 6 };

/* Built with a sanitizer, a sample takes twenty times as long: runs are then shorter, which is said. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define REST_SANITIZED 1
#endif
#endif
#ifndef REST_SANITIZED
#define REST_SANITIZED 0
#endif

struct rest {
    struct srv_instance now;
    struct oto_setup setup;
    struct oto_sensor_input input;
    uint64_t n; /* samples taken */
};

/* Opens; then parameters may be set; start makes the instance. */
void rest_open(struct rest *rest, double rate_hz, uint64_t seed);
void rest_set_text(struct rest *rest, const char *key, const char *yaml);
void rest_set(struct rest *rest, const char *key, double value);
void rest_start(struct rest *rest);
/* The next sample less the truth. */
void rest_sample(struct rest *rest, double axes[REST_AXES]);
void rest_close(struct rest *rest);

#endif
