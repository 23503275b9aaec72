/*
 * Limits subscribers: 128 places, of which 32 are reserved for local subscribers (ipc), and at most 32 for one network
 * address, so that no peer can exclude the others. Pure; the caller locks.
 */
#ifndef SRV_PUBLISH_PLACES_H
#define SRV_PUBLISH_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#define SRV_PLACES 128u
#define SRV_PLACES_TCP 96u
#define SRV_PLACES_PEER 32u

/*
 * The machine of a subscriber. Of an IPv6 address only the network's 64 bits count, because a host owns all the others.
 */
struct srv_peer {
    enum { SRV_PEER_IPC, SRV_PEER_LOOPBACK, SRV_PEER_NETWORK } kind;
    uint64_t address; /* address of the network */
};
struct srv_peer srv_peer_v4(uint32_t address_be);
struct srv_peer srv_peer_v6(const unsigned char address[16]);

struct srv_places {
    uint32_t count;
    struct {
        uint32_t pipe;
        struct srv_peer peer;
    } taken[SRV_PLACES];
};
/* True if a subscriber from `peer` would find no place. */
bool srv_places_are_full(const struct srv_places *places, const struct srv_peer *peer);
/* Takes a place; false if there is none. */
bool srv_places_take(struct srv_places *places, uint32_t pipe, const struct srv_peer *peer);
void srv_places_leave(struct srv_places *places, uint32_t pipe); /* a pipe without a place is allowed */

#endif
