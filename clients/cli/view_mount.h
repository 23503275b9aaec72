/*
 * The live view's rows of a mount calibration: what it has found, and beside it the mount that the world's file gives the sensor.
 */
#ifndef CLI_VIEW_MOUNT_H
#define CLI_VIEW_MOUNT_H

#include "cli.h"

/* The mount of the IMU that the node reads, roll, pitch, yaw in degrees, from the facts of the server. False: unknown.
 */
bool view_mount_truth(struct oto_client *client, const char *node, double rpy_deg[3]);
/* Of an oto_mount_calibration_record: "accepted 100 %", and "roll 3.94 ± 0.60 …". */
void view_mount_state(const void *record, char *text, size_t bytes);
void view_mount_found(const void *record, char *text, size_t bytes);
void view_mount_given(const double rpy_deg[3], char *text, size_t bytes);

#endif
