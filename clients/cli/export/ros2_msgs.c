#include "ros2_msgs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/output_file.h"
#include "otolith/records.h"
#include "otolith/version.h"
#include "plugin/host.h"
#include "wire/ros.h"
#include "wire/ros_service.h"

#define PACKAGE "otolith_msgs/"
enum { NAME_BYTES = 96, MOST_MESSAGES = 1024 };

struct message {
    char name[NAME_BYTES]; /* "Truth" */
    char *text;
};

struct package {
    struct message messages[MOST_MESSAGES];
    uint32_t count;
    enum oto_status status;
    struct oto_error *error;
};

static const struct oto_record_type *const standards[] = {&oto_truth_type,    &oto_odometry_type, &oto_navsat_type,      &oto_pressure_type,
                                                          &oto_wheels_type,   &oto_estimate_type, &oto_fault_label_type, &oto_event_type,
                                                          &oto_imu_type,      &oto_mag_type};

/* ---- messages ---- */

static void fail(struct package *package, enum oto_status status)
{
    package->status = status;
}

/* Adds the text of a message. If the message exists already, its text must be the same. */
static void add_message(struct package *package, const char *name, size_t name_bytes, const char *from, const char *end)
{
    const size_t bytes = (size_t)(end - from);
    for (uint32_t i = 0; i < package->count; i++) {
        const struct message *known = &package->messages[i];
        if (strlen(known->name) == name_bytes && strncmp(known->name, name, name_bytes) == 0) {
            if (strlen(known->text) != bytes || memcmp(known->text, from, bytes) != 0) {
                fail(package, oto_fail(package->error, OTO_CONFLICT, "two plugins have different records that are message '%s'", known->name));
            }
            return;
        }
    }
    char *text = package->count < MOST_MESSAGES && name_bytes < NAME_BYTES ? strndup(from, bytes) : NULL;
    if (text == NULL) {
        fail(package, oto_fail(package->error, OTO_NO_MEMORY, "no memory for message '%.*s'", (int)name_bytes, name));
        return;
    }
    struct message *message = &package->messages[package->count++];
    (void)snprintf(message->name, sizeof message->name, "%.*s", (int)name_bytes, name);
    message->text = text;
}

/* A definition has the message, then blocks: a line of "=", "MSG: package/Name", and the lines of a message that it uses. */
static void add_definition(struct package *package, const char *name, const char *definition)
{
    static const char separator[] = "\n====", mark[] = "MSG: ";
    const char *from = definition, *end = strstr(definition, separator);
    size_t name_bytes = strlen(name);
    bool is_ours = strncmp(name, PACKAGE, strlen(PACKAGE)) == 0;
    name = strrchr(name, '/') + 1;
    name_bytes = strlen(name);
    while (from != NULL && package->status == OTO_OK) {
        if (is_ours) {
            add_message(package, name, name_bytes, from, end != NULL ? end + 1 : from + strlen(from));
        }
        const char *head = end != NULL ? strstr(end, mark) : NULL;
        from = head != NULL ? strchr(head, '\n') + 1 : NULL;
        if (from != NULL) {
            is_ours = strncmp(head + strlen(mark), PACKAGE, strlen(PACKAGE)) == 0;
            name = head + strlen(mark) + strlen(PACKAGE);
            name_bytes = (size_t)(from - 1 - name);
            end = strstr(from, separator);
        }
    }
}

static void add_record(struct package *package, const struct oto_record_type *type)
{
    struct oto_ros_type *ros = NULL;
    const enum oto_status status = oto_ros_type_make(type, &ros, package->error);
    if (status == OTO_OK) {
        add_definition(package, oto_ros_type_name(ros), oto_ros_type_definition(ros));
    } else {
        fail(package, status);
    }
    oto_ros_type_free(ros);
}

static void add_plugin(void *context, const char *name)
{
    struct package *package = context;
    struct oto_plugin *plugin = NULL;
    char path[PATH_MAX];
    if (package->status != OTO_OK) {
        return;
    }
    enum oto_status status = oto_plugin_find(name, path, sizeof path, package->error);
    status = status == OTO_OK ? oto_plugin_open(path, NULL, &plugin, package->error) : status;
    if (status != OTO_OK) {
        fail(package, status);
        return;
    }
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(plugin);
    for (uint32_t i = 0; i < descriptor->output_count && package->status == OTO_OK; i++) {
        add_record(package, descriptor->outputs[i].type);
    }
    (void)oto_plugin_close(plugin);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct message *)a)->name, ((const struct message *)b)->name);
}

/* ---- files ---- */

static enum oto_status make_folder(const char *path, struct oto_error *error)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST ? OTO_OK : oto_fail(error, OTO_IO, "%.200s cannot be made: %s", path, strerror(errno));
}

