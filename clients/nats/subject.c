#include "subject.h"

#include <stdio.h>
#include <string.h>

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '@';
}

bool nats_token(const char *text, size_t length, char *token, size_t bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        const size_t wanted = is_plain(text[i]) ? 1 : 3;
        if (used + wanted >= bytes) {
            return false;
        }
        if (wanted == 1) {
            token[used] = text[i];
        } else {
            (void)snprintf(token + used, bytes - used, "%%%02X", (unsigned)(unsigned char)text[i]);
        }
        used += wanted;
    }
    token[used] = '\0';
    return length > 0;
}

static bool add_token(char *subject, size_t bytes, const char *text, size_t length)
{
    const size_t used = strlen(subject);
    if (used + 1 >= bytes) {
        return false;
    }
    subject[used] = '.';
    return nats_token(text, length, subject + used + 1, bytes - used - 1);
}

/* The name of a channel that is not the first of its node: "taps" of "world/car/imu.taps". */
static const char *channel_name(const struct oto_channel *channel)
{
    const size_t node = strlen(channel->node);
    return strncmp(channel->topic, channel->node, node) == 0 && channel->topic[node] == '.' ? channel->topic + node + 1
                                                                                             : channel->type.name;
}

bool nats_subject(const struct oto_channel *channel, bool is_first, char *subject, size_t bytes)
{
    int parts = 0;
    bool fits = (size_t)snprintf(subject, bytes, "otolith") < bytes;
    for (const char *at = channel->node; fits; parts++) {
        const size_t length = strcspn(at, "/");
        fits = add_token(subject, bytes, at, length);
        if (at[length] == '\0') {
            break;
        }
        at += length + 1;
    }
    if (parts < 2) { /* "world/@events" */
        return fits;
    }
    const char *name = is_first ? "main" : channel_name(channel);
    return fits && add_token(subject, bytes, name, strlen(name));
}
