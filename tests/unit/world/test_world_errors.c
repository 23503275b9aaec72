/* Bad worlds: each is refused with file:line:column, the offending value and what would be accepted. */
#include "config_test.h"

#define CAR "vehicles: [{name: car, motion: {plugin: still}}]\n"
#define NODES(nodes) "world: w\nvehicles:\n  - name: car\n    motion: {plugin: still}\n    nodes:\n" nodes

struct bad_world {
    const char *text, *place;
    const char *words[3];
};

static void assert_refused(const struct bad_world *bad, const struct srv_override *overrides, uint32_t count)
{
    struct srv_world_config config, zero = {0};
    struct oto_error error = {0};
    memset(&config, 0x55, sizeof config);
    if (load_text(bad->text, overrides, count, NULL, &config, &error) == OTO_OK)
        fail_msg("accepted: %s", bad->text);
    assert_memory_equal(&config, &zero, sizeof config);
    if (strncmp(error.text, bad->place, strlen(bad->place)) != 0)
        fail_msg("does not begin with '%s': %s", bad->place, error.text);
    assert_non_null(strstr(error.text, "error: "));
    for (size_t i = 0; i < 3 && bad->words[i] != NULL; i++)
        if (strstr(error.text, bad->words[i]) == NULL)
            fail_msg("'%s' is not in: %s", bad->words[i], error.text);
}

#define TABLE_TEST(table)                                                                                              \
    for (size_t i = 0; i < sizeof(table) / sizeof *(table); i++)                                                       \
    assert_refused(&(table)[i], NULL, 0)

static void broken_files_are_refused(void **state)
{
    (void)state;
    static const struct bad_world cases[] = {
        {"world: [w\n" CAR, "w.yaml:", {"missing"}},
        {"{\"world\": \"w\",, \"seed\": 1}", "w.yaml:1:15:", {"expected a value"}},
        {"", "w.yaml:1:1:", {"got nothing"}},
        {"world: w\nworld: v\n" CAR, "w.yaml:2:1:", {"duplicate key 'world'", "1:1"}},
        {"world: &a w\n" CAR, "w.yaml:1:", {"anchors"}},
        {"world: w\nseed: *a\n" CAR, "w.yaml:2:", {"aliases"}},
        {"world: w\n" CAR "---\nworld: v\n", "w.yaml:3:1:", {"second document"}},
        {"- world\n", "w.yaml:1:1:", {"a map with the keys of the world, got a list"}},
        {"world\n", "w.yaml:1:1:", {"got 'world'"}},
    };
    TABLE_TEST(cases);
}

static void unknown_and_missing_keys_are_refused_with_a_suggestion(void **state)
{
    (void)state;
    static const struct bad_world cases[] = {
        {"world: w\nsead: 1\n" CAR, "w.yaml:2:1:", {"unknown key 'sead' in the world", "did you mean 'seed'"}},
        {"world: w\nclock: {rate: 5}\n" CAR, "w.yaml:2:9:", {"unknown key 'rate' in clock"}},
        {"world: w\ncolour: 5\n" CAR, "w.yaml:2:1:", {"unknown key 'colour'", "accepted: world, seed"}},
        {NODES("      - {name: imu, plugin: probe, rate_hs: 5}\n"), "w.yaml:6:36:", {"did you mean 'rate_hz'"}},
        {NODES("      - {name: imu, plugin: probe, mount: {rpy: [0, 0, 0]}}\n"), "w.yaml:6:44:", {"'rpy' in mount"}},
        {NODES("      - {name: imu, plugin: probe, params: {lew: mems}}\n"), "w.yaml:6:45:", {"'lew'", "'law'"}},
        {NODES("      - {name: imu}\n"), "w.yaml:6:9:", {"key 'plugin' is missing in a node"}},
        {"seed: 1\n" CAR, "w.yaml:1:1:", {"key 'world' is missing"}},
        {"world: w\n", "w.yaml:1:1:", {"key 'vehicles' is missing"}},
        {"world: w\nvehicles: [{name: car}]\n", "w.yaml:2:12:", {"key 'motion' is missing in a vehicle"}},
        {"world: w\nvehicles: [{name: car, motion: {plugin: still, rate_hz: 5}}]\n",
         "w.yaml:2:",
         {"'rate_hz' in motion"}},
        {"world: w\nvehicles: [{name: car, motion: {plugin: needy, params: {}}}]\n",
         "w.yaml:2:56:",
         {"'needy' needs the parameter 'path'"}},
        {NODES("      - {name: imu, plugin: probe, part: bmi088}\n"), "w.yaml:6:42:", {"'bmi088' is no part", "vendor/part"}},
        {NODES("      - {name: imu, plugin: probe, mode: fast}\n"), "w.yaml:6:42:", {"`mode` needs a `part`"}},
        {NODES("      - {name: imu, plugin: probe, unit: -1}\n"), "w.yaml:6:42:", {"'-1'"}},
    };
    TABLE_TEST(cases);
}

