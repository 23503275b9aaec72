/*
 * The live view's rows of a mount calibration: the mount that the node has found, and the mount in the world file.
 */
#ifndef CLI_VIEW_MOUNT_H
#define CLI_VIEW_MOUNT_H

#include "cli.h"

/* Gets roll, pitch and yaw of the mount of the IMU that `node` reads, from the server's reply to `info`. False: unknown. */
bool view_mount_truth(struct oto_client *client, const char *node, double rpy_deg[3]);
/* The texts for an oto_mount_calibration_record: state "accepted 100 %", found mount "roll 3.94 ± 0.60 …". */
void view_mount_state(const void *record, char *text, size_t bytes);
void view_mount_found(const void *record, char *text, size_t bytes);
void view_mount_given(const double rpy_deg[3], char *text, size_t bytes);

#endif
