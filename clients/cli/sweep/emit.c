/* Scripts that make a sweep on a cluster: every task is a shard, and any task may be started again. */
#include "sweep/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TASKS = 500 };
#define LEAST_TASK_S 10.0

uint64_t sweep_task_count(uint64_t runs, double run_s)
{
    const double tasks = floor((double)runs * run_s / LEAST_TASK_S);
    const uint64_t most = runs < MOST_TASKS ? runs : MOST_TASKS;
    return tasks < 1.0 ? 1 : tasks < (double)most ? (uint64_t)tasks : most;
}

/* Writes a text as one word of a shell, in quotes. */
static void put_word(FILE *to, const char *word)
{
    (void)fputc('\'', to);
    for (const char *c = word; *c != '\0'; c++) {
        (void)fputs(*c == '\'' ? "'\\''" : (const char[]){*c, '\0'}, to);
    }
    (void)fputc('\'', to);
}

static void put_command(FILE *to, const char *program, const char *spec, const struct sweep_options *options, const char *directory)
{
    put_word(to, program);
    (void)fputs(" sweep ", to);
    put_word(to, spec);
    (void)fputs(" --out ", to);
    put_word(to, directory);
    (void)fputs(" --python ", to);
    put_word(to, options->python);
}

static void put_variables(FILE *to, const char *program, const char *spec, const struct sweep_options *options, const char *directory)
{
    (void)fputs("sweep() { ", to);
    put_command(to, program, spec, options, directory);
    (void)fputs(" \"$@\"; }\n", to);
}

static void put_slurm(FILE *to, uint64_t tasks)
{
    (void)fprintf(to,
                  "if [ -n \"${SLURM_ARRAY_TASK_ID-}\" ]; then # a task of the array\n"
                  "  sweep --shard \"$SLURM_ARRAY_TASK_ID/%" PRIu64 "\" --jobs 1 --quiet\n"
                  "elif [ -n \"${OTOLITH_SWEEP_MERGE-}\" ]; then # the job after it\n"
                  "  sweep --merge\n"
                  "else # on the machine that submits\n"
                  "  array=$(sbatch --parsable --array=1-%" PRIu64 " --requeue --open-mode=append --ntasks=1 --job-name=otolith-sweep \\\n"
                  "    --output=\"$out/slurm-%%a.log\" \"$@\" \"$0\")\n"
                  "  merge=$(sbatch --parsable --dependency=afterok:\"${array%%%%;*}\" --kill-on-invalid-dep=yes --requeue --ntasks=1 --job-name=otolith-merge \\\n"
                  "    --output=\"$out/slurm-merge.log\" --export=ALL,OTOLITH_SWEEP_MERGE=1 \"$@\" \"$0\")\n"
                  "  echo \"array ${array%%%%;*}, merge ${merge%%%%;*}: $out/result.csv\"\n"
                  "fi\n",
                  tasks, tasks);
}

static void put_parallel(FILE *to, uint64_t tasks)
{
    (void)fprintf(to,
                  "export -f sweep\n"
                  "# Options of parallel may follow the script's name: --jobs 8, --sshlogin 8/node1,8/node2 --env sweep\n"
                  "seq 1 %" PRIu64 " | parallel --halt soon,fail=1 \"$@\" sweep --shard {}/%" PRIu64 " --jobs 1 --quiet\n"
                  "sweep --merge\n",
                  tasks, tasks);
}

enum oto_status sweep_emit(const struct sweep_spec *spec, const struct sweep_options *options, double run_s, FILE *to,
                           struct oto_error *error)
{
    char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    char *path = realpath(spec->path, NULL), *directory = realpath(options->directory, NULL);
    if (length <= 0 || path == NULL || directory == NULL) {
        free(path);
        free(directory);
        return oto_fail(error, OTO_IO, "cannot find the absolute paths of the program, '%.200s' and '%.200s'", spec->path, options->directory);
    }
    program[length] = '\0';
    const uint64_t tasks = options->tasks > 0 ? options->tasks : sweep_task_count(spec->runs, run_s);
    const bool is_slurm = strcmp(options->emit, "slurm") == 0;
    (void)fprintf(to,
                  "#!/bin/bash\n"
                  "# The sweep '%s': %" PRIu64 " runs in %" PRIu64 " tasks; a run takes about %.3g s of a core. %s\n"
                  "# A task that is started again continues with the rows that are finished. All machines see the same files.\n"
                  "set -eu\n"
                  "out=",
                  spec->name, spec->runs, tasks, run_s,
                  is_slurm ? "Run it where sbatch is; options of sbatch may follow its name." : "Run it where GNU parallel is.");
    put_word(to, directory);
    (void)fputc('\n', to);
    put_variables(to, program, path, options, directory);
    if (is_slurm) {
        put_slurm(to, tasks);
    } else {
        put_parallel(to, tasks);
    }
    free(path);
    free(directory);
    return OTO_OK;
}
