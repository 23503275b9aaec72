"""otolith-gate: subscribers over TLS, with good, wrong, expired, not yet valid and revoked certificates, and hostile peers.

usage: test_gate.py BIN_DIRECTORY SUPPORT_DIRECTORY; all on loopback, with certificates that openssl makes here.
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

BIN, SUPPORT = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
sys.path.insert(0, str(SUPPORT))
from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

WORLD = """
world: w
seed: 7
clock: {rate_hz: 1000}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 200}
"""
SUBSCRIBER = b"\0SP\0\0\x21\0\0"
PUBLISHER = b"\0SP\0\0\x20\0\0"
LONG_AGO, AGO, AHEAD, FAR = "20200101000000Z", "20210101000000Z", "20780101000000Z", "20790101000000Z"
BOUND_KB = 1 << 20 if os.environ.get("OTOLITH_TEST_SANITIZED") else 96 << 10


class Authority:
    """A certificate authority in a directory of its own."""
    CONFIG = """
[ca]
default_ca = here
[here]
dir = {0}
database = {0}/index
serial = {0}/serial
new_certs_dir = {0}
certificate = {0}/ca.pem
private_key = {0}/ca.key
default_md = sha256
policy = any
default_crl_days = {1}
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
"""

    def __init__(self, path, crl_days=30):
        self.path = path
        path.mkdir()
        (path / "index").touch()
        (path / "serial").write_text("01\n")
        (path / "config").write_text(self.CONFIG.format(path, crl_days))
        self.openssl("req", "-x509", *self.key("ca"), "-out", path / "ca.pem", "-days", "3000", "-subj", f"/CN={path.name}")

    @staticmethod
    def openssl(*arguments):
        done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE_S)
        if done.returncode != 0:
            raise RuntimeError(f"openssl {arguments}: {done.stderr}")
        return done.stdout

    def key(self, name):
        path = self.path / f"{name}.key"
        return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path

    def make(self, name, common_name=None, start=None, end=FAR):
        """Certificate and key files of a name; each key belongs to its user only."""
        certificate, key, request = (self.path / f"{name}.{kind}" for kind in ("pem", "key", "csr"))
        self.openssl("req", "-new", *self.key(name), "-out", request, "-subj", f"/CN={common_name or name}",
                     "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        dates = ["-startdate", start] if start else []
        self.openssl("ca", "-batch", "-notext", "-config", self.path / "config", "-in", request, "-out", certificate, *dates, "-enddate", end)
        key.chmod(0o600)
        return certificate, key

    def revoke(self, certificate):
        self.openssl("ca", "-config", self.path / "config", "-revoke", certificate)

    def crl(self):
        path = self.path / "crl.pem"
        self.openssl("ca", "-config", self.path / "config", "-gencrl", "-out", path)
        return path


class GateCase(OtolithCase):
    program = str(BIN / "otolith")

    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory(prefix="otolith-certificates-")
        cls.ca = Authority(pathlib.Path(cls.made.name) / "authority")
        cls.other = Authority(pathlib.Path(cls.made.name) / "other")
        cls.own = cls.ca.make("server", "localhost")
        cls.alice, cls.revoked = cls.ca.make("alice"), cls.ca.make("revoked")
        cls.ca.revoke(cls.revoked[0])
        cls.crl = cls.ca.crl()

    @classmethod
    def tearDownClass(cls):
        cls.made.cleanup()

    def start(self, tls="", more="publish: {listen: [ipc, 'tls+tcp://127.0.0.1:0'], coalesce_ms: 5}", options=(), own=None):
        """A world with copies of the server's files, so that a test may replace them."""
        for name, source in zip(("server.pem", "server.key"), own or self.own):
            shutil.copy2(source, self.path / name)
        (self.path / "world.yaml").write_text(f"{WORLD}tls: {{cert: server.pem, key: server.key{tls}}}\n{more}\n")
        self.log = open(self.path / "log", "w+")
        self.addCleanup(self.log.close)
        self.server = subprocess.Popen([BIN / "otolithd", self.path / "world.yaml", *options], env=self.environment,
                                       stdout=self.log, stderr=self.log)

    def said(self):
        return (self.path / "log").read_text()

    def endpoint(self, prefix="tls+tcp://"):
        facts = self.path / "otolith" / "w" / "server.json"

        def known():
            urls = json.loads(facts.read_text())["endpoints"] if facts.exists() else []
            self.url = next((url for url in urls if url.startswith(prefix)), None)
            return self.url is not None
        self.until(known, f"the address {prefix}; the log is {self.said()}")
        self.port = int(self.url.rsplit(":", 1)[1])
        self.url = self.url.replace("127.0.0.1", "localhost")
        return self.url

    def gate(self):
        """The pid of the gate; 0 if it does not run."""
        for pid in pathlib.Path(f"/proc/{self.server.pid}/task/{self.server.pid}/children").read_text().split():
            try:
                if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "otolith-gate":
                    return int(pid)
            except OSError:
                pass  # it has just ended
        return 0

    def gate_kb(self):
        status = pathlib.Path(f"/proc/{self.gate()}/status").read_text()
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))

    def gate_descriptors(self):
        return len(os.listdir(f"/proc/{self.gate()}/fd"))

    def echo(self, *files, host="localhost", code=0, wait=PATIENCE_S):
        return self.otolith("echo", "car/imu", "--connect", f"tls+tcp://{host}:{self.port}", "-n", 1, "--wait", wait, *files, code=code)

    def assert_echo_refused(self, reason, *files, host="localhost"):
        """After a second without an answer echo gives up; on a busy machine that may be before the first handshake."""
        self.until(lambda: reason in self.echo(*files, host=host, code=1, wait=1), reason)

    def s_client(self, *options):
        """The first bytes that openssl's client gets after a subscriber's greeting; b"" if the gate refuses it."""
        client = subprocess.Popen(["openssl", "s_client", "-quiet", "-verify_return_error", "-verify_quiet", "-CAfile", self.ca.path / "ca.pem",
                                   "-connect", f"127.0.0.1:{self.port}", *map(str, options)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            try:
                client.stdin.write(SUBSCRIBER)
                client.stdin.flush()
            except BrokenPipeError:
                pass
            return client.stdout.read(8)
        finally:
            client.kill()
            client.communicate()

    def connect(self):
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        self.addCleanup(raw.close)
        return raw

    def wrap(self, raw, certificate=None):
        context = ssl.create_default_context(cafile=self.ca.path / "ca.pem")
        if certificate is not None:
            context.load_cert_chain(*certificate)
        tls = context.wrap_socket(raw, server_hostname="localhost")
        self.addCleanup(tls.close)
        return tls


    def python(self, code, *arguments):
        """Runs Python's package of this tree with the built library."""
        package = SUPPORT.parents[1] / "clients" / "python"
        environment = dict(self.environment, PYTHONPATH=str(package), OTOLITH_LIBRARY=str(BIN.parent / "lib" / "libotolith.so"))
        done = subprocess.run(["/usr/bin/python3", "-c", code, *map(str, arguments)], env=environment, capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Samples(GateCase):
    def test_a_subscriber_gets_samples_and_checks_the_server(self):
        self.start()
        self.endpoint()
        authority = self.ca.path / "ca.pem"
        self.assertIn("seq:", self.echo("--ca", authority))
        self.assertIn("seq:", self.echo("--ca", authority, host="127.0.0.1"))
        self.assertEqual(self.s_client(), PUBLISHER)
        self.assertEqual(self.s_client("-tls1_2"), PUBLISHER)
        self.assertEqual(self.s_client("-tls1_1"), b"")
        self.assert_echo_refused("unable to get local issuer certificate")
        self.assert_echo_refused("certificate is refused", "--ca", self.other.path / "ca.pem")
        self.assertIn("belong together", self.otolith("echo", "car/imu", "--connect", self.url, "--cert", authority, code=2))

    def test_the_servers_certificate_is_read_again_when_its_file_changes(self):
        self.start()
        self.endpoint()
        self.echo("--ca", self.ca.path / "ca.pem")
        for (certificate, key), event, refusal in ((self.ca.make("expired", "localhost", LONG_AGO, AGO), "expired", "has expired"),
                                                   (self.ca.make("early", "localhost", AHEAD, FAR), "is not valid before", "not yet valid")):
            shutil.copy2(key, self.path / "server.key")
            shutil.copy2(certificate, self.path / "server.pem")
            self.until(lambda event=event: event in self.said(), event)
            self.assert_echo_refused(refusal, "--ca", self.ca.path / "ca.pem")
        (self.path / "server.pem").write_text("nonsense")
        self.until(lambda: "the files that were read before stay in use" in self.said(), "a refusal of the file")
        for source, name in zip(self.own, ("server.pem", "server.key")):
            shutil.copy2(source, self.path / name)
        self.assertIn("seq:", self.echo("--ca", self.ca.path / "ca.pem"))

    def test_a_name_that_the_certificate_does_not_have_is_refused(self):
        certificate, key = self.ca.path / "elsewhere.pem", self.ca.path / "elsewhere.key"
        self.ca.openssl("req", "-x509", *self.ca.key("elsewhere"), "-out", certificate, "-days", "300", "-subj", "/CN=elsewhere",
                        "-addext", "subjectAltName=DNS:elsewhere.example")
        key.chmod(0o600)
        self.start(own=(certificate, key))
        self.endpoint()
        self.assert_echo_refused("ostname mismatch", "--ca", certificate)
        self.assert_echo_refused("IP address mismatch", "--ca", certificate, host="127.0.0.1")

    def test_an_end_within_thirty_days_is_reported(self):
        certificate, key = self.ca.path / "short.pem", self.ca.path / "short.key"
        self.ca.openssl("req", "-x509", *self.ca.key("short"), "-out", certificate, "-days", "20", "-subj", "/CN=localhost")
        key.chmod(0o600)
        self.start(own=(certificate, key))
        self.until(lambda: "expires in 19 days" in self.said() or "expires in 20 days" in self.said(), "the report")

    def test_a_key_that_others_can_read_is_refused(self):
        certificate, key = self.ca.make("loose", "localhost")
        key.chmod(0o640)
        self.start(own=(certificate, key))
        self.until(lambda: "has mode 640" in self.said() and "it is not restarted" in self.said(), "the refusal")
        self.assertEqual(self.gate(), 0)
        self.server.terminate()
        self.assertEqual(self.server.wait(timeout=PATIENCE_S), 1)


class Clients(GateCase):
    def setUp(self):
        super().setUp()
        shutil.copy2(self.crl, self.path / "crl.pem")
        self.start(f", client_ca: {self.ca.path}/ca.pem, crl: crl.pem")
        self.endpoint()

    def test_only_clients_of_the_authority_are_served(self):
        expired, early = self.ca.make("old-client", start=LONG_AGO, end=AGO), self.ca.make("new-client", start=AHEAD)
        stranger = self.other.make("stranger")
        authority = ("--ca", self.ca.path / "ca.pem")
        self.assertIn("seq:", self.echo(*authority, "--cert", self.alice[0], "--key", self.alice[1]))
        self.assertEqual(self.s_client("-cert", self.alice[0], "-key", self.alice[1]), PUBLISHER)
        for version in ("-tls1_2", "-tls1_3"):
            self.assertEqual(self.s_client(version), b"", "without a certificate")
            for certificate, key in (expired, early, stranger, self.revoked):
                self.assertEqual(self.s_client(version, "-cert", certificate, "-key", key), b"", certificate)
        self.assert_echo_refused("certificate revoked", *authority, "--cert", self.revoked[0], "--key", self.revoked[1])
        self.until(lambda: "is refused" in self.said(), "a report of a refusal")

    def test_a_revocation_ends_the_connections_that_it_concerns(self):
        leaver = self.ca.make("leaver")
        tls = self.wrap(self.connect(), leaver)
        tls.sendall(SUBSCRIBER)
        self.assertEqual(tls.recv(8), PUBLISHER)
        self.ca.revoke(leaver[0])
        shutil.copy2(self.ca.crl(), self.path / "crl.pem")
        self.until(lambda: "connections end" in self.said(), "the new list")
        with self.assertRaises((ssl.SSLError, OSError, EOFError)):
            while True:
                if tls.recv(65536) == b"":
                    raise EOFError
        self.assertEqual(self.s_client("-cert", leaver[0], "-key", leaver[1]), b"")
        self.assertEqual(self.s_client("-cert", self.alice[0], "-key", self.alice[1]), PUBLISHER)

    def test_a_list_that_is_out_of_date_refuses_everybody(self):
        self.ca.openssl("ca", "-config", self.ca.path / "config", "-gencrl", "-crl_lastupdate", LONG_AGO, "-crl_nextupdate", AGO,
                        "-out", self.path / "old.pem")
        os.replace(self.path / "old.pem", self.path / "crl.pem")
        self.until(lambda: "connections end" in self.said(), "the old list")
        self.assertEqual(self.s_client("-cert", self.alice[0], "-key", self.alice[1]), b"")


class Hostile(GateCase):
    def setUp(self):
        super().setUp()
        self.start()
        self.endpoint()
        self.before = self.gate()
        self.assertNotEqual(self.before, 0)

    def assert_served(self):
        self.assertIn("seq:", self.echo("--ca", self.ca.path / "ca.pem"))
        self.assertEqual(self.gate(), self.before, self.said())
        self.assertLess(self.gate_kb(), BOUND_KB)
        self.assertLess(self.gate_descriptors(), 256)

    def test_silent_connections_take_no_place(self):
        silent = [self.connect() for _ in range(300)]
        self.assert_served()
        for raw in silent:
            raw.close()
        self.until(lambda: self.gate_descriptors() < 40, "the end of their connections")

    def test_half_handshakes_by_the_thousand(self):
        hello = ssl.MemoryBIO(), ssl.MemoryBIO()
        try:
            ssl.create_default_context().wrap_bio(*hello, server_hostname="localhost").do_handshake()
        except ssl.SSLWantReadError:
            pass
        hello = hello[1].read()
        for i in range(1000):
            raw = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
            raw.sendall(hello[:1 + i * len(hello) // 1000])
            raw.close()
        self.assert_served()

    def test_bytes_that_are_no_tls_are_refused(self):
        for data in (b"GET / HTTP/1.1\r\n\r\n", SUBSCRIBER, b"\x16\x03\x01\xff\xff" + b"x" * 70000, os.urandom(4096)):
            raw = self.connect()
            try:
                raw.sendall(data)
                raw.shutdown(socket.SHUT_WR)
                while raw.recv(4096):
                    pass
            except OSError:
                pass
        self.assert_served()

    def test_wrong_greetings_and_messages_to_the_gate_are_refused(self):
        for data in (PUBLISHER, b"GET / HTTP/1.1\r\n\r\n", SUBSCRIBER + b"\0\0\0\1\0\0\0\0", SUBSCRIBER + b"\0" * 65536):
            tls = self.wrap(self.connect())
            try:
                tls.sendall(data)
                while tls.recv(65536):
                    pass
            except OSError:
                pass
        self.assert_served()

    def test_subscribers_that_never_read_do_not_disturb_others(self):
        for _ in range(8):
            self.wrap(self.connect()).sendall(SUBSCRIBER)

        def gets_all():
            lines = self.otolith("echo", "car/imu", "--connect", f"tls+tcp://localhost:{self.port}", "--ca", self.ca.path / "ca.pem", "-n", 300,
                                 "--json").splitlines()
            seqs = [json.loads(line)["header"]["seq"] for line in lines]
            return seqs == list(range(seqs[0], seqs[0] + 300))
        self.until(gets_all, "300 samples without a gap")  # a gate that a busy machine delays for seconds may lose some
        self.assert_served()

    def test_finished_connections_are_not_ended_for_new_ones(self):
        first = self.wrap(self.connect())
        first.sendall(SUBSCRIBER)
        self.assertEqual(first.recv(8), PUBLISHER)
        flood = [self.connect() for _ in range(200)]
        self.assert_served()
        for _ in range(100):
            self.assertNotEqual(first.recv(65536), b"")
        del flood

    def test_a_gate_that_is_killed_restarts_and_the_world_goes_on(self):
        os.kill(self.before, signal.SIGKILL)
        self.until(lambda: self.gate() not in (0, self.before), "another gate")
        self.endpoint()
        self.assertIn("seq:", self.echo("--ca", self.ca.path / "ca.pem"))


class Control(GateCase):
    """Remote control: a role for each certificate, the verbs and limits of the control socket."""
    ROLES = ("roles: [{certificate: alice, role: operate}, {certificate: root, role: admin}, {certificate: watcher, role: observe}, "
             "{certificate: tuner, role: operate, nodes: '*/imu'}]")

    def setUp(self):
        super().setUp()
        shutil.copy2(self.crl, self.path / "crl.pem")
        self.start(f", client_ca: {self.ca.path}/ca.pem, crl: crl.pem",
                   f"publish: false\ncontrol: {{listen: 'tls+tcp://127.0.0.1:0', {self.ROLES}}}")
        self.endpoint("control+tls+tcp://")
        self.assertEqual((self.path / "otolith" / "w" / "control.sock").stat().st_mode & 0o777, 0o600)

    def ask(self, certificate, *arguments, code=0):
        return self.otolith(*arguments, "--connect", f"tls+tcp://localhost:{self.port}", "--ca", self.ca.path / "ca.pem",
                            "--cert", certificate[0], "--key", certificate[1], code=code)

    def message(self, tls, data):
        tls.sendall(len(data).to_bytes(4, "big") + data)

    def reply(self, tls):
        def take(count):
            data = b""
            while len(data) < count:
                part = tls.recv(count - len(data))
                if not part:
                    raise EOFError
                data += part
            return data
        return take(int.from_bytes(take(4), "big"))

    def test_each_certificate_has_the_verbs_of_its_role(self):
        watcher, root = self.ca.make("watcher"), self.ca.make("root")
        self.assertIn("range", self.ask(watcher, "get", "car/imu"))
        self.assertIn("needs the role operate", self.ask(watcher, "pause", code=1))
        self.assertIn("paused at tick", self.ask(self.alice, "pause"))
        self.assertIn("stepped", self.ask(self.alice, "step", "3"))
        self.assertIn("needs the role admin", self.ask(self.alice, "swap", "car/imu", "mems_imu", code=1))
        self.assertIn("resumed at tick", self.ask(self.alice, "resume"))
        self.ask(root, "swap", "car/imu", "mems_imu")

    def test_a_restore_is_answered_though_the_gate_ends_with_the_run(self):
        root, file, facts = self.ca.make("root"), self.path / "live.ckpt", self.path / "otolith" / "w" / "server.json"
        self.ask(root, "checkpoint", file)
        for _ in range(3):
            epoch = json.loads(facts.read_text())["epoch"]
            self.assertIn("restored to tick", self.ask(root, "restore", file))
            self.until(lambda: json.loads(facts.read_text())["epoch"] != epoch, "the restored run")
            self.endpoint("control+tls+tcp://")

    def test_a_certificate_may_have_its_role_for_some_nodes_only(self):
        tuner = self.ca.make("tuner")
        self.assertIn("fault 1", self.ask(tuner, "fault", "car/imu", "stuck", "for_s=1"))
        self.assertIn("the role observe for the whole world", self.ask(tuner, "pause", code=1))
        self.assertIn("the role observe for 'w/car/motion'", self.ask(tuner, "fault", "car/motion", "stuck", code=1))

    def test_certificates_without_a_role_and_refused_ones_control_nothing(self):
        nobody, stranger, expired = self.ca.make("nobody"), self.other.make("alice"), self.ca.make("former", "alice", LONG_AGO, AGO)
        self.assertIn("the certificate 'nobody' has no role", self.ask(nobody, "pause", code=1))
        for certificate in (stranger, expired, self.revoked):
            self.assertIn("ended the connection", self.ask(certificate, "pause", code=1))
        self.assertIn("ended the connection", self.otolith("pause", "--connect", self.url, "--ca", self.ca.path / "ca.pem", code=1))
        self.assertIn("the peer's certificate is refused", self.otolith(
            "pause", "--connect", self.url, "--ca", self.other.path / "ca.pem", "--cert", self.alice[0], "--key", self.alice[1], code=1))
        self.assertIn("paused", self.ask(self.alice, "pause"))

    @unittest.skipIf(os.environ.get("OTOLITH_TEST_SANITIZED"), "a sanitized library does not load into a plain Python")
    def test_python_controls_with_the_role_of_its_certificate(self):
        watcher = self.ca.make("watcher")
        code = """
import sys, otolith
url, ca, cert, key, watcher_cert, watcher_key = sys.argv[1:]

def refusal(sentence, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except otolith.OtolithError as error:
        assert sentence in str(error), error
        return
    raise SystemExit(f"{function}{arguments} was accepted")

with otolith.World(connect=url, ca=ca, cert=cert, key=key, timeout_s=60) as world:
    assert world.channels == [] and world.epoch != 0 and world.clock() is None, world.channels
    assert world.pause().tick >= 0
    first = world.step(5).tick
    assert world.step(5).tick == first + 5
    world.set("car/imu", "accelerometer.constant_bias_m_s2", [0.1, 0, 0])
    assert world.get("car/imu", "accelerometer.constant_bias_m_s2").value == "[0.1, 0, 0]"
    assert world.fault("car/imu", "stuck", for_s=1).text == "fault 1"
    refusal("needs the role admin", world.swap, "car/imu", "mems_imu")
    refusal("subscribe to its samples", world.__getitem__, "car/imu")
    refusal("unsupported", world.wait_tick, 0)
    world.resume()
with otolith.World(connect=url, ca=ca, cert=watcher_cert, key=watcher_key, timeout_s=60) as world:
    assert "range_m_s2" in " ".join(world.get("car/imu"))
    refusal("needs the role operate", world.pause)
refusal("ended the connection", otolith.World, connect=url, ca=ca, timeout_s=60)
refusal("tls+tcp://host:port is accepted", otolith.World, connect="tcp://localhost:1")
refusal("missing.pem", otolith.World, connect=url, ca="missing.pem")
for wrong in ({"cert": cert}, {"follow_s": 1}):
    try:
        otolith.World(connect=url, ca=ca, **wrong)
        raise SystemExit(f"{wrong} was accepted")
    except ValueError:
        pass
"""
        self.python(code, self.url, self.ca.path / "ca.pem", *self.alice, *watcher)

    def test_what_needs_shared_memory_is_refused(self):
        tls = self.wrap(self.connect(), self.alice)
        self.assertIn(b"rate_num", self.reply(tls))
        for op, arguments in ((b"join", b"\xa4name\xa1x"), (b"lossless", b"\xa8channels\x91\x00"), (b"wake", b"\xa2on\xc3")):
            self.message(tls, b"\x84\xa1v\x01\xa2id\x05\xa2op" + bytes([0xa0 + len(op)]) + op + arguments)
            self.assertIn(b"clients on the server's machine", self.reply(tls))
        self.message(tls, b"\x84\xa1v\x01\xa2id\x06\xa2op\xa6attach\xa4name\xa1x")
        self.assertIn(b"attached already", self.reply(tls))

    def test_hostile_messages_end_their_connection_or_get_an_error(self):
        before = self.gate()
        for data in (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\1\0\1" + b"x" * 65537):
            tls = self.wrap(self.connect(), self.alice)
            self.reply(tls)
            try:
                tls.sendall(data)
                with self.assertRaises((EOFError, OSError)):
                    self.reply(tls)
            except OSError:
                pass
        tls = self.wrap(self.connect(), self.alice)
        self.reply(tls)
        for data in (b"\xc1", b"\xdf\xff\xff\xff\xff", b"\x83\xa1v\x01\xa2id\x05\xa2op\xa4exec"):
            self.message(tls, data)
            self.assertIn(b"status", self.reply(tls))
        self.assertIn("paused", self.ask(self.alice, "pause"))
        self.assertEqual(self.gate(), before)

    def test_a_flood_of_requests_is_slowed_down_and_eight_clients_are_the_most(self):
        clients = [self.wrap(self.connect(), self.alice) for _ in range(8)]
        for tls in clients:
            self.reply(tls)
        late = self.connect()
        with self.assertRaises((ssl.SSLError, OSError, EOFError)):
            self.reply(self.wrap(late, self.alice))
        for _ in range(500):
            self.message(clients[0], b"\x83\xa1v\x01\xa2id\x05\xa2op\xa4info")
        for _ in range(500):
            self.assertIn(b"status", self.reply(clients[0]))
        for tls in clients:
            tls.close()
        self.until(lambda: self.call("pause", "--connect", self.url, "--ca", self.ca.path / "ca.pem", "--cert", self.alice[0], "--key",
                                     self.alice[1]).returncode == 0, "a free place")


class Refusals(GateCase):
    def refused(self, yaml, sentence, *options):
        (self.path / "world.yaml").write_text(WORLD + yaml)
        done = subprocess.run([BIN / "otolithd", "--check", self.path / "world.yaml", *options], env=self.environment, capture_output=True,
                              text=True, timeout=PATIENCE_S)
        self.assertIn(sentence, done.stderr)
        return done.returncode

    def test_a_bare_address_beyond_this_machine_needs_insecure(self):
        for address in ("0.0.0.0", "192.0.2.1", "*", "[::]", "127.0.0.1.example"):
            self.assertEqual(self.refused(f"publish: {{listen: 'tcp://{address}:0'}}\n", "can be read by everybody who reaches the port"), 1)
        warning = "warning: 'tcp://0.0.0.0:0' can be read by everybody"
        self.assertEqual(self.refused("publish: {listen: 'tcp://0.0.0.0:0', insecure: true}\n", warning), 0)
        self.assertEqual(self.refused("publish: {listen: 'tcp://0.0.0.0:0'}\n", warning, "--insecure"), 0)
        for address in ("127.0.0.1", "127.3.2.1", "localhost", "[::1]"):
            self.assertEqual(self.refused(f"publish: {{listen: 'tcp://{address}:0'}}\n", ""), 0)

    def test_tls_without_its_files_is_refused(self):
        self.assertEqual(self.refused("publish: {listen: 'tls+tcp://127.0.0.1:0'}\n", "needs a certificate"), 1)
        self.assertEqual(self.refused("tls: {cert: a.pem}\n", "key"), 1)
        self.assertEqual(self.refused("tls: {cert: a.pem, key: a.key, crl: c.pem}\n", "needs `client_ca`"), 1)
        control = "control: {listen: 'tls+tcp://127.0.0.1:0', roles: [{certificate: alice, role: operate}]}\n"
        self.assertEqual(self.refused("tls: {cert: a.pem, key: a.key}\n" + control, "client_ca"), 1)
        self.assertEqual(self.refused("tls: {cert: a.pem, key: a.key, client_ca: c.pem}\ncontrol: {listen: 'tls+tcp://127.0.0.1:0'}\n",
                                      "no certificate has a role"), 1)
        self.assertEqual(self.refused("control: {listen: 'tcp://127.0.0.1:0'}\n", "tls+tcp://HOST:PORT"), 1)
        self.assertEqual(self.refused("tls: {cert: a.pem, key: a.key, client_ca: c.pem}\n" + control, ""), 0)


class ToolsCase(GateCase):
    """A world that serves clients of the authority."""

    def setUp(self):
        super().setUp()
        self.start(tls=f", client_ca: {self.ca.path}/ca.pem")
        self.url = self.endpoint()
        self.files = {"ca": str(self.ca.path / "ca.pem"), "cert": str(self.alice[0]), "key": str(self.alice[1])}
        self.options = [f"--{name}={path}" for name, path in self.files.items()]

    def top(self, *arguments):
        shown = json.loads(self.otolith("top", "--connect", self.url, *self.options, "--json", *arguments))
        return shown, {row["topic"]: row for row in shown["topics"]}

    def record(self, *arguments):
        """What `record --json` prints. A gate that a busy machine delays may lose samples; they are then counted."""
        done = self.call("record", "--connect", self.url, *self.options, "--json", *arguments)
        facts = json.loads(done.stdout)
        self.assertEqual(done.returncode, 1 if facts["lost"] > 0 else 0, done.stderr)
        return facts


class Tools(ToolsCase):
    """`top`, `record` and Python's Subscriber over TLS."""

    def test_top_shows_the_topics_of_a_world_on_another_machine(self):
        self.until(lambda: "w/car/imu" in self.top()[1], "the first samples")
        shown, topics = self.top()
        self.assertEqual(shown["world"], "w")
        self.assertGreater(shown["t_ns"], 0)
        self.assertNotIn("lateness_us", shown)  # the wire does not have it
        self.assertIn("w/car/motion", topics)
        self.assertIn("over the wire", self.otolith("top", "--connect", self.url, *self.options))
        self.until(lambda: list(self.top("car/imu")[1]) == ["w/car/imu"], "a sample of the one topic")

        def has_rate():
            imu = self.top("car/imu")[1].get("w/car/imu", {"rate_hz": 0})
            return 100 < imu["rate_hz"] < 400 and (imu["field"], imu["unit"]) == ("linear_acceleration.x", "m/s^2")
        self.until(has_rate, "the rate of 200 Hz")

    def test_a_recording_over_the_wire_has_or_counts_every_sample(self):
        file = self.path / "wire.mcap"
        facts = self.record("--for", "2s", "-o", file)
        start, end = (json.loads(line) for line in self.otolith("play", file, "--name", "again", "--speed", "max", "--no-publish",
                                                                   "--json").splitlines())
        self.assertEqual((start["world"], end["left_out"]), ("again", 0))
        self.assertEqual(end["samples"], facts["samples"])
        self.assertGreater(facts["samples"] + facts["lost"], 2 * (1000 + 200) - 50)  # a topic may begin some ms later
        self.assertIn("wire.mcap", self.otolith("verify", file, code=1))  # it has no world file

    def test_one_topic_is_recorded(self):
        file = self.path / "one.mcap"
        facts = self.record("--for", "1s", "-o", file, "car/imu")
        self.assertGreaterEqual(facts["samples"] + facts["lost"], 180)
        self.assertLess(facts["samples"], 1000)
        self.assertIn("did you mean 'car/imu'", self.otolith("record", "--connect", self.url, *self.options, "-o", file, "car/imo", code=1))

    @unittest.skipIf(os.environ.get("OTOLITH_TEST_SANITIZED"), "a sanitized library does not load into a plain Python")
    def test_python_subscribes(self):
        code = """
import os, sys, otolith
files = dict(pair.split("=") for pair in sys.argv[2:])
with otolith.Subscriber(sys.argv[1], "w/car/imu", **files) as subscriber:
    first, second = subscriber.next(60), subscriber.next(60)
    assert second.data["seq"] == first.data["seq"] + 1 + second.lost, (first, second)
for wrong in ({}, {"ca": files["ca"]}, {"ca": "missing.pem"}):
    try:
        with otolith.Subscriber(sys.argv[1], "w/car/imu", **wrong) as subscriber:
            subscriber.next(1)
        raise SystemExit(f"{wrong} was accepted")
    except otolith.OtolithError as refusal:
        assert sys.argv[1] in str(refusal) or "missing.pem" in str(refusal), refusal
try:
    otolith.Subscriber(sys.argv[1], cert="a.pem")
    raise SystemExit("a certificate without a key was accepted")
except ValueError:
    pass
"""
        self.python(code, self.url, *(f"{name}={path}" for name, path in self.files.items()))


class Silence(ToolsCase):
    """The same where no publisher answers, which takes ten seconds."""

    def test_a_recording_ends_with_the_run(self):
        file = self.path / "wire.mcap"
        recorder = subprocess.Popen([self.program, "record", "--connect", self.url, *self.options, "-o", str(file), "--json"],
                                    env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.until(lambda: file.exists() and file.stat().st_size > 0, "the recording")
        self.server.terminate()
        self.server.wait(timeout=PATIENCE_S)
        printed, said = recorder.communicate(timeout=PATIENCE_S)
        self.assertEqual(recorder.returncode, 1 if json.loads(printed)["lost"] > 0 else 0, said)
        self.assertIn("the recording ends there", said)

    def test_without_a_certificate_they_get_a_sentence(self):
        commands = [subprocess.Popen([self.program, *command, "--connect", self.url, f"--ca={self.files['ca']}"], env=self.environment,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                    for command in (["top", "--json"], ["record", "-o", self.path / "no.mcap"])]
        for command in commands:
            self.assertIn(self.url, command.communicate(timeout=PATIENCE_S)[1])
            self.assertEqual(command.returncode, 1)
        self.assertFalse((self.path / "no.mcap").exists())
        self.assertIn("belong together", self.otolith("top", "--connect", self.url, "--cert=a.pem", code=2))


if __name__ == "__main__":
    unittest.main(verbosity=2)
