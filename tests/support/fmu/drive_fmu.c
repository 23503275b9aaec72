/*
 * Drives an exported sensor FMU with our own importer: drive_fmu FMU DIRECTORY STEP_S OUTPUT... < TRUTH. Each line of the truth has the 19
 * inputs; after each step the outputs are printed. With SAVE=N in the environment the state after line N is saved, serialised, and restored
 * when all lines are done, and the lines after N are made again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmu.h"
#include "fmu/fmu_model.h"

#define MOST_LINES 20000

static const char *const inputs[FMU_INPUT_COUNT] = {
#define INPUT(name, unit, start, text) name,
    FMU_INPUT_TABLE(INPUT)
#undef INPUT
};
static double truths[MOST_LINES][FMU_INPUT_COUNT];

static int drive(struct fmu *fmu, size_t first, size_t count, double step_s)
{
    for (size_t i = first; i < count; i++) {
        bool good = true;
        for (uint32_t k = 0; good && k < FMU_INPUT_COUNT; k++) {
            good = fmu_write(fmu, &fmu->description.variables[k], truths[i][k]);
        }
        if (!good || fmu_step(fmu, (double)i * step_s, step_s) != FMU_DONE) {
            return fprintf(stderr, "line %zu fails: %s\n", i, fmu->said), EXIT_FAILURE;
        }
        for (uint32_t k = FMU_INPUT_COUNT; k < fmu->description.count; k++) {
            double value = 0.0;
            if (!fmu_read(fmu, &fmu->description.variables[k], &value)) {
                return fprintf(stderr, "'%s' cannot be read\n", fmu->description.variables[k].name), EXIT_FAILURE;
            }
            printf("%.17g%c", value, k + 1 < fmu->description.count ? ',' : '\n');
        }
    }
    return EXIT_SUCCESS;
}

static int run(struct fmu *fmu, size_t count, double step_s)
{
    const char *save = getenv("SAVE");
    const size_t part = save != NULL ? (size_t)strtoul(save, NULL, 10) : count;
    int code = drive(fmu, 0, part, step_s);
    if (code != EXIT_SUCCESS || save == NULL) {
        return code;
    }
    const size_t bytes = fmu_save(fmu, NULL, 0);
    void *state = malloc(bytes + 1);
    if (state == NULL || bytes == 0 || fmu_save(fmu, state, bytes) != bytes) {
        return fprintf(stderr, "the state cannot be saved: %s\n", fmu->said), EXIT_FAILURE;
    }
    code = drive(fmu, part, count, step_s);
    if (code == EXIT_SUCCESS && !fmu_restore(fmu, state, bytes)) {
        (void)fprintf(stderr, "the state cannot be restored: %s\n", fmu->said);
        code = EXIT_FAILURE;
    }
    free(state);
    return code == EXIT_SUCCESS ? drive(fmu, part, count, step_s) : EXIT_FAILURE;
}

static size_t read_truths(void)
{
    size_t count = 0;
    uint32_t k = 0;
    while (count < MOST_LINES && scanf("%lf%*[,\n]", &truths[count][k]) == 1) {
        k = (k + 1) % FMU_INPUT_COUNT;
        count += k == 0;
    }
    return count;
}

int main(int argc, char **argv)
{
    static struct fmu fmu;
    struct oto_error error = {0};
    if (argc < 5) {
        return 2;
    }
    for (uint32_t k = 0; k < FMU_INPUT_COUNT; k++) {
        (void)snprintf(fmu.description.variables[fmu.description.count++].name, FMU_NAME_BYTES, "%s", inputs[k]);
    }
    for (int i = 4; i < argc; i++) {
        (void)snprintf(fmu.description.variables[fmu.description.count++].name, FMU_NAME_BYTES, "%s", argv[i]);
    }
    if (fmu_open(&fmu, argv[1], argv[2], &error) != OTO_OK || fmu_instantiate(&fmu, "test", &error) != OTO_OK ||
        fmu_initialize(&fmu, &error) != OTO_OK) {
        return fprintf(stderr, "%s\n", error.text), EXIT_FAILURE;
    }
    const int code = run(&fmu, read_truths(), strtod(argv[3], NULL));
    return code;
}
