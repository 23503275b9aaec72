"""Damaged plugins: one bit of a plugin's file is changed, in what the dynamic loader reads, and the file is swapped in."""
import collections
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.dont_write_bytecode = True

from damage import DIGEST_MARK, flipped, loader_bytes, mapped_bytes  # noqa: E402

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
PLUGINS = next((BIN.parent / "lib" / "otolith").glob("plugins-*"))
COUNT = 60  # for each plugin
NODES = {"mems_imu": "car/imu", "motion_script": "car/motion", "odometer": "car/odo"}
WORLD = """
world: damaged
clock: {rate_hz: 1000}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 200}
      - {name: odo, plugin: odometer, rate_hz: 100}
publish: false
"""

class DamagedPlugins(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="otolith-damaged-")
        self.path = pathlib.Path(self.directory.name)
        self.world = self.path / "world.yaml"
        self.world.write_text(WORLD)
        self.environment = {"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(self.path), "TMPDIR": str(self.path)}

    def tearDown(self):
        self.directory.cleanup()

    def damage(self, plugin, chance, ranges):
        at, bit = chance.choice(chance.choice(ranges)), chance.randrange(8)
        (self.path / "damaged.so").write_bytes(flipped(PLUGINS / f"{plugin}.so", at, bit))
        return f"{plugin}, byte {at:#x}, bit {bit}"

    def otolith(self, *words):
        return subprocess.run([BIN / "otolith", *words], env=self.environment, capture_output=True, text=True, timeout=300)

    def test_a_shipped_plugin_with_any_changed_bit_is_refused_by_its_digest(self):
        for plugin in sorted(PLUGINS.glob("*.so")):
            chance, ranges = random.Random(plugin.stem), mapped_bytes(plugin)
            place = plugin.read_bytes().find(DIGEST_MARK)
            self.assertGreater(place, 0, plugin)
            self.assertNotEqual(plugin.read_bytes()[place + len(DIGEST_MARK):][:8], bytes(8), plugin)
            for _ in range(10):
                at, bit = chance.choice(chance.choices(ranges, weights=map(len, ranges))[0]), chance.randrange(8)
                if at in range(place, place + len(DIGEST_MARK)):
                    continue  # without its mark a file has no digest; nothing else of it has changed
                (self.path / "damaged.so").write_bytes(flipped(plugin, at, bit, digest=True))
                result = self.otolith("params", self.path / "damaged.so")
                self.assertEqual(result.returncode, 1, f"{plugin}, byte {at:#x}, bit {bit}")
                self.assertRegex(result.stderr, r"is refused: \S.*\(rule '\w+", plugin)

    def test_a_stripped_plugin_keeps_its_digest(self):
        stripped = self.path / "stripped.so"
        subprocess.run(["strip", "--strip-unneeded", "--remove-section=.comment", "-o", stripped, PLUGINS / "odometer.so"], check=True)
        self.assertLess(stripped.stat().st_size, (PLUGINS / "odometer.so").stat().st_size)
        self.assertEqual(self.otolith("params", stripped).returncode, 0)

    def assert_sentence(self, result, what):
        self.assertIn(result.returncode, (0, 1), what)
        if result.returncode != 0:
            self.assertRegex(result.stderr, r"otolith: .*(refused: \S|cannot be loaded: \S|the probe of \S)", what)

    def test_a_swap_to_a_damaged_file_does_not_end_the_server(self):
        server = subprocess.Popen([BIN / "otolithd", self.world], env=self.environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            deadline = time.monotonic() + 300
            while self.otolith("ls", "--world", "damaged").returncode != 0:
                self.assertLess(time.monotonic(), deadline)
            self.assert_swaps(server)
        finally:
            server.terminate()
            sentences = server.communicate(timeout=300)[1]
            print(sentences, file=sys.stderr)  # also where a swap failed
        self.assertEqual(server.returncode, 0, sentences)

    def assert_swaps(self, server):
        codes = collections.Counter()
        for plugin, node in NODES.items():
            chance, ranges = random.Random(plugin), loader_bytes(PLUGINS / f"{plugin}.so")
            for _ in range(COUNT):
                what = self.damage(plugin, chance, ranges)
                result = self.otolith("swap", node, self.path / "damaged.so", "--world", "damaged")
                self.assertIsNone(server.poll(), f"{what}: {result.stderr}")
                self.assert_sentence(result, what)
                codes[result.returncode] += 1
        self.assertGreater(codes[1], len(NODES) * COUNT // 4, codes)

    def test_a_start_with_a_damaged_file_ends_with_a_sentence(self):
        chance, ranges = random.Random("start"), loader_bytes(PLUGINS / "mems_imu.so")
        self.world.write_text(WORLD.replace("plugin: mems_imu", "plugin: ./damaged.so"))
        for _ in range(COUNT):
            what = self.damage("mems_imu", chance, ranges)
            result = self.otolith("check", self.world)
            self.assertIn(result.returncode, (0, 1), f"{what}: {result.stderr}")
            self.assertTrue(result.returncode == 0 or "damaged" in result.stderr, f"{what}: {result.stderr}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
