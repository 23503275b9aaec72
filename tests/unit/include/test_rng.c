/* Philox against Random123's published answers and NumPy's generator, the maps to deviates against exact values. */
#include "oto_test.h"

#include "otolith/rng.h"

static void philox_gives_random123s_known_answers(void **state)
{
    (void)state;
    /* Random123 1.14, tests/kat_vectors, philox4x64 10: counter, key, result. */
    static const uint64_t rows[][10] = {
        {0, 0, 0, 0, 0, 0, 0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b, 0x7e68b68aec7ba23b},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0x87b092c3013fe90b, 0x438c3c67be8d0224,
         0x9cc7d7c69cd777b6, 0xa09caebf594f0ba0},
        {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89, 0x452821e638d01377,
         0xbe5466cf34e90c6c, 0xa528f45403e61d95, 0x38c72dbd566e9788, 0xa5a1610e72fd18b5, 0x57bd43b5e52b7fe6},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint64_t *r = rows[i];
        oto_philox_block b = oto_philox4x64(r[4], r[5], r[0], r[1], r[2], r[3]);
        assert_memory_equal(b.v, r + 6, sizeof b.v);
    }
}

static void blocks_are_numpys_at_the_next_counter(void **state)
{
    (void)state;
    char line[256];
    int rows = 0;
    FILE *file = fopen(OTO_SOURCE_DIR "/tests/golden/philox4x64.csv", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        uint64_t v[10];
        char *end = line;
        if (strncmp(line, "key", 3) == 0) {
            continue;
        }
        for (int i = 0; i < 10; i++, end++) {
            v[i] = strtoull(end, &end, 16);
        }
        struct oto_rng_key key = {v[0], v[1]};
        oto_philox_block b = oto_rng_block(key, v[2], v[3], v[4], v[5]);
        assert_memory_equal(b.v, v + 6, sizeof b.v);
        rows++;
    }
    (void)fclose(file);
    assert_int_equal(rows, 200);
}

static void deviates_are_the_exact_inverse_out_to_the_last_tail(void **state)
{
    (void)state;
    char line[128];
    int rows = 0;
    FILE *file = fopen(OTO_SOURCE_DIR "/tests/golden/normal_from_bits.csv", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        char *end;
        if (strncmp(line, "bits", 4) == 0) {
            continue;
        }
        uint64_t bits = strtoull(line, &end, 16);
        double deviate = strtod(end + 1, NULL);
        /* 1e-13: the bound of the pieces (detail/normal.h); the far tail is AS 241's 1e-16 */
        assert_near(oto_normal_from_bits(bits), deviate, 1e-13);
        rows++;
    }
    (void)fclose(file);
    assert_int_equal(rows, 226);
}

static void deviates_rise_with_the_word_and_mirror_with_its_complement(void **state)
{
    (void)state;
    struct oto_rng_key key = {7, 7};
    for (uint64_t i = 0; i < 20000; i++) {
        /* steps across every piece: an octave in the high bits, a place in it in the low ones */
        uint64_t bits = oto_rng_block(key, i, 0, 0, 0).v[0] >> (i % 60);
        double z = oto_normal_from_bits(bits), above = oto_normal_from_bits(bits + (bits >> 20) + 2);
        assert_true(oto_normal_from_bits(~bits) == -z);
        assert_true(above > z);
        assert_true(fabs(z) < 9.1);
    }
}

static void neighbouring_pieces_meet(void **state)
{
    (void)state;
    for (uint64_t i = 1; i < 120; i++) {
        uint64_t edge = (8 + i % 8) << (45 + i / 8);
        double below = oto_normal_from_bits(edge - 1), above = oto_normal_from_bits(edge);
        assert_near(below, above, 2e-13);
    }
    assert_near(oto_normal_from_bits(((uint64_t)1 << 48) - 1), oto_normal_from_bits((uint64_t)1 << 48), 2e-13);
}

static void uniform_numbers_never_touch_their_ends(void **state)
{
    (void)state;
    assert_true(oto_u01(0) == 0x1p-53 && oto_u01(UINT64_MAX) == 1.0 - 0x1p-53);
    assert_true(oto_u11(0) == -1.0 + 0x1p-52 && oto_u11(UINT64_MAX) == 1.0 - 0x1p-52);
    assert_true(oto_u01(UINT64_C(1) << 63) == 0.5 + 0x1p-53);
}

static void a_batch_is_the_same_as_its_members(void **state)
{
    (void)state;
    struct oto_rng_key key = oto_rng_key_make(42, "car/imu");
    double all[64], some[64];
    oto_normals(key, 9, 3, OTO_RNG_DOMAIN_SAMPLE, all, 64);
    for (size_t count = 0; count <= 64; count++) {
        memset(some, 0x5a, sizeof some);
        oto_normals(key, 9, 3, OTO_RNG_DOMAIN_SAMPLE, some, count);
        assert_memory_equal(some, all, count * sizeof some[0]);
        if (count < 64) {
            assert_int_equal(*(unsigned char *)&some[count], 0x5a);
            assert_true(all[count] == oto_normal_at(key, 9, 3, OTO_RNG_DOMAIN_SAMPLE, count));
        }
    }
}

static void names_hash_by_fnv1a(void **state)
{
    (void)state;
    /* draft-eastlake-fnv, test vectors of FNV-1a 64 */
    assert_true(oto_fnv1a64_str("") == UINT64_C(0xcbf29ce484222325));
    assert_true(oto_fnv1a64_str("a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(oto_fnv1a64("foobar", 6) == UINT64_C(0x85944171f73967e8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_random123s_known_answers),
        cmocka_unit_test(blocks_are_numpys_at_the_next_counter),
        cmocka_unit_test(deviates_are_the_exact_inverse_out_to_the_last_tail),
        cmocka_unit_test(deviates_rise_with_the_word_and_mirror_with_its_complement),
        cmocka_unit_test(neighbouring_pieces_meet),
        cmocka_unit_test(uniform_numbers_never_touch_their_ends),
        cmocka_unit_test(a_batch_is_the_same_as_its_members),
        cmocka_unit_test(names_hash_by_fnv1a),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
