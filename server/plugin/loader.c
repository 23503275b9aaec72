/*
 * Loads a staged plugin. The only file that includes dlfcn.h. [loop]
 *
 * The dynamic loader identifies a library by the text of its path. A path may therefore name new bytes only if no
 * library of that path is mapped: each copy is opened as /proc/<pid>/fd/N, and N stays open as long as the library is
 * mapped, for ever if it cannot be unloaded. (With `self` instead of the number, gdb opens its own descriptor N.)
 * Objects that were linked with -ffast-math change the floating-point mode of the loading thread, so the mode is
 * restored and compared.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "described.h"
#include "base/fpu.h"
#include "descriptor_check.h"
#include "isolated.h"
#include "plugin/host.h"
#include "stage.h"

struct oto_plugin {
    uint32_t holders; /* atomic */
    struct oto_stage stage;
    void *handle;
    char *path;
    void *described; /* tables of a plugin that is not mapped, or NULL */
    char library[48]; /* /proc/<pid>/fd/N */
    struct oto_plugin_descriptor descriptor;
    struct oto_plugin_ops ops;
    const void *(*extension)(const char *id); /* NULL: the plugin has no extensions */
    const struct oto_motion_extension *motion;
    const struct oto_control_extension *control;
    struct oto_motion_extension described_motion;
    const struct oto_model_extension *model;
    const struct oto_estimator_extension *estimator;
};

static bool is_mapped(const char *library)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != NULL) {
        (void)dlclose(handle);
    }
    return handle != NULL;
}

static enum oto_status load(struct oto_plugin *plugin, struct oto_error *error)
{
    (void)snprintf(plugin->library, sizeof plugin->library, "/proc/%ld/fd/%d", (long)getpid(), plugin->stage.fd);
    if (is_mapped(plugin->library)) {
        return oto_fail(error, OTO_CONFLICT, "plugin '%.256s' cannot be loaded as %s: an older library of that name is "
                        "still mapped", plugin->path, plugin->library);
    }
    const uint32_t before = srv_fpu_mode();
    plugin->handle = dlopen(plugin->library, RTLD_NOW | RTLD_LOCAL);
    const uint32_t after = srv_fpu_mode();
    srv_fpu_write(before);
    if (plugin->handle == NULL) {
        const char *text = dlerror();
        const char *reason = text != NULL ? strstr(text, ": ") : NULL;
        return oto_fail(error, OTO_PLUGIN, "plugin '%.128s' cannot be loaded: %.300s", plugin->path,
                        reason != NULL ? reason + 2 : text != NULL ? text : "no reason given");
    }
    if (after != before) {
        return oto_fail(error, OTO_PLUGIN, "plugin '%.128s' is refused: loading it changes the floating-point mode from "
                        "0x%x to 0x%x; compile and link it without -ffast-math (rule 'float-mode')", plugin->path, before,
                        after);
    }
    return OTO_OK;
}

static enum oto_status refuse(const struct oto_plugin *plugin, const struct oto_error *reason, struct oto_error *error)
{
    return oto_fail(error, reason->status, "plugin '%.128s' is refused: %s (rule 'descriptor')", plugin->path,
                    reason->text);
}

/* Checks the entry of the plugin and stores its tables. */
static enum oto_status read_entry(struct oto_plugin *plugin, const struct oto_plugin_entry *entry,
                                  struct oto_error *error)
{
    struct oto_error reason = {.status = OTO_PLUGIN};
    if (entry == NULL) {
        (void)oto_fail(&reason, OTO_PLUGIN, "the dynamic loader does not find `" OTO_PLUGIN_SYMBOL "` in it");
        return refuse(plugin, &reason, error);
    }
    if (oto_abi_check(&entry->abi, &reason) != OTO_OK) {
        return refuse(plugin, &reason, error);
    }
    if (entry->size != sizeof *entry || entry->descriptor == NULL || entry->ops == NULL) {
        (void)oto_fail(&reason, OTO_PLUGIN, "its entry has size %u instead of %zu, or no descriptor or operations",
                       entry->size, sizeof *entry);
        return refuse(plugin, &reason, error);
    }
    if (oto_descriptor_check(entry->descriptor, entry->ops, &reason) != OTO_OK) {
        return refuse(plugin, &reason, error);
    }
    plugin->descriptor = *entry->descriptor;
    plugin->ops = *entry->ops;
    plugin->extension = entry->extension;
    return OTO_OK;
}

