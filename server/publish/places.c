#include "publish/places.h"

#include <arpa/inet.h>
#include <string.h>

struct srv_peer srv_peer_v4(uint32_t address_be)
{
    return address_be == htonl(INADDR_LOOPBACK) ? (struct srv_peer){SRV_PEER_LOOPBACK, 0}
                                                : (struct srv_peer){SRV_PEER_NETWORK, address_be};
}

struct srv_peer srv_peer_v6(const unsigned char address[16])
{
    struct in6_addr full;
    uint32_t v4_be;
    struct srv_peer peer = {SRV_PEER_NETWORK, 0};
    memcpy(&full, address, sizeof full);
    memcpy(&v4_be, address + 12, sizeof v4_be);
    if (IN6_IS_ADDR_V4MAPPED(&full)) {
        return srv_peer_v4(v4_be);
    }
    if (IN6_IS_ADDR_LOOPBACK(&full)) {
        peer.kind = SRV_PEER_LOOPBACK;
        return peer;
    }
    memcpy(&peer.address, address, sizeof peer.address);
    return peer;
}

bool srv_places_are_full(const struct srv_places *places, const struct srv_peer *peer)
{
    uint32_t tcp = 0, same = 0;
    for (uint32_t i = 0; i < places->count; i++) {
        const struct srv_peer *other = &places->taken[i].peer;
        tcp += other->kind != SRV_PEER_IPC;
        same += other->kind == SRV_PEER_NETWORK && other->address == peer->address;
    }
    return places->count == SRV_PLACES || (peer->kind != SRV_PEER_IPC && tcp >= SRV_PLACES_TCP) ||
           (peer->kind == SRV_PEER_NETWORK && same >= SRV_PLACES_PEER);
}

bool srv_places_take(struct srv_places *places, uint32_t pipe, const struct srv_peer *peer)
{
    if (srv_places_are_full(places, peer)) {
        return false;
    }
    places->taken[places->count].pipe = pipe;
    places->taken[places->count++].peer = *peer;
    return true;
}

void srv_places_leave(struct srv_places *places, uint32_t pipe)
{
    for (uint32_t i = 0; i < places->count; i++) {
        if (places->taken[i].pipe == pipe) {
            places->taken[i] = places->taken[--places->count];
            return;
        }
    }
}
