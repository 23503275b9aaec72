/* Start times of processes. Any thread. */
#ifndef SRV_PROCESS_TIME_H
#define SRV_PROCESS_TIME_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Field 22 of /proc/PID/stat: distinguishes a process from a later one of the same pid. 0: there is no such process, or it is dead. */
static inline uint64_t srv_process_start_time(int64_t pid)
{
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    FILE *file = fopen(path, "re");
    const size_t bytes = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    text[bytes] = '\0';
    const char *rest = strrchr(text, ')'); /* the name of the process may hold spaces */
    if (rest != NULL && strncmp(rest, ") Z", 3) == 0) {
        return 0; /* its parent has not fetched its exit code yet */
    }
    for (int field = 2; rest != NULL && field < 22; field++) {
        rest = strchr(rest + 1, ' ');
    }
    return rest != NULL ? strtoull(rest + 1, NULL, 10) : 0;
}

#endif
