/* The files of the page. */
#include "http/http_private.h"

#include <string.h>

#define CHUNK_BYTES 16384u
#define HEADER_BYTES 1024u

static const struct web_asset *find(const struct web_http *http, const char *path)
{
    for (uint32_t i = 0; i < http->options.asset_count; i++) {
        if (strcmp(http->options.assets[i].path, path) == 0) {
            return &http->options.assets[i];
        }
    }
    return NULL;
}

static bool has_word(struct lws *wsi, enum lws_token_indexes header, const char *word)
{
    char value[256];
    return lws_hdr_copy(wsi, value, sizeof value, header) > 0 && strstr(value, word) != NULL;
}

static bool add(struct lws *wsi, const char *name, const char *value, unsigned char **at, unsigned char *end)
{
    return lws_add_http_header_by_name(wsi, (const unsigned char *)name, (const unsigned char *)value,
                                       (int)strlen(value), at, end) == 0;
}

static int serve_not_modified(struct lws *wsi, const struct web_asset *asset)
{
    unsigned char room[LWS_PRE + HEADER_BYTES], *at = room + LWS_PRE, *end = room + sizeof room - 1;
    if (lws_add_http_common_headers(wsi, HTTP_STATUS_NOT_MODIFIED, asset->type, 0, &at, end) != 0 ||
        !add(wsi, "etag:", asset->etag, &at, end) ||
        lws_finalize_write_http_header(wsi, room + LWS_PRE, &at, end) != 0) {
        return 1;
    }
    return lws_http_transaction_completed(wsi) != 0 ? -1 : 0;
}

int web_serve_begin(struct lws *wsi, struct web_session *session, const char *path)
{
    const struct web_http *http = web_http_of(wsi);
    unsigned char room[LWS_PRE + HEADER_BYTES], *at = room + LWS_PRE, *end = room + sizeof room - 1;
    if (!web_admit_host(wsi) || !web_admit_origin(wsi)) {
        return lws_return_http_status(wsi, HTTP_STATUS_FORBIDDEN, NULL) != 0 ? -1 : lws_http_transaction_completed(wsi);
    }
    const struct web_asset *asset = lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) > 0 ? find(http, path) : NULL;
    if (asset == NULL) {
        return lws_return_http_status(wsi, HTTP_STATUS_NOT_FOUND, NULL) != 0 ? -1 : lws_http_transaction_completed(wsi);
    }
    if (has_word(wsi, WSI_TOKEN_HTTP_IF_NONE_MATCH, asset->etag)) {
        return serve_not_modified(wsi, asset);
    }
    const bool gzip = has_word(wsi, WSI_TOKEN_HTTP_ACCEPT_ENCODING, "gzip");
    session->asset = asset;
    session->body = gzip ? asset->gzip : asset->plain;
    session->body_bytes = gzip ? asset->gzip_bytes : asset->plain_bytes;
    session->sent = 0;
    if (lws_add_http_common_headers(wsi, HTTP_STATUS_OK, asset->type, session->body_bytes, &at, end) != 0 ||
        !add(wsi, "etag:", asset->etag, &at, end) || !add(wsi, "cache-control:", "no-cache", &at, end) ||
        !add(wsi, "vary:", "accept-encoding", &at, end) ||
        (gzip && !add(wsi, "content-encoding:", "gzip", &at, end)) ||
        lws_finalize_write_http_header(wsi, room + LWS_PRE, &at, end) != 0) {
        return 1;
    }
    (void)lws_callback_on_writable(wsi);
    return 0;
}

int web_serve_continue(struct lws *wsi, struct web_session *session)
{
    unsigned char room[LWS_PRE + CHUNK_BYTES];
    if (session->asset == NULL) {
        return 0;
    }
    const size_t left = session->body_bytes - session->sent, part = left < CHUNK_BYTES ? left : CHUNK_BYTES;
    const bool is_last = part == left;
    memcpy(room + LWS_PRE, session->body + session->sent, part);
    if (lws_write(wsi, room + LWS_PRE, part, is_last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) != (int)part) {
        return 1;
    }
    session->sent += part;
    if (!is_last) {
        (void)lws_callback_on_writable(wsi);
        return 0;
    }
    session->asset = NULL;
    return lws_http_transaction_completed(wsi) != 0 ? -1 : 0;
}
