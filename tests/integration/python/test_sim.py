#!/usr/bin/python3
"""
otolith.Sim, worlds in this process; test_same.py compares their samples with a server's. The plugins and parts are found without environment
variables, since libotolith-sim looks beside itself.
usage: test_sim.py BIN_DIR SIM_LIBRARY LIBRARY SOURCE_DIR
"""
import io
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import unittest
import warnings

BIN, SIM_LIBRARY, LIBRARY, SOURCE = sys.argv[1:5]
os.environ["OTOLITH_SIM_LIBRARY"] = SIM_LIBRARY
os.environ["OTOLITH_LIBRARY"] = "/nowhere/libotolith.so"  # Sim does not need it
for variable in ("OTOLITH_PLUGIN_PATH", "OTOLITH_PARTS_PATH"):
    os.environ.pop(variable, None)
PACKAGE = os.path.join(SOURCE, "clients", "python")
sys.path.insert(0, PACKAGE)
sys.dont_write_bytecode = True

import numpy as np  # noqa: E402

import otolith  # noqa: E402

WORLDS = os.path.join(SOURCE, "configs", "worlds")
CITY = os.path.join(WORLDS, "city_drive.yaml")
MINIMAL = """
world: small
seed: 3
clock: {rate_hz: 100, mode: asap, until_s: 2}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes: [{name: odo, plugin: odometer, rate_hz: 50}]
"""


def world_file(name):
    return os.path.join(WORLDS, f"{name}.yaml")


