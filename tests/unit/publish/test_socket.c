/* Listeners of the publisher: what they may replace. */
#include <unistd.h>

#include "oto_test.h"
#include "publish/socket.h"

struct heard {
    char sentence[512];
};

static void on_endpoint(void *context, uint32_t index, const char *url)
{
    (void)context;
    (void)index;
    (void)url;
}

static void on_closed(void *context, uint32_t index)
{
    (void)context;
    assert_int_equal(index, 0);
}

static void on_event(void *context, const char *sentence)
{
    struct heard *heard = context;
    (void)snprintf(heard->sentence, sizeof heard->sentence, "%s", sentence);
}

static void a_listener_leaves_a_file_that_is_no_socket(void **unused)
{
    (void)unused;
    char root[] = "/tmp/oto-listen-XXXXXX", path[64], url[80], kept[8] = "";
    struct heard heard = {""};
    const struct srv_pub_options options = {
        .queue_depth = 16, .context = &heard, .endpoint = on_endpoint, .closed = on_closed, .event = on_event};
    struct srv_pub *pub = NULL;
    struct oto_error error = {0};
    assert_non_null(mkdtemp(root));
    (void)snprintf(path, sizeof path, "%s/notes", root);
    (void)snprintf(url, sizeof url, "ipc://%s", path);
    FILE *file = fopen(path, "w+");
    assert_true(fputs("notes", file) >= 0);
    assert_ok(srv_pub_open(&options, &pub, &error), error);
    assert_ok(srv_pub_listen(pub, url, &error), error); /* it retries every second */
    srv_pub_supervise(pub, INT64_C(10000000000));
    assert_non_null(strstr(heard.sentence, "is not a socket"));
    rewind(file);
    assert_non_null(fgets(kept, sizeof kept, file));
    assert_string_equal(kept, "notes");
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(unlink(path), 0);
    srv_pub_supervise(pub, INT64_C(20000000000)); /* now there is room */
    assert_int_equal(access(path, F_OK), 0);
    srv_pub_close(pub);
    (void)unlink(path);
    assert_int_equal(rmdir(root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listener_leaves_a_file_that_is_no_socket),
    };
    return cmocka_run_group_tests_name("socket", tests, NULL, NULL);
}
