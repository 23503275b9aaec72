/* A sensor node as an FMU for co-simulation, FMI 3.0 (clients/fmu). [loop] */
#ifndef CLI_EXPORT_FMU_H
#define CLI_EXPORT_FMU_H

#include <limits.h>
#include <stdio.h>

#include "otolith/sim.h"
#include "otolith/status.h"

/* Writes the FMU of `node` ("vehicle/name") of the world at `world`. `file` NULL: VEHICLE_NAME.fmu. *made gets the file's name. */
enum oto_status export_fmu(const char *world, const char *node, const char *file, char *made, size_t made_bytes, struct oto_error *error);

/* ---- fmu_world.c ---- */

#define FMU_MOST_FILES 8

/* The files of resources/: names in the FMU and paths on this machine. */
struct fmu_files {
    struct fmu_file {
        char name[64], path[PATH_MAX];
    } files[FMU_MOST_FILES];
    unsigned count;
};

/*
 * Writes a world file with this node alone, on a vehicle whose truth the importer gives, and lists the files that it needs beside
 * itself: the plugin, the part, the file of parameters.
 */
enum oto_status fmu_world_write(const char *world, const char *node, FILE *to, struct fmu_files *files, struct oto_error *error);

/* ---- fmu_description.c ---- */

/* Writes modelDescription.xml for a sensor's channel. */
void fmu_description_write(FILE *to, const struct oto_sim_channel *sensor, const char *identifier, const char *token, double tick_s);

#endif
