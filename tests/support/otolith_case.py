"""Tests of the command line: a directory and runtime directory of each test's own, and a server that ends with it."""
import contextlib
import os
import pathlib
import random
import socket
import subprocess
import tempfile
import time
import unittest

PATIENCE_S = 300  # ends what hangs; a sanitized build on a busy machine may need minutes


def free_ports(count):
    """Ports for a program that cannot choose one itself: not of the range from which the kernel gives, or they might be gone by then."""
    first, last = map(int, pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    ports = [port for port in range(10081, 65536) if not first <= port <= last] or list(range(first, last + 1))  # browsers refuse some up to 10080
    random.shuffle(ports)
    found = []
    while len(found) < count:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", ports[-1])), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.bind(("127.0.0.1", ports[-1]))
            found.append(ports[-1])
        ports.pop()
    return found


class OtolithCase(unittest.TestCase):
    program = None  # otolith's path
    timeout_s = PATIENCE_S  # of one command

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="otolith-test-")
        self.addCleanup(self.directory.cleanup)  # after what is added later, which may end processes that write there
        self.path = pathlib.Path(self.directory.name)
        os.chmod(self.path, 0o700)
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=str(self.path), TMPDIR=str(self.path))
        self.environment.pop("OTOLITH_WORLD", None)
        self.server = None

    def tearDown(self):
        if self.server is not None:
            self.server.terminate()
            self.server.wait(timeout=PATIENCE_S)
            for stream in (self.server.stdout, self.server.stderr):
                if stream is not None:
                    stream.close()

    def call(self, *arguments):
        return subprocess.run([self.program, *map(str, arguments)], env=self.environment, capture_output=True, text=True,
                              timeout=self.timeout_s)

    def otolith(self, *arguments, code=0):
        """What it prints: on stdout, or on stderr where it is to fail."""
        done = self.call(*arguments)
        self.assertEqual(done.returncode, code, f"otolith {arguments}: {done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def until(self, condition, what, patience_s=PATIENCE_S):
        deadline = time.monotonic() + patience_s
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"waited too long for {what}")
            time.sleep(0.01)
