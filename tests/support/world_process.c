#include "world_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "oto_test.h"
#include "document/document.h"

const char *const world_yaml = "world: w\n"
                               "seed: 7\n"
                               "clock: {rate_hz: 1000}\n"
                               "vehicles:\n"
                               "  - name: car\n"
                               "    motion: {plugin: motion_script}\n"
                               "    nodes:\n"
                               "      - {name: imu, plugin: mems_imu, rate_hz: 200}\n"
                               "      - {name: mag, plugin: magnetometer, rate_hz: 50}\n"
                               "publish: {listen: [\"ipc\", \"tcp://127.0.0.1:0\"], coalesce_ms: 5}\n";

int64_t test_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void test_yield(void)
{
    (void)poll(NULL, 0, 1);
}

void world_make(struct world_process *world, const char *yaml)
{
    *world = (struct world_process){.pid = 0};
    (void)snprintf(world->root, sizeof world->root, "/tmp/oto-world-XXXXXX");
    assert_non_null(mkdtemp(world->root));
    (void)snprintf(world->file, sizeof world->file, "%s/world.yaml", world->root);
    (void)snprintf(world->log, sizeof world->log, "%s/log", world->root);
    FILE *file = fopen(world->file, "w");
    assert_non_null(file);
    assert_true(fputs(yaml != NULL ? yaml : world_yaml, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", world->root, 1), 0);
    assert_int_equal(setenv("OTOLITH_PLUGIN_PATH", OTO_PLUGIN_DIR, 1), 0);
    (void)unsetenv("OTOLITH_WORLD");
}

int world_set_up(void **state, const char *yaml)
{
    struct world_process *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world_make(world, yaml);
    *state = world;
    return 0;
}

int world_tear_down(void **state)
{
    world_remove(*state);
    free(*state);
    return 0;
}

void world_start(struct world_process *world, const char *const *arguments)
{
    char *argv[32] = {(char *)(uintptr_t)(OTO_BIN_DIR "/otolithd"), world->file};
    for (size_t i = 0; arguments != NULL && arguments[i] != NULL && i < 28; i++) {
        argv[2 + i] = (char *)(uintptr_t)arguments[i];
    }
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, 1, world->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    (void)posix_spawn_file_actions_adddup2(&actions, 1, 2);
    assert_int_equal(posix_spawn(&world->pid, argv[0], &actions, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
}

static bool has_exited(struct world_process *world)
{
    int how = 0;
    if (world->pid != 0 && waitpid(world->pid, &how, WNOHANG) == world->pid) {
        world->pid = 0;
        world->exit_code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    }
    return world->pid == 0;
}

char *world_log(const struct world_process *world)
{
    char *text = calloc(1, 65536);
    FILE *file = fopen(world->log, "r");
    if (file != NULL) {
        (void)fread(text, 1, 65535, file);
        (void)fclose(file);
    }
    return text;
}

bool world_log_says(const struct world_process *world, const char *text)
{
    char *log = world_log(world);
    const bool found = strstr(log, text) != NULL;
    free(log);
    return found;
}

void world_assert_said(const struct world_process *world, const char *text)
{
    if (!world_log_says(world, text)) {
        char *log = world_log(world);
        print_error("the log does not say '%s' but:\n%s\n", text, log);
        free(log);
        fail();
    }
}

uint64_t world_tick(const struct oto_client *client)
{
    struct oto_clock clock = {0};
    (void)oto_client_clock(client, &clock);
    return clock.tick;
}

void world_advance(const struct oto_client *client, uint64_t ticks)
{
    const uint64_t end = world_tick(client) + ticks;
    for (uint64_t tick = world_tick(client); tick < end;) {
        const uint64_t before = tick;
        wait_for((tick = world_tick(client)) != before);
    }
}

uint64_t world_counter(const struct oto_client *client, enum oto_counter counter)
{
    return __atomic_load_n(&oto_client_header(client)->counter[counter], __ATOMIC_RELAXED);
}

static void explain(const struct world_process *world)
{
    char *log = world_log(world);
    print_error("otolithd ended (code %d) and said:\n%s\n", world->exit_code, log);
    free(log);
}

static struct oto_client *try_attach(struct world_process *world, const char *name)
{
    struct oto_client *client = NULL;
    struct oto_error error = {0};
    const struct oto_client_options options = {.size = sizeof options, .world = WORLD_NAME, .name = name, .timeout_ms = TEST_DEADLINE_MS};
    if (has_exited(world)) {
        explain(world);
        fail();
    }
    (void)oto_client_open(&options, &client, &error);
    return client;
}

struct oto_client *world_attach(struct world_process *world, const char *name)
{
    struct oto_client *client = NULL;
    wait_for((client = try_attach(world, name)) != NULL);
    return client;
}

int world_wait(struct world_process *world)
{
    wait_for(has_exited(world));
    return world->exit_code;
}

int world_stop(struct world_process *world)
{
    if (!has_exited(world)) {
        assert_int_equal(kill(world->pid, SIGTERM), 0);
    }
    return world_wait(world);
}

bool world_left_something(const struct world_process *world)
{
    char path[128];
    struct stat facts;
    (void)snprintf(path, sizeof path, "%s/otolith", world->root);
    return lstat(path, &facts) == 0;
}

static void remove_tree(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *file;
    while (directory != NULL && (file = readdir(directory)) != NULL) {
        char inner[512];
        if (strcmp(file->d_name, ".") == 0 || strcmp(file->d_name, "..") == 0) {
            continue;
        }
        (void)snprintf(inner, sizeof inner, "%.200s/%.255s", path, file->d_name);
        if (unlink(inner) != 0) {
            remove_tree(inner);
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    (void)rmdir(path);
}

void world_remove(struct world_process *world)
{
    if (!has_exited(world)) {
        (void)kill(world->pid, SIGCONT);
        (void)kill(world->pid, SIGKILL);
        (void)waitpid(world->pid, NULL, 0);
        world->pid = 0;
    }
    remove_tree(world->root);
}

static const struct oto_value *parse_info(struct oto_client *client, struct oto_document **document)
{
    struct oto_reply reply;
    struct oto_error error = {0};
    assert_ok(oto_control_info(client, &reply, &error), error);
    assert_ok(oto_document_parse("info", reply.text, strlen(reply.text), NULL, document, &error), error);
    return oto_document_root(*document);
}

void world_info(struct oto_client *client, const char *key, char *text, size_t bytes)
{
    struct oto_document *document = NULL;
    const struct oto_value *value = oto_value_get(parse_info(client, &document), key);
    (void)snprintf(text, bytes, "%s", value != NULL && value->kind == OTO_VALUE_SCALAR ? value->text : "");
    oto_document_close(document);
}

void world_host_info(struct oto_client *client, const char *name, const char *key, char *text, size_t bytes)
{
    struct oto_document *document = NULL;
    const struct oto_value *hosts = oto_value_get(parse_info(client, &document), "plugin_hosts");
    assert_non_null(hosts);
    text[0] = '\0';
    for (uint32_t i = 0; i < hosts->count; i++) {
        if (strcmp(oto_value_get(hosts->items[i], "name")->text, name) == 0) {
            (void)snprintf(text, bytes, "%s", oto_value_get(hosts->items[i], key)->text);
        }
    }
    oto_document_close(document);
}

static bool try_endpoint(struct oto_client *client, unsigned index, char *url, size_t bytes)
{
    struct oto_document *document = NULL;
    const struct oto_value *list = oto_value_get(parse_info(client, &document), "endpoints");
    assert_non_null(list);
    const bool listens = index < list->count;
    (void)snprintf(url, bytes, "%s", listens ? list->items[index]->text : "");
    oto_document_close(document);
    return listens;
}

void world_endpoint(struct world_process *world, struct oto_client *client, unsigned index, char *url, size_t bytes)
{
    wait_for(!has_exited(world) && try_endpoint(client, index, url, bytes));
}

struct world_attached *world_attached_set_up(void **state, const char *yaml, const char *const *arguments)
{
    struct world_attached *attached = calloc(1, sizeof *attached);
    world_make(&attached->world, yaml);
    world_start(&attached->world, arguments);
    attached->client = world_attach(&attached->world, "test");
    *state = attached;
    return attached;
}

int world_attached_tear_down(void **state)
{
    struct world_attached *attached = *state;
    oto_client_close(attached->client);
    const int code = world_stop(&attached->world);
    const bool left = world_left_something(&attached->world);
    world_remove(&attached->world);
    free(attached);
    return code == 0 && !left ? 0 : -1;
}
