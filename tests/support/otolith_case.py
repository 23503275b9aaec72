"""Tests of the command line: a directory and runtime directory of each test's own, and a server that ends with it."""
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

PATIENCE_S = 300  # ends what hangs; a sanitized build on a busy machine may need minutes


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
