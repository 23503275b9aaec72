/*
 * Patterns of names: "car_00*", "car_0[0-4]*,truck". Comma-separated patterns of fnmatch(3); a '*' does not match a '/'.
 */
#ifndef SRV_BASE_PATTERN_H
#define SRV_BASE_PATTERN_H

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SRV_PATTERN_BYTES 256 /* of one of the patterns; a longer one matches nothing */

/* Whether a text is a pattern, and not simply a name. */
static inline bool srv_is_pattern(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

static inline bool srv_pattern_matches(const char *patterns, const char *name)
{
    char pattern[SRV_PATTERN_BYTES];
    bool matches = false;
    for (const char *at = patterns; at != NULL && !matches; at = strchr(at, ',')) {
        at += *at == ',';
        const int length = snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(at, ","), at);
        matches = length > 0 && length < (int)sizeof pattern && fnmatch(pattern, name, FNM_PATHNAME) == 0;
    }
    return matches;
}

/* Whether a topic or node "world/vehicle/node" matches, with or without its leading "world/". */
static inline bool srv_pattern_matches_in(const char *patterns, const char *world, const char *name)
{
    const size_t length = strlen(world);
    const bool within = strncmp(name, world, length) == 0 && name[length] == '/';
    return srv_pattern_matches(patterns, name) || (within && srv_pattern_matches(patterns, name + length + 1));
}

#endif
