"""Outputs of `otolith run`: complete or with a sentence and exit code 1, of one tick, and no foreign control characters."""
import csv
import json
import os
import pathlib
import resource
import signal
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1))
OTOLITH = str(BIN / "otolith")
needs_hosts = unittest.skipUnless((BIN / "otolith-plugin-host").exists(), "this build has no plugin hosts")

WORLD = """
world: outputs
clock: {{rate_hz: 1000, mode: {mode}}}
vehicles:
  - name: car
    motion: {{plugin: motion_script}}
    nodes:
      - {{name: imu, plugin: mems_imu, rate_hz: 200}}
"""


class Case(OtolithCase):
    program = OTOLITH

    def world(self, mode="asap"):
        path = self.path / "world.yaml"
        path.write_text(WORLD.format(mode=mode))
        return path

    def run_world(self, *options, mode="asap"):
        return self.call("run", self.world(mode), "--quiet", "--no-publish", *options)

    def spawn(self, *options, mode="realtime"):
        self.server = subprocess.Popen([OTOLITH, "run", str(self.world(mode)), "--quiet", "--no-publish", *map(str, options)],
                                       env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        return self.server

    def rows(self, path):
        """Those whose line is whole, of a file that may still be written."""
        with open(path, newline="") as file:
            return list(csv.DictReader(line for line in file if line.endswith("\n")))


class Files(Case):
    def test_devices_links_and_fifos_stay_what_they_are(self):
        target, link = self.path / "target.json", self.path / "link.json"
        target.write_text("previous")
        link.symlink_to("target.json")
        done = self.run_world("--for", "1s", "--summary", link, "--csv", "car/imu=/dev/null")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(link.is_symlink())
        self.assertEqual(json.loads(target.read_text())["ticks"], 1000)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

        fifo = self.path / "fifo"
        os.mkfifo(fifo)
        done = self.run_world("--for", "1s", "--summary", fifo)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("it is a FIFO that nobody reads: start its reader first", done.stderr)
        with open(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as reader:
            done = self.run_world("--for", "1s", "--summary", fifo)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(reader.read())["ticks"], 1000)
        self.assertTrue(stat.S_ISFIFO(os.stat(fifo).st_mode))

    def test_a_checkpoint_follows_a_link_and_leaves_a_device(self):
        target, link = self.path / "target.ckpt", self.path / "link.ckpt"
        link.symlink_to("target.ckpt")
        for path in (link, "/dev/null"):
            done = self.run_world("--for", "1s", "--checkpoint", path)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(link.is_symlink())
        self.assertGreater(target.stat().st_size, 0)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_a_full_disk_is_an_error_of_every_output(self):
        for option in ("--log=/dev/full", "--summary=/dev/full", "--checkpoint=/dev/full", "--csv=car/imu=/dev/full"):
            done = self.run_world("--for", "3s", option)
            self.assertEqual(done.returncode, 1, f"{option}: {done.stderr}")
            self.assertRegex(done.stderr, "/dev/full'.*No space left on device", option)
            self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))

    def test_a_picture_that_cannot_be_written_leaves_the_device_and_the_previous_file(self):
        data, picture = self.path / "a.csv", self.path / "a.svg"
        data.write_text("t_s,value\n0,1\n1,2\n")
        picture.write_text("previous")
        self.assertIn("No space left on device", self.otolith("plot", data, "--y", "value", "--out", "/dev/full", code=1))
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))
        self.otolith("plot", data, "--y", "none", "--out", picture, code=1)
        self.assertEqual(picture.read_text(), "previous")
        self.otolith("plot", data, "--y", "value", "--out", picture)
        self.assertIn("<svg", picture.read_text())

    def test_a_file_over_the_size_limit_is_an_error_and_not_the_end(self):
        data, picture = self.path / "a.csv", self.path / "a.svg"
        data.write_text("t_s,value\n0,1\n1,2\n")
        picture.write_text("previous")
        done = subprocess.run([OTOLITH, "plot", data, "--y", "value", "--out", picture], env=self.environment, text=True,
                              capture_output=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertEqual(picture.read_text(), "previous")
        self.assertEqual(sorted(path.name for path in self.path.iterdir()), ["a.csv", "a.svg"])

    def test_two_outputs_of_one_file_are_refused(self):
        one, link = self.path / "one", self.path / "link"
        link.symlink_to("one")
        for options in (("--csv", f"car/imu={one}", "--csv", f"car/motion={link}"),
                        ("--csv", f"car/imu={one}", "--summary", self.path / "." / "one"),
                        ("--log", one, "--checkpoint", one), ("--csv", "car/imu=-", "--csv", "car/motion=-")):
            done = self.run_world("--for", "1s", *options)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn("would both write", done.stderr)
        self.assertFalse(one.exists())

    def test_a_wrong_topic_leaves_the_previous_recordings(self):
        kept = self.path / "kept.csv"
        kept.write_text("previous")
        done = self.run_world("--for", "1s", "--csv", f"car/imu={kept}", "--csv", f"car/none={self.path / 'b.csv'}")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(kept.read_text(), "previous")


class Losses(Case):
    def lose(self, *options):
        """A run whose recorder is stopped until the ring has overwritten samples."""
        path, summary = self.path / "motion.csv", self.path / "summary.json"
        run = self.spawn("--csv", f"car/motion={path}", "--summary", summary, *options)
        self.until(lambda: path.exists() and path.stat().st_size > 10000, "the first samples")
        newest = lambda: json.loads(self.otolith("ls", "--json"))[0]["topics"][0]["samples"]  # noqa: E731
        ring = json.loads(self.otolith("info", "car/motion", "--json"))["ring"]
        run.send_signal(signal.SIGSTOP)
        before = newest()
        self.until(lambda: newest() > before + 2 * ring, "more samples than the ring holds")
        run.send_signal(signal.SIGCONT)
        self.until(lambda: int(self.rows(path)[-1]["t_ns"]) > 1_000_000 * (before + ring), "samples behind the gap")
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=PATIENCE_S)
        return run.returncode, said, self.rows(path), json.loads(summary.read_text())

    def test_lost_samples_are_reported_and_fail_the_run(self):
        code, said, rows, summary = self.lose()
        self.assertEqual(code, 1, said)
        numbers = [0, *(int(row["seq"]) for row in rows)]
        gaps = [(a, b) for a, b in zip(numbers, numbers[1:]) if b != a + 1]  # on a busy machine more than that of the stop
        for last, first in gaps[:8]:  # which are told one by one
            self.assertIn(f"{first - last - 1} samples of outputs/car/motion were lost between {last / 1000:.9g} s and {first / 1000:.9g} s", said)
        lost = sum(first - last - 1 for last, first in gaps)
        self.assertGreater(lost, 0)
        self.assertIn(f"lacks {lost} of {lost + len(rows)} samples", said)
        topics = summary["topics"]
        self.assertEqual((topics["outputs/car/motion"]["lost"], topics["outputs/car/motion"]["stale"]), (lost, 0))
        self.assertEqual(topics["outputs/car/imu"]["lost"], 0)
        self.assertNotIn("stale", topics["outputs/car/imu"])

    def test_lost_samples_can_be_allowed(self):
        code, said, _, summary = self.lose("--allow-loss")
        self.assertEqual(code, 130, said)
        self.assertGreater(summary["topics"]["outputs/car/motion"]["lost"], 0)

    @needs_hosts
    def test_stale_samples_are_counted_and_can_be_marked(self):
        path, summary = self.path / "imu.csv", self.path / "summary.json"
        run = self.spawn("--set", "vehicles.car.nodes.imu.isolation=process", "--csv", f"car/imu={path}",
                         "--summary", summary)
        host = self.until_value(lambda: json.loads(self.otolith("info", "car/imu", "--json")).get("plugin_host", {}).get("pid"))
        self.until(lambda: path.exists() and path.stat().st_size > 10000, "the first samples")
        os.kill(host, signal.SIGKILL)
        self.until(lambda: any(int(row["flags"]) & 1 << 17 for row in self.rows(path)), "a stale sample")
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=PATIENCE_S)
        self.assertEqual(run.returncode, 130, said)
        rows = self.rows(path)
        self.assertEqual(list(rows[0])[-1], "flags")
        stale = sum(int(row["flags"]) >> 17 & 1 for row in rows)
        self.assertIn(f"{stale} of {len(rows)} samples of outputs/car/imu", said)
        self.assertEqual(json.loads(summary.read_text())["topics"]["outputs/car/imu"]["stale"], stale)

    def until_value(self, ask):
        values = []

        def found():
            done = self.call("info", "car/imu", "--json")
            if done.returncode == 0:
                values.append(ask())
            return values and values[-1]
        self.until(found, "the plugin host")
        return values[-1]


