"""
A world, run in every way: the recordings of all its topics are byte for byte those of a plain run. A plain run steps nodes of one plugin in
batches where the world has several; the isolated run steps each node alone.
usage: test_same.py BIN_DIR SIM_LIBRARY SOURCE_DIR WORLD_FILE
"""
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

BIN, SIM_LIBRARY, SOURCE, WORLD = sys.argv[1:5]
os.environ["OTOLITH_SIM_LIBRARY"] = SIM_LIBRARY
sys.path[:0] = [os.path.join(SOURCE, "clients", "python"), os.path.join(SOURCE, "tests", "support")]
sys.dont_write_bytecode = True

import numpy as np  # noqa: E402

import otolith  # noqa: E402
from otolith_case import OtolithCase  # noqa: E402

NAME = pathlib.Path(WORLD).stem
SECONDS = 1 if NAME == "fleet" else 5  # it has 40 plugin hosts
MOST_RECORDED = 32  # --csv of one run
# Twenty of the ten thousand cars: a full batch, and one that is not full. In mode async the last sample is published a tick later, so it is missing
# at the end of a run.
CHANGES = {"fleet": {"vehicles.car.count": 20}, "isolated": {"vehicles.car.nodes.spare.isolation": "process"}}.get(NAME, {})


def flat(samples, column):
    """A column of a CSV: a field, or one element of an array's ("name.3")."""
    if column in samples.dtype.names:
        return samples[column]
    name, _, index = column.rpartition(".")
    return samples[f"record.{name}" if name == "t_ns" else name][:, int(index)]  # a record's own t_ns is not that of its head


