/* A checkpoint whose header and state are of different boundaries, each with its right hash. */
#include "oto_test.h"

#include "daemon/checkpoint/checkpoint_file.h"
#include "world_process.h"

static int set_up(void **state)
{
    return world_set_up(state, NULL);
}

static void a_header_of_another_tick_or_chain_than_the_state_is_refused(void **state)
{
    struct world_process *world = *state;
    struct oto_error error = {0};
    struct srv_checkpoint checkpoint;
    char save[128], set[160], restore[160];
    (void)snprintf(save, sizeof save, "%s/save.ckpt", world->root);
    (void)snprintf(set, sizeof set, "--checkpoint=%s", save);
    (void)snprintf(restore, sizeof restore, "--restore=%s", save);
    const char *const run[] = {"--no-publish", "--mode=asap", "--for=100ms", set, NULL};
    const char *const again[] = {"--no-publish", "--mode=asap", "--for=100ms", restore, NULL};
    world_start(world, run);
    assert_int_equal(world_wait(world), 0);
    for (int i = 0; i < 3; i++) {
        assert_ok(srv_checkpoint_read(save, &checkpoint, &error), error);
        checkpoint.tick += i == 1;
        checkpoint.chain += i == 2;
        assert_ok(srv_checkpoint_write(save, &checkpoint, &error), error);
        checkpoint.tick -= i == 1;
        world_start(world, again);
        assert_int_equal(world_wait(world), i == 0 ? 0 : 1);
        assert_true(i == 0 || world_log_says(world, "its header says tick"));
        assert_ok(srv_checkpoint_write(save, &checkpoint, &error), error);
        srv_checkpoint_finish(&checkpoint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_header_of_another_tick_or_chain_than_the_state_is_refused, set_up,
                                        world_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
