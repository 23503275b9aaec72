#include "daemon/participants/mailbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h> /* munmap */
#include <unistd.h>

#include "base/sealed_memory.h"

/* A joining process may ask for less than the world file allows (timeout, policy, ticks of one answer), never for more. */
static enum oto_status check_join(const struct srv_participant_config *config, const struct srv_join *join,
                                  struct oto_error *error)
{
    if (join->timeout_ns > config->timeout_ns) {
        return oto_fail(error, OTO_RANGE, "participant '%s' may ask for a timeout of at most %g ms (timeout_ms), not %g",
                        config->name, (double)config->timeout_ns * 1e-6, (double)join->timeout_ns * 1e-6);
    }
    if (join->on_timeout != 0 && join->on_timeout != (uint32_t)config->on_timeout &&
        join->on_timeout != OTO_TIMEOUT_HOLD && join->on_timeout != OTO_TIMEOUT_DROP) {
        return oto_fail(error, OTO_DENIED, "participant '%s' has the policy %s; it may ask for that, hold or drop, not %s",
                        config->name, oto_timeout_policy_text((uint32_t)config->on_timeout),
                        oto_timeout_policy_text(join->on_timeout));
    }
    if (join->step_n > config->max_step_n) {
        return oto_fail(error, OTO_RANGE, "participant '%s' may answer for at most %u ticks at once (max_step_n), not %u",
                        config->name, config->max_step_n, join->step_n);
    }
    return OTO_OK;
}

static enum oto_status map_memory(struct srv_mailbox *mailbox, struct oto_error *error)
{
    /* The size is sealed, because a client could otherwise truncate the memory and so end the server by SIGBUS. */
    mailbox->header = srv_memory_share("otolith-mailbox", mailbox->bytes, &mailbox->fd);
    return mailbox->header != NULL ? OTO_OK
                                   : oto_fail(error, OTO_IO, "cannot make a mailbox of %.1f KiB (%s)",
                                              (double)mailbox->bytes / 1024.0, strerror(errno));
}

static void name_vehicles(const struct srv_world_config *config, struct srv_mailbox *mailbox)
{
    uint32_t next = 0;
    for (uint32_t v = 0; v < config->vehicle_count && next < mailbox->vehicle_count; v++) {
        if (config->vehicles[v].participant == mailbox->participant + 1) {
            memcpy(mailbox->vehicles[next++].name, config->vehicles[v].name, SRV_NAME_BYTES);
        }
    }
}

static void fill_header(const struct srv_world_config *config, uint64_t epoch, struct srv_mailbox *mailbox)
{
    const struct srv_participant_config *participant = &config->participants[mailbox->participant];
    struct oto_mailbox_header *header = mailbox->header;
    header->major = OTO_MAILBOX_MAJOR;
    header->minor = OTO_MAILBOX_MINOR;
    header->header_bytes = OTO_MAILBOX_HEADER_BYTES;
    header->endian = OTO_MAILBOX_ENDIAN;
    header->participant = mailbox->participant;
    header->mailbox_bytes = mailbox->bytes;
    header->epoch = epoch;
    header->rate_num = config->clock.rate_num;
    header->rate_den = config->clock.rate_den;
    header->vehicle_count = mailbox->vehicle_count;
    header->record_bytes = sizeof(struct oto_mailbox_record);
    header->vehicle_offset = OTO_MAILBOX_HEADER_BYTES;
    header->output_offset = mailbox->output_offset;
    header->role = (uint32_t)participant->role;
    header->on_timeout = (uint32_t)mailbox->on_timeout;
    header->step_n = mailbox->step_n;
    header->timeout_ns = mailbox->timeout_ns;
    header->wait_limit_ns = participant->wait_limit_ns;
    memcpy(header->name, participant->name, sizeof header->name);
    header->grant.state = OTO_MAILBOX_JOINED;
    name_vehicles(config, mailbox);
    if (participant->controlled != 0) {
        memcpy(header->controlled, config->vehicles[participant->controlled - 1].name, SRV_NAME_BYTES);
    }
    __atomic_store_n(&header->magic, OTO_MAILBOX_MAGIC, __ATOMIC_RELEASE);
}

enum oto_status srv_mailbox_create(const struct srv_world_config *config, uint64_t epoch, const struct srv_join *join,
                                   struct srv_mailbox **mailbox, struct oto_error *error)
{
    const struct srv_participant_config *participant = &config->participants[join->participant];
    enum oto_status status = check_join(participant, join, error);
    *mailbox = NULL;
    if (status != OTO_OK) {
        return status;
    }
    struct srv_mailbox *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a mailbox");
    }
    made->participant = join->participant;
    made->vehicle_count = participant->vehicle_count;
    made->on_timeout = join->on_timeout != 0 ? (enum oto_timeout_policy)join->on_timeout : participant->on_timeout;
    made->timeout_ns = join->timeout_ns >= 0 ? join->timeout_ns : participant->timeout_ns;
    made->step_n = join->step_n != 0 ? join->step_n : 1;
    made->bytes = oto_mailbox_bytes(made->vehicle_count);
    made->output_offset =
        OTO_MAILBOX_HEADER_BYTES + made->vehicle_count * (uint64_t)sizeof(struct oto_mailbox_vehicle);
    status = map_memory(made, error);
    if (status != OTO_OK) {
        srv_mailbox_close(made);
        return status;
    }
    made->vehicles = (void *)((unsigned char *)made->header + OTO_MAILBOX_HEADER_BYTES);
    fill_header(config, epoch, made);
    *mailbox = made;
    return OTO_OK;
}

void srv_mailbox_close(struct srv_mailbox *mailbox)
{
    if (mailbox == NULL) {
        return;
    }
    if (mailbox->header != NULL) {
        (void)munmap(mailbox->header, mailbox->bytes);
    }
    if (mailbox->fd >= 0) {
        (void)close(mailbox->fd);
    }
    free(mailbox);
}