class Reading(unittest.TestCase):
    def setUp(self):
        self.sim = otolith.Sim(CITY)
        self.addCleanup(self.sim.close)

    def test_a_step_gives_the_samples_since_the_last_reading(self):
        samples = self.sim.step(1000)["car/imu"]
        self.assertEqual(samples.shape, (200,))
        self.assertEqual(samples.dtype.names[:5], ("t_ns", "sensor_time_ns", "seq", "flags", "orientation.x"))
        self.assertEqual(samples["orientation_covariance"].shape, (200, 9))
        np.testing.assert_array_equal(samples["seq"], np.arange(1, 201))
        np.testing.assert_array_equal(samples["t_ns"], samples["seq"] * 5_000_000)
        self.assertTrue(9 < samples["linear_acceleration.z"].mean() < 11)
        self.sim.step(3)
        self.assertEqual(self.sim.step(2)["demo/car/imu"]["seq"].tolist(), [201])
        self.assertEqual((self.sim.tick, self.sim.time_ns), (1005, 1_005_000_000))

    def test_a_step_is_a_mapping_and_looking_twice_reads_once(self):
        out = self.sim.step(20)
        self.assertIs(out["car/imu"], out["demo/car/imu"])
        self.assertEqual(list(out), ["car/motion", "car/imu", "car/mag", "car/odo", "@events"])
        self.assertEqual({topic: len(samples) for topic, samples in out.items()},
                         {"car/motion": 20, "car/imu": 4, "car/mag": 1, "car/odo": 2, "@events": 0})
        self.assertNotIn("car/gps", out)
        self.assertIsNone(out.get("car/gps"))
        self.assertIs(out.get("car/imu"), out["car/imu"])

    def test_samples_that_nobody_looked_at_come_with_the_next_step(self):
        first = self.sim.step(10)
        self.assertEqual(len(first["car/imu"]), 2)
        second = self.sim.step(10)
        self.assertEqual(len(first["car/imu"]), 2)
        with self.assertRaisesRegex(otolith.OtolithError, "newest step"):
            first["car/motion"]
        self.assertEqual((len(second["car/imu"]), len(second["car/motion"])), (2, 20))

    def test_lost_samples_are_counted_exactly_and_lossless_ones_are_all_there(self):
        capacity = self.sim.channel("car/motion").capacity
        ticks = 5 * (capacity // 5) + 1000
        out = self.sim.step(ticks, lossless=["car/imu"])
        imu, motion = out["car/imu"], out["car/motion"]
        np.testing.assert_array_equal(imu["seq"], np.arange(1, ticks // 5 + 1))
        self.assertEqual((imu.dtype, motion.dtype), (self.sim.channel("car/imu").dtype, self.sim.channel("car/motion").dtype))
        self.assertEqual(motion["seq"].tolist(), list(range(ticks + 1 - capacity, ticks + 1)))
        self.assertEqual(self.sim.lost["car/motion"], ticks - capacity)
        self.sim.step(capacity + 7)
        self.assertEqual(self.sim.lost["car/motion"], ticks + 7 - capacity)
        self.assertEqual(self.sim.lost["car/imu"], 0)
        np.testing.assert_array_equal(self.sim.step(30000, lossless=["car/motion"])["car/motion"]["seq"][7:],
                                      np.arange(ticks + 8 + 7, ticks + 30008 + capacity))

    def test_an_interrupt_ends_a_long_step(self):
        def interrupt(*_):
            if self.sim.tick > 0:  # the step has begun
                signal.setitimer(signal.ITIMER_REAL, 0)
                raise KeyboardInterrupt

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, interrupt))
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        self.assertRaises(KeyboardInterrupt, self.sim.step, 2**62)
        tick = self.sim.tick
        self.assertEqual(tick % 1000, 0)
        self.sim.step(5, lossless="car/imu")
        self.assertEqual(self.sim.tick, tick + 5)

    def test_latest_is_the_last_that_is_read(self):
        self.assertIsNone(self.sim.latest("car/imu"))
        self.sim.step(100)
        self.assertEqual(self.sim.latest("car/imu"), self.sim.read("car/imu")[-1])

    def test_samples_outlive_the_world_and_can_be_saved(self):
        samples, file = self.sim.step(50)["car/motion"], io.BytesIO()
        kept = samples.tobytes()
        self.sim.step(5000)
        self.sim.close()
        self.assertEqual(samples.tobytes(), kept)
        np.save(file, samples)
        file.seek(0)
        np.testing.assert_array_equal(np.load(file)["position_enu_m.x"], samples["position_enu_m.x"])

    def test_a_channel_describes_itself(self):
        channel = self.sim.channel("car/imu")
        self.assertEqual(repr(channel), "<SimChannel car/imu (imu, 200 Hz)>")
        self.assertEqual((channel.units["linear_acceleration.z"], channel.full_topic, channel.node), ("m/s^2", "demo/car/imu", "car/imu"))


class Changing(unittest.TestCase):
    def setUp(self):
        self.sim = otolith.Sim(CITY, seed=1)
        self.addCleanup(self.sim.close)

    def test_seeds_differ_and_a_reset_world_is_a_new_one(self):
        hashes = []
        for seed in (1, 2, 2**64 - 1):
            with otolith.Sim(CITY, seed=seed) as sim:
                sim.step(400)
                hashes.append(sim.state_hash)
                self.sim.reset(seed)
                self.assertEqual((self.sim.tick, self.sim.seed), (0, seed))
                self.assertEqual(self.sim.step(400)["car/imu"].tobytes(), sim.read("car/imu").tobytes())
                self.assertEqual(self.sim.state_hash, sim.state_hash)
        self.assertEqual(len(set(hashes)), 3)
        self.sim.reset()
        self.assertEqual(self.sim.seed, 2**64 - 1)

    def test_a_parameter_changes_the_next_samples(self):
        key = "accelerometer.constant_bias_m_s2"
        self.assertEqual(self.sim.get("car/imu", key), [0.05, -0.03, 0.08])
        self.sim.set("car/imu", key, np.array([40.0, 0, 0]))
        self.assertEqual(self.sim.get("car/imu", key), [40, 0, 0])
        self.assertGreater(self.sim.step(5)["car/imu"]["linear_acceleration.x"][0], 30)
        self.assertEqual(self.sim.get("car/imu", "law"), "mems")
        with otolith.Sim(CITY, set={"vehicles.car.nodes.imu.params.law": "mavs",
                                    f"vehicles.car.nodes.imu.params.{key}": [1, 2, 3]}) as other:
            self.assertEqual((other.get("car/imu", "law"), other.get("car/imu", key)), ("mavs", [1, 2, 3]))

    def test_a_plugin_is_swapped_and_taken_back(self):
        with otolith.Sim(CITY, seed=1) as plain:
            self.sim.step(400)
            self.sim.swap("car/imu", "mems_imu")
            self.sim.step(100)
            plain.step(500)
            self.assertEqual(self.sim.state_hash, plain.state_hash)
        before = self.sim.read("car/imu")
        self.sim.swap("car/imu", next(pathlib.Path(SIM_LIBRARY).parent.glob("otolith/plugins-*/sdf_imu.so")))
        after = self.sim.step(100)["car/imu"]
        self.assertEqual(after["seq"][0], before["seq"][-1] + 1)
        self.sim.swap("car/imu", undo=True)
        self.assertRaises(otolith.NotFound, self.sim.swap, "car/imu", undo=True)
        self.assertRaisesRegex(otolith.NotFound, "sdf_imu", self.sim.swap, "car/imu", "sdf_imo")
        self.assertTrue(self.sim.events())
        self.assertEqual(self.sim.events(), [])

    def test_a_fault_begins_and_ends(self):
        number = self.sim.fault("car/imu", "bias", value=5, fields="angular_velocity.x")
        self.assertGreater(self.sim.step(5)["car/imu"]["angular_velocity.x"][0], 4)
        self.sim.clear_faults("car/imu", number)
        self.assertLess(self.sim.step(5)["car/imu"]["angular_velocity.x"][0], 4)
        self.assertRegex(" ".join(event.text for event in self.sim.events()), "bias")
        self.assertRaises(otolith.OtolithError, self.sim.fault, "car/imu", "nothing")

    def test_a_saved_world_continues_to_the_last_bit(self):
        self.sim.step(700)
        saved = self.sim.save()
        ahead = self.sim.step(300)["car/imu"][-60:]
        with otolith.Sim(CITY) as other:
            other.restore(saved)
            self.assertEqual((other.tick, other.seed), (700, 1))
            self.assertEqual(other.step(300)["car/imu"].tobytes(), ahead.tobytes())
            damaged = bytearray(saved)
            damaged[len(saved) // 2] ^= 1
            self.assertRaises(otolith.OtolithError, other.restore, bytes(damaged))
            self.assertEqual(other.tick, 1000)

    def test_a_caller_drives_a_vehicle(self):
        def truth(tick):
            return {"position_enu_m": (0.01 * tick, 0, 0), "velocity_enu_m_s": (10, 0, 0), "q_enu_from_body": (1, 0, 0, 0),
                    "angular_rate_body_rad_s": (0, 0, 0), "accel_enu_m_s2": (0, 0, 0), "angular_accel_body_rad_s2": (0, 0, 0),
                    "longitudinal_speed_m_s": 10}

        with otolith.Sim(world_file("external_truth")) as sim, otolith.Sim(world_file("external_truth")) as other:
            with self.assertRaisesRegex(otolith.OtolithError, "oto_sim_drive"):
                sim.step()
            for tick in range(1, 21):
                sim.drive("car", truth(tick))
                sim.step()
                numbers = np.array([0.01 * tick, 0, 0, 10, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10])
                other.drive("car", numbers if tick % 2 else sim.latest("car/motion"))
                other.step()
            self.assertEqual(sim.latest("car/motion")["position_enu_m.x"], 0.2)
            self.assertEqual(sim.read("car/motion")["longitudinal_speed_m_s"].tolist(), [10] * 20)
            self.assertEqual(other.state_hash, sim.state_hash)
            sim.drive("car", None)
            self.assertNotEqual(sim.step()["car/motion"]["flags"][0], 0)
            sim.drive("car", truth(31), ticks=10, jumps=True)
            sim.step(10)
            self.assertEqual(sim.tick, 31)
            self.assertRaises(otolith.NotFound, sim.drive, "truck", truth(1))
            self.assertRaises(otolith.OtolithError, sim.drive, "car", {**truth(1), "velocity_enu_m_s": (float("nan"), 0, 0)})
            self.assertRaisesRegex(ValueError, "position_enu_m", sim.drive, "car", {"velocity_enu_m_s": (1, 0, 0)})
            self.assertRaisesRegex(ValueError, "speed", sim.drive, "car", {**truth(1), "speed": 1})
            self.assertRaisesRegex(ValueError, "20 numbers", sim.drive, "car", np.zeros(3))
            self.assertRaisesRegex(ValueError, "motion", sim.drive, "car", sim.latest("car/imu"))


    def test_a_caller_gives_the_controls_of_a_vehicle(self):
        with otolith.Sim(world_file("quadrotor")) as sim:
            sim.control("quad", [0.6] * 4)
            sim.step(500)
            height_m = sim.latest("quad/motion")["position_enu_m.z"]
            self.assertGreater(height_m, 0.09)  # 0.6 of the full thrust, after the rotors' lag
            saved = sim.save()
            sim.step(100)
            after = sim.state_hash
            sim.restore(saved)
            sim.step(100)
            self.assertEqual(sim.state_hash, after)  # the controls are part of the state
            sim.control("quad", [])
            sim.step(3000)
            self.assertLess(sim.latest("quad/motion")["position_enu_m.z"], height_m)  # it fell
            self.assertRaisesRegex(otolith.OtolithError, "not finite", sim.control, "quad", [0.5, float("inf")])
            self.assertRaisesRegex(otolith.OtolithError, "at most 16", sim.control, "quad", [0.5] * 17)
            self.assertRaises(otolith.NotFound, sim.control, "plane", [0.5])
        with otolith.Sim(world_file("city_drive")) as sim:
            self.assertRaisesRegex(otolith.OtolithError, "takes no controls", sim.control, "car", [0.5])


class SeveralWorlds(unittest.TestCase):
    def test_worlds_of_one_process_do_not_touch_each_other(self):
        with otolith.Sim(CITY, seed=9) as alone:
            alone.step(600)
            expected = alone.state_hash
        with otolith.Sim(CITY, seed=9) as a, otolith.Sim(world_file("two_cars")) as b, otolith.Sim(CITY, seed=9) as c:
            for _ in range(60):
                a.step(10)
                b.step(7)
                c.step(10)
            self.assertEqual((a.state_hash, c.state_hash), (expected, expected))

    def test_threads_each_run_their_own_world(self):
        hashes = [None] * 4

        def run(index):
            with otolith.Sim(CITY, seed=index % 2) as sim:
                for _ in range(50):
                    sim.step(20)["car/imu"]
                hashes[index] = sim.state_hash

        threads = [threading.Thread(target=run, args=(index,)) for index in range(len(hashes))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(hashes[:2], hashes[2:])
        self.assertNotIn(None, hashes)
        self.assertNotEqual(hashes[0], hashes[1])


class Errors(unittest.TestCase):
    def test_mistakes_have_a_sentence(self):
        with self.assertRaisesRegex(otolith.NotFound, "no_such_world"):
            otolith.Sim("no_such_world.yaml")
        with self.assertRaises(otolith.OtolithError):
            otolith.Sim(text="world: x\nvehicles: []\n")
        with self.assertRaisesRegex(otolith.OtolithError, "vehicles.car.colour"):
            otolith.Sim(CITY, set={"vehicles.car.colour": "red"})
        for arguments in ({}, {"path": CITY, "text": MINIMAL}, {"path": CITY, "seed": -1}, {"path": CITY, "seed": 2**64}):
            self.assertRaises(ValueError, otolith.Sim, **arguments)
        with otolith.Sim(CITY) as sim:
            with self.assertRaisesRegex(otolith.NotFound, "car/imu"):
                sim.step()["car/imo"]
            with self.assertRaisesRegex(otolith.OtolithError, "constant_bias_m_s2"):
                sim.set("car/imu", "accelerometer.constant_bis_m_s2", 1)
            self.assertRaises(otolith.NotFound, sim.get, "car/gps", "law")
            for ticks in (0, -1, 2**64 - 1):
                self.assertRaises(ValueError, sim.step, ticks)
            self.assertEqual(sim.tick, 1)

    def test_a_closed_world_is_an_error(self):
        with otolith.Sim(text=MINIMAL) as sim:
            out = sim.step()
        self.assertEqual(repr(sim), "<Sim small, closed>")
        for call in (sim.step, sim.save, sim.reset, lambda: sim.tick, lambda: sim.lost, lambda: sim.topics,
                     lambda: out["car/odo"], lambda: sim.read("car/odo"), lambda: sim.latest("car/odo")):
            self.assertRaises(otolith.OtolithError, call)
        sim.close()

    def test_a_world_ends_where_its_text_says(self):
        with otolith.Sim(text=MINIMAL) as sim:
            self.assertRaises(otolith.Closed, sim.step, 500)
            self.assertEqual((sim.tick, len(sim.read("car/odo"))), (200, 100))
            sim.reset(4)
            self.assertEqual(len(sim.step(200)["car/odo"]), 100)

    def test_implausible_values_are_warnings(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            otolith.Sim(CITY, set={"vehicles.car.nodes.imu.params.gyroscope.temperature_bias_rad_s_degc": 0.3}).close()
        self.assertIn("temperature_bias_rad_s_degc = 0.3", " ".join(str(warning.message) for warning in caught))


class Package(unittest.TestCase):
    def python(self, program, **environment):
        done = subprocess.run([sys.executable, "-c", program], env=dict(os.environ, PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1",
                                                                        **environment), capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr

    def test_each_library_is_enough_for_its_half(self):
        self.assertEqual(self.python(f"import otolith; otolith.Sim({CITY!r}).step(); otolith.Model('ctrv')"), (0, ""))
        alone = {"OTOLITH_LIBRARY": LIBRARY, "OTOLITH_SIM_LIBRARY": "/nowhere/libotolith-sim.so"}
        self.assertEqual(self.python("import otolith; otolith.worlds()", **alone), (0, ""))
        code, said = self.python(f"import otolith; otolith.Sim({CITY!r})", **alone)
        self.assertEqual(code, 1)
        self.assertIn("ImportError: libotolith-sim is not found", said)

    def test_the_readme_runs(self):
        with open(os.path.join(PACKAGE, "README.md")) as file:
            blocks = [block for block in re.findall(r"```python\n(.*?)```", file.read(), re.S) if "otolith.Sim(" in block]
        self.assertGreaterEqual(len(blocks), 2)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(SOURCE)
        for block in blocks:
            exec(compile(block, "README.md", "exec"), {})  # noqa: S102


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