static void wrong_types_are_refused(void **state)
{
    (void)state;
    static const struct bad_world cases[] = {
        {"world: w\nseed: abc\n" CAR, "w.yaml:2:7:", {"0 to 18446744073709551615", "'abc'"}},
        {"world: w\nseed: -1\n" CAR, "w.yaml:2:7:", {"'-1'"}},
        {"world: w\nseed: 18446744073709551616\n" CAR, "w.yaml:2:7:", {"'18446744073709551616'"}},
        {"world: w\nseed: 1.5\n" CAR, "w.yaml:2:7:", {"'1.5'"}},
        {"world: w\nclock: 5\n" CAR, "w.yaml:2:8:", {"a map with the keys of clock, got '5'"}},
        {"world: w\nclock: {scale: [1]}\n" CAR, "w.yaml:2:16:", {"expected a number, got a list"}},
        {"world: w\nclock: {scale: ~}\n" CAR, "w.yaml:2:16:", {"expected a number, got nothing"}},
        {"world: w\nclock: {mode: fast}\n" CAR, "w.yaml:2:15:", {"realtime or asap or step or lockstep or external, got 'fast'"}},
        {"world: w\nclock: {mode: lockstep}\n" CAR, "w.yaml:2:15:", {"mode lockstep needs a participant"}},
        {"world: w\nclock: {mode: external}\n" CAR, "w.yaml:2:15:", {"mode external needs `master`"}},
        {"world: w\nclock: {overrun: {max_burst: 3}}\n" CAR, "w.yaml:2:18:", {"'policy' is missing"}},
        {"world: w\nvehicles: car\n", "w.yaml:2:11:", {"expected a list, got 'car'"}},
        {"world: w\nvehicles: [car]\n", "w.yaml:2:12:", {"a map with the keys of a vehicle, got 'car'"}},
        {"world: w\nvehicles: []\n", "w.yaml:2:11:", {"at least one vehicle"}},
        {"world: w\nvehicles:\n", "w.yaml:2:1:", {"expected a list, got nothing"}},
        {"world: w\nenvironment: {gravity: moon}\n" CAR, "w.yaml:2:24:", {"wgs84 or a list of 3 numbers, got 'moon'"}},
        {"world: w\nenvironment: {gravity: [0, 0]}\n" CAR, "w.yaml:2:24:", {"3 numbers, got 2"}},
        {"world: w\nenvironment: {magnetic_field: wmm2015}\n" CAR,
         "w.yaml:2:31:",
         {"wmm2025 or wmm2020 or a list of 3 numbers, got 'wmm2015'"}},
        {"world: w\nenvironment: {atmosphere: thin}\n" CAR, "w.yaml:2:27:", {"constant or isa, got 'thin'"}},
        {"world: w\norigin: {date: 2026-02-30}\n" CAR, "w.yaml:2:16:", {"'2026-02-30' is not a day", "01 to 28"}},
        {"world: w\norigin: {date: yesterday}\n" CAR, "w.yaml:2:16:", {"'yesterday'", "YYYY-MM-DD"}},
        {"world: w\norigin: {date: [2026]}\n" CAR, "w.yaml:2:16:", {"YYYY-MM-DD, got a list"}},
        {"world: w\npublish: yes\n" CAR, "w.yaml:2:10:", {"true or false, got 'yes'"}},
        {"world: w\npublish: {listen: [\"ws://x:1\"]}\n" CAR, "w.yaml:2:20:", {"tcp://HOST:PORT", "ws://x:1"}},
        {"world: w\npublish: {listen: []}\n" CAR, "w.yaml:2:19:", {"publish: false"}},
        {"world: w\npublish: {listen: [ipc, ipc]}\n" CAR, "w.yaml:2:25:", {"twice"}},
        {NODES("      - {name: imu, plugin: probe, params: 5}\n"), "w.yaml:6:44:", {"expected a map"}},
        {NODES("      - {name: imu, plugin: probe, params: {law: 5}}\n"), "w.yaml:6:50:", {"mems", "mavs"}},
        {NODES("      - {name: imu, plugin: [probe]}\n"), "w.yaml:6:29:", {"expected a text, got a list"}},
    };
    TABLE_TEST(cases);
}