static struct oto_plugin *begin(const char *path, struct oto_error *error)
{
    struct oto_plugin *made = calloc(1, sizeof *made);
    char *own_path = strdup(path);
    if (made == NULL || own_path == NULL) {
        free(made);
        free(own_path);
        (void)oto_fail(error, OTO_NO_MEMORY, "no memory for plugin '%.256s'", path);
        return NULL;
    }
    made->holders = 1;
    made->path = own_path;
    made->stage.fd = -1;
    return made;
}

/* The symbol in the file and the flag in the descriptor say the same. */
static enum oto_status check_host_only(const struct oto_plugin *plugin, struct oto_error *error)
{
    struct oto_error reason = {.status = OTO_PLUGIN};
    const bool flagged = (plugin->descriptor.flags & OTO_PLUGIN_HOST_ONLY) != 0;
    if (flagged == plugin->stage.host_only) {
        return OTO_OK;
    }
    (void)oto_fail(&reason, OTO_PLUGIN, "it has %s without %s; define it with OTO_PLUGIN_DEFINE_HOST_ONLY and set the flag",
                   flagged ? "the flag OTO_PLUGIN_HOST_ONLY" : "the symbol `" OTO_PLUGIN_HOST_ONLY_SYMBOL "`",
                   flagged ? "the symbol" : "the flag OTO_PLUGIN_HOST_ONLY");
    return refuse(plugin, &reason, error);
}

/* Maps the staged copy. */
static enum oto_status finish(struct oto_plugin *made, enum oto_status status, struct oto_plugin **plugin,
                              struct oto_error *error)
{
    if (status == OTO_OK) {
        status = load(made, error);
    }
    if (status == OTO_OK) {
        status = read_entry(made, dlsym(made->handle, OTO_PLUGIN_SYMBOL), error);
    }
    if (status == OTO_OK) {
        status = check_host_only(made, error);
    }
    if (status != OTO_OK) {
        (void)oto_plugin_close(made);
        return status;
    }
    *plugin = made;
    return OTO_OK;
}

enum oto_status oto_plugin_load(const char *path, const char *keep_directory, struct oto_plugin **plugin,
                                struct oto_error *error)
{
    *plugin = NULL;
    struct oto_plugin *made = begin(path, error);
    if (made == NULL) {
        return OTO_NO_MEMORY;
    }
    enum oto_status status = oto_stage_open(path, &made->stage, error);
    if (status == OTO_OK) {
        status = oto_stage_keep(&made->stage, path, keep_directory, error);
    }
    return finish(made, status, plugin, error);
}

enum oto_status oto_plugin_load_copy(int fd, const char *path, struct oto_plugin **plugin, struct oto_error *error)
{
    *plugin = NULL;
    struct oto_plugin *made = begin(path, error);
    if (made == NULL) {
        return OTO_NO_MEMORY;
    }
    return finish(made, oto_stage_adopt(fd, path, &made->stage, error), plugin, error);
}

enum oto_status oto_plugin_load_stage(struct oto_stage *stage, const char *path, struct oto_plugin **plugin,
                                      struct oto_error *error)
{
    *plugin = NULL;
    struct oto_plugin *made = begin(path, error);
    if (made == NULL) {
        oto_stage_close(stage);
        return OTO_NO_MEMORY;
    }
    made->stage = *stage;
    stage->fd = -1;
    return finish(made, OTO_OK, plugin, error);
}

