#include "daemon/check_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_private.h"

/* Prints an error as a JSON object. `text` is "file:line:column: error: sentence", or only the sentence. */
static void print_error(struct oto_json *json, const char *text)
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
    char name[sizeof(struct oto_error)];
    (void)snprintf(name, sizeof name, "%.*s", (int)file, text);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "file", name);
    oto_json_u64(json, "line", line);
    oto_json_u64(json, "column", column);
    oto_json_text(json, "error", end != NULL ? end + strlen(mark) : text);
    oto_json_close(json, '}');
}

void srv_check_report_error(void *context, const struct oto_error *error)
{
    struct srv_check_report *report = context;
    if (report->json) {
        if (report->count == 0) {
            report->out = (struct oto_json){.to = stdout};
            oto_json_open(&report->out, NULL, '{');
            oto_json_flag(&report->out, "ok", false);
            oto_json_open(&report->out, "errors", '[');
        }
        print_error(&report->out, error->text);
    } else {
        srv_server_say(NULL, error->text);
    }
    report->count++;
}

int srv_check_report_failed(struct srv_check_report *report)
{
    if (report->json) {
        oto_json_close(&report->out, ']');
        oto_json_close(&report->out, '}');
        oto_json_more(&report->out, "\n", 1);
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