#define MOVED "vehicles: [{name: car, motion: {participant: physics}}]\n"

static void participants_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct bad_world cases[] = {
        {"world: w\nvehicles: [{name: car, motion: {}}]\n", "w.yaml:2:32:", {"'plugin' or 'participant' is missing in motion"}},
        {"world: w\nvehicles: [{name: car, motion: {plugin: still, participant: p}}]\n", "w.yaml:2:32:", {"not both"}},
        {"world: w\nvehicles: [{name: car, motion: {participant: 'a b'}}]\n", "w.yaml:2:46:", {"a b"}},
        {"world: w\nvehicles: [{name: car, motion: {participant: p, params: {speed_m_s: fast}}}]\n", "w.yaml:2:69:", {"fast"}},
        {"world: w\nparticipants: [{name: p}, {name: p}]\n" MOVED, "w.yaml:2:34:", {"two participants are called 'p'"}},
        {"world: w\nparticipants: [{role: physics}]\n" MOVED, "w.yaml:2:16:", {"'name' is missing"}},
        {"world: w\nparticipants: [{name: p, role: observer}]\n" MOVED, "w.yaml:2:32:", {"physics or controller or master"}},
        {"world: w\nparticipants: [{name: p, role: physics}]\n" MOVED, "w.yaml:2:16:", {"no vehicle has `motion: {participant: p}`"}},
        {"world: w\nparticipants: [{name: physics, role: controller}]\n" MOVED, "w.yaml:2:16:", {"gives the truth of a vehicle"}},
        {"world: w\nparticipants: [{name: physics, on_timeout: panic}]\n" MOVED, "w.yaml:2:44:", {"wait or hold or drop or fault"}},
        {"world: w\nparticipants: [{name: physics, timeout_ms: -1}]\n" MOVED, "w.yaml:2:44:", {"from 0 to 600000 ms"}},
        {"world: w\nparticipants: [{name: physics, wait_limit_s: 0}]\n" MOVED, "w.yaml:2:46:", {"more than 0"}},
        {"world: w\nparticipants: [{name: physics, max_step_n: 0}]\n" MOVED, "w.yaml:2:44:", {"from 1 to 1000"}},
        {"world: w\nvehicles: [{name: car, motion: {plugin: still, controls: p}}]\n", "w.yaml:2:58:", {"motion 'still' takes no controls"}},
        {"world: w\nparticipants: [{name: physics, timeout: 5}]\n" MOVED, "w.yaml:2:32:", {"timeout_ms"}},
    };
    TABLE_TEST(cases);
}

