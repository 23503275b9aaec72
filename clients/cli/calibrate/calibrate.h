/* What the parts of `otolith calibrate mount` share: the result, and the world file that it is written to. */
#ifndef CLI_CALIBRATE_H
#define CLI_CALIBRATE_H

#include "cli.h"
#include "mount_calibration/calibration.h"

/* ---- result.c ---- */

/* The name of a state as --json prints it, for example "NOT_ACCEPTED". */
const char *calibrate_state_name(uint32_t state);
void calibrate_print_json(FILE *to, const struct oto_mount_calibration_record *result);
/* `seen`: the bits of the monitors that were raised at any time. */
void calibrate_print(FILE *to, const struct oto_mount_calibration_record *result, uint32_t seen);
/* Reports defects of the inputs on stderr, if any. */
void calibrate_print_monitors(uint32_t seen, uint32_t reason);
void calibrate_trace_header(FILE *to);
void calibrate_trace_row(FILE *to, double t_s, const struct oto_mount_calibration_record *result);

/* ---- rig.c ---- */

/* A world file that has been read, with the node whose mount is calibrated; or a file that does not exist yet. */
struct calibrate_rig {
    const char *path;
    bool exists;
    bool has_mount;       /* the node has a mount */
    double rpy_deg[3];    /* of the mount */
    char node[160];       /* "car/imu" */
    struct oto_document *document;
    const struct oto_value *value; /* of the node */
};
/*
 * `node` is "VEHICLE/NODE", or NULL: the IMU that the world's mount_calibration reads, or the world's only node that
 * has a plugin with an IMU record's name in it (mems_imu, sdf_imu).
 */
enum oto_status calibrate_rig_open(const char *path, const char *node, struct calibrate_rig *rig, struct oto_error *error);
/* Writes the mount and leaves all other bytes of the world file unchanged. The file is replaced as a whole. `to` NULL: in place. */
enum oto_status calibrate_rig_write(const struct calibrate_rig *rig, const char *to,
                                    const struct oto_mount_calibration_record *result, struct oto_error *error);
void calibrate_rig_close(struct calibrate_rig *rig);

#endif
