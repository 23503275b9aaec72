/* otolith/sim.h: another seed; checkpoints. */
#include <stdlib.h>

#include "sim/checkpoint.h"
#include "sim/checkpoint_image.h"
#include "base/fpu.h"
#include "sim/oto_sim.h"

/* ---- checkpoints ---- */

static struct srv_running_node node_of(const void *context, uint32_t index)
{
    const struct srv_sim *sim = context;
    const struct srv_node *node = &sim->nodes[index];
    return (struct srv_running_node){.plugin = node->live.plugin,
                                     .params = &node->live.params,
                                     .unit_key = node->live.abi.setup->unit_key,
                                     .name = node->setup->node};
}

static enum oto_status save_state(struct srv_sim *sim, struct srv_checkpoint *checkpoint, struct oto_error *error)
{
    const char *reason = NULL;
    const enum oto_status refusal = srv_checkpoint_refusal(sim, &reason);
    if (refusal != OTO_OK) {
        return oto_fail(error, refusal, "the world cannot be saved now: %s", reason);
    }
    checkpoint->tick = sim->tick;
    checkpoint->chain = sim->chain;
    checkpoint->state_bytes = srv_checkpoint_save(sim, NULL, 0);
    checkpoint->state = calloc(1, checkpoint->state_bytes + 8);
    if (checkpoint->state == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a state of %llu bytes",
                        (unsigned long long)checkpoint->state_bytes);
    }
    (void)srv_checkpoint_save(sim, checkpoint->state, checkpoint->state_bytes);
    return OTO_OK;
}

enum oto_status oto_sim_save(struct oto_sim *sim, void **bytes, size_t *count, struct oto_error *error)
{
    struct srv_checkpoint checkpoint = {0};
    *bytes = NULL;
    *count = 0;
    enum oto_status status = save_state(sim->sim, &checkpoint, error);
    if (status == OTO_OK) {
        status = srv_checkpoint_describe(&sim->config, node_of, sim->sim, &checkpoint, error);
    }
    if (status == OTO_OK) {
        *count = srv_checkpoint_bytes(&checkpoint);
        *bytes = malloc(*count);
        status = *bytes != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for a checkpoint of %zu bytes", *count);
    }
    if (status == OTO_OK) {
        srv_checkpoint_pack(&checkpoint, *bytes);
    } else {
        *count = 0;
    }
    srv_checkpoint_finish(&checkpoint);
    return status;
}

/*
 * Exchanges `replacements` with those of the configuration: the plugins and parameters that replace the file's after a
 * restore.
 */
static void exchange_replacements(struct srv_world_config *config, struct srv_replacement *replacements)
{
    for (uint32_t i = 0; i < config->node_count; i++) {
        const struct srv_replacement kept = config->nodes[i].replacement;
        config->nodes[i].replacement = replacements[i];
        replacements[i] = kept;
    }
}

static void drop_replacements(struct srv_replacement *replacements, uint32_t count)
{
    for (uint32_t i = 0; replacements != NULL && i < count; i++) {
        (void)oto_plugin_close(replacements[i].plugin);
        oto_params_free(&replacements[i].params);
    }
    free(replacements);
}

/* Makes a second simulator from the configuration and the checkpoint; the present simulator does not change. */
static enum oto_status make_saved(struct oto_sim *sim, const struct srv_checkpoint *checkpoint, struct srv_sim **made,
                                  struct oto_error *error)
{
    enum oto_status status = srv_checkpoint_configure(checkpoint, &sim->config, error);
    if (status == OTO_OK) {
        uint64_t seed = sim->config.seed;
        status = srv_checkpoint_seed(checkpoint, &seed, error);
        srv_world_config_seed(&sim->config, seed);
    }
    if (status == OTO_OK) {
        status = oto_sim_make_(sim, NULL, NULL, made, error);
    }
    if (status == OTO_OK) {
        status = srv_checkpoint_load(*made, checkpoint->state, checkpoint->state_bytes, error);
    }
    return status;
}

enum oto_status oto_sim_restore(struct oto_sim *sim, const void *bytes, size_t count, struct oto_error *error)
{
    struct oto_error unused = {0};
    error = error != NULL ? error : &unused;
    const uint32_t mode = srv_fpu_read();
    struct srv_checkpoint checkpoint;
    struct srv_sim *made = NULL;
    const uint64_t seed = sim->config.seed;
    enum oto_status status = srv_checkpoint_unpack("checkpoint", bytes, count, &checkpoint, error);
    if (status != OTO_OK) {
        return status;
    }
    struct srv_replacement *replacements = calloc(sim->config.node_count, sizeof *replacements);
    if (replacements == NULL) {
        srv_checkpoint_finish(&checkpoint);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u nodes", sim->config.node_count);
    }
    srv_fpu_pin();
    exchange_replacements(&sim->config, replacements);
    status = make_saved(sim, &checkpoint, &made, error);
    if (status == OTO_OK) {
        oto_sim_drop_(sim->sim);
        oto_sim_take_(sim, made);
    } else {
        oto_sim_drop_(made);
        exchange_replacements(&sim->config, replacements);
        srv_world_config_seed(&sim->config, seed);
    }
    drop_replacements(replacements, sim->config.node_count);
    srv_checkpoint_finish(&checkpoint);
    srv_fpu_write(mode);
    return status;
}

/* ---- another seed ---- */

/* Whether no node was swapped or changed since the world was opened. */
static bool is_as_made(const struct oto_sim *sim)
{
    bool same = sim->sim->trials == NULL;
    for (uint32_t i = 0; same && i < sim->sim->node_count; i++) {
        same = sim->sim->nodes[i].revision == 0 && sim->config.nodes[i].replacement.plugin == NULL;
    }
    return same;
}

static enum oto_status remake(struct oto_sim *sim, struct oto_error *error)
{
    struct srv_replacement *replacements = calloc(sim->config.node_count, sizeof *replacements);
    struct srv_sim *made = NULL;
    if (replacements == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u nodes", sim->config.node_count);
    }
    exchange_replacements(&sim->config, replacements);
    const enum oto_status status = oto_sim_make_(sim, NULL, NULL, &made, error);
    if (status == OTO_OK) {
        oto_sim_drop_(sim->sim);
        oto_sim_take_(sim, made);
    } else {
        exchange_replacements(&sim->config, replacements);
    }
    drop_replacements(replacements, sim->config.node_count);
    return status;
}

enum oto_status oto_sim_reset(struct oto_sim *sim, uint64_t seed, struct oto_error *error)
{
    const uint32_t mode = srv_fpu_read();
    const uint64_t previous = sim->config.seed;
    srv_fpu_pin();
    srv_world_config_seed(&sim->config, seed);
    enum oto_status status = is_as_made(sim) ? srv_sim_rewind(sim->sim, error) : remake(sim, error);
    if (status == OTO_OK) {
        oto_sim_take_(sim, sim->sim);
    } else {
        struct oto_error second = {0};
        srv_world_config_seed(&sim->config, previous);
        (void)remake(sim, &second);
    }
    srv_fpu_write(mode);
    return status;
}