static void models_outside_their_validity_are_refused_where_it_was_left(void **state)
{
    (void)state;
    static const struct bad_world cases[] = {
        {"world: w\norigin: {date: 2031-01-01}\nenvironment: {magnetic_field: wmm2025}\n" CAR,
         "w.yaml:2:16:",
         {"magnetic_field: wmm2025 is not valid in 2031", "2025.0 to 2030.0"}},
        {"world: w\nenvironment: {magnetic_field: wmm2020}\n" CAR,
         "w.yaml:2:31:",
         {"wmm2020 is not valid in 2026.5", "2020.0 to 2025.0"}},
        {"world: w\norigin: {altitude_m: -1500}\nenvironment: {magnetic_field: wmm2025}\n" CAR,
         "w.yaml:2:22:",
         {"-1500 m", "-1000 to 850000 m"}},
        {"world: w\norigin: {altitude_m: 90000}\nenvironment: {atmosphere: isa}\n" CAR,
         "w.yaml:2:22:",
         {"atmosphere: ", "90000 m", "81019 m"}},
    };
    TABLE_TEST(cases);
}

#define SHAKEN(vibration) "world: w\nvehicles:\n  - name: car\n    motion: {plugin: still}\n    vibration:\n      - " vibration "\n"
static void bad_tables_and_vibrations_are_refused(void **state)
{
    (void)state;
    static const struct bad_world cases[] = {
        {"world: w\nenvironment: {temperature_degc: hot}\n" CAR, "w.yaml:2:33:", {"expected a number", "'hot'"}},
        {"world: w\nenvironment: {temperature_degc: {a: 1}}\n" CAR, "w.yaml:2:33:", {"a number or a list of rows"}},
        {"world: w\nenvironment: {temperature_degc: [1, 2]}\n" CAR, "w.yaml:2:34:", {"[time in s, value]"}},
        {"world: w\nenvironment: {temperature_degc: []}\n" CAR, "w.yaml:2:33:", {"1 to 10000 rows, got 0"}},
        {"world: w\nenvironment: {temperature_degc: [[0, 20], [0, 30]]}\n" CAR,
         "w.yaml:2:44:",
         {"time in s grows, got '0' after 0"}},
        {"world: w\nenvironment: {temperature_degc: [[-1, 20]]}\n" CAR, "w.yaml:2:35:", {"from 0, got '-1'"}},
        {"world: w\nenvironment: {temperature_degc: [[0, 300]]}\n" CAR, "w.yaml:2:38:", {"to 200 degC, got '300'"}},
        {"world: w\nenvironment: {pressure_pa: [[0, .nan]]}\n" CAR, "w.yaml:2:33:", {"finite"}},
        {"world: w\nenvironment: {earth_rate: maybe}\n" CAR, "w.yaml:2:27:", {"true or false, got 'maybe'"}},
        {SHAKEN("5"), "w.yaml:6:9:", {"a map with the keys of vibration"}},
        {SHAKEN("{}"), "w.yaml:6:9:", {"one of sine, psd, noise and engine", "got 0 keys"}},
        {SHAKEN("{sine: {frequency_hz: 1}, engine: {rpm: 1, orders: []}}"), "w.yaml:6:9:", {"got 2 keys"}},
        {SHAKEN("{sin: {frequency_hz: 1}}"), "w.yaml:6:10:", {"did you mean 'sine'"}},
        {SHAKEN("{sine: {accel_body_m_s2: [1, 0, 0]}}"), "w.yaml:6:16:", {"'frequency_hz' is missing in sine"}},
        {SHAKEN("{sine: {frequency_hz: 0}}"), "w.yaml:6:31:", {"more than 0", "Hz, got '0'"}},
        {SHAKEN("{engine: {rpm: 3000}}"), "w.yaml:6:18:", {"'orders' is missing in engine"}},
        {SHAKEN("{engine: {rpm: [[0, 10], [5, -1]], orders: [{order: 1}]}}"), "w.yaml:6:38:", {"0 to 1000000 1/min"}},
        {SHAKEN("{engine: {rpm: [[0, 10]], orders: []}}"), "w.yaml:6:43:", {"1 to 64 orders, got 0"}},
        {SHAKEN("{engine: {rpm: [[0, 10]], orders: [{order: -2}]}}"), "w.yaml:6:52:", {"got '-2'"}},
        {SHAKEN("{psd: {}}"), "w.yaml:6:15:", {"either level_g2_hz or level_m2_s4_hz"}},
        {SHAKEN("{psd: {level_g2_hz: 0.04}}"), "w.yaml:6:29:", {"expected a list of rows", "'0.04'"}},
        {SHAKEN("{psd: {level_g2_hz: [[20, 0.04]]}}"), "w.yaml:6:15:", {"two breakpoints or more"}},
        {SHAKEN("{psd: {level_g2_hz: [[0, 0.04], [20, 0.04]]}}"), "w.yaml:6:15:", {"more than 0 Hz"}},
        {SHAKEN("{psd: {level_g2_hz: [[10, 0], [20, 0.04]]}}"), "w.yaml:6:35:", {"more than 0", "g^2/Hz, got '0'"}},
        {SHAKEN("{psd: {level_g2_hz: [[10, 1], [20, 1]], lines: 7}}"), "w.yaml:6:56:", {"from 8 to 4096"}},
    };
    TABLE_TEST(cases);
}

