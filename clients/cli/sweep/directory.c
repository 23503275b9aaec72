/* The directory of a sweep: DIR/sweep.hash has the hash of everything on which its rows depend. */
#include "sweep/sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file_kind.h"
#include "output.h"

static void path_of(const char *directory, char *path, size_t bytes)
{
    (void)snprintf(path, bytes, "%.3000s/sweep.hash", directory);
}

enum oto_status sweep_directory_check(const char *directory, uint64_t hash, struct oto_error *error)
{
    char path[4096], line[64] = "", wanted[64];
    path_of(directory, path, sizeof path);
    (void)snprintf(wanted, sizeof wanted, "%016" PRIx64 "\n", hash);
    const char *why = NULL;
    FILE *from = srv_regular_fopen(path, &why);
    if (from == NULL) {
        return oto_fail(error, errno == ENOENT ? OTO_NOT_FOUND : OTO_IO, "cannot read '%.256s': %s", path, why);
    }
    const bool is_read = fgets(line, sizeof line, from) != NULL;
    (void)fclose(from);
    return is_read && strcmp(line, wanted) == 0
               ? OTO_OK
               : oto_fail(error, OTO_EXISTS, "'%.256s' holds rows of another sweep: its values, seeds, metrics, world or plugins differ; give "
                          "another --out, or remove it", directory);
}

enum oto_status sweep_directory_open(const char *directory, uint64_t hash, struct oto_error *error)
{
    char path[4096];
    struct cli_output output = {0};
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        return oto_fail(error, OTO_IO, "cannot make the directory '%.256s': %s", directory, strerror(errno));
    }
    enum oto_status status = sweep_directory_check(directory, hash, error);
    if (status != OTO_NOT_FOUND) {
        return status;
    }
    path_of(directory, path, sizeof path);
    status = cli_output_open(&output, path, error);
    if (status == OTO_OK) {
        (void)fprintf(output.file, "%016" PRIx64 "\n", hash);
    }
    return cli_output_close(&output, status, error);
}
