/* Who may subscribe. */
#include <arpa/inet.h>

#include "oto_test.h"
#include "publish/places.h"

static uint32_t take_all(struct srv_places *places, const struct srv_peer *peer)
{
    uint32_t taken = 0;
    while (srv_places_take(places, places->count + 1, peer)) {
        taken++;
    }
    return taken;
}

static void one_address_of_the_network_has_a_part_and_ipc_the_rest(void **unused)
{
    (void)unused;
    struct srv_places places = {0};
    const struct srv_peer local = {SRV_PEER_IPC, 0}, loopback = srv_peer_v4(htonl(0x7f000001));
    const struct srv_peer one = srv_peer_v4(htonl(0x0a000001)), other = srv_peer_v4(htonl(0x0a000002));
    assert_int_equal(take_all(&places, &one), SRV_PLACES_PEER);
    assert_int_equal(take_all(&places, &other), SRV_PLACES_PEER);
    assert_int_equal(take_all(&places, &loopback), SRV_PLACES_TCP - 2 * SRV_PLACES_PEER);
    assert_true(srv_places_are_full(&places, &loopback));
    assert_int_equal(take_all(&places, &local), SRV_PLACES - SRV_PLACES_TCP);
    srv_places_leave(&places, 1000000); /* has none */
    assert_int_equal(places.count, SRV_PLACES);
    srv_places_leave(&places, 1); /* of `one` */
    assert_true(srv_places_take(&places, 200, &one));
    assert_false(srv_places_take(&places, 201, &one));
}

static void ipc_may_have_all_places(void **unused)
{
    (void)unused;
    struct srv_places places = {0};
    const struct srv_peer local = {SRV_PEER_IPC, 0};
    assert_int_equal(take_all(&places, &local), SRV_PLACES);
}

static void the_addresses_of_an_ipv6_network_are_one_peer(void **unused)
{
    (void)unused;
    static const char *const addresses[] = {"2001:db8:1:2::1", "2001:db8:1:2:ffff::7", "2001:db8:1:3::1", "::1",
                                            "::ffff:127.0.0.1", "::ffff:10.0.0.1"};
    struct srv_peer peers[6];
    for (size_t i = 0; i < 6; i++) {
        unsigned char address[16];
        assert_int_equal(inet_pton(AF_INET6, addresses[i], address), 1);
        peers[i] = srv_peer_v6(address);
    }
    assert_true(peers[0].address == peers[1].address);
    assert_true(peers[0].address != peers[2].address);
    assert_int_equal(peers[3].kind, SRV_PEER_LOOPBACK);
    assert_int_equal(peers[4].kind, SRV_PEER_LOOPBACK);
    assert_int_equal(peers[5].kind, SRV_PEER_NETWORK);
    assert_true(peers[5].address == srv_peer_v4(htonl(0x0a000001)).address);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_address_of_the_network_has_a_part_and_ipc_the_rest),
        cmocka_unit_test(ipc_may_have_all_places),
        cmocka_unit_test(the_addresses_of_an_ipv6_network_are_one_peer),
    };
    return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
