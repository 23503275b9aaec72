#include "base/address.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

bool srv_address_split(const char *address, char *host, size_t host_bytes, char *port, size_t port_bytes)
{
    const bool bracket = address[0] == '[';
    const char *first = bracket ? address + 1 : address;
    const char *last = bracket ? strchr(first, ']') : strrchr(first, ':');
    const char *colon = bracket && last != NULL ? last + 1 : last;
    if (last == NULL || last == first || *colon != ':' || (!bracket && memchr(first, ':', (size_t)(last - first)) != NULL)) {
        return false;
    }
    const size_t digits = strspn(colon + 1, "0123456789"), length = (size_t)(last - first);
    if (digits == 0 || digits > 5 || digits >= port_bytes || colon[1 + digits] != '\0' || length >= host_bytes ||
        strtol(colon + 1, NULL, 10) > 65535) {
        return false;
    }
    memcpy(host, first, length);
    host[length] = '\0';
    memcpy(port, colon + 1, digits + 1);
    if (strcmp(host, "*") == 0) {
        host[0] = '\0';
    }
    return true;
}

bool srv_address_is_open(const char *url)
{
    char host[256], port[8];
    if (strncmp(url, "tcp://", 6) != 0 || !srv_address_split(url + 6, host, sizeof host, port, sizeof port)) {
        return false;
    }
    struct in_addr v4;
    const bool loopback = inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
    return !loopback && strcmp(host, "::1") != 0 && strcmp(host, "localhost") != 0;
}
