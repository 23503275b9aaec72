/* Verbs that the tick thread carries out: pause, resume, step, scale, mode. */
#include "daemon/control/request.h"

#include <math.h>
#include <string.h>

static void on_step_reply(void *context, const struct srv_reply *reply)
{
    const struct srv_pending_request *pending = context;
    pending->connection->steps--;
    srv_pending_request_take(context, reply);
}

/* Sends a command, which gets a reply also after the run's end. False: the command was not accepted. */
static bool post(struct srv_request *request, struct srv_pending_request *pending, const struct srv_command *command)
{
    const bool is_step = command->kind == SRV_COMMAND_STEP;
    return pending != NULL && srv_pending_request_send(pending, request->command_queue, command,
                                                       is_step ? on_step_reply : srv_pending_request_take);
}

void srv_verb_pause(struct srv_request *request)
{
    const struct srv_command command = {.kind = SRV_COMMAND_PAUSE};
    (void)post(request, srv_pending_request_open(request, "pause"), &command);
}

void srv_verb_resume(struct srv_request *request)
{
    const struct srv_command command = {.kind = SRV_COMMAND_RESUME};
    (void)post(request, srv_pending_request_open(request, "resume"), &command);
}

void srv_verb_step(struct srv_request *request)
{
    struct oto_error error = {0};
    struct srv_command command = {.kind = SRV_COMMAND_STEP};
    if (oto_message_u64(request->message, "ticks", &command.ticks, &error) == OTO_OK &&
        (command.ticks == 0 || command.ticks > OTO_SEQ_MAX)) {
        (void)oto_fail(&error, OTO_RANGE, "step: 'ticks' is %llu; 1 to %llu are accepted",
                       (unsigned long long)command.ticks, (unsigned long long)OTO_SEQ_MAX);
    }
    if (error.status != OTO_OK) {
        srv_reply_error(request, &error);
        return;
    }
    if (post(request, srv_pending_request_open(request, "step %llu", (unsigned long long)command.ticks), &command)) {
        request->connection->steps++;
    }
}

void srv_verb_scale(struct srv_request *request)
{
    struct oto_error error = {0};
    struct srv_command command = {.kind = SRV_COMMAND_SCALE};
    if (oto_message_f64(request->message, "scale", &command.scale, &error) == OTO_OK &&
        !(isfinite(command.scale) && command.scale > 0.0)) {
        (void)oto_fail(&error, OTO_RANGE, "scale: %g is not a finite number above 0", command.scale);
    }
    if (error.status != OTO_OK) {
        srv_reply_error(request, &error);
        return;
    }
    (void)post(request, srv_pending_request_open(request, "scale %.17g", command.scale), &command);
}

void srv_verb_mode(struct srv_request *request)
{
    struct oto_error error = {0};
    const char *name;
    struct srv_command command = {.kind = SRV_COMMAND_MODE};
    if (oto_message_text(request->message, "mode", &name, &error) != OTO_OK) {
        srv_reply_error(request, &error);
        return;
    }
    for (uint32_t mode = OTO_MODE_REALTIME; mode <= OTO_MODE_EXTERNAL; mode++) {
        command.mode = strcmp(name, oto_mode_name(mode)) == 0 ? (enum oto_clock_mode)mode : command.mode;
    }
    if (command.mode == 0) {
        (void)oto_fail(&error, OTO_INVALID, "unknown mode '%.40s': realtime, asap, step, lockstep or external", name);
        srv_reply_error(request, &error);
        return;
    }
    (void)post(request, srv_pending_request_open(request, "mode %s", name), &command);
}
