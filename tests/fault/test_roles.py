"""Roles: the verbs that each role permits, the error of the others, and the roles of other users."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

BIN, LIBRARY, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(3))
os.environ["OTOLITH_LIBRARY"] = str(LIBRARY)
sys.path.insert(0, str(SOURCE / "clients" / "python"))
import otolith  # noqa: E402

NOBODY = 65534
WORLD = """
world: roles
clock: {rate_hz: 1000}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 200}
publish: false
"""
# Run as another user: what it gets, one word a line.
STRANGER = """
import sys
sys.path.insert(0, sys.argv[1])
import otolith
try:
    with otolith.World(socket_path=sys.argv[2], name="stranger") as world:
        for ask in map(eval, sys.argv[3:]):
            try:
                ask()
                print("done")
            except otolith.OtolithError as refusal:
                print("refused:", refusal)
except otolith.OtolithError as refusal:
    print("not attached:", refusal)
"""
# As many connections as one user gets, held until its input ends. The server refuses those that come after the sixteenth, and lets go of
# those that have said nothing for 5 s: a crowd that a busy machine made slower than that is none.
CROWD = """
import select, socket, sys, time
begin = time.monotonic()
ends = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(64)]
for end in ends:
    end.connect(sys.argv[1])
refused = set()
while len(refused) < 48:
    for end in select.select([each for each in ends if each not in refused], [], [])[0]:
        if b"16 clients of this user" not in end.recv(1024):
            slow = time.monotonic() > begin + 5
            print("too slow" if slow else "a connection with a place was closed", flush=True)
            sys.exit()
        refused.add(end)
