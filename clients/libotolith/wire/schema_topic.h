/* The topic of schema frames: `world/@schema`. Pure: any thread. */
#ifndef OTO_SCHEMA_TOPIC_H
#define OTO_SCHEMA_TOPIC_H

#include <stdbool.h>
#include <string.h>

#define OTO_SCHEMA_TOPIC "/@schema"
#define OTO_SCHEMA_REACH 64u /* number of channels before one in the frame that may describe its type */

static inline bool oto_is_schema_topic(const char *topic)
{
    const char *slash = strrchr(topic, '/');
    return slash != NULL && strcmp(slash, OTO_SCHEMA_TOPIC) == 0;
}

#endif
