#include <oto_test.h>

#include "base/address.h"

static void addresses_are_split_into_host_and_port(void **state)
{
    (void)state;
    static const struct {
        const char *address, *host, *port;
    } good[] = {{"localhost:7450", "localhost", "7450"}, {"127.0.0.1:0", "127.0.0.1", "0"}, {"[::1]:65535", "::1", "65535"}, {"*:1", "", "1"}};
    static const char *const bad[] = {"", ":", "host", "host:", ":7450", "host:65536", "host:-1", "host:1x", "::1:7450", "[::1]7450", "[::1]", "[]:1",
                                      "host:123456"};
    char host[32], port[8];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(srv_address_split(good[i].address, host, sizeof host, port, sizeof port));
        assert_string_equal(host, good[i].host);
        assert_string_equal(port, good[i].port);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(srv_address_split(bad[i], host, sizeof host, port, sizeof port));
    }
    assert_false(srv_address_split("a.host.name.that.is.longer.than.its.room:1", host, sizeof host, port, sizeof port));
}

static void only_bare_tcp_beyond_loopback_is_open(void **state)
{
    (void)state;
    static const char *const open[] = {"tcp://0.0.0.0:1", "tcp://*:1", "tcp://[::]:1", "tcp://192.0.2.1:1", "tcp://127.0.0.1.example:1", "tcp://car:1"};
    static const char *const closed[] = {"tcp://127.0.0.1:1", "tcp://127.9.9.9:1", "tcp://localhost:1", "tcp://[::1]:1", "tls+tcp://0.0.0.0:1",
                                         "ipc:///run/x", "udp://192.0.2.1:9870", "ipc"};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        assert_true(srv_address_is_open(open[i]));
    }
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
        assert_false(srv_address_is_open(closed[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(addresses_are_split_into_host_and_port),
                                       cmocka_unit_test(only_bare_tcp_beyond_loopback_is_open)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