class Same(OtolithCase):
    program = os.path.join(BIN, "otolith")
    plain = None  # the bytes of the CSV of every topic

    def setUp(self):
        super().setUp()
        if NAME == "recorded_drive" and not (pathlib.Path(SOURCE).parent / "shared" / "data" / "drive_comma2k19").exists():
            self.skipTest("the recording ../shared/data/drive_comma2k19 is absent")
        with self.simulator() as sim:
            self.channels = [channel for channel in sim.channels if channel.topic in sim.topics and channel.rate_hz > 0][:MOST_RECORDED]
        self.rate_hz = next(channel.rate_hz for channel in self.channels if channel.is_truth)
        self.half = round(SECONDS * self.rate_hz / 2)
        if Same.plain is None:
            Same.plain, Same.plain_hash = self.run_world("plain", 2 * self.half)

    @staticmethod
    def simulator():
        return otolith.Sim(WORLD, set=CHANGES)

    @staticmethod
    def changes():
        return [f"--set={path}={json.dumps(value)}" for path, value in CHANGES.items()]

    def outputs(self, name):
        (self.path / name).mkdir()
        recorded = [f"--csv={channel.full_topic}={self.path / name / str(channel.index)}" for channel in self.channels]
        return ["--quiet", "--summary", self.path / name / "summary", *recorded]

    def recordings(self, name):
        """The bytes of the CSV of every topic, and the state hash at the end."""
        summary = json.loads((self.path / name / "summary").read_text())
        return {channel.topic: (self.path / name / str(channel.index)).read_bytes() for channel in self.channels}, summary["state_hash"]

    def run_world(self, name, ticks, *options):
        self.otolith("run", WORLD, "--no-publish", "--mode=asap", "--for", f"{ticks / self.rate_hz:g}s", *self.changes(),
                     *self.outputs(name), *options)
        return self.recordings(name)

    def assert_plain(self, recordings):
        for topic, text in self.plain.items():
            self.assertGreater(text.count(b"\n"), 1, topic)
            if recordings[0][topic] != text:
                pairs = zip(text.split(b"\n"), recordings[0][topic].split(b"\n"))
                self.fail(f"{topic}: plain and other: {next((pair for pair in pairs if pair[0] != pair[1]), 'one is longer')}")
        self.assertEqual(recordings[1], self.plain_hash)

    def assert_samples(self, samples, sim):
        """Number by number: what a step in this process gave, and the recordings of the server."""
        for channel in self.channels:
            header, *rows = csv.reader(self.plain[channel.topic].decode().splitlines())
            read = samples[channel.topic]
            self.assertEqual(len(rows), len(read), channel.topic)
            for column, texts in zip(header, zip(*rows)):
                values = flat(read, column)
                if values.dtype.kind == "S":
                    self.assertEqual([value.decode() for value in values], list(texts), (channel.topic, column))
                else:
                    expected = np.array([(float if values.dtype.kind == "f" else int)(text) for text in texts], values.dtype)
                    self.assertEqual(values.tobytes(), expected.tobytes(), (channel.topic, column))
        self.assertEqual(f"{sim.state_hash:016x}", self.plain_hash)

    def nodes(self):
        """Each node with its rate, once."""
        return {channel.node: channel.rate_hz for channel in self.channels}

    @staticmethod
    def isolated():
        """The names of the nodes that the world file isolates."""
        with open(WORLD) as file:
            return set(re.findall(r"name: (\w+),.*isolation:", file.read()))

    def test_a_run_with_all_nodes_isolated_and_two_threads(self):
        # A sensor above the base rate cannot be isolated. A node that the file isolates stays where it is.
        isolated = self.isolated()
        paths = {re.sub(r"_\d+/", "/", node).replace("/", ".nodes.").replace(".nodes.motion", ".motion")
                 for node, rate_hz in self.nodes().items() if rate_hz <= self.rate_hz and node.split("/")[1] not in isolated}
        self.assert_plain(self.run_world("isolated", 2 * self.half, *(f"--set=vehicles.{path}.isolation=process" for path in paths)))
        self.assert_plain(self.run_world("threads", 2 * self.half, "--threads=2"))

    def test_a_run_in_which_every_node_is_swapped_to_its_own_plugin(self):
        # Recorded by the replay of its log: nothing is lost there.
        log, socket = self.path / "swaps.log", self.path / "otolith"
        self.server = subprocess.Popen([os.path.join(BIN, "otolithd"), WORLD, "--mode=step", f"--log={log}", *self.changes()],
                                       env=self.environment, stderr=subprocess.PIPE, text=True)
        self.until(lambda: list(socket.glob("*/control.sock")), "the world")
        self.otolith("step", self.half)
        for node in self.nodes():
            if node.split("/")[1] != "motion" or not self.isolated():  # motions in a plugin host are not swapped
                plugin = json.loads(self.otolith("info", node, "--json"))["plugin"]
                self.otolith("swap", node, plugin, "--probation=0s")
        self.otolith("step", self.half)
        self.server.terminate()
        self.assertNotIn("rolled back", self.server.communicate()[1])
        self.otolith("run", "--replay", log, "--mode=asap", *self.outputs("swapped"))
        self.assert_plain(self.recordings("swapped"))

    def test_a_run_in_this_process_and_checkpoints_between_it_and_a_server(self):
        lossless = [channel.topic for channel in self.channels]
        first, _ = self.run_world("first", self.half, "--checkpoint", self.path / "server.checkpoint")
        with self.simulator() as sim, self.simulator() as restored:
            sim.step(self.half, lossless=lossless)
            (self.path / "here.checkpoint").write_bytes(sim.save())
            self.assert_samples(sim.step(self.half, lossless=lossless), sim)
            restored.restore((self.path / "server.checkpoint").read_bytes())
            restored.step(self.half)
            self.assertEqual(restored.state_hash, sim.state_hash)
        # A restored world has the newest record of each channel: these are in both recordings.
        second, state_hash = self.run_world("second", self.half, "--restore", self.path / "here.checkpoint")
        for topic, text in second.items():
            rows, known = text.splitlines(True)[1:], first[topic].splitlines(True)
            second[topic] = b"".join(known + (rows[1:] if len(known) > 1 and rows[0] == known[-1] else rows))
        self.assert_plain((second, state_hash))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
