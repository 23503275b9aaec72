"""otolith-nats with Debian's nats-server on loopback. Exits with 77 where nats-server is not installed."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import unittest

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
sys.path.insert(0, str(SOURCE / "tests" / "support"))
from nats_client import Nats, client_context  # noqa: E402
from otolith_case import PATIENCE_S, OtolithCase, free_ports  # noqa: E402

SERVER = shutil.which("nats-server", path=f"{os.environ['PATH']}:/usr/sbin")
STREAM = "OTOLITH_SCHEMA"

WORLD = """
world: test
clock: {rate_hz: 200, mode: realtime}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 100, params: {taps: true}}
      - {name: mag, plugin: magnetometer, rate_hz: 50, topic: compass}
publish: {listen: [ipc]}
"""


class Proxy:
    """Forwards one connection at a time to a port; `cut` closes it, with what it holds."""

    def __init__(self, port):
        self.target, self.pair = port, ()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.target))
            for end in self.pair:
                end.close()
            self.pair = (near, far)
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self.forward, args=(source, sink), daemon=True).start()

    @staticmethod
    def forward(source, sink):
        try:
            while data := source.recv(4096):
                sink.sendall(data)
        except OSError:
            pass

    def cut(self):
        for end in self.pair:
            with contextlib.suppress(OSError):  # it may be broken already
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        for end in (self.listener, *self.pair):
            end.close()


class OtolithNats(OtolithCase):
    program = str(BIN / "otolith")

    def setUp(self):
        super().setUp()
        (self.port,), self.processes, self.clients = free_ports(1), [], []
        self.addCleanup(self.stop)

    def stop(self):
        for client in self.clients:
            client.close()
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
                process.wait(timeout=PATIENCE_S)

    def start(self, *command, log):
        with open(self.path / log, "ab") as out:
            process = subprocess.Popen(list(map(str, command)), env=self.environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def log(self, name="nats.log"):
        return (self.path / name).read_text(errors="replace")

    def start_server(self, configuration="", jetstream=True):
        store = f"jetstream {{store_dir: '{self.path}/jetstream', max_mem: 64M, max_file: 64M}}\n" if jetstream else ""
        (self.path / "server.conf").write_text(f"listen: 127.0.0.1:{self.port}\n{store}{configuration}\n")
        server = self.start(SERVER, "-c", self.path / "server.conf", log="server.log")

        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0
        self.until(lambda: listens() or server.poll() is not None, "nats-server")
        self.assertIsNone(server.poll(), self.log("server.log"))
        return server

    def start_world(self, text=WORLD, log="world.log"):
        (self.path / "world.yaml").write_text(text)
        world = self.start(self.program, "run", self.path / "world.yaml", "--quiet", log=log)
        self.until(lambda: self.call("ls", "--world", "test").returncode == 0 or world.poll() is not None, "the world")
        self.assertIsNone(world.poll(), self.log(log))
        return world

    def start_bridge(self, *options, port=None):
        server = f"nats://127.0.0.1:{port or self.port}"
        return self.start(BIN / "otolith-nats", "--world", "test", "--server", server, *options, log="nats.log")

    def client(self, *arguments, **options):
        client = Nats(self.port, *arguments, **options)
        self.clients.append(client)
        return client

    def frames(self, subject, count, **options):
        client = self.client(**options)
        client.subscribe(subject)
        return [client.next() for _ in range(count)]

    # ---- frames ----

    def test_every_channel_has_a_subject_and_the_payload_of_nng(self):
        import msgpack
        self.start_server()
        self.start_world()
        self.start_bridge()
        client, seen = self.client(), {}
        client.subscribe("otolith.>")
        expected = {"otolith.test.car.motion.main", "otolith.test.car.imu.main", "otolith.test.car.imu.taps", "otolith.test.@status"}
        while not expected <= seen.keys() or not any("mag" in subject for subject in seen):
            subject, payload = client.next()
            seen[subject] = payload
        self.assertIn("otolith.test.car.mag.main", seen, "an alias does not change the subject")
        frame = msgpack.unpackb(seen["otolith.test.car.imu.main"])
        self.assertEqual(set(frame), {"epoch", "seq", "schema", "samples"})
        sample = frame["samples"][0]
        self.assertEqual(sample["header"]["seq"], frame["seq"])
        self.assertAlmostEqual(sample["linear_acceleration"]["z"], 9.8, delta=1)

    def test_a_late_subscriber_gets_the_schema_at_once(self):
        import msgpack
        self.start_server()
        self.start_world()
        self.start_bridge()
        self.until(lambda: "the schema is in the stream" in self.log(), "the schema")
        schema = msgpack.unpackb(self.client().newest(STREAM, "otolith.test.@schema.0"))
        self.assertEqual(schema["world"], "test")
        self.assertEqual(schema["total"], len(schema["channels"]))
        types = {channel["topic"]: channel["schema"] for channel in schema["channels"]}
        frame = msgpack.unpackb(self.frames("otolith.test.car.imu.main", 1)[0][1])
        self.assertEqual(frame["schema"], types["test/car/imu"])
        info = self.client().request(f"$JS.API.STREAM.INFO.{STREAM}")
        self.assertEqual(info["config"]["max_msgs_per_subject"], 1)
        self.assertEqual(info["state"]["messages"], 1)

    def test_without_jetstream_the_schema_is_repeated(self):
        self.start_server(jetstream=False)
        self.start_world()
        self.start_bridge()
        messages = self.frames("otolith.test.@schema.*", 2)
        self.assertEqual(messages[0], messages[1])

    def test_only_the_wanted_topics_are_sent(self):
        self.start_server()
        self.start_world()
        self.start_bridge("--only", "car/imu*", "--format", "packed")
        subjects = {subject for subject, _ in self.frames("otolith.test.car.>", 40)}
        self.assertEqual(subjects, {"otolith.test.car.imu.main", "otolith.test.car.imu.taps"})

    # ---- restarts ----

    def reconnects(self):
        """As the newest report has it: two within a second are one report."""
        return max(map(int, re.findall(r"reconnected, (\d+) times", self.log())), default=0)

    def sequence(self, messages):
        import msgpack
        numbers = []
        for _, payload in messages:
            numbers += [sample["header"]["seq"] for sample in msgpack.unpackb(payload)["samples"]]
        return numbers

    def test_a_break_of_the_connection_loses_no_record(self):
        self.start_server()
        self.start_world()
        proxy = Proxy(self.port)
        self.addCleanup(proxy.close)
        self.start_bridge(port=proxy.port)
        client = self.client()
        client.subscribe("otolith.test.car.imu.main")
        numbers = self.sequence([client.next() for _ in range(20)])
        for _ in range(5):
            before = self.reconnects()
            proxy.cut()
            self.until(lambda: self.reconnects() > before, "the reconnect")
            numbers += self.sequence([client.next() for _ in range(60)])
        newest = numbers[0] - 1
        for number in numbers:
            self.assertLessEqual(number, newest + 1, "every record in its order, some of them twice")
            newest = max(newest, number)

    def test_a_restart_of_the_server_is_survived_and_counted(self):
        self.start_server()
        self.start_world()
        bridge = self.start_bridge()
        self.frames("otolith.test.car.imu.main", 5)
        server = self.processes[0]
        server.kill()
        server.wait()
        self.until(lambda: "the connection broke" in self.log(), "the break")
        self.start_server()
        self.until(lambda: "reconnected, 1 times" in self.log(), "the reconnect")
        numbers = self.sequence(self.frames("otolith.test.car.imu.main", 30))
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))), "the queue kept the frames of the break")
        client = self.client()
        self.until(lambda: client.newest(STREAM, "otolith.test.@schema.0") is not None, "the schema in the new server")
        bridge.terminate()
        bridge.wait(timeout=PATIENCE_S)
        self.assertIn(" 1 reconnects", self.log())
        self.assertIn(" 0 dropped", self.log())

    def test_the_next_run_of_the_world_is_followed(self):
        import msgpack
        self.start_server()
        world = self.start_world()
        self.start_bridge("--wait", 600)
        first = msgpack.unpackb(self.frames("otolith.test.car.imu.main", 1)[0][1])
        world.terminate()
        world.wait(timeout=PATIENCE_S)
        self.start_world()
        self.until(lambda: "world 'test' restarted" in self.log(), "the next run")
        client = self.client()
        client.subscribe("otolith.test.car.imu.main")
        second = first
        while second["epoch"] == first["epoch"]:  # frames of the first run may still be queued
            second = msgpack.unpackb(client.next()[1])
        asks = self.client()

        def is_stored():
            schema = asks.newest(STREAM, "otolith.test.@schema.0")  # None: the old one is removed
            return schema is not None and msgpack.unpackb(schema)["epoch"] == second["epoch"]
        self.until(is_stored, "the schema of the next run")

    def test_a_server_that_does_not_read_costs_counted_frames_and_no_tick(self):
        self.start_server()
        self.start_world()
        bridge = self.start_bridge("--queue", 1)
        client = self.client()
        client.subscribe("otolith.test.@status")
        json.loads(client.next()[1])
        self.processes[0].send_signal(signal.SIGSTOP)
        self.until(lambda: "frames dropped" in self.log(), "a full queue")
        before = int(self.otolith("info", "--world", "test", "--json", "car/imu").count("{"))
        self.assertGreater(before, 0)
        self.processes[0].send_signal(signal.SIGCONT)
        status = json.loads(client.next()[1])
        while status["dropped"] == 0:
            status = json.loads(client.next()[1])
        self.assertEqual(status["lost"], 0, "the rings were read all the time")
        self.assertLessEqual(status["queue_most_bytes"], 1 << 20)
        bridge.terminate()
        self.assertEqual(bridge.wait(timeout=PATIENCE_S), 0, self.log())

    def test_a_frame_that_the_server_refuses_is_counted_and_the_others_are_sent(self):
        self.start_server("max_payload: 600", jetstream=False)
        self.start_world()
        self.start_bridge()
        self.assertEqual(len(self.frames("otolith.test.car.mag.main", 20)), 20)
        self.until(lambda: "larger than the server's max_payload" in self.log(), "a refused frame")

    # ---- logins ----

    def refused(self, *options):
        bridge = self.start_bridge(*options)
        self.assertEqual(bridge.wait(timeout=PATIENCE_S), 1)
        return self.log()

    def secret(self, name, text):
        (self.path / name).write_text(text)
        (self.path / name).chmod(0o600)
        return self.path / name

    def test_a_token_comes_from_a_file(self):
        self.start_server("authorization {token: s3cret, timeout: 300}")
        self.start_world()
        self.assertIn("cannot connect to NATS", self.refused())
        self.assertIn("cannot connect to NATS", self.refused("--token-file", self.secret("wrong", "no\n")))
        self.assertIn("the first line of", self.refused("--token-file", self.secret("empty", "")))
        self.start_bridge("--token-file", self.secret("token", "s3cret\n"))
        self.assertEqual(len(self.frames("otolith.test.car.imu.main", 2, auth_token="s3cret")), 2)

    def test_a_password_comes_from_a_file(self):
        self.start_server("authorization {user: u, password: pw, timeout: 300}")
        self.start_world()
        self.start_bridge("--user", "u", "--password-file", self.secret("password", "pw"))
        self.assertEqual(len(self.frames("otolith.test.car.imu.main", 2, user="u", **{"pass": "pw"})), 2)

    def openssl(self, *arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=PATIENCE_S)

    def certificate(self, name, ca):
        path = self.path
        self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", path / f"{name}.key", "-out", path / f"{name}.csr", "-subj", f"/CN={name}")
        (path / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        self.openssl("x509", "-req", "-in", path / f"{name}.csr", "-CA", path / f"{ca}.pem", "-CAkey", path / f"{ca}.key", "-CAcreateserial", "-days", 2,
                     "-extfile", path / "names", "-out", path / f"{name}.pem")

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_tls_with_certificates_on_both_sides(self):
        path = self.path
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", path / "ca.key", "-out", path / "ca.pem", "-days", 2, "-subj", "/CN=ca")
        self.certificate("server", "ca")
        self.certificate("client", "ca")
        self.start_server(f"tls {{cert_file: '{path}/server.pem', key_file: '{path}/server.key', ca_file: '{path}/ca.pem', verify: true, timeout: 300}}")
        self.start_world()
        self.assertIn("cannot connect to NATS", self.refused("--ca", path / "ca.pem"))
        self.start_bridge("--ca", path / "ca.pem", "--cert", path / "client.pem", "--key", path / "client.key")
        context = client_context(path / "ca.pem", path / "client.pem", path / "client.key")
        self.assertEqual(len(self.frames("otolith.test.car.imu.main", 2, context=context)), 2)

    def test_errors_of_the_command_line(self):
        for options, expected in ((("--user", "u"), "belong together"), (("--queue", "0"), "--queue 0: 1 to 65536 is accepted"),
                                  (("--cert", "a"), "--cert and --key belong together"), (("--format", "x"), "map or packed is accepted")):
            done = subprocess.run([BIN / "otolith-nats", *options], capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual(done.returncode, 2)
            self.assertIn(expected, done.stderr)


if __name__ == "__main__":
    if SERVER is None:
        print("skipped: nats-server is not installed")
        sys.exit(77)
    unittest.main()
