/* Finds the input of an estimator for each log. */
#include <math.h>
#include <string.h>

#include "environment/gravity.h"
#include "estimate/estimate.h"
#include "otolith/environment.h"

static enum oto_status keep(struct estimate_logs *logs, struct oto_log *log, struct oto_error *error)
{
    if (logs->count == sizeof logs->logs / sizeof *logs->logs) {
        oto_log_close(log);
        return oto_fail(error, OTO_LIMIT, "more than %zu logs", sizeof logs->logs / sizeof *logs->logs);
    }
    logs->logs[logs->count++] = log;
    return OTO_OK;
}

static bool is_input(const struct oto_estimate *estimate, const char *name)
{
    const struct oto_estimator_extension *plugin = oto_plugin_estimator(oto_estimate_plugin(estimate));
    for (uint32_t i = 0; i < plugin->input_count; i++) {
        if (strcmp(plugin->inputs[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void base_name(const char *path, char *name, size_t bytes)
{
    const char *slash = strrchr(path, '/');
    (void)snprintf(name, bytes, "%s", slash != NULL ? slash + 1 : path);
    char *dot = strchr(name, '.');
    if (dot != NULL) {
        *dot = '\0';
    }
}

/* The input of a file without "NAME=": the one that has the file's name, or the only one. */
static enum oto_status guess(const struct oto_estimate *estimate, const char *path, char *name, size_t bytes,
                             struct oto_error *error)
{
    const struct oto_plugin *plugin = oto_estimate_plugin(estimate);
    const struct oto_estimator_extension *extension = oto_plugin_estimator(plugin);
    char list[256] = "";
    size_t used = 0;
    base_name(path, name, bytes);
    if (is_input(estimate, name) || (extension->flags & OTO_ESTIMATOR_OPEN_INPUTS) != 0) {
        return OTO_OK;
    }
    if (extension->input_count == 1) {
        (void)snprintf(name, bytes, "%s", extension->inputs[0].name);
        return OTO_OK;
    }
    for (uint32_t i = 0; i < extension->input_count && used < sizeof list; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", extension->inputs[i].name);
    }
    return oto_fail(error, OTO_INVALID, "'%.200s': say which input of '%s' it is, as --in NAME=%.200s; its inputs: %s", path,
                    oto_plugin_descriptor(plugin)->id, path, list);
}

/* Binds each log of a tagged file to the input of its name, or only the requested log. */
static enum oto_status bind_tagged(struct oto_estimate *estimate, const char *name, FILE *file, const char *path,
                                   struct estimate_logs *logs, struct oto_error *error)
{
    struct tagged_logs tagged;
    enum oto_status status = tagged_read(file, path, &tagged, error);
    const struct {
        const char *name;
        struct oto_log *log;
    } parts[] = {{"lidar", tagged.lidar}, {"radar", tagged.radar}, {"truth", tagged.truth}};
    bool found = false;
    for (size_t i = 0; status == OTO_OK && i < sizeof parts / sizeof *parts; i++) {
        const bool wanted = parts[i].log != NULL && (name == NULL || strcmp(name, parts[i].name) == 0);
        if (wanted) {
            found = true;
            status = oto_estimate_bind(estimate, parts[i].name, parts[i].log, error);
        }
        if (parts[i].log != NULL) {
            const enum oto_status kept = keep(logs, parts[i].log, error);
            status = status == OTO_OK ? kept : status;
        }
    }
    return status != OTO_OK || found ? status
                                     : oto_fail(error, OTO_NOT_FOUND, "%.200s has no '%s'; its logs are lidar, radar and "
                                                "truth", path, name != NULL ? name : "line");
}

/* `name` NULL: the input is found by the file's name. */
static enum oto_status bind_file(struct oto_estimate *estimate, const char *name, FILE *file, const char *path,
                                 struct estimate_logs *logs, struct oto_error *error)
{
    char guessed[64];
    struct oto_log *log = NULL;
    enum oto_status status = OTO_OK;
    if (tagged_is(file)) {
        return bind_tagged(estimate, name, file, path, logs, error);
    }
    if (name == NULL) {
        status = guess(estimate, path, guessed, sizeof guessed, error);
        name = guessed;
    }
    if (status == OTO_OK) {
        status = oto_log_read_of(file, path, &log, error);
    }
    if (status == OTO_OK) {
        status = keep(logs, log, error);
    }
    return status == OTO_OK ? oto_estimate_bind(estimate, name, log, error) : status;
}

enum oto_status estimate_bind(struct oto_estimate *estimate, const char *argument, struct estimate_logs *logs,
                              struct oto_error *error)
{
    char name[64] = "";
    FILE *file = NULL;
    const char *equals = strchr(argument, '=');
    const char *path = equals != NULL ? equals + 1 : argument;
    if (equals != NULL) {
        (void)snprintf(name, sizeof name, "%.*s", (int)(equals - argument), argument);
    }
    enum oto_status status = oto_table_open(path, &file, error);
    if (status == OTO_OK) {
        status = bind_file(estimate, equals != NULL ? name : NULL, file, path, logs, error);
        (void)fclose(file);
    }
    return status;
}

void estimate_logs_finish(struct estimate_logs *logs)
{
    for (uint32_t i = 0; i < logs->count; i++) {
        oto_log_close(logs->logs[i]);
    }
    logs->count = 0;
}

enum oto_status estimate_mount(struct oto_estimate *estimate, const char *argument, struct oto_error *error)
{
    char name[64];
    double n[6];
    const double rad = OTO_PI / 180;
    const char *equals = strchr(argument, '=');
    if (equals == NULL || cli_numbers(equals + 1, n, 6, 6) == 0) {
        return oto_fail(error, OTO_INVALID, "--mount takes NAME=X,Y,Z,ROLL,PITCH,YAW in m and degrees, not '%.128s'",
                        argument);
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - argument), argument);
    return oto_estimate_mount(estimate, name, oto_vec3_make(n[0], n[1], n[2]),
                              oto_quat_from_rpy(n[3] * rad, n[4] * rad, n[5] * rad), error);
}

enum oto_status estimate_origin(struct oto_setup *setup, const char *argument, struct oto_error *error)
{
    double n[3] = {0};
    if (cli_numbers(argument, n, 2, 3) == 0 || fabs(n[0]) > 90.0 || fabs(n[1]) > 360.0 || fabs(n[2]) > 1e5) {
        return oto_fail(error, OTO_INVALID, "--origin takes LATITUDE,LONGITUDE[,ALTITUDE] in degrees and m, not '%.128s'",
                        argument);
    }
    setup->origin_latitude_rad = n[0] * OTO_PI / 180;
    setup->origin_longitude_rad = n[1] * OTO_PI / 180;
    setup->origin_altitude_m = n[2];
    setup->gravity_enu_m_s2 =
        srv_gravity_enu_at((oto_geodetic){setup->origin_latitude_rad, setup->origin_longitude_rad, n[2]});
    return OTO_OK;
}
