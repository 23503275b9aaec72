/* An FMU's zip file: its description, and its files unpacked into a directory. [loop] */
#ifndef MOTION_FMU_ARCHIVE_H
#define MOTION_FMU_ARCHIVE_H

#include <stddef.h>

#include "otolith/status.h"

struct zip;

enum oto_status fmu_archive_open(const char *path, struct zip **archive, struct oto_error *error);
/* Reads modelDescription.xml; *text is freed by free(). */
enum oto_status fmu_archive_description(struct zip *archive, const char *path, char **text, size_t *bytes, struct oto_error *error);
/*
 * Unpacks the binaries of `platform` and the resources into `directory`, which exists, with `binary` among them. Entries that would
 * be written elsewhere, or that are too many or too large, are refused.
 */
enum oto_status fmu_archive_unpack(struct zip *archive, const char *path, const char *platform, const char *binary,
                                   const char *directory, struct oto_error *error);
void fmu_archive_close(struct zip *archive); /* NULL is allowed */

#endif