print("the first 16" if refused == set(ends[16:]) else "others", "of 64", flush=True)
sys.stdin.read()
"""


class Roles(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="otolith-roles-")
        self.path = pathlib.Path(self.directory.name)
        os.environ["XDG_RUNTIME_DIR"] = str(self.path)
        self.server = None

    def tearDown(self):
        if self.server is not None:
            self.server.terminate()
            self.assertEqual(self.server.wait(timeout=300), 0)
            self.assertFalse((self.path / "otolith").exists())
        self.directory.cleanup()

    def start(self, more="", nodes=1):
        further = "".join(f"      - {{name: imu{i}, plugin: mems_imu, rate_hz: 200}}\n" for i in range(2, nodes + 1))
        (self.path / "roles.yaml").write_text(WORLD.replace("publish:", further + "publish:") + more)
        self.server = subprocess.Popen([BIN / "otolithd", self.path / "roles.yaml"], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 300
        while True:
            try:
                return otolith.World("roles", name="owner")
            except otolith.OtolithError:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)

    def stranger(self, *asks):
        asks = asks or ('lambda: world.get("car/imu")', "world.pause", "world.resume", 'lambda: world.swap("car/imu", "mems_imu")')
        # The directory itself is the test's; what the server makes in it must not need more.
        os.chmod(self.path, 0o711)
        done = subprocess.run(["/usr/bin/python3", "-c", STRANGER, SOURCE / "clients" / "python",
                               self.path / "otolith" / "roles" / "control.sock", *asks], user=NOBODY, group=NOBODY,
                              extra_groups=[], cwd="/", capture_output=True, text=True, timeout=300, check=False)
        if "ImportError" in done.stderr or "PermissionError" in done.stderr:
            self.skipTest("another user cannot read this build")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_an_observer_reads_and_is_refused_all_else_with_a_sentence_and_an_event(self):
        with self.start() as owner, otolith.World("roles", name="dashboard", role="observe") as world:
            events = owner["@events"].reader()
            world.get("car/imu")
            world.info()
            world.wait_tick()
            with world.lossless("car/imu"):
                pass
            for verb, role, ask in (
                    ("pause", "operate", world.pause), ("resume", "operate", world.resume),
                    ("step", "operate", world.step), ("scale", "operate", lambda: world.scale(2)),
                    ("mode", "operate", lambda: world.mode("asap")),
                    ("set", "operate", lambda: world.set("car/imu", "taps", True)),
                    ("fault", "operate", lambda: world.fault("car/imu", "stuck")),
                    ("clear_faults", "operate", lambda: world.clear_faults("car/imu")),
                    ("swap", "admin", lambda: world.swap("car/imu", "mems_imu")),
                    ("checkpoint", "admin", lambda: world.checkpoint(self.path / "no.ckpt")),
                    ("restore", "admin", lambda: world.restore(self.path / "no.ckpt")),
                    ("shutdown", "admin", world.shutdown)):
                with self.assertRaisesRegex(otolith.OtolithError,
                                            f"'{verb}' needs the role {role}, and this client has the role observe"):
                    ask()
            self.assertFalse((self.path / "no.ckpt").exists())
            refused = 0
            while refused < 12:  # a busy machine has events of its own, such as slips
                refused += b"refused: " in events.collect(1)[0]["text"]

    def test_an_operator_may_not_do_what_an_administrator_may(self):
        with self.start() as owner, otolith.World("roles", role="operate") as world:
            world.pause()
            world.resume()
            for ask in (world.shutdown, lambda: world.swap("car/imu", "mems_imu")):
                with self.assertRaisesRegex(otolith.OtolithError, "needs the role admin"):
                    ask()
            owner.swap("car/imu", "mems_imu")

    def test_a_role_that_is_none_is_refused(self):
        with self.start():
            with self.assertRaisesRegex(otolith.OtolithError, "observe, operate or admin, not king"):
                otolith.World("roles", role="king")

    def test_rules_that_make_no_sense_are_refused_with_their_place(self):
        for rule, complaint in (("{uid: 7}", "role"), ("{role: admin}", "one of `uid`, `gid` and `certificate`"),
                                ("{uid: 7, gid: 7, role: admin}", "one of `uid`, `gid` and `certificate`"),
                                ("{uid: 7, role: king}", "king"), ("{uid: 0, role: observe}", "uid")):
            (self.path / "roles.yaml").write_text(WORLD + f"control: {{roles: [{rule}]}}\n")
            done = subprocess.run([BIN / "otolithd", "--check", self.path / "roles.yaml"], capture_output=True, text=True,
                                  timeout=300, check=False)
            self.assertNotEqual(done.returncode, 0, rule)
            self.assertRegex(done.stderr, "roles.yaml:[0-9]+:[0-9]+")
            self.assertIn(complaint, done.stderr)

    def test_a_rule_for_nodes_takes_patterns_and_refuses_none(self):
        for nodes, code in (("car/*", 0), ('["car_00*/imu", truck/gnss]', 0), ("[]", 1), ("{a: 1}", 1)):
            (self.path / "roles.yaml").write_text(WORLD + f"control: {{roles: [{{uid: 7, role: operate, nodes: {nodes}}}]}}\n")
            done = subprocess.run([BIN / "otolithd", "--check", self.path / "roles.yaml"], capture_output=True, text=True,
                                  timeout=300, check=False)
            self.assertEqual(done.returncode != 0, code != 0, done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another user")
    def test_another_user_has_the_role_of_its_rule_for_the_nodes_that_match(self):
        rules = f"{{uid: {NOBODY}, role: operate, nodes: car/imu}}, {{gid: {NOBODY}, role: admin, nodes: [car/*2, truck/*]}}"
        self.start(more=f"control: {{roles: [{rules}]}}\n", nodes=2).close()
        said = self.stranger("lambda: world.get('car/imu2')", "world.pause", "lambda: world.set('car/imu', 'taps', True)",
                             "lambda: world.swap('car/imu', 'mems_imu')", "lambda: world.fault('car/motion', 'stuck')",
                             "lambda: world.set('car/imu*', 'taps', True)", "lambda: world.swap('car/imu2', 'mems_imu')",
                             "lambda: world.set('*/*', 'taps', True)")
        self.assertEqual([line[:5] for line in said], ["done", "refus", "done", "refus", "refus", "done", "done", "refus"], said)
        self.assertIn("'pause' needs the role operate, and this client has the role observe for the whole world", said[1])
        self.assertIn("'swap' needs the role admin, and this client has the role operate for 'roles/car/imu'", said[3])
        self.assertIn("the role observe for 'roles/car/motion'", said[4])
        self.assertIn("the role observe for 'roles/car/motion'", said[7])

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another user")
    def test_another_user_without_a_role_does_not_get_in(self):
        self.start().close()
        self.assertRegex(self.stranger()[0], "^not attached: ")
        self.assertEqual(os.stat(self.path / "otolith" / "roles").st_mode & 0o777, 0o700)
        self.assertEqual(os.stat(self.path / "otolith" / "roles" / "control.sock").st_mode & 0o777, 0o600)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another user")
    def test_a_user_that_no_rule_fits_is_told_so(self):
        self.start("control: {roles: [{uid: 4242, role: admin}]}\n").close()
        self.assertRegex(self.stranger()[0], "^not attached: .*belongs to another user, who gave you no role")

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another user")
    def test_another_user_has_the_role_of_its_rule(self):
        self.start(f"control: {{roles: [{{uid: {NOBODY}, role: observe}}]}}\n").close()
        said = self.stranger()
        self.assertEqual(said[0], "done")
        self.assertRegex(said[1], "'pause' needs the role operate")
        self.assertRegex(said[3], "'swap' needs the role admin")

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another user")
    def test_another_user_cannot_take_the_places_of_the_owner(self):
        with self.start(f"control: {{roles: [{{uid: {NOBODY}, role: observe}}]}}\n") as owner:
            os.chmod(self.path, 0o711)
            crowd, said = self.crowd()
            deadline = time.monotonic() + 300
            while said == "too slow\n":
                self.assertLess(time.monotonic(), deadline)
                crowd.communicate("", timeout=300)
                while owner.info()["clients"] > 1:
                    self.assertLess(time.monotonic(), deadline)
                crowd, said = self.crowd()
            try:
                self.assertEqual(said, "the first 16 of 64\n")
                owner.pause()
                others = [otolith.World("roles") for _ in range(20)]
                for other in others:
                    other.close()
            finally:
                crowd.communicate("", timeout=300)

    def crowd(self):
        crowd = subprocess.Popen(["/usr/bin/python3", "-c", CROWD, self.path / "otolith" / "roles" / "control.sock"], user=NOBODY,
                                 group=NOBODY, extra_groups=[], cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return crowd, crowd.stdout.readline()

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another user")
    def test_the_highest_of_the_roles_that_fit_counts_groups_too(self):
        self.start(f"control: {{roles: [{{uid: {NOBODY}, role: observe}}, {{gid: {NOBODY}, role: operate}}]}}\n").close()
        said = self.stranger()
        self.assertEqual(said[:3], ["done", "done", "done"])
        self.assertRegex(said[3], "'swap' needs the role admin")


unittest.main()
