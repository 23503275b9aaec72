#include "web_link.h"

#include <string.h>
#include <time.h>

#include "cli.h"
#include "document/document.h"

#define POLL_MS 20

static void take(const struct oto_value *info, const char *key, char *text, size_t bytes)
{
    const struct oto_value *value = oto_value_get(info, key);
    (void)snprintf(text, bytes, "%s", value != NULL && value->text != NULL ? value->text : "");
}

enum oto_status cli_web_link_read(struct oto_client *client, struct cli_web_link *link, struct oto_error *error)
{
    struct oto_reply reply;
    struct oto_document *document = NULL;
    char expected[8];
    enum oto_status status = oto_control_info(client, &reply, error);
    if (status == OTO_OK) {
        status = oto_document_parse("info", reply.text, strlen(reply.text), NULL, &document, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    const struct oto_value *info = oto_document_root(document);
    take(info, "page", link->link, sizeof link->link);
    take(info, "page_tokens", link->tokens, sizeof link->tokens);
    take(info, "page_expected", expected, sizeof expected);
    link->expected = strcmp(expected, "true") == 0;
    oto_document_close(document);
    return OTO_OK;
}

enum oto_status cli_web_link_wait(struct oto_client *client, int timeout_ms, struct cli_web_link *link, struct oto_error *error)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000};
    enum oto_status status = cli_web_link_read(client, link, error);
    for (; status == OTO_OK && link->expected && link->link[0] == 0 && timeout_ms > 0 && !cli_interrupted(); timeout_ms -= POLL_MS) {
        (void)nanosleep(&pause, NULL);
        status = cli_web_link_read(client, link, error);
    }
    return status;
}
