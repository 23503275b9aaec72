#include "transport/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_CHAIN_BYTES 32768 /* limit for the certificates of a peer */
#define MAX_CHAIN_DEPTH 4

struct oto_tls_context {
    SSL_CTX *ssl;
    int64_t from_s, until_s;
};

struct oto_tls {
    SSL *ssl;
    bool wants_write;
    char reason[160];
};

/* ---- a socket without SIGPIPE: OpenSSL's own BIO calls write() ---- */

static int send_bytes(BIO *bio, const char *data, int bytes)
{
    const ssize_t sent = send((int)(intptr_t)BIO_get_data(bio), data, (size_t)bytes, MSG_NOSIGNAL);
    BIO_clear_retry_flags(bio);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
        BIO_set_retry_write(bio);
    }
    return (int)sent;
}

static int receive_bytes(BIO *bio, char *data, int room)
{
    const ssize_t got = recv((int)(intptr_t)BIO_get_data(bio), data, (size_t)room, 0);
    BIO_clear_retry_flags(bio);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        BIO_set_retry_read(bio);
    }
    return (int)got;
}

static long control_bio(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static BIO *socket_bio(int fd)
{
    static BIO_METHOD *method; /* made once in a process, like the methods of OpenSSL */
    if (method == NULL) {
        BIO_METHOD *made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "otolith socket");
        if (made == NULL) {
            return NULL;
        }
        (void)BIO_meth_set_write(made, send_bytes);
        (void)BIO_meth_set_read(made, receive_bytes);
        (void)BIO_meth_set_ctrl(made, control_bio);
        BIO_METHOD *none = NULL;
        if (!__atomic_compare_exchange_n(&method, &none, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            BIO_meth_free(made);
        }
    }
    BIO *bio = BIO_new(__atomic_load_n(&method, __ATOMIC_ACQUIRE));
    if (bio != NULL) {
        BIO_set_data(bio, (void *)(intptr_t)fd);
        BIO_set_init(bio, 1);
    }
    return bio;
}

/* ---- contexts ---- */

static const char *openssl_reason(void)
{
    const unsigned long number = ERR_peek_last_error();
    const char *text = ERR_SYSTEM_ERROR(number) ? strerror(ERR_GET_REASON(number)) : ERR_reason_error_string(number);
    return text != NULL ? text : "unknown reason";
}

static enum oto_status fail_file(const char *what, const char *path, struct oto_error *error)
{
    return oto_fail(error, OTO_INVALID, "the %s '%.200s' cannot be used: %.120s; a PEM file is expected", what, path,
                    openssl_reason());
}

/* Refuses keys with a passphrase, because a server has no user who could type it. */
static int no_passphrase(char *text, int room, int writing, void *context)
{
    (void)text;
    (void)room;
    (void)writing;
    (void)context;
    return -1;
}

/* Opens the key file and checks the permissions of the open descriptor, so that the file cannot be exchanged in between. */
static enum oto_status open_key(const char *path, FILE **file, struct oto_error *error)
{
    struct stat facts;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts) != 0) {
        const int reason = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return oto_fail(error, OTO_NOT_FOUND, "the key '%.300s' cannot be read: %s", path, strerror(reason));
    }
    if ((facts.st_mode & 077) != 0 || (facts.st_uid != geteuid() && facts.st_uid != 0)) {
        (void)close(fd);
        return oto_fail(error, OTO_DENIED,
                        "the key '%.300s' has mode %03o and belongs to user %u: only its user, %u or root, may have access; chmod 600",
                        path, (unsigned)facts.st_mode & 0777, (unsigned)facts.st_uid, (unsigned)geteuid());
    }
    *file = fdopen(fd, "r");
    if (*file == NULL) {
        (void)close(fd);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the key '%.300s'", path);
    }
    return OTO_OK;
}

static enum oto_status load_key(SSL_CTX *ssl, const char *path, struct oto_error *error)
{
    FILE *file;
    const enum oto_status status = open_key(path, &file, error);
    if (status != OTO_OK) {
        return status;
    }
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, no_passphrase, NULL);
    (void)fclose(file);
    if (key == NULL) {
        return fail_file("key", path, error);
    }
    const bool fits = SSL_CTX_use_PrivateKey(ssl, key) == 1 && SSL_CTX_check_private_key(ssl) == 1;
    EVP_PKEY_free(key);
    return fits ? OTO_OK : fail_file("key", path, error);
}

static int64_t seconds_of(const ASN1_TIME *time, int64_t unknown)
{
    int days = 0, seconds = 0;
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    const bool known = epoch != NULL && ASN1_TIME_diff(&days, &seconds, epoch, time) == 1;
    ASN1_TIME_free(epoch);
    return known ? (int64_t)days * 86400 + seconds : unknown;
}