/* A few kilobytes of text would ask for gigabytes. */
static void more_lines_of_vibration_than_a_world_may_have_are_refused(void **state)
{
    (void)state;
    enum { VEHICLES = 4, SPECTRA = 64, ROOM = 64 * 1024 };
    char *text = malloc(ROOM);
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, ROOM, "world: w\nvehicles:\n");
    for (int v = 0; v < VEHICLES; v++) {
        used += (size_t)snprintf(text + used, ROOM - used, "  - {name: v%d, motion: {plugin: still}, vibration: [", v);
        for (int i = 0; i < SPECTRA; i++)
            used += (size_t)snprintf(text + used, ROOM - used, "%s{psd: {lines: 4096, level_g2_hz: [[1, 1], [2, 1]]}}", i > 0 ? ", " : "");
        used += (size_t)snprintf(text + used, ROOM - used, "]}\n");
    }
    const struct bad_world bad = {text, "w.yaml:6:", {"more than 1000000 lines of vibration"}};
    assert_refused(&bad, NULL, 0);
    free(text);
}

static void values_out_of_range_are_refused_with_unit(void **state)
{
    (void)state;
    static const struct bad_world cases[] = {
        {"world: w\norigin: {latitude_deg: 91}\n" CAR, "w.yaml:2:24:", {"from -90 to 90 deg, got '91'"}},
        {"world: w\norigin: {latitude_deg: .nan}\n" CAR, "w.yaml:2:24:", {"finite", "'.nan'"}},
        {"world: w\nclock: {scale: .inf}\n" CAR, "w.yaml:2:16:", {"finite", "'.inf'"}},
        {"world: w\nclock: {scale: 0}\n" CAR, "w.yaml:2:16:", {"more than 0", "'0'"}},
        {"world: w\nclock: {scale: 1e999}\n" CAR, "w.yaml:2:16:", {"1e999"}},
        {"world: w\nclock: {rate_hz: 0}\n" CAR, "w.yaml:2:18:", {"out of range", "Hz, got '0'"}},
        {"world: w\nclock: {rate_hz: -5}\n" CAR, "w.yaml:2:18:", {"'-5'"}},
        {"world: w\nclock: {rate_hz: 1e7}\n" CAR, "w.yaml:2:18:", {"to 1000000 Hz"}},
        {"world: w\nclock: {rate_hz: .inf}\n" CAR, "w.yaml:2:18:", {"finite"}},
        {"world: w\nclock: {priority: 100}\n" CAR, "w.yaml:2:19:", {"from 0 to 99"}},
        {"world: w\nring_capacity: 1\n" CAR, "w.yaml:2:16:", {"from 2 to 1048576"}},
        {"world: w\npublish: {coalesce_ms: -1}\n" CAR, "w.yaml:2:24:", {"0 to 1000 ms"}},
        {"world: w w\n" CAR, "w.yaml:1:8:", {"A-Z a-z 0-9 _ -", "'w w'"}},
        {"world: ../x\n" CAR, "w.yaml:1:8:", {"'../x'"}},
        {"world: \"\"\n" CAR, "w.yaml:1:8:", {"1 to 63"}},
        {"world: aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg\n" CAR, "w.yaml:1:8:", {"1 to 63"}},
        {"world: w\nvehicles: [{name: a/b, motion: {plugin: still}}]\n", "w.yaml:2:19:", {"1 to 31", "'a/b'"}},
        {NODES("      - {name: imu, plugin: probe, rate_hz: 1001}\n"),
         "w.yaml:6:45:",
         {"1001 Hz", "at most the clock's 1000 Hz"}},
        {NODES("      - {name: imu, plugin: probe, rate_hz: 0}\n"), "w.yaml:6:45:", {"out of range", "'0'"}},
        {NODES("      - {name: imu, plugin: probe, rate_hz: .nan}\n"), "w.yaml:6:45:", {"finite"}},
        {NODES("      - {name: imu, plugin: probe, params: {rate_hz: 2000}}\n"),
         "w.yaml:6:44:",
         {"2000 Hz", "1000 Hz"}},
        {NODES("      - {name: imu, plugin: probe, params: {accelerometer: {bias_m_s2: [1, 2, 101]}}}\n"),
         "w.yaml:6:",
         {"101"}},
        {NODES("      - {name: imu, plugin: probe, params: {accelerometer.bias_m_s2: [1, 2]}}\n"), "w.yaml:6:", {"3"}},
        {NODES("      - {name: imu, plugin: probe, mount: {position_m: [0, 0, .inf]}}\n"), "w.yaml:6:63:", {"finite"}},
    };
    TABLE_TEST(cases);
}

