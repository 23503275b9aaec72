/*
 * give_controls WORLD PARTICIPANT TICKS:VALUE[,VALUE…] …: as the master of the clock, gives a vehicle its controls and
 * lets the world make so many ticks under them, for each argument in turn.
 */
#include <stdio.h>
#include <stdlib.h>

#include "otolith/controls.h"
#include "otolith/participant.h"

static int fail(const struct oto_error *error)
{
    (void)fprintf(stderr, "give_controls: %s\n", error->text);
    return EXIT_FAILURE;
}

/* Reads the ticks and the values; returns the number of values. */
static uint32_t read_part(const char *text, uint64_t *ticks, double values[OTO_CONTROLS])
{
    uint32_t count = 0;
    char *end = NULL;
    *ticks = strtoull(text, &end, 10);
    while ((*end == ':' || *end == ',') && count < OTO_CONTROLS) {
        values[count++] = strtod(end + 1, &end);
    }
    return count;
}

/* A join takes effect at the next boundary, so the mailbox may not have the number yet. */
static uint64_t ticks_made(struct oto_participant *participant)
{
    struct oto_clock clock = {0};
    (void)oto_client_clock(oto_participant_client(participant), &clock);
    return clock.tick;
}

static enum oto_status wait_for(struct oto_participant *participant, uint64_t tick, struct oto_error *error)
{
    enum oto_status status = OTO_TIMEOUT;
    while (status == OTO_TIMEOUT) { /* a world that ends closes the participant */
        status = oto_participant_wait_completed(participant, tick, 1000, error);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct oto_error error = {0};
    struct oto_participant *participant = NULL;
    if (argc < 3) {
        return EXIT_FAILURE;
    }
    const struct oto_participant_options options = {
        .size = sizeof options, .world = argv[1], .name = argv[2], .answer_ms = -1, .timeout_ms = 60000};
    enum oto_status status = oto_participant_join(&options, &participant, &error);
    for (int i = 3; status == OTO_OK && i < argc; i++) {
        double values[OTO_CONTROLS] = {0.0};
        uint64_t ticks = 0;
        const uint32_t count = read_part(argv[i], &ticks, values);
        const uint64_t until = ticks_made(participant) + ticks;
        status = oto_participant_control(participant, values, count);
        if (status == OTO_OK) {
            status = oto_participant_run_until(participant, until, &error);
        }
        if (status == OTO_OK) {
            status = wait_for(participant, until, &error);
        }
    }
    oto_participant_leave(participant);
    return status == OTO_OK ? EXIT_SUCCESS : fail(&error);
}
