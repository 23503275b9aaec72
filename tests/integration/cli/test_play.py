"""A recording that is played: the same samples in shared memory and on the wire, with seek, speed and gaps."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1))
OTOLITH = str(BIN / "otolith")

WORLD = """
world: rec
seed: 5
clock: {rate_hz: 1000, mode: asap}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 200, params: {clock: {error_ppm: 50}}}
      - {name: odo, plugin: odometer, rate_hz: 100}
publish: false
"""


class Playbacks(OtolithCase):
    program = OTOLITH

    def setUp(self):
        super().setUp()
        self.world = self.path / "world.yaml"
        self.world.write_text(WORLD)
        self.file = self.path / "rec.mcap"
        self.otolith("run", self.world, "--quiet", "--for", "4s", "--mcap", self.file)

    def play(self, *options):
        self.server = subprocess.Popen([OTOLITH, "play", str(self.file), *options], env=self.environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.until(lambda: self.call("ls").returncode == 0, "the playback", 20)

    def test_the_samples_of_a_playback_are_those_of_the_run(self):
        self.play("--speed", "max", "--paused", "--no-publish", "--hold")
        again = self.path / "again.mcap"
        recorder = subprocess.Popen([OTOLITH, "record", "-o", str(again), "--for", "4s"], env=self.environment,
                                    stderr=subprocess.PIPE, text=True)
        self.until(again.exists, "the recording of the playback")
        self.otolith("resume")
        _, errors = recorder.communicate(timeout=PATIENCE_S)
        self.assertEqual(recorder.returncode, 0, errors)
        self.assertIn(" 0 lost", errors)
        facts = json.loads(self.otolith("verify", again, "--json"))  # the world of the file that was played, computed again
        self.assertTrue(facts["same"])
        self.assertEqual((facts["samples"], facts["missing"]), (4 * (1000 + 200 + 100), 0))

    def test_a_seek_continues_at_another_time_in_a_new_run(self):
        self.play("--speed", "0.05", "--hold", "--no-publish")
        self.otolith("seek", "2.5s")
        seq = re.search(r"^seq: (\d+)$", self.otolith("echo", "car/imu", "-n", "1"), re.M)
        self.assertGreaterEqual(int(seq[1]), 500)
        self.assertIn("is not in it", self.otolith("seek", "9s", code=1))
        self.assertIn("no meaning", self.otolith("set", "car/imu", "a", "1", code=1))

    def test_a_client_that_attaches_during_a_seek_is_served(self):
        self.play("--paused", "--hold", "--no-publish")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect(str(self.path / "otolith" / "rec" / "control.sock"))
            self.otolith("ls")  # the player accepts clients in order: it has this one
            self.otolith("seek", "2s")
            self.otolith("ls")
            client.settimeout(PATIENCE_S)
            client.send(b"\x84\xa1v\x01\xa2id\x01\xa2op\xa6attach\xa4name\xa1x")
            self.assertIn(b"epoch", client.recv(65536))

    @unittest.skipUnless((BIN / "otolith-web").exists(), "this build has no otolith-web")
    def test_a_playback_has_a_page_that_comes_back_and_ends_with_it(self):
        self.play("--paused", "--hold")
        self.until(lambda: self.call("web").returncode == 0, "the page")
        link = self.otolith("web").strip()
        self.assertIn(b"<title>otolith</title>", urllib.request.urlopen(link, timeout=60).read())
        self.otolith("seek", "2s")  # a new run, which the same page follows
        self.assertEqual(self.otolith("web").strip(), link)
        page = self.page_pid()
        os.kill(page, signal.SIGKILL)
        self.until(lambda: self.page_pid() not in (0, page), "another page")
        self.until(lambda: self.answers(link), "its answer at the same link")
        page = self.page_pid()
        self.server.terminate()
        self.assertEqual(self.server.wait(timeout=60), 0)
        self.assertIn(f"rec in the browser: {link}", self.server.stderr.read())
        self.assertFalse(pathlib.Path(f"/proc/{page}").exists())

    def page_pid(self):
        out = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(self.server.pid)], capture_output=True, text=True, check=False).stdout
        return next((int(line.split()[0]) for line in out.splitlines() if line.split()[1] == "otolith-web"), 0)

    def answers(self, link):
        try:
            return urllib.request.urlopen(link, timeout=60).status == 200
        except OSError:
            return False

    @unittest.skipUnless((BIN / "otolith-web").exists(), "this build has no otolith-web")
    def test_a_playback_without_a_page_says_so(self):
        self.play("--paused", "--hold", "--no-web")
        self.assertIn("no page", self.otolith("web", code=1))

    def test_a_playback_ends_with_its_file(self):
        self.assertIn("0 s to 4 s", self.call("play", self.file, "--speed", "20", "--no-publish").stderr)

    def test_a_file_that_is_no_recording_is_a_sentence(self):
        self.file.write_bytes(b"seed: 1\n")
        self.assertIn("not an MCAP file", self.otolith("play", self.file, code=1))
        self.assertIn("cannot read", self.otolith("play", self.path / "absent.mcap", code=1))


if __name__ == "__main__":
    unittest.main()
