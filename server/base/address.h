/* Addresses "host:port" of URLs. Pure; any thread. */
#ifndef SRV_BASE_ADDRESS_H
#define SRV_BASE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Splits "host:port", "[v6]:port" or "*:port", for which `host` is "". False if it has another form, or a port above
 * 65535.
 */
bool srv_address_split(const char *address, char *host, size_t host_bytes, char *port, size_t port_bytes);
/* True for a URL tcp://HOST:PORT whose host is not this machine alone. */
bool srv_address_is_open(const char *url);

#endif
