#include "listen_address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"

bool listen_address(const char *text, struct sockaddr_in *address)
{
    char whole[64], host[64], port[8];
    (void)snprintf(whole, sizeof whole, "%s%s", strchr(text, ':') == NULL ? "127.0.0.1:" : "", text);
    *address = (struct sockaddr_in){.sin_family = AF_INET};
    if (!srv_address_split(whole, host, sizeof host, port, sizeof port) || inet_pton(AF_INET, host, &address->sin_addr) != 1) {
        return false;
    }
    address->sin_port = htons((in_port_t)strtoul(port, NULL, 10));
    return true;
}
