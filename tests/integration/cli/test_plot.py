"""otolith plot, and the example of the MAVS document: its numbers and its figure (MAVS rows A27, A13)."""
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))
OTOLITH = str(BIN / "otolith")
SVG = "{http://www.w3.org/2000/svg}"
DIGIT = 0.598e-3  # of both accelerometers, m/s²


class Plot(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=self.folder.name, OTOLITH=OTOLITH)
        self.environment.pop("OTOLITH_WORLD", None)

    def tearDown(self):
        self.folder.cleanup()

    def run_it(self, *arguments, code=0):
        done = subprocess.run([*map(str, arguments)], env=self.environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        return done.stderr

    def plot(self, *arguments, code=0):
        return self.run_it(OTOLITH, "plot", *arguments, code=code)

    def write(self, name, text):
        (self.path / name).write_text(text)
        return self.path / name

    def curves(self, path):
        """The points of each curve, and all texts."""
        root = ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, SVG + "svg")
        lines = [[tuple(map(float, pair.split(","))) for pair in line.get("points").split()] for line in root.iter(SVG + "polyline")]
        return lines, [text.text for text in root.iter(SVG + "text")]

    # ---- curves ----

    def test_points_stand_where_the_axes_say(self):
        out = self.path / "a.svg"
        self.plot(self.write("a.csv", "t_s,up,down\n0,0,10\n1,5,5\n2,10,0\n"), "--y", "up,down", "--out", out)
        (up, down), texts = self.curves(out)
        self.assertEqual(texts[0], "a.csv")
        self.assertEqual([text for text in texts if text in ("up", "down", "time, s")], ["up", "down", "time, s"])
        for wanted in ("0", "0.5", "1", "1.5", "2", "4", "10"):
            self.assertIn(wanted, texts)
        self.assertEqual([x for x, _ in up], [84.0, 417.0, 750.0])  # left edge, middle, right edge
        self.assertEqual([y for _, y in up], [y for _, y in reversed(down)])
        self.assertLess(up[2][1], up[0][1])
        self.assertAlmostEqual(up[1][1], (44 + 440) / 2, delta=0.1)

    def test_files_beside_each_other_are_curves_with_names(self):
        out = self.path / "a.svg"
        first = self.write("first.csv", "t_ns,v\n0,1\n1000000000,2\n")
        second = self.write("second.csv", "t_s,v\n0,2\n1,1\n")
        self.plot(first, second, "--y", "v", "--out", out)
        lines, texts = self.curves(out)
        self.assertEqual([[x for x, _ in line] for line in lines], [[84.0, 750.0]] * 2)  # ns and s are the same time
        self.assertIn("first.csv", texts)
        self.plot(first, second, "--y", "v", "--out", out, "--label", "A<&>,B", "--title", "T", "--x-label", "X", "--y-label", "Y")
        texts = self.curves(out)[1]
        for name in ("A<&>", "B", "T", "X", "Y"):
            self.assertIn(name, texts)

    def test_a_peak_of_one_sample_in_a_million_is_seen(self):
        out = self.path / "a.svg"
        rows = ["t_s,v"] + [f"{k},{100 if k == 654321 else k % 2}" for k in range(1000000)]
        self.plot(self.write("a.csv", "\n".join(rows)), "--y", "v", "--out", out)
        (line,), _ = self.curves(out)
        self.assertLess(len(line), 4 * 670)
        peak = min(line, key=lambda point: point[1])
        self.assertAlmostEqual(peak[0], 84 + 666 * 0.654321, delta=1)

    def test_another_column_may_stand_below_and_constants_have_room(self):
        out = self.path / "a.svg"
        self.plot(self.write("a.csv", "f,level\n10,3\n20,3\n"), "--x", "f", "--y", "level", "--out", out)
        (line,), texts = self.curves(out)
        self.assertEqual([y for _, y in line], [242.0, 242.0])
        self.assertIn("f", texts)
        self.plot(self.write("a.csv", "level\n3\n4\n"), "--y", "level", "--out", out)  # no time: rows are counted

    def test_bad_input_is_refused_and_nothing_is_written(self):
        out = self.path / "a.svg"
        good = self.write("good.csv", "t_s,value\n0,1\n1,2\n")
        for text, column, words in (("t_s,value\n0,1\n1,2\n", "valeu", "did you mean 'value'"), ("t_s,value\n", "value", "no rows"),
                                    ("t_s,value\n1,1\n0,2\n", "value", ":3: x goes back, from 1 to 0"),
                                    ("t_s,value\n0,nan\n", "value", "nan"), ("t_s,value\n0,\n", "value", ":2"),
                                    ("", "value", "a.csv")):
            said = self.plot(self.write("a.csv", text), "--y", column, "--out", out, code=1)
            self.assertIn(words, said)
            self.assertFalse(out.exists())
        self.assertIn("cannot write", self.plot(good, "--y", "value", "--out", self.path / "none" / "a.svg", code=1))
        self.assertIn("are needed", self.plot(good, "--y", "value", code=2))
        self.assertIn("names of 1 to 16", self.plot(good, "--y", "a,,b", "--out", out, code=2))
        self.assertIn("a.csv", self.plot(self.path / "absent" / "a.csv", "--y", "value", "--out", out, code=1))

    # ---- the document's example ----

    def run_document(self, *options):
        arguments = [f"--csv=car/{name}={self.path / name}.csv" for name in ("imu1", "imu2", "ideal")]
        self.run_it(OTOLITH, "run", SOURCE / "configs/worlds/mavs_document.yaml", "-q", "-P", *arguments, *options)
        samples = {}
        for name in ("imu1", "imu2", "ideal"):
            with open(self.path / f"{name}.csv", encoding="utf-8") as file:
                samples[name] = {int(row["t_ns"]) // 10000000: [float(row["linear_acceleration." + axis]) for axis in "xyz"]
                                 for row in csv.DictReader(file)}
            self.assertEqual(sorted(samples[name]), list(range(1, 501)))
        return samples

    def assert_golden(self, samples, rows):
        """The original's digits, but where its float32 cannot tell on which side of half a digit the value lies."""
        for row in rows:
            step = int(row["step"])
            self.assertAlmostEqual(samples["ideal"][step][0], float(row["in_x"]), delta=2e-7)  # float32
            for name in ("imu1", "imu2"):
                for axis in range(3):
                    wanted, got = float(row[f"{name}_{'xyz'[axis]}"]), samples[name][step][axis]
                    if abs(got - wanted) > 1e-6 * max(1, abs(wanted)):
                        t, offset, slope = step / 100, *((0.49, 0.294) if name == "imu1" else (0, 0))
                        exact = (samples["ideal"][step][axis] + offset + slope * t) * (1 + t / 100 * 0.02)
                        from_tie = abs(abs(exact / DIGIT) % 1 - 0.5) * DIGIT
                        self.assertLess(from_tie, 8 * 2**-24 * abs(exact), f"{name} {axis} at step {step}")  # 8 roundings
                        self.assertAlmostEqual(got, wanted, delta=1.001 * DIGIT)

    def test_A27_the_documents_example_is_the_originals_at_w_zero(self):
        samples = self.run_document("--set", "vehicles.car.nodes.imu1.params.w=0", "--set", "vehicles.car.nodes.imu2.params.w=0")
        with open(SOURCE / "tests/golden/mavs_document.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
        self.assertEqual(len(rows), 50)
        self.assert_golden(samples, rows)
        whole = SOURCE / "../shared/data/golden_mavs/mems_doc_example.csv"
        if not whole.exists():
            self.skipTest(f"there is no {whole}: fifty rows of it were compared")
        with open(whole, encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if float(row["w"]) == 0 and int(row["step"]) > 0]
        self.assertEqual(len(rows), 500)
        self.assert_golden(samples, rows)

    def test_A13_temperature_and_rate_reach_each_sample(self):
        """Offset and slope of the first accelerometer's y axis: (cb + (T - 25) tb) (1 + (T - 25)/100 tsf), T = 25 + t."""
        samples = self.run_document("--set", "vehicles.car.nodes.imu1.params.w=0")
        for step, (_, y, _) in samples["imu1"].items():
            t = step / 100
            self.assertAlmostEqual(y, (0.49 + 0.294 * t) * (1 + t / 100 * 0.02), delta=DIGIT)

    def test_A27_one_command_draws_the_documents_figure(self):
        out = self.path / "figure.svg"
        self.run_it(SOURCE / "tools/plot-mavs-document", out)
        (first, second, true), texts = self.curves(out)
        self.assertEqual([len(line) for line in (first, second, true)], [500] * 3)
        for name in ("IMU 1", "IMU 2", "true"):
            self.assertIn(name, texts)
        scale = (true[-1][1] - true[156][1]) / (2 * (1 - -0.9589))  # pixels in a m/s², from sin at 1.57 s and 5 s
        rough = lambda line: sum(abs(b[1] - a[1]) for a, b in zip(line, line[1:])) / scale
        self.assertGreater(rough(second), 3 * rough(first))  # what the document's figure shows: more noise …
        self.assertGreater((true[-1][1] - first[-1][1]) / scale, 1.8)  # … and less offset
        self.assertLess(abs(true[-1][1] - second[-1][1]) / scale, 0.2)
        shown = (SOURCE / "configs/worlds/mavs_document.svg").read_text()
        self.assertEqual(re.sub(r"\s+", " ", out.read_text()), re.sub(r"\s+", " ", shown), "the figure that is shown is not current")


if __name__ == "__main__":
    unittest.main()