static void duplicates_are_refused(void **state)
{
    (void)state;
    static const struct bad_world cases[] = {
        {NODES("      - {name: imu, plugin: probe}\n      - {name: imu, plugin: probe}\n"),
         "w.yaml:7:16:",
         {"two nodes of a vehicle are called 'imu'", "6:16"}},
        {"world: w\nvehicles:\n  - {name: a, motion: {plugin: still}}\n  - {name: a, motion: {plugin: still}}\n",
         "w.yaml:4:12:",
         {"two vehicles are called 'a'", "3:12"}},
        {NODES("      - {name: a, plugin: probe, topic: /x}\n      - {name: b, plugin: probe, topic: /x}\n"),
         "w.yaml:7:41:",
         {"the topic '/x' is used twice"}},
        {NODES("      - {name: a, plugin: probe, topic: w/car/b}\n      - {name: b, plugin: probe}\n"),
         "w.yaml:6:41:",
         {"the topic 'w/car/b' is used twice"}},
        {NODES("      - {name: a, plugin: probe, topic: w/@events}\n"), "w.yaml:6:41:", {"'w/@events' is used twice"}},
        {NODES("      - {name: motion, plugin: probe}\n"), "w.yaml:6:16:", {"'motion'"}},
    };
    TABLE_TEST(cases);
}