static enum oto_status load_own(struct oto_tls_context *context, const struct oto_tls_files *files, struct oto_error *error)
{
    if (files->cert == NULL && files->key == NULL) {
        return OTO_OK;
    }
    if (files->cert == NULL || files->key == NULL) {
        return oto_fail(error, OTO_INVALID, "a certificate and its key belong together; only the %s is given",
                        files->cert != NULL ? "certificate" : "key");
    }
    if (SSL_CTX_use_certificate_chain_file(context->ssl, files->cert) != 1) {
        return fail_file("certificate", files->cert, error);
    }
    const X509 *own = SSL_CTX_get0_certificate(context->ssl);
    context->from_s = seconds_of(X509_get0_notBefore(own), INT64_MIN);
    context->until_s = seconds_of(X509_get0_notAfter(own), INT64_MAX);
    return load_key(context->ssl, files->key, error);
}

/* With revocation lists, every authority of a chain needs one that is not out of date. */
static enum oto_status load_crl(SSL_CTX *ssl, const char *path, struct oto_error *error)
{
    X509_STORE *store = SSL_CTX_get_cert_store(ssl);
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
    if (lookup == NULL || X509_load_crl_file(lookup, path, X509_FILETYPE_PEM) <= 0) {
        return fail_file("revocation list", path, error);
    }
    (void)X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
    return OTO_OK;
}

static enum oto_status load_files(struct oto_tls_context *context, const struct oto_tls_files *files, struct oto_error *error)
{
    enum oto_status status = load_own(context, files, error);
    if (status == OTO_OK && files->ca != NULL && SSL_CTX_load_verify_file(context->ssl, files->ca) != 1) {
        status = fail_file("authority", files->ca, error);
    }
    return status == OTO_OK && files->crl != NULL ? load_crl(context->ssl, files->crl, error) : status;
}

