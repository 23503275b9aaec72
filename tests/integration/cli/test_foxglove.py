"""otolith-web as programs of other vendors see it: the npm client of foxglove.websocket.v1, and foxglove.sdk.v1 by hand."""
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from npm import npm_folder  # noqa: E402
from otolith_case import OtolithCase  # noqa: E402

BIN, BUILD, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))

WORLD = """
world: rec
seed: 5
clock: {rate_hz: 1000, mode: realtime}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 200, params: {accelerometer: {constant_bias_m_s2: [0, 0, 0]}}}
      - {name: mag, plugin: magnetometer, rate_hz: 50}
publish: false
web: false
"""


class Foxglove(OtolithCase):
    program = str(BIN / "otolith")

    def setUp(self):
        super().setUp()
        self.world = self.path / "world.yaml"
        self.world.write_text(WORLD)

    def serve(self, *command):
        self.server = subprocess.Popen([str(word) for word in command], env=self.environment, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        self.until(lambda: self.call("ls").returncode == 0, "the world")

    def check(self, script, *tokens):
        """Runs the script against otolith-web of the world."""
        place = npm_folder(self, BUILD, SOURCE, script)
        with subprocess.Popen([str(BIN / "otolith-web"), "--world", "rec", "--listen", "127.0.0.1:0"], env=self.environment,
                              stdout=subprocess.PIPE, text=True) as web:
            try:
                self.assertIn("http://127.0.0.1:", web.stdout.readline())
                facts = dict(line.split() for line in (self.path / "otolith" / "rec.web").read_text().splitlines())
                checked = subprocess.run(["node", script, f"ws://127.0.0.1:{facts['port']}/", *(facts[token] for token in tokens)],
                                         cwd=place, capture_output=True, text=True, timeout=self.timeout_s)
                self.assertEqual((checked.returncode, checked.stdout), (0, "ok\n"), checked.stderr)
            finally:
                web.terminate()

    def test_clients_of_other_vendors_read_and_control_a_world(self):
        self.serve(BIN / "otolithd", self.world)
        self.check("check_foxglove.mjs", "read", "control")

    def test_a_playback_is_paused_moved_and_resumed(self):
        file = self.path / "rec.mcap"
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "4s", "--mcap", file)
        self.serve(BIN / "otolith", "play", file, "--paused", "--hold", "--no-publish")
        self.check("check_playback.mjs", "control")


if __name__ == "__main__":
    unittest.main()