class Ends(Case):
    def end(self, number, mode):
        paths = {name: self.path / name for name in ("imu.csv", "motion.csv", "summary", "log", "checkpoint")}
        for path in paths.values():
            path.unlink(missing_ok=True)
        run = self.spawn("--csv", f"car/imu={paths['imu.csv']}", "--csv", f"car/motion={paths['motion.csv']}", "--summary",
                         paths["summary"], "--log", paths["log"], "--checkpoint", paths["checkpoint"],
                         "--set", "ring_capacity=16384", mode=mode)  # a recorder that a busy machine delays for seconds loses nothing
        self.until(lambda: paths["imu.csv"].exists() and paths["imu.csv"].stat().st_size > 10000, "the first samples")
        run.send_signal(number)
        _, said = run.communicate(timeout=PATIENCE_S)
        return run.returncode, said, paths

    def test_all_outputs_of_an_interrupted_run_end_at_one_tick(self):
        for number, mode in ((signal.SIGINT, "realtime"), (signal.SIGTERM, "realtime"), (signal.SIGHUP, "realtime"), (signal.SIGINT, "asap")):
            code, said, paths = self.end(number, mode)
            self.assertEqual(code, 128 + number, said)
            summary, motion, imu = json.loads(paths["summary"].read_text()), self.rows(paths["motion.csv"]), self.rows(paths["imu.csv"])
            end = json.loads(paths["log"].read_text().splitlines()[-1])
            ticks = summary["ticks"]
            self.assertEqual((end["entry"], end["tick"], end["chain"]), ("end", ticks, summary["state_hash"]))
            self.assertEqual([int(row["seq"]) for row in motion], list(range(1, ticks + 1)))
            self.assertEqual(len(imu), ticks // 5)
            self.assertEqual(summary["topics"]["outputs/car/motion"]["samples"], ticks)
            done = self.run_world("--restore", paths["checkpoint"], "--for", "1s", "--csv", f"car/motion={paths['motion.csv']}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(int(self.rows(paths["motion.csv"])[-1]["seq"]), ticks + 1000)

    def test_a_hang_up_that_the_launcher_ignores_ends_no_run(self):
        path = self.path / "motion.csv"
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        try:
            run = self.spawn("--csv", f"car/motion={path}")
        finally:
            signal.signal(signal.SIGHUP, before)
        self.until(lambda: path.exists() and path.stat().st_size > 10000, "the first samples")
        run.send_signal(signal.SIGHUP)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=PATIENCE_S), 128 + signal.SIGINT)

    def test_the_recording_of_a_killed_recorder_ends_with_a_whole_line(self):
        path = self.path / "motion.csv"
        run = self.spawn("--csv", f"car/motion={path}")
        self.until(lambda: path.exists() and path.stat().st_size > 10000, "the first samples")
        run.kill()
        run.wait(timeout=PATIENCE_S)
        text = path.read_text()
        self.assertTrue(text.endswith("\n"))
        self.assertEqual(len({line.count(",") for line in text.splitlines()}), 1)


class Foreign(Case):
    def test_control_characters_of_a_world_file_do_not_reach_the_terminal(self):
        path = self.path / "world.yaml"
        path.write_text('world: outputs\n"\\e[2Jseed": 1\n')
        for command in ("check", "run"):
            done = self.call(command, path)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("\\x1b[2J", done.stderr)
            self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_control_characters_of_a_csv_do_not_reach_the_terminal(self):
        path = self.path / "a.csv"
        path.write_text("t_s,\x1b[2J\n0,1\n")
        done = self.call("plot", path, "--y", "value", "--out", self.path / "a.svg")
        self.assertEqual(done.returncode, 1)
        self.assertIn("\\x1b[2J", done.stderr)
        self.assertNotIn("\x1b", done.stderr)

    def test_a_csv_header_with_a_nul_is_refused(self):
        path = self.path / "a.csv"
        path.write_bytes(b"t_s,val\0ue\n0,1\n1,2\n")
        self.assertIn("NUL", self.otolith("plot", path, "--y", "val", "--out", self.path / "a.svg", code=1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
