/* A plugin that cannot be unloaded: `prepare` leaves a destructor behind for the end of the thread. */
#include "minimal.h"

extern int __cxa_thread_atexit_impl(void (*destructor)(void *object), void *object, void *library);
extern void *__dso_handle;

static void nothing(void *object)
{
    (void)object;
}

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *params,
                               const void **data, struct oto_error *error)
{
    (void)host;
    (void)setup;
    (void)params;
    (void)error;
    *data = NULL;
    return __cxa_thread_atexit_impl(nothing, NULL, &__dso_handle) == 0 ? OTO_OK : OTO_PLUGIN;
}

static const struct oto_plugin_ops clinging_ops = {.size = sizeof clinging_ops, .prepare = prepare,
                                                   .step = minimal_step};
OTO_PLUGIN_DEFINE(minimal_descriptor, clinging_ops, NULL);
