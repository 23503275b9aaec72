/* Built several times with different optimisation and instruction sets: each build must give the same hash of many
 * results, bit for bit (A19). */
#include "oto_test.h"

#include "otolith/geodesy.h"
#include "otolith/rng.h"

#define EXPECTED_HASH UINT64_C(0x9460e848f239e544)

static uint64_t mix(uint64_t hash, double value)
{
    return oto_fnv1a64_more(hash, &value, sizeof value);
}

static uint64_t mix_functions(uint64_t hash, double x, double y)
{
    const double values[] = {
        oto_sin(x),        oto_cos(x),       oto_tan(x),           oto_atan(x),
        oto_atan2(y, x),   oto_exp(x),       oto_expm1(x),         oto_log(x * x),
        oto_log1p(x * x),  oto_hypot(x, y),  oto_pow(x * x, y),    oto_asin(y / 8.0),
        oto_acos(y / 8.0), oto_sin(x * 1e7), oto_wrap_pi(x * 1e3), oto_round_half_away(x * y),
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        hash = mix(hash, values[i]);
    }
    return hash;
}

static uint64_t mix_geometry(uint64_t hash, oto_quat q, oto_vec3 v)
{
    oto_geodetic place = {0.5 * v.x, v.y, 1e3 * v.z};
    oto_vec3 vectors[] = {oto_quat_rotate(q, v), oto_rpy_from_quat(q), oto_quat_to_rotvec(oto_quat_from_rotvec(v)),
                          oto_ecef_from_geodetic(place), oto_mat3_mul_vec(oto_mat3_from_quat(q), v)};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        hash = mix(mix(mix(hash, vectors[i].x), vectors[i].y), vectors[i].z);
    }
    return mix(mix(hash, oto_gravity_wgs84(place.lat_rad, place.alt_m)), oto_geodetic_from_ecef(vectors[3]).lat_rad);
}

static void results_have_the_same_bits_in_every_build(void **state)
{
    (void)state;
    struct oto_rng_key key = oto_rng_key_make(5, "same/bits");
    uint64_t hash = OTO_FNV1A64_START;
#ifdef NEEDS_AVX2_FMA
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        skip();
    }
#endif
    for (uint64_t n = 0; n < 3000; n++) {
        double z[12];
        oto_normals(key, n, 0, OTO_RNG_DOMAIN_SAMPLE, z, 12);
        for (int i = 0; i < 12; i++) {
            hash = mix(hash, z[i]);
        }
        hash = mix_functions(hash, 3.0 * z[0], z[1]);
        hash = mix_geometry(hash, oto_quat_normalize(oto_quat_make(z[2], z[3], z[4], z[5])),
                            oto_vec3_make(z[6], z[7], z[8]));
    }
    if (hash != EXPECTED_HASH) {
        fail_msg("hash 0x%016llx, expected 0x%016llx", (unsigned long long)hash, (unsigned long long)EXPECTED_HASH);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_have_the_same_bits_in_every_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
