/* Prints the specific force of an IMU from shared memory for one second of ticks. usage: read_imu [WORLD] */
#include <otolith/client.h>
#include <otolith/records.h>

int main(int argc, char **argv)
{
    const struct oto_client_options options = {.size = sizeof options, .world = argc > 1 ? argv[1] : NULL};
    struct oto_client *client;
    struct oto_error error;
    if (oto_client_open(&options, &client, &error) != OTO_OK) {
        return fprintf(stderr, "%s\n", error.text), 1;
    }
    const struct oto_channel *imu = oto_client_find(client, "car/imu", &error);
    if (imu == NULL || imu->type_hash != oto_record_type_hash(&oto_imu_type)) {
        fprintf(stderr, "%s\n", imu == NULL ? error.text : "car/imu is no IMU of this version");
        oto_client_close(client);
        return 1;
    }
    struct oto_reader reader = oto_reader_make(imu, OTO_READ_FROM_NOW);
    struct oto_clock clock = {.tick = 0};
    (void)oto_client_clock(client, &clock);
    for (int tick = 0; tick < 1000 && oto_client_wait_tick(client, clock.tick, 60000) == OTO_OK; tick++) {
        struct oto_sample_head head;
        struct oto_imu_record sample;
        while (oto_reader_next(&reader, &head, &sample, sizeof sample) == OTO_OK) {
            printf("%.3f s: %.3f m/s^2 upwards\n", (double)head.t_ns * 1e-9, sample.linear_acceleration_m_s2.z);
        }
        (void)oto_client_clock(client, &clock);
    }
    printf("%llu samples lost\n", (unsigned long long)reader.cursor.lost);
    oto_client_close(client);
    return 0;
}
