/* What a client may send to the control socket. */
#include <stdlib.h>
#include <string.h>

#include "wire/control_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Reads every text to its end. */
static size_t walk(const struct oto_message *message)
{
    size_t sum = strlen(message->op);
    for (uint32_t i = 0; i < message->argument_count; i++) {
        const struct oto_argument *argument = &message->arguments[i];
        sum += argument->kind == OTO_ARGUMENT_TEXT ? strlen(argument->text) : 0;
        for (uint32_t k = 0; k < argument->count; k++) {
            sum += argument->kind == OTO_ARGUMENT_TEXT_LIST ? strlen(argument->text_list[k]) : argument->u64_list[k] & 1;
        }
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct oto_message message;
    struct oto_error error = {.status = OTO_OK};
    if (oto_message_decode(data, bytes, &message, &error) != OTO_OK) {
        if (error.text[0] == '\0') {
            abort();
        }
        return 0;
    }
    if (walk(&message) > 2 * (size_t)OTO_MESSAGE_MAX_BYTES) {
        abort();
    }
    return 0;
}