static enum oto_status create(const char *directory, const char *name, char path[PATH_MAX], struct oto_output_file *to, struct oto_error *error)
{
    if (snprintf(path, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX) {
        return oto_fail(error, OTO_LIMIT, "the path %.100s/%.100s is too long", directory, name);
    }
    return oto_output_file_open(to, path, 0, error);
}

static enum oto_status write_text(const char *directory, const char *name, const char *text, struct oto_error *error)
{
    char path[PATH_MAX];
    struct oto_output_file to;
    const enum oto_status status = create(directory, name, path, &to, error);
    if (status != OTO_OK) {
        return status;
    }
    (void)fputs(text, to.file);
    return oto_output_file_close(&to, OTO_OK, error);
}

static const char manifest[] =
    "<?xml version=\"1.0\"?>\n"
    "<package format=\"3\">\n"
    "  <name>otolith_msgs</name>\n"
    "  <version>" OTO_VERSION_STRING "</version>\n"
    "  <description>Records of otolith, as otolith-ros2 publishes them</description>\n"
    "  <maintainer email=\"maintainers@users.noreply.a-seed-1a9eb2fb.example\">otolith maintainers</maintainer>\n"
    "  <license>Apache-2.0</license>\n"
    "  <buildtool_depend>ament_cmake</buildtool_depend>\n"
    "  <buildtool_depend>rosidl_default_generators</buildtool_depend>\n"
    "  <depend>geometry_msgs</depend>\n"
    "  <depend>std_msgs</depend>\n"
    "  <exec_depend>rosidl_default_runtime</exec_depend>\n"
    "  <member_of_group>rosidl_interface_packages</member_of_group>\n"
    "  <export>\n    <build_type>ament_cmake</build_type>\n  </export>\n"
    "</package>\n";

static enum oto_status write_cmake(const char *directory, const struct package *package, struct oto_error *error)
{
    char path[PATH_MAX];
    struct oto_output_file to;
    const enum oto_status status = create(directory, "CMakeLists.txt", path, &to, error);
    if (status != OTO_OK) {
        return status;
    }
    (void)fputs("cmake_minimum_required(VERSION 3.8)\nproject(otolith_msgs)\n\nfind_package(ament_cmake REQUIRED)\n"
                "find_package(rosidl_default_generators REQUIRED)\nfind_package(geometry_msgs REQUIRED)\nfind_package(std_msgs REQUIRED)\n\n"
                "rosidl_generate_interfaces(${PROJECT_NAME}\n", to.file);
    for (uint32_t i = 0; i < package->count; i++) {
        (void)fprintf(to.file, "  msg/%s.msg\n", package->messages[i].name);
    }
    (void)fputs("  srv/Set.srv\n  srv/Step.srv\n  DEPENDENCIES geometry_msgs std_msgs)\n\n"
                "ament_export_dependencies(rosidl_default_runtime)\nament_package()\n", to.file);
    return oto_output_file_close(&to, OTO_OK, error);
}

static enum oto_status write_messages(const char *directory, const struct package *package, struct oto_error *error)
{
    char folder[PATH_MAX], name[NAME_BYTES + 8];
    (void)snprintf(folder, sizeof folder, "%s/msg", directory);
    enum oto_status status = make_folder(folder, error);
    for (uint32_t i = 0; i < package->count && status == OTO_OK; i++) {
        (void)snprintf(name, sizeof name, "%s.msg", package->messages[i].name);
        status = write_text(folder, name, package->messages[i].text, error);
    }
    return status;
}

static enum oto_status write_services(const char *directory, struct oto_error *error)
{
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s/srv", directory);
    enum oto_status status = make_folder(folder, error);
    status = status == OTO_OK ? write_text(folder, "Step.srv", OTO_ROS_STEP_REQUEST "---\n" OTO_ROS_CONTROL_REPLY, error) : status;
    return status == OTO_OK ? write_text(folder, "Set.srv", OTO_ROS_SET_REQUEST "---\n" OTO_ROS_CONTROL_REPLY, error) : status;
}

static enum oto_status write_package(const char *directory, const struct package *package, struct oto_error *error)
{
    enum oto_status status = make_folder(directory, error);
    status = status == OTO_OK ? write_messages(directory, package, error) : status;
    status = status == OTO_OK ? write_services(directory, error) : status;
    status = status == OTO_OK ? write_text(directory, "package.xml", manifest, error) : status;
    return status == OTO_OK ? write_cmake(directory, package, error) : status;
}

enum oto_status export_ros2_msgs(const char *directory, uint32_t *count, struct oto_error *error)
{
    struct package *package = calloc(1, sizeof *package);
    if (package == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the messages");
    }
    package->error = error;
    for (size_t i = 0; i < sizeof standards / sizeof *standards && package->status == OTO_OK; i++) {
        add_record(package, standards[i]);
    }
    const enum oto_status found = package->status == OTO_OK ? oto_plugin_each(add_plugin, package, error) : package->status;
    enum oto_status status = package->status != OTO_OK ? package->status : found;
    qsort(package->messages, package->count, sizeof *package->messages, by_name);
    status = status == OTO_OK ? write_package(directory, package, error) : status;
    *count = package->count;
    for (uint32_t i = 0; i < package->count; i++) {
        free(package->messages[i].text);
    }
    free(package);
    return status;
}
