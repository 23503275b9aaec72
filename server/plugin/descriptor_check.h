/*
 * Checks the descriptor of a loaded plugin: every count, size, offset, name and default. Errors name the offending
 * entry. Pure, [any].
 */
#ifndef PLUGIN_DESCRIPTOR_CHECK_H
#define PLUGIN_DESCRIPTOR_CHECK_H

#include "otolith/controls.h"
#include "otolith/estimator.h"
#include "otolith/motion_model.h"
#include "otolith/plugin.h"

enum {
    PLUGIN_ID_BYTES = 32,
    PLUGIN_VERSION_BYTES = 16,
    PLUGIN_KEY_BYTES = 96,
    PLUGIN_MAX_PARAMS = 1024,
    PLUGIN_MAX_PARAMS_BYTES = 16 << 20,
    PLUGIN_MAX_STATE_BYTES = 16 << 20
};

/* Checks that this host supports the ABI of the file's entry. Follows no pointer. */
enum oto_status oto_abi_check(const struct oto_abi_block *abi, struct oto_error *error);

enum oto_status oto_descriptor_check(const struct oto_plugin_descriptor *descriptor, const struct oto_plugin_ops *ops,
                                     struct oto_error *error);
/* Checks the extension for motions; NULL is accepted for other kinds of plugins. */
enum oto_status oto_motion_check(const struct oto_plugin_descriptor *descriptor,
                                 const struct oto_motion_extension *motion, struct oto_error *error);
/* Checks the extension for controls; NULL is accepted: the motion takes no controls. */
enum oto_status oto_control_check(const struct oto_control_extension *control, struct oto_error *error);

/* Checks the extension for estimators; NULL is accepted for other kinds of plugins. */
enum oto_status oto_estimator_check(const struct oto_plugin_descriptor *descriptor,
                                    const struct oto_estimator_extension *estimator, struct oto_error *error);

/* Checks the extension for motion models; NULL is accepted. */
enum oto_status oto_model_check(const struct oto_model_extension *model, struct oto_error *error);

/* Parts of the checks above, for tests and other checks. `where` begins the message, for example "output 'taps'". */
enum oto_status oto_record_type_check(const struct oto_record_type *type, const char *where, struct oto_error *error);
enum oto_status oto_param_table_check(const struct oto_param *params, uint32_t count, uint64_t block_bytes,
                                      struct oto_error *error);

/* The number of bytes of a parameter in the parameter block. */
uint64_t oto_param_bytes(const struct oto_param *param);

#endif
