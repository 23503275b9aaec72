/* What someone may give as a world file. Plugins are those of the build; nothing ticks. */
#include <stdlib.h>

#include "world_file.h"
#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void drop(void *context, const char *sentence)
{
    (void)context;
    if (sentence[0] == '\0') {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct memory_file file = memory_file_make(data, bytes);
    struct srv_world_config config = {0};
    struct oto_error error = {.status = OTO_OK};
    if (world_file_load(file.path, NULL, 0, drop, NULL, &config, &error) != OTO_OK) {
        if (error.text[0] == '\0') {
            abort();
        }
    } else {
        srv_world_config_finish(&config);
    }
    memory_file_close(&file);
    return 0;
}
