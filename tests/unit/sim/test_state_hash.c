/* The hash of a state of which a tick reads only a part. */
#include "oto_test.h"

#include "sim/state_hash.h"

enum { MOST_BYTES = 1024 };

static uint64_t hash_of(const uint64_t *words, size_t read, size_t bytes, const uint64_t *rest)
{
    struct srv_state_hash hash;
    srv_state_hash_begin(&hash, 7);
    if (rest != NULL) {
        srv_state_hash_absorb_with(&hash, words, read, bytes, rest);
    } else {
        srv_state_hash_absorb(&hash, words, bytes);
    }
    srv_state_hash_absorb(&hash, words, 24); /* something follows */
    return srv_state_hash_end(&hash);
}

static void a_part_and_the_contribution_of_the_rest_are_the_hash_of_the_whole(void **unused)
{
    uint64_t words[MOST_BYTES / 8], rest[SRV_HASH_LANES], seed = 1;
    (void)unused;
    for (size_t i = 0; i < MOST_BYTES / 8; i++) {
        words[i] = i % 5 == 0 ? 0 : (seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407);
    }
    for (size_t bytes = 0; bytes <= MOST_BYTES; bytes += 64) {
        for (size_t read = 0; read <= bytes; read += 64) {
            srv_state_hash_rest(words, read, bytes, rest);
            assert_int_equal(hash_of(words, read, bytes, rest), hash_of(words, bytes, bytes, NULL));
        }
    }
}

static void a_change_in_the_part_and_one_in_the_rest_are_noticed(void **unused)
{
    uint64_t words[32] = {1, 2, 3}, rest[SRV_HASH_LANES];
    (void)unused;
    srv_state_hash_rest(words, 128, sizeof words, rest);
    const uint64_t before = hash_of(words, 128, sizeof words, rest);
    words[15]++;
    assert_int_not_equal(hash_of(words, 128, sizeof words, rest), before);
    words[15]--;
    words[31]++;
    assert_int_equal(hash_of(words, 128, sizeof words, rest), before); /* not read */
    srv_state_hash_rest(words, 128, sizeof words, rest);
    assert_int_not_equal(hash_of(words, 128, sizeof words, rest), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_and_the_contribution_of_the_rest_are_the_hash_of_the_whole),
        cmocka_unit_test(a_change_in_the_part_and_one_in_the_rest_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
