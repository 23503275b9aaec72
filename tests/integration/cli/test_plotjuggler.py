"""The publisher's datagrams for PlotJuggler: arrays of maps with a stamp in seconds."""
import pathlib
import socket
import subprocess
import sys
import unittest

import msgpack

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1))

WORLD = """
world: plot
clock: {rate_hz: 1000, mode: realtime}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes: [{name: imu, plugin: mems_imu, rate_hz: 200}]
publish: {format: plotjuggler, listen: "udp://127.0.0.1:PORT"}
"""


class PlotJuggler(OtolithCase):
    program = str(BIN / "otolith")

    def test_each_datagram_is_an_array_of_maps_with_a_stamp(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
            receiver.bind(("127.0.0.1", 0))
            receiver.settimeout(PATIENCE_S)
            world = self.path / "world.yaml"
            world.write_text(WORLD.replace("PORT", str(receiver.getsockname()[1])))
            self.server = subprocess.Popen([str(BIN / "otolithd"), str(world)], env=self.environment, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
            stamps, topics = [], set()
            while len(stamps) < 100:
                for sample in msgpack.unpackb(receiver.recv(65536)):
                    stamp, (topic, record) = sample.pop("stamp"), *sample.items()
                    topics.add(topic)
                    if topic == "plot/car/imu":
                        stamps.append(stamp)
                        self.assertIsInstance(record["linear_acceleration"]["z"], float)
            self.assertEqual(stamps, sorted(stamps))
            self.assertAlmostEqual(min(b - a for a, b in zip(stamps, stamps[1:])), 0.005)  # a datagram may be lost
            self.assertIn("plot/car/motion", topics)

    def test_a_format_and_an_address_that_do_not_fit_are_a_sentence(self):
        world = self.path / "world.yaml"
        for publish, words in (("{format: plotjuggler}", "udp://HOST:PORT"), ("{listen: 'udp://127.0.0.1:1'}", "format: plotjuggler")):
            world.write_text(WORLD.split("publish:")[0] + "publish: " + publish)
            self.assertIn(words, self.otolith("check", world, code=1))


if __name__ == "__main__":
    unittest.main()
