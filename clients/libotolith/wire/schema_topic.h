/* The topic of schema frames: `world/@schema`. Pure: any thread. */
#ifndef OTO_SCHEMA_TOPIC_H
#define OTO_SCHEMA_TOPIC_H

#include <stdbool.h>
#include <string.h>

#define OTO_SCHEMA_TOPIC "/@schema"

static inline bool oto_is_schema_topic(const char *topic)
{
    const char *slash = strrchr(topic, '/');
    return slash != NULL && strcmp(slash, OTO_SCHEMA_TOPIC) == 0;
}

#endif
