"""The live view on a terminal of 80 columns and 24 lines: it fits, it turns pages, it takes keys."""
import contextlib
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

BIN, PLUGINS, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))
OTOLITH = str(BIN / "otolith")
CARS = 12
LINES, COLUMNS = 24, 80


def world():
    cars = "".join(f"""
  - name: car{i:02}
    motion: {{plugin: motion_script}}
    nodes:
      - {{name: imu, plugin: mems_imu, rate_hz: 100}}""" for i in range(CARS))
    return f"world: view\nclock: {{rate_hz: 1000}}\nvehicles:{cars}\npublish: false\n"


class View(OtolithCase):
    program = OTOLITH

    def setUp(self):
        super().setUp()
        path = self.path / "view.yaml"
        path.write_text(world())
        self.screen, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        os.set_blocking(self.screen, False)
        self.drawn = bytearray()
        self.run_process = subprocess.Popen([sys.executable, "-c", FOREGROUND, OTOLITH, "run", str(path), "--for", "20h"], env=self.environment,
                                            stdin=terminal, stdout=terminal, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(terminal)

    def tearDown(self):
        self.run_process.terminate()
        self.end()
        os.close(self.screen)
        super().tearDown()

    def end(self):
        """Waits for the program and reads what it draws until then: it waits where the terminal is full. Returns its exit code."""
        with contextlib.suppress(OSError):  # nobody writes there any more
            self.until(lambda: self.frames() and self.run_process.poll() is not None, "the end")
        return self.run_process.wait(timeout=PATIENCE_S)

    def frames(self):
        with contextlib.suppress(BlockingIOError):
            self.drawn.extend(os.read(self.screen, 1 << 20))
        del self.drawn[:-200000]
        text = self.drawn.decode(errors="replace").replace("\r\n", "\n")
        return [re.sub(r"\x1b\[[JK]", "", frame) for frame in re.split(r"\x1b\[\d+A\r", text)]

    def shows(self, *words):
        """The newest whole frame: the last one may be incomplete."""
        return self.until(lambda: [f for f in self.frames()[1:-1][-2:] if all(word in f for word in words)] or None, words)

    def until(self, condition, what):
        found = []
        super().until(lambda: found.append(condition()) or found[-1], what)
        return found[-1]

    def key(self, text):
        os.write(self.screen, text)

    def test_it_fits_turns_pages_shows_other_fields_and_ends(self):
        frame = self.shows("view/car00/imu", "q: quit")[-1]
        lines = frame.rstrip("\n").split("\n")
        self.assertLess(len(lines), LINES)
        self.assertTrue(all(len(line) <= COLUMNS for line in lines), lines)
        self.assertNotIn("car11", frame)
        self.shows(" of 72000 s, ", " s left")
        self.key(b"\x1b[B")
        self.shows(">view/car00/imu")
        self.key(b"\x1b[C\x1b[C")
        self.shows("linear_acceleration.z", "9.8")
        self.key(b"\x1b[6~")
        self.assertNotIn("view/car00/imu", self.shows("view/car09/imu")[-1])
        self.key(b"G")
        self.shows("view/car11/imu")
        self.key(b"g")
        self.shows(">view/car00/motion")
        self.key(b"\x1b[6~" * 4)  # a page for each key, also of keys that arrive together
        self.shows(">view/@events")
        self.key(b"\x1b[5~" * 4)
        self.assertIn("view/car00/imu", self.shows(">view/car00/motion")[-1])

    def test_find_shows_only_the_topics_with_a_text(self):
        self.shows("view/car00/imu", "q: quit")
        self.key(b"/car1q\x7f0")
        self.assertNotIn("car00", self.shows("find: car10_", "2 topics", "view/car10/imu")[-1])
        self.key(b"\n")
        self.shows("topics 1-2 of 2 with 'car10'")
        self.key(b"/\x1b/*/car0[3-4]/imu\n")
        self.assertNotIn("car10", self.shows("topics 1-2 of 2 with '*/car0[3-4]/imu'", "view/car04/imu")[-1])
        self.key(b"/\x1b/nothing\n")
        self.shows("topics 0-0 of 0 with 'nothing'")
        self.key(b"/\x1b")
        self.shows("view/car00/motion")
        self.key(b"q")
        self.assertEqual(self.end(), 0)


# Makes the terminal the session's own, so that the program is in its foreground.
FOREGROUND = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""

if __name__ == "__main__":
    unittest.main()