static struct oto_tls_context *make_context(const SSL_METHOD *method)
{
    struct oto_tls_context *made = calloc(1, sizeof *made);
    if (made == NULL || (made->ssl = SSL_CTX_new(method)) == NULL) {
        free(made);
        return NULL;
    }
    made->from_s = INT64_MIN;
    made->until_s = INT64_MAX;
    (void)SSL_CTX_set_min_proto_version(made->ssl, TLS1_2_VERSION);
    (void)SSL_CTX_set_options(made->ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
    (void)SSL_CTX_set_num_tickets(made->ssl, 0);
    (void)SSL_CTX_set_session_cache_mode(made->ssl, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_mode(made->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_max_cert_list(made->ssl, MAX_CHAIN_BYTES);
    SSL_CTX_set_verify_depth(made->ssl, MAX_CHAIN_DEPTH);
    return made;
}

static struct oto_tls_files whole(const struct oto_tls_files *files)
{
    struct oto_tls_files copy = {.size = sizeof copy};
    if (files != NULL) {
        memcpy(&copy, files, files->size < sizeof copy ? files->size : sizeof copy);
    }
    return copy;
}

static enum oto_status finish_context(struct oto_tls_context *made, const struct oto_tls_files *files,
                                      struct oto_tls_context **context, struct oto_error *error)
{
    ERR_clear_error();
    const enum oto_status status = load_files(made, files, error);
    ERR_clear_error();
    if (status != OTO_OK) {
        oto_tls_context_free(made);
        return status;
    }
    *context = made;
    return OTO_OK;
}

enum oto_status oto_tls_context_client(const struct oto_tls_files *files, struct oto_tls_context **context,
                                       struct oto_error *error)
{
    const struct oto_tls_files asked = whole(files);
    struct oto_tls_context *made = make_context(TLS_client_method());
    *context = NULL;
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for TLS");
    }
    SSL_CTX_set_verify(made->ssl, SSL_VERIFY_PEER, NULL);
    if (asked.ca == NULL) {
        (void)SSL_CTX_set_default_verify_paths(made->ssl);
    }
    return finish_context(made, &asked, context, error);
}

enum oto_status oto_tls_context_server(const struct oto_tls_files *files, struct oto_tls_context **context,
                                       struct oto_error *error)
{
    const struct oto_tls_files asked = whole(files);
    *context = NULL;
    if (asked.cert == NULL || asked.key == NULL) {
        return oto_fail(error, OTO_INVALID, "a TLS server needs a certificate and its key");
    }
    struct oto_tls_context *made = make_context(TLS_server_method());
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for TLS");
    }
    (void)SSL_CTX_set_options(made->ssl, SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_verify(made->ssl, asked.ca != NULL ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_NONE, NULL);
    return finish_context(made, &asked, context, error);
}

void oto_tls_context_free(struct oto_tls_context *context)
{
    if (context != NULL) {
        SSL_CTX_free(context->ssl);
        free(context);
    }
}

void oto_tls_context_validity(const struct oto_tls_context *context, int64_t *from_s, int64_t *until_s)
{
    *from_s = context->from_s;
    *until_s = context->until_s;
}

/* ---- connections ---- */

/* Sets the expected host: an IP address must be among the addresses of the certificate, a name among its names. */
static bool expect_host(SSL *ssl, const char *host)
{
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1) {
        return true;
    }
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct oto_tls *oto_tls_open(struct oto_tls_context *context, int fd, const char *host)
{
    struct oto_tls *tls = calloc(1, sizeof *tls);
    BIO *bio = tls != NULL ? socket_bio(fd) : NULL;
    if (bio == NULL || (tls->ssl = SSL_new(context->ssl)) == NULL) {
        BIO_free(bio);
        free(tls);
        return NULL;
    }
    SSL_set_bio(tls->ssl, bio, bio);
    if (host == NULL) {
        SSL_set_accept_state(tls->ssl);
    } else {
        SSL_set_connect_state(tls->ssl);
        if (!expect_host(tls->ssl, host)) {
            oto_tls_close(tls);
            return NULL;
        }
    }
    return tls;
}

void oto_tls_close(struct oto_tls *tls)
{
    if (tls != NULL) {
        if (SSL_is_init_finished(tls->ssl)) {
            (void)SSL_shutdown(tls->ssl); /* sends the end, if the socket takes it now */
        }
        SSL_free(tls->ssl);
        ERR_clear_error();
        free(tls);
    }
}

static enum oto_status end_as(struct oto_tls *tls, enum oto_status status, const char *what, const char *why)
{
    (void)snprintf(tls->reason, sizeof tls->reason, "%s%s", what, why);
    return status;
}

static enum oto_status judge(struct oto_tls *tls, int result, int system_error)
{
    const int kind = SSL_get_error(tls->ssl, result);
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
        tls->wants_write = kind == SSL_ERROR_WANT_WRITE;
        return OTO_AGAIN;
    }
    if (kind == SSL_ERROR_ZERO_RETURN || ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        return end_as(tls, OTO_CLOSED, "", "the peer has closed the connection");
    }
    if (kind == SSL_ERROR_SYSCALL) {
        return end_as(tls, OTO_CLOSED, "", system_error != 0 ? strerror(system_error) : "the peer has closed the connection");
    }
    const long verified = SSL_get_verify_result(tls->ssl);
    return verified != X509_V_OK
               ? end_as(tls, OTO_DENIED, "the peer's certificate is refused: ", X509_verify_cert_error_string(verified))
               : end_as(tls, OTO_DENIED, "TLS: ", openssl_reason());
}

enum oto_status oto_tls_handshake(struct oto_tls *tls)
{
    ERR_clear_error();
    errno = 0;
    const int result = SSL_do_handshake(tls->ssl);
    return result == 1 ? OTO_OK : judge(tls, result, errno);
}

enum oto_status oto_tls_read(struct oto_tls *tls, void *data, size_t room, size_t *got)
{
    ERR_clear_error();
    errno = 0;
    const int result = SSL_read_ex(tls->ssl, data, room, got);
    return result == 1 ? OTO_OK : judge(tls, result, errno);
}

enum oto_status oto_tls_write(struct oto_tls *tls, const void *data, size_t bytes, size_t *sent)
{
    ERR_clear_error();
    errno = 0;
    const int result = SSL_write_ex(tls->ssl, data, bytes, sent);
    return result == 1 ? OTO_OK : judge(tls, result, errno);
}

bool oto_tls_wants_write(const struct oto_tls *tls)
{
    return tls->wants_write;
}

const char *oto_tls_reason(const struct oto_tls *tls)
{
    return tls->reason;
}

static bool is_plain(const unsigned char *text, int bytes)
{
    bool plain = bytes > 0 && bytes < OTO_TLS_NAME_BYTES;
    for (int i = 0; plain && i < bytes; i++) {
        plain = text[i] > ' ' && text[i] < 0x7f;
    }
    return plain;
}

void oto_tls_peer_name(const struct oto_tls *tls, char name[OTO_TLS_NAME_BYTES])
{
    X509 *peer = SSL_get1_peer_certificate(tls->ssl);
    const X509_NAME *subject = peer != NULL ? X509_get_subject_name(peer) : NULL;
    const int at = subject != NULL ? X509_NAME_get_index_by_NID(subject, NID_commonName, -1) : -1;
    name[0] = '\0';
    if (at >= 0 && X509_NAME_get_index_by_NID(subject, NID_commonName, at) < 0) {
        unsigned char *text = NULL;
        const int bytes = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
        if (is_plain(text, bytes)) {
            memcpy(name, text, (size_t)bytes);
            name[bytes] = '\0';
        }
        OPENSSL_free(text);
    }
    X509_free(peer);
}
