/*
 * Runs a world in this process and prints, for each of three seeds, the mean of the IMU over one second and the state hash.
 * usage: sim_imu [WORLD.yaml]
 */
#include <inttypes.h>
#include <stdio.h>

#include "otolith/sim.h"

enum { TICKS = 1000, MOST = 1000 };

static enum oto_status print_second(struct oto_sim *sim, uint32_t imu, struct oto_error *error)
{
    static struct oto_imu_record records[MOST];
    double sum_m_s2 = 0.0;
    uint64_t lost = 0;
    const enum oto_status status = oto_sim_step(sim, TICKS, error);
    const size_t count = oto_sim_read(sim, imu, NULL, records, MOST, &lost);
    for (size_t i = 0; i < count; i++) {
        sum_m_s2 += records[i].linear_acceleration_m_s2.z;
    }
    printf("seed %" PRIu64 ": %zu samples, %" PRIu64 " lost, mean %.6f m/s^2 upwards, state hash %016" PRIx64 "\n", oto_sim_seed(sim),
           count, lost, count > 0 ? sum_m_s2 / (double)count : 0.0, oto_sim_state_hash(sim));
    return status;
}

int main(int argc, char **argv)
{
    const struct oto_sim_options options = {
        .size = sizeof options, .path = argc > 1 ? argv[1] : "configs/worlds/city_drive.yaml", .has_seed = true, .seed = 1};
    struct oto_sim *sim = NULL;
    struct oto_sim_channel imu;
    struct oto_error error = {0};
    enum oto_status status = oto_sim_open(&options, &sim, &error);
    if (status == OTO_OK) {
        status = oto_sim_channel(sim, "car/imu", &imu, &error);
    }
    for (uint64_t seed = 1; status == OTO_OK && seed <= 3; seed++) {
        status = oto_sim_reset(sim, seed, &error); /* the file is not read again */
        if (status == OTO_OK) {
            status = print_second(sim, imu.index, &error);
        }
    }
    if (status != OTO_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
    }
    oto_sim_close(sim);
    return status == OTO_OK ? 0 : 1;
}
