/*
 * Conversion of the Unity and SDF IMU between SDF XML (nested, or flat as Unity's) and world files of otolith, by way of a
 * description. import∘export is the identity on descriptions. [loop]
 */
#ifndef OTOLITH_SDF_SDF_H
#define OTOLITH_SDF_SDF_H

#include "otolith/channel.h"
#include "plugin/host.h"
#include "otolith/segment.h"
#include "sdf/xml.h"

enum { OTO_SDF_NAME_BYTES = 32, OTO_SDF_AXES = 6, OTO_SDF_MAX_IMUS = 1024 };

#define OTO_SDF_GRAVITY_WORLD (-1.0)
#define OTO_SDF_COVARIANCE_WHITE (-2.0)

/* A <noise> of SDF, in the unit of its axis. */
struct oto_sdf_noise {
    int64_t type; /* 0 none, 1 gaussian, 2 gaussian_quantized */
    double mean, stddev, bias_mean, bias_stddev, dynamic_bias_stddev, dynamic_bias_correlation_time, precision;
};

/* One sensor. Its elements in XML and the parameters of an sdf_imu node have the same values. */
struct oto_sdf_imu {
    char vehicle[OTO_SDF_NAME_BYTES], name[OTO_SDF_NAME_BYTES];
    char topic[OTO_TOPIC_BYTES];         /* "": the node's own */
    char frame_id[OTO_WORLD_NAME_BYTES]; /* "": vehicle/name */
    double position_m[3], rpy_deg[3];    /* on the vehicle */
    double update_rate_hz;               /* 0: each physics tick */
    int64_t offset_start_time, offset_start_max_samples, discard_redundant_data;
    double gravity_m_s2, scene_units_per_m;
    int64_t orientation_enable, localization, custom_rpy_parent_frame, grav_dir_x_parent_frame;
    double custom_rpy_rad[3], grav_dir_x[3];
    double orientation_covariance[9], angular_velocity_covariance[9], linear_acceleration_covariance[9];
    struct oto_sdf_noise noise[OTO_SDF_AXES]; /* linear_acceleration x y z, angular_velocity x y z */
    uint32_t line, column;                    /* place of the sensor's element; 0: unknown */
};

struct oto_sdf_world {
    char name[OTO_WORLD_NAME_BYTES];
    struct oto_sdf_imu *imus;
    uint32_t count, capacity;
    uint32_t other_nodes; /* number of nodes of a world file that SDF cannot express */
};

extern const struct oto_sdf_imu oto_sdf_imu_default;

struct oto_sdf_imu *oto_sdf_world_add(struct oto_sdf_world *world, const struct oto_sdf_imu *imu);
void oto_sdf_world_finish(struct oto_sdf_world *world);
/* Whether no earlier IMU is of the same vehicle. */
bool oto_sdf_is_first_of_vehicle(const struct oto_sdf_world *world, uint32_t index);

/* Unknown or unused elements are warnings, wrong values are errors; both have their place in the file. */
enum oto_status oto_sdf_from_xml(const struct oto_xml *xml, oto_warn_function warn, void *warn_context,
                                 struct oto_sdf_world *world, struct oto_error *error);
enum oto_status oto_sdf_to_xml(const struct oto_sdf_world *world, FILE *file, struct oto_error *error);

/* Writes a complete world file: a scripted drive, and the sensors with the values that differ from their defaults. */
enum oto_status oto_sdf_to_yaml(const struct oto_sdf_world *world, const char *source, FILE *file,
                                struct oto_error *error);
/*
 * Reads the sdf_imu nodes of a world file. `descriptor` is that of sdf_imu, which checks the parameters; the rest of the file
 * is not checked.
 */
enum oto_status oto_sdf_from_yaml(const char *path, const struct oto_plugin_descriptor *descriptor,
                                  struct oto_sdf_world *world, struct oto_error *error);
/* Sets one parameter of a node; `value` is YAML flow text. OTO_NOT_FOUND: a key without an element in SDF. */
enum oto_status oto_sdf_set_param(struct oto_sdf_imu *imu, const char *key, const char *value, struct oto_error *error);

#endif