static void plugins_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const struct bad_world cases[] = {
        {NODES("      - {name: imu, plugin: prabe}\n"), "w.yaml:6:29:", {"prabe", "probe"}},
        {NODES("      - {name: imu, plugin: ./no_such.so}\n"), "w.yaml:6:29:", {"no_such.so"}},
        {NODES("      - {name: imu, plugin: ./w.yaml}\n"), "w.yaml:6:29:", {"w.yaml"}},
        {NODES("      - {name: imu, plugin: still}\n"),
         "w.yaml:6:29:",
         {"'still' is of kind motion, expected a sensor"}},
        {"world: w\nvehicles: [{name: car, motion: {plugin: watcher}}]\n",
         "w.yaml:2:41:",
         {"'watcher' is of kind estimator, expected a motion"}},
        {"world: w\nvehicles: [{name: car, motion: {plugin: probe}}]\n", "w.yaml:2:41:", {"expected a motion"}},
    };
    TABLE_TEST(cases);
}

#define PROBE "      - {name: imu, plugin: probe}\n"
#define WATCHER(rest) NODES(PROBE "      - {name: ekf, plugin: watcher" rest "}\n")

static void inputs_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const struct bad_world cases[] = {
        {WATCHER(""), "w.yaml:7:9:", {"estimator 'ekf' needs the input 'main' (a number)", "`inputs: {main: CHANNEL}`"}},
        {WATCHER(", inputs: {truth: imu}"), "w.yaml:7:46:", {"estimator 'ekf' needs the input 'main'"}},
        {WATCHER(", inputs: imu"), "w.yaml:7:46:", {"expected a map, got 'imu'"}},
        {WATCHER(", inputs: {main: [imu]}"), "w.yaml:7:53:", {"got a list"}},
        {WATCHER(", inputs: {main: imu, trueth: imu}"), "w.yaml:7:58:", {"no input 'trueth': did you mean 'truth'", "accepted: main, truth"}},
        {WATCHER(", inputs: {main: imo}"), "w.yaml:7:53:", {"there is no channel 'imo': did you mean 'imu'"}},
        {WATCHER(", inputs: {main: car/imo}"), "w.yaml:7:53:", {"there is no channel 'car/imo': did you mean 'car/imu'"}},
        {WATCHER(", inputs: {main: nothing_like_it}"), "w.yaml:7:53:", {"expected NODE or NODE.CHANNEL of 'car'"}},
        {WATCHER(", inputs: {main: imu.tops}"), "w.yaml:7:53:", {"node 'imu' has no channel 'tops': did you mean 'taps'"}},
        {WATCHER(", inputs: {main: motion.taps}"), "w.yaml:7:53:", {"node 'motion' has no channel 'taps'"}},
        {WATCHER(", inputs: {main: ekf}"), "w.yaml:7:53:", {"'ekf' would be its own input"}},
        {WATCHER(", inputs: {main: motion}"), "w.yaml:7:53:", {"input 'main' (a number) needs the field 'number'", "'truth'"}},
        {WATCHER(", inputs: {main: imu}, rate_hz: 0.5"), "w.yaml:7:68:", {"0.5 Hz, expected at least 1 Hz"}},
        {WATCHER(", inputs: {main: imu}, rate_hz: 2000"), "w.yaml:7:68:", {"at most the clock's 1000 Hz"}},
        {NODES("      - {name: imu, plugin: probe, inputs: {main: imu}}\n"), "w.yaml:6:36:", {"only estimators have inputs"}},
        {NODES(PROBE "      - {name: ekf, plugin: open_watcher, inputs: {main: imu, a_name_that_is_far_longer_than_allowed: imu}}\n"),
         "w.yaml:7:63:", {"has a name of 38 bytes, expected 1 to 31"}},
    };
    TABLE_TEST(cases);
}

static void params_files_are_refused_where_they_are_wrong(void **state)
{
    (void)state;
    static const struct bad_world cases[] = {
        {NODES("      - {name: imu, plugin: probe, params_file: no.json}\n"),
         "w.yaml:6:49:",
         {"params_file", "no.json"}},
        {NODES("      - {name: imu, plugin: probe, params_file: bad.json}\n"), "bad.json:2:10:", {"mems", "lows"}},
        {NODES("      - {name: imu, plugin: probe, params_file: list.json}\n"), "list.json:1:1:", {"map"}},
    };
    write_text("bad.json", "{\n  \"law\": \"lows\"\n}\n");
    write_text("list.json", "[1]\n");
    TABLE_TEST(cases);
}

