#ifndef AUTOPILOT_LISTEN_ADDRESS_H
#define AUTOPILOT_LISTEN_ADDRESS_H

#include <arpa/inet.h>
#include <stdbool.h>

/* "ADDRESS:PORT" or "PORT", of IPv4; without an address 127.0.0.1. False: it is neither. */
bool listen_address(const char *text, struct sockaddr_in *address);

#endif