static enum oto_step_status not_here(const struct oto_instance *instance, const struct oto_step *now)
{
    (void)instance;
    (void)now;
    return OTO_STEP_FATAL;
}

static enum oto_status no_migration(const struct oto_instance *instance, const void *old_state, uint64_t old_bytes,
                                    uint32_t old_version)
{
    (void)instance;
    (void)old_state;
    (void)old_bytes;
    (void)old_version;
    return OTO_UNSUPPORTED;
}

static enum oto_step_status no_truth_here(const struct oto_instance *instance, struct oto_instant at,
                                          struct oto_truth_record *truth)
{
    (void)instance;
    (void)at;
    (void)truth;
    return OTO_STEP_FATAL;
}

static enum oto_status no_adoption(const struct oto_instance *instance, const struct oto_truth_record *truth,
                                   struct oto_instant at)
{
    (void)instance;
    (void)truth;
    (void)at;
    return OTO_UNSUPPORTED;
}

static void no_control(const struct oto_instance *instance, const double *values, uint32_t count)
{
    (void)instance;
    (void)values;
    (void)count;
}

static const struct oto_control_extension control_elsewhere = {.size = sizeof control_elsewhere, .control = no_control};

/* Checks the description of a plugin that is not mapped, and stores its tables. */
static enum oto_status read_description(struct oto_plugin *made, const struct oto_description *description,
                                        struct oto_error *reason)
{
    const struct oto_plugin_ops ops = {.size = sizeof ops, .step = not_here, .migrate = no_migration};
    made->described_motion = (struct oto_motion_extension){
        .size = sizeof made->described_motion,
        .flags = description->motion_flags,
        .evaluate = no_truth_here,
        .adopt = (description->facts & OTO_DESCRIBED_ADOPT) != 0 ? no_adoption : NULL};
    made->motion = (description->facts & OTO_DESCRIBED_MOTION) != 0 ? &made->described_motion : NULL;
    made->control = (description->facts & OTO_DESCRIBED_CONTROL) != 0 ? &control_elsewhere : NULL;
    made->estimator = description->estimators == 1 ? description->estimator : NULL;
    enum oto_status status = oto_descriptor_check(description->descriptor, &ops, reason);
    if (status == OTO_OK) {
        status = oto_motion_check(description->descriptor, made->motion, reason);
    }
    if (status == OTO_OK) {
        status = oto_estimator_check(description->descriptor, made->estimator, reason);
    }
    if (status == OTO_OK && made->estimator != NULL && made->estimator->states != NULL) {
        status = oto_fail(reason, OTO_PLUGIN, "the description of its estimator contains a function pointer"); /* it could not be called in this process */
    }
    if (status == OTO_OK) {
        made->descriptor = *description->descriptor;
        made->ops = ops;
    }
    return status;
}

enum oto_status oto_plugin_make_described(int fd, const char *path, void *packed, size_t bytes,
                                          struct oto_plugin **plugin, struct oto_error *error)
{
    const struct oto_description *description = NULL;
    struct oto_error reason = {.status = OTO_PLUGIN};
    *plugin = NULL;
    struct oto_plugin *made = begin(path, error);
    if (made == NULL) {
        free(packed);
        return OTO_NO_MEMORY;
    }
    made->described = packed;
    enum oto_status status = oto_stage_adopt(fd, path, &made->stage, error);
    if (status == OTO_OK && (oto_description_unpack(packed, bytes, &description, &reason) != OTO_OK ||
                             read_description(made, description, &reason) != OTO_OK)) {
        status = refuse(made, &reason, error);
    }
    if (status == OTO_OK) {
        status = check_host_only(made, error);
    }
    if (status != OTO_OK) {
        (void)oto_plugin_close(made);
        return status;
    }
    oto_stage_hash(&made->stage);
    *plugin = made;
    return OTO_OK;
}