static void huge_worlds_are_refused_by_a_limit(void **state)
{
    (void)state;
    struct srv_world_config config;
    struct oto_error error = {0};
    FILE *file = fopen("w.yaml", "wb");
    assert_non_null(file);
    (void)fputs("world: w\nvehicles:\n", file);
    for (int i = 0; i < 1000000; i++)
        (void)fputs("- 1\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(world_file_load("w.yaml", NULL, 0, NULL, NULL, &config, &error), OTO_LIMIT);
    assert_non_null(strstr(error.text, "w.yaml:199998:3: error: more than 200000 values"));
    file = fopen("w.yaml", "wb");
    assert_non_null(file);
    (void)fputs("world: w\nvehicles:\n", file);
    for (int i = 0; i <= SRV_MAX_VEHICLES; i++)
        (void)fputs("- {name: a}\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(world_file_load("w.yaml", NULL, 0, NULL, NULL, &config, &error), OTO_LIMIT);
    assert_non_null(strstr(error.text, "10001 vehicles, at most 10000"));
}

static void settings_are_refused_with_their_path(void **state)
{
    (void)state;
    static const struct {
        struct srv_override override;
        struct bad_world bad;
    } cases[] = {
        {{"clock.rate_hz", "abc"}, {"", "--set clock.rate_hz: error: expected a rate", {"'abc'"}}},
        {{"clock.rate", "5"}, {"", "--set clock.rate: error: unknown key 'rate'", {"rate_hz"}}},
        {{"vehicles.cab.name", "x"}, {"", "--set vehicles.cab.name: error: the list has no item 'cab'", {"car"}}},
        {{"vehicles.car.nodes.imu.params.accelerometer.bias_m_s2", "[1, 2, x]"},
         {"", "--set vehicles.car.nodes.imu.params.accelerometer.bias_m_s2:1:8: error:", {"'x'"}}},
        {{"vehicles.car.nodes.imu.rate_hz", "5000"}, {"", "--set vehicles.car.nodes.imu.rate_hz: error:", {"1000 Hz"}}},
        {{"seed", "*x"}, {"", "--set seed:1:1: error:", {"aliases"}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bad_world bad = cases[i].bad;
        bad.text = NODES("      - {name: imu, plugin: probe}\n");
        assert_refused(&bad, &cases[i].override, 1);
    }
}

static void a_world_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct srv_world_config config;
    struct oto_error error = {0};
    assert_int_equal(world_file_load("no_such_world.yaml", NULL, 0, NULL, NULL, &config, &error), OTO_NOT_FOUND);
    assert_non_null(strstr(error.text, "no_such_world.yaml: cannot be read"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_files_are_refused),
        cmocka_unit_test(unknown_and_missing_keys_are_refused_with_a_suggestion),
        cmocka_unit_test(wrong_types_are_refused),
        cmocka_unit_test(participants_that_make_no_sense_are_refused),
        cmocka_unit_test(models_outside_their_validity_are_refused_where_it_was_left),
        cmocka_unit_test(more_lines_of_vibration_than_a_world_may_have_are_refused),
        cmocka_unit_test(bad_tables_and_vibrations_are_refused),
        cmocka_unit_test(values_out_of_range_are_refused_with_unit),
        cmocka_unit_test(duplicates_are_refused),
        cmocka_unit_test(plugins_that_do_not_fit_are_refused),
        cmocka_unit_test(inputs_that_do_not_fit_are_refused),
        cmocka_unit_test(params_files_are_refused_where_they_are_wrong),
        cmocka_unit_test(huge_worlds_are_refused_by_a_limit),
        cmocka_unit_test(settings_are_refused_with_their_path),
        cmocka_unit_test(a_world_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
