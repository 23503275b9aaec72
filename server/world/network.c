/* Addresses on the network, and the certificates that they need. */
#include "world/binder.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"

static const char secure[] = "tls+tcp://";

static bool is_secure(const char *url)
{
    return strncmp(url, secure, strlen(secure)) == 0;
}

/* Makes the path absolute, because the server may change its working directory. */
static enum oto_status take_path(const struct oto_value *value, char room[SRV_PATH_BYTES], struct oto_error *error)
{
    const char *text = NULL;
    char folder[PATH_MAX] = "";
    if (value == NULL)
        return OTO_OK;
    const enum oto_status status = oto_value_text(value, &text, error);
    if (status != OTO_OK)
        return status;
    char *path = srv_resolve_path(value);
    const bool relative = path != NULL && path[0] != '/';
    const bool known = path != NULL && (!relative || getcwd(folder, sizeof folder) != NULL);
    const int length = !known ? -1 : snprintf(room, SRV_PATH_BYTES, "%s%s%s", folder, relative ? "/" : "", path);
    free(path);
    if (length < 0 || length >= SRV_PATH_BYTES)
        return oto_value_fail(value, error, OTO_LIMIT, "this path cannot be resolved");
    return OTO_OK;
}

static enum oto_status take_files(struct srv_tls_config *tls, const struct srv_raw_world *raw, struct oto_error *error)
{
    enum oto_status status = take_path(raw->tls_cert, tls->cert, error);
    if (status == OTO_OK)
        status = take_path(raw->tls_key, tls->key, error);
    if (status == OTO_OK)
        status = take_path(raw->tls_client_ca, tls->client_ca, error);
    if (status == OTO_OK)
        status = take_path(raw->tls_crl, tls->crl, error);
    if (status == OTO_OK && tls->crl[0] != '\0' && tls->client_ca[0] == '\0')
        return oto_value_fail(raw->tls_crl, error, OTO_INVALID, "`crl` revokes certificates of clients: it needs `client_ca`");
    return status;
}

/* Checks that udp:// addresses are used with the format of PlotJuggler, and only with it. */
static enum oto_status check_publish(struct srv_binder *binder, const struct srv_raw_world *raw, const struct oto_value *place)
{
    const struct srv_publish_config *publish = &binder->config->publish;
    const bool plotjuggler = raw->packed == 2;
    for (uint32_t i = 0; i < publish->listen_count; i++) {
        const char *url = publish->listen[i];
        if ((strncmp(url, "udp://", 6) == 0) != plotjuggler)
            return oto_value_fail(place, binder->error, OTO_INVALID,
                                  plotjuggler ? "format: plotjuggler sends to udp://HOST:PORT, and '%s' is no such address"
                                              : "'%s' needs `format: plotjuggler`", url);
        if (is_secure(url) && binder->config->tls.cert[0] == '\0')
            return oto_value_fail(place, binder->error, OTO_INVALID, "'%s' needs a certificate: `tls: {cert: FILE, key: FILE}`", url);
        if (!srv_address_is_open(url))
            continue;
        if (!publish->insecure)
            return oto_value_fail(place, binder->error, OTO_DENIED,
                                  "'%s' can be read by everybody who reaches the port, without encryption: listen on tls+tcp:// or "
                                  "127.0.0.1, or accept it with `publish: {insecure: true}` or --insecure", url);
        srv_binder_warn(binder, place, "'%s' can be read by everybody who reaches the port, without encryption", url);
    }
    return OTO_OK;
}

static enum oto_status check_control(struct srv_binder *binder, const struct oto_value *value)
{
    struct srv_control_config *control = &binder->config->control;
    const char *url = NULL;
    char host[256], port[8];
    bool any = false;
    for (uint32_t i = 0; i < control->rule_count; i++)
        any = any || control->rules[i].certificate[0] != '\0';
    if (value == NULL)
        return OTO_OK;
    const enum oto_status status = oto_value_text(value, &url, binder->error);
    if (status != OTO_OK)
        return status;
    if (!is_secure(url) || strlen(url) >= sizeof control->listen ||
        !srv_address_split(url + strlen(secure), host, sizeof host, port, sizeof port))
        return oto_value_expected(value, binder->error, "tls+tcp://HOST:PORT with a port of 0 to 65535");
    if (binder->config->tls.client_ca[0] == '\0')
        return oto_value_fail(value, binder->error, OTO_INVALID,
                              "remote control needs certificates of the server and of clients: `tls: {cert: FILE, key: FILE, client_ca: FILE}`");
    if (!any)
        return oto_value_fail(value, binder->error, OTO_INVALID,
                              "no certificate has a role: `roles: [{certificate: NAME, role: operate}]` would give one");
    memcpy(control->listen, url, strlen(url) + 1);
    return OTO_OK;
}

enum oto_status srv_load_network(struct srv_binder *binder, const struct srv_raw_world *raw)
{
    const struct oto_value *root = oto_document_root(binder->config->document);
    const struct oto_value *publish = oto_value_get(root, "publish");
    enum oto_status status = take_files(&binder->config->tls, raw, binder->error);
    if (status == OTO_OK)
        status = check_publish(binder, raw, publish != NULL ? publish : root);
    return status == OTO_OK ? check_control(binder, raw->control_listen) : status;
}