/* Runs the first code of the plugin. */
enum oto_status oto_plugin_begin(struct oto_plugin *plugin, struct oto_error *error)
{
    struct oto_error reason = {.status = OTO_PLUGIN};
    if (plugin->extension != NULL) {
        plugin->motion = plugin->extension(OTO_EXTENSION_MOTION);
        plugin->control = plugin->extension(OTO_EXTENSION_CONTROL);
        plugin->model = plugin->extension(OTO_EXTENSION_MOTION_MODEL);
        plugin->estimator = plugin->extension(OTO_EXTENSION_ESTIMATOR);
    }
    if (oto_motion_check(&plugin->descriptor, plugin->motion, &reason) != OTO_OK ||
        oto_control_check(plugin->control, &reason) != OTO_OK || oto_model_check(plugin->model, &reason) != OTO_OK ||
        oto_estimator_check(&plugin->descriptor, plugin->estimator, &reason) != OTO_OK) {
        return refuse(plugin, &reason, error);
    }
    return OTO_OK;
}

enum oto_status oto_plugin_open(const char *path, const char *keep_directory, struct oto_plugin **plugin,
                                struct oto_error *error)
{
    enum oto_status status = oto_plugin_load(path, keep_directory, plugin, error);
    if (status == OTO_OK) {
        status = oto_plugin_begin(*plugin, error);
    }
    if (status != OTO_OK) {
        (void)oto_plugin_close(*plugin);
        *plugin = NULL;
    }
    return status;
}

enum oto_status oto_plugin_wrap(const struct oto_plugin_entry *entry, struct oto_plugin **plugin,
                                struct oto_error *error)
{
    *plugin = NULL;
    struct oto_plugin *made = calloc(1, sizeof *made);
    char *path = strdup("(built in)");
    if (made == NULL || path == NULL) {
        free(made);
        free(path);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a built-in plugin");
    }
    made->holders = 1;
    made->path = path;
    made->stage.fd = -1;
    enum oto_status status = read_entry(made, entry, error);
    if (status == OTO_OK) {
        status = oto_plugin_begin(made, error);
    }
    if (status != OTO_OK) {
        (void)oto_plugin_close(made);
        return status;
    }
    *plugin = made;
    return OTO_OK;
}

int oto_plugin_fd(const struct oto_plugin *plugin)
{
    return plugin->stage.fd;
}

bool oto_plugin_close(struct oto_plugin *plugin)
{
    bool unloaded = true;
    if (plugin == NULL || __atomic_sub_fetch(&plugin->holders, 1, __ATOMIC_ACQ_REL) > 0) {
        return true;
    }
    if (plugin->handle != NULL) {
        (void)dlclose(plugin->handle);
        unloaded = !is_mapped(plugin->library);
    }
    if (unloaded) {
        oto_stage_close(&plugin->stage);
    }
    free(plugin->path);
    free(plugin->described);
    free(plugin);
    return unloaded;
}

struct oto_plugin *oto_plugin_hold(struct oto_plugin *plugin)
{
    (void)__atomic_add_fetch(&plugin->holders, 1, __ATOMIC_RELAXED);
    return plugin;
}

const struct oto_plugin_descriptor *oto_plugin_descriptor(const struct oto_plugin *plugin)
{
    return &plugin->descriptor;
}

const struct oto_plugin_ops *oto_plugin_ops(const struct oto_plugin *plugin)
{
    return &plugin->ops;
}

const struct oto_control_extension *oto_plugin_control(const struct oto_plugin *plugin)
{
    return plugin->control;
}

const struct oto_motion_extension *oto_plugin_motion(const struct oto_plugin *plugin)
{
    return plugin->motion;
}

const struct oto_model_extension *oto_plugin_model(const struct oto_plugin *plugin)
{
    return plugin->model;
}

const struct oto_estimator_extension *oto_plugin_estimator(const struct oto_plugin *plugin)
{
    return plugin->estimator;
}

const char *oto_plugin_path(const struct oto_plugin *plugin)
{
    return plugin->path;
}

uint64_t oto_plugin_content_hash(const struct oto_plugin *plugin)
{
    return plugin->stage.content_hash;
}
