#include "daemon/check_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "server_private.h"

static void print_text(const char *text, size_t length)
{
    char form[OTO_JSON_CHARACTER_BYTES];
    (void)fputc('"', stdout);
    for (const char *end = text + length; text < end;) {
        (void)fwrite(form, 1, oto_json_character(&text, form), stdout);
    }
    (void)fputc('"', stdout);
}

/* Prints an error as a JSON object. `text` is "file:line:column: error: sentence", or only the sentence. */
static void print_error(const char *text)
{
    static const char mark[] = ": error: ";
    const char *end = strstr(text, mark);
    unsigned line = 0, column = 0;
    size_t file = end != NULL ? (size_t)(end - text) : 0;
    int used = 0;
    for (const char *colon = text; end != NULL && (colon = memchr(colon, ':', (size_t)(end - colon))) != NULL; colon++) {
        if (sscanf(colon, ":%u:%u%n", &line, &column, &used) == 2 && colon + used == end) {
            file = (size_t)(colon - text);
            break;
        }
    }
    (void)fputs("{\"file\": ", stdout);
    print_text(text, file);
    (void)printf(", \"line\": %u, \"column\": %u, \"error\": ", line, column);
    const char *sentence = end != NULL ? end + strlen(mark) : text;
    print_text(sentence, strlen(sentence));
    (void)fputc('}', stdout);
}

void srv_check_report_error(void *context, const struct oto_error *error)
{
    struct srv_check_report *report = context;
    if (report->json) {
        (void)fputs(report->count == 0 ? "{\"ok\": false, \"errors\": [" : ", ", stdout);
        print_error(error->text);
    } else {
        srv_server_say(NULL, error->text);
    }
    report->count++;
}

int srv_check_report_failed(const struct srv_check_report *report)
{
    if (report->json) {
        (void)fputs("]}\n", stdout);
    } else if (report->count >= OTO_MOST_PROBLEMS) {
        char sentence[96];
        (void)snprintf(sentence, sizeof sentence, "the check stopped after %d errors", OTO_MOST_PROBLEMS);
        srv_server_say(NULL, sentence);
    }
    (void)fflush(stdout);
    return EXIT_FAILURE;
}

int srv_check_report_good(const struct srv_check_report *report, const struct srv_world_config *config, uint32_t channels)
{
    const uint32_t vehicles = config->vehicle_count, nodes = config->node_count;
    const int printed =
        report->json ? printf("{\"ok\": true, \"world\": \"%s\", \"vehicles\": %u, \"nodes\": %u, \"channels\": %u}\n", config->name,
                              vehicles, nodes, channels)
                     : printf("ok: world '%s', %u vehicle%s, %u node%s, %u channels\n", config->name, vehicles,
                              vehicles == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s", channels);
    return printed > 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
