/* Origins of web pages, "https://robots.example:8443". Pure. */
#ifndef SRV_BASE_ORIGIN_H
#define SRV_BASE_ORIGIN_H

#include <stdbool.h>
#include <string.h>

#define SRV_ORIGIN_BYTES 192 /* with its NUL */
#define SRV_ORIGINS_MAX 8

/* The part after "http://" or "https://"; NULL if there is no such part. */
static inline const char *srv_origin_host(const char *origin)
{
    return strncmp(origin, "https://", 8) == 0 ? origin + 8 : strncmp(origin, "http://", 7) == 0 ? origin + 7 : NULL;
}

/* True for scheme, host and an optional port, as browsers send them: no path, no spaces, no wildcard, lower case. */
static inline bool srv_is_origin(const char *text)
{
    const char *host = srv_origin_host(text);
    return host != NULL && host[0] != '\0' && host[0] != ':' && strlen(text) < SRV_ORIGIN_BYTES &&
           host[strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789.-:[]")] == '\0';
}

#endif
