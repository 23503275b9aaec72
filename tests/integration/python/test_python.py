#!/usr/bin/python3
"""
The Python client, its examples and those of libotolith against a real server.
usage: test_python.py BIN_DIR LIBRARY SOURCE_DIR EXAMPLE_DIR
"""
import io
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BIN, LIBRARY, SOURCE, C_EXAMPLES = sys.argv[1:5]
os.environ["OTOLITH_LIBRARY"] = LIBRARY
os.environ["OTOLITH_SIM_LIBRARY"] = os.path.join(os.path.dirname(LIBRARY), "libotolith-sim.so")  # of Model
os.environ.pop("OTOLITH_WORLD", None)
sys.path.insert(0, os.path.join(SOURCE, "clients", "python"))
sys.dont_write_bytecode = True

import numpy as np  # noqa: E402

import otolith  # noqa: E402

WORLD = os.path.join(SOURCE, "configs", "worlds", "city_drive.yaml")
EXAMPLES = os.path.join(SOURCE, "clients", "python", "examples")
DEADLINE_S = 300.0


class Server:
    """otolithd with a runtime directory of its own."""

    def __init__(self, *options, world=WORLD):
        self.folder = tempfile.TemporaryDirectory(prefix="oto-py-")
        os.environ["XDG_RUNTIME_DIR"] = self.folder.name
        self.process = subprocess.Popen([os.path.join(BIN, "otolithd"), world, *options], stderr=subprocess.DEVNULL)
        self.url = f"ipc://{self.folder.name}/otolith/demo/pub.ipc"
        until = time.monotonic() + DEADLINE_S
        while not otolith.worlds():
            if time.monotonic() > until or self.process.poll() is not None:
                raise AssertionError("otolithd did not start")
            time.sleep(0.001)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(DEADLINE_S)
        finally:
            self.process.kill()
            self.process.wait()
            self.folder.cleanup()


def readme_blocks():
    with open(os.path.join(SOURCE, "clients", "python", "README.md")) as file:
        return re.findall(r"```python\n(.*?)```", file.read(), re.S)


class Running(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Server("--set", "publish.listen=[ipc, 'tcp://127.0.0.1:0']"))
        cls.world = cls.enterClassContext(otolith.World(name="test_python"))
        listening, until = [], time.monotonic() + DEADLINE_S
        while not listening:
            assert time.monotonic() < until, cls.world.info()["endpoints"]
            time.sleep(0.001)
            listening = [url for url in cls.world.info()["endpoints"] if url.startswith("tcp://")]
        cls.port = int(listening[0].rsplit(":", 1)[1])

    def test_samples_come_as_arrays_without_a_gap(self):
        imu = self.world["car/imu"]
        reader = imu.reader()
        samples = reader.collect(60)
        self.assertEqual(samples.dtype, imu.dtype)
        self.assertEqual(list(imu.dtype.names[:5]), ["t_ns", "sensor_time_ns", "seq", "flags", "orientation.x"])
        self.assertEqual(samples["orientation_covariance"].shape, (60, 9))
        self.assertTrue((np.diff(samples["seq"]) == 1).all())
        self.assertTrue((np.diff(samples["t_ns"]) == round(1e9 / imu.rate_hz)).all())
        self.assertTrue((samples["t_ns"] == samples["seq"] * 5_000_000).all())
        self.assertTrue(7 < samples["linear_acceleration.z"].mean() < 13)
        self.assertEqual((reader.lost, imu.units["linear_acceleration.z"]), (0, "m/s^2"))

    def test_latest_is_what_a_reader_reads_last(self):
        channel = self.world["car/mag"]
        self.world.pause()
        samples = channel.reader(from_oldest=True).read()
        self.assertEqual(channel.latest(), samples[-1])
        self.assertEqual(len(channel.reader().read()), 0)
        self.world.resume()

    def test_step_moves_the_samples_by_what_it_says(self):
        imu = self.world["car/imu"]
        self.world.pause()
        before, tick = imu.latest()["seq"], self.world.clock().tick
        reply = self.world.step(10)
        self.assertEqual(self.world.clock().tick, tick + 10)
        self.assertEqual(imu.latest()["seq"], before + 2)
        self.assertEqual(reply.tick, tick + 10)
        self.world.resume()

    def test_samples_are_saved_and_loaded(self):
        for topic in ("car/imu", "car/motion"):
            samples, file = self.world[topic].reader().collect(3), io.BytesIO()
            np.save(file, samples)
            file.seek(0)
            loaded = np.load(file)
            self.assertEqual(loaded.dtype.names, samples.dtype.names)
            for name in samples.dtype.names:
                np.testing.assert_array_equal(loaded[name], samples[name])

    def test_a_parameter_changes_the_next_samples(self):
        key = "accelerometer.constant_bias_m_s2"
        kept = self.world.get("car/imu", key)
        self.assertEqual((kept.unit, kept.runtime), ("m/s^2", True))
        self.world.set("car/imu", key, [100, 0, 0])
        self.assertGreater(self.world["car/imu"].reader().collect(1)["linear_acceleration.x"][0], 40)
        self.world.set("car/imu", key, kept.value)
        self.assertEqual(self.world.get("car/imu")[key].value, kept.value)

    def test_mistakes_are_told_with_a_suggestion(self):
        with self.assertRaisesRegex(otolith.NotFound, "did you mean 'car/imu'"):
            self.world["car/imo"]
        with self.assertRaisesRegex(otolith.OtolithError, "constant_bias_m_s2"):
            self.world.set("car/imu", "accelerometer.constant_bis_m_s2", 1)
        with self.assertRaisesRegex(otolith.NotFound, "'absent'"):
            otolith.World("absent")
        with self.assertRaises(otolith.OtolithError):
            self.world.set("car/imu", "accelerometer.constant_bias_m_s2", "[1, 0")

    def test_a_subscriber_sees_the_same_samples(self):
        with otolith.Subscriber(self.server.url, "demo/car/imu") as subscriber:
            compared, before = 0, None
            while compared < 30:
                sample = subscriber.next(DEADLINE_S)
                self.assertEqual(sample.topic, "demo/car/imu")
                self.assertEqual(sample.data.dtype, self.world["car/imu"].dtype)
                if before is not None:
                    self.assertEqual(sample.data["seq"], before + 1 + sample.lost)
                before = int(sample.data["seq"])
                shared = self.world["car/imu"].reader(from_oldest=True).read()
                for same in shared[shared["seq"] == before]:  # none: on a busy machine it is overwritten already
                    self.assertEqual(sample.data.tobytes()[:28], same.tobytes()[:28])
                    self.assertEqual(sample.data.tobytes()[32:], same.tobytes()[32:])
                    compared += 1

    def test_a_prefix_takes_every_topic_below(self):
        with otolith.Subscriber(self.server.url, "demo/car/") as subscriber:
            topics = set()
            until = time.monotonic() + DEADLINE_S
            while not {"demo/car/imu", "demo/car/mag", "demo/car/motion"} <= topics:
                self.assertLess(time.monotonic(), until)
                topics.add(subscriber.next(DEADLINE_S).topic)

    def test_a_subscriber_says_what_is_wrong(self):
        with otolith.Subscriber(self.server.url, "demo/car/imo") as subscriber:
            until, refusal = time.monotonic() + DEADLINE_S, None
            while not isinstance(refusal, otolith.NotFound):
                self.assertLess(time.monotonic(), until)
                with self.assertRaises(otolith.OtolithError) as caught:
                    subscriber.next(1)
                refusal = caught.exception  # a timeout before the publisher has told its topics
            self.assertIn("did you mean 'demo/car/imu'", str(refusal))
        with otolith.Subscriber(f"ipc://{self.server.folder.name}/nobody") as subscriber:
            with self.assertRaisesRegex(otolith.Timeout, "no publisher answers"):
                subscriber.next(0.05)
        with self.assertRaisesRegex(otolith.OtolithError, "tcp://host:port"):
            otolith.Subscriber("bogus")

    def example(self, *command):
        return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S,
                              check=True).stdout.splitlines()

    def test_the_python_examples_print_frames(self):
        out = self.example(os.path.join(EXAMPLES, "subscribe.py"), self.server.url, "demo/car/imu", "2")
        self.assertEqual(len(out), 2)
        self.assertTrue(out[0].startswith("demo/car/imu {'epoch': "))
        self.assertIn("'linear_acceleration': {'x': ", out[0])
        out = self.example(os.path.join(EXAMPLES, "subscribe_socket.py"), "127.0.0.1", str(self.port), "3")
        self.assertEqual(len(out), 3)
        self.assertTrue(all(line.startswith("demo/") for line in out))

    def test_the_c_examples_print_samples(self):
        out = self.example(os.path.join(C_EXAMPLES, "example_read_imu"), "demo")
        self.assertRegex(out[-1], "^[0-9]+ samples lost$")  # a process that stalls for seconds loses some
        self.assertGreater(len(out) + int(out[-1].split()[0]), 150)
        self.assertTrue(out[0].endswith("m/s^2 upwards"))
        out = self.example(os.path.join(C_EXAMPLES, "example_subscribe"), f"tcp://127.0.0.1:{self.port}", "car/mag", "2")
        self.assertRegex(out[0], r"^demo/car/mag magnetic_field.x = -?[0-9.e-]+ T$")

    def test_the_readme_runs(self):
        blocks = readme_blocks()
        self.assertGreaterEqual(len(blocks), 2)
        for block in blocks:
            if "Participant(" in block or "otolith.Sim(" in block:
                continue  # needs a world of its own: Participants; needs no server: test_sim.py
            program = block.replace("ipc:///run/user/1000/otolith/demo/pub.ipc", self.server.url)
            exec(compile(program, "README.md", "exec"), {})  # noqa: S102

    def test_a_closed_world_is_an_error(self):
        world = otolith.World()
        channel = world["car/imu"]
        reader = channel.reader()
        world.close()
        for call in (world.clock, channel.latest, reader.read, lambda: world["car/imu"]):
            self.assertRaises(otolith.OtolithError, call)


class Models(unittest.TestCase):
    def test_a_model_moves_without_a_server(self):
        with otolith.Model("ctrv") as model:
            self.assertEqual(model.names, ("x", "y", "yaw", "v", "w"))
            self.assertEqual(model.units["w"], "rad/s")
            model.state = [42, 23, 0.5, 2, 2]
            jacobian = model.jacobian(100_000_000)
            np.testing.assert_allclose(jacobian[0], [1, 0, -.112740374605884, .082396074316744, -.00591185558829518], 0, 1e-12)
            np.testing.assert_array_equal(model.predicted(100_000_000), model.roll_out(100_000_000, 3)[0])
            self.assertEqual(model["x"], 42.0)
            np.testing.assert_array_equal(model.jacobian_and_predict(100_000_000), jacobian)
            self.assertAlmostEqual(model[0], 42.1647921486335, delta=1e-12)
            model.predict(-100_000_000)
            self.assertAlmostEqual(model["y"], 23, delta=1e-12)
            self.assertRaises(IndexError, lambda: model[5])
            self.assertRaises(otolith.NotFound, lambda: model["speed"])
            self.assertRaises(ValueError, model.reset, [1, 2])
            self.assertRaises(otolith.OtolithError, model.reset, [1, 2, 3, 4, float("nan")])
        self.assertRaises(otolith.OtolithError, model.predict, 1)
        self.assertRaises(otolith.NotFound, otolith.Model, "teleport")

    def test_parameters_and_derived_quantities_go_by_name(self):
        with otolith.Model("kinematic_bicycle", L_r=1.5, front_axle_m=1.2, delta=0.1) as model:
            self.assertAlmostEqual(model.derived()["beta"], np.arctan(1.5 * np.tan(0.1) / 2.7), delta=1e-15)
            self.assertRaises(otolith.OtolithError, model.set, "delta", 9)
        with otolith.Model("rigid_body_6dof", mass_kg=2, gravity_enu_m_s2=[0, 0, -10]) as model:
            model.predict(1_000_000_000)
            self.assertAlmostEqual(model["z"], -5, delta=1e-12)
            self.assertEqual(model.derived(), {})


class Offline(unittest.TestCase):
    def test_lossless_readers_get_every_sample(self):
        with Server("--mode", "asap", "--start-paused", "--no-publish") as _, otolith.World() as world:
            with world.lossless("car/imu", "car/mag") as (imu, mag):
                world.resume()
                last, magnetic = 0, 0
                while last < 20000:
                    samples = imu.read()
                    magnetic += len(mag.read())
                    if len(samples) == 0:
                        world.wait_tick(timeout_s=DEADLINE_S)
                        continue
                    self.assertEqual(samples["seq"][0], last + 1)
                    last = int(samples["seq"][-1])
                self.assertEqual((imu.lost, mag.lost), (0, 0))
                self.assertGreater(magnetic, 4000)

    def test_the_death_of_the_server_is_noticed(self):
        with Server("--no-publish") as server, otolith.World() as world:
            world["car/imu"].reader().collect(1)
            server.process.send_signal(signal.SIGKILL)
            with self.assertRaises(otolith.Closed):
                for _ in range(100000):
                    world.wait_tick(timeout_s=DEADLINE_S)
            self.assertFalse(world.alive)
            self.assertIsNotNone(world["car/imu"].latest())
            self.assertRaises(otolith.Closed, world.pause)


class Stepping(unittest.TestCase):
    """A step of more ticks than anybody waits for."""

    LONG = 2**62

    def start(self):
        server = self.enterContext(Server("--mode", "asap", "--start-paused", "--no-publish"))
        return server, self.enterContext(otolith.World(name="other"))

    def step_in_a_thread(self, errors):
        def run():
            with otolith.World(name="stepper") as stepper:
                try:
                    stepper.step(self.LONG)
                except otolith.OtolithError as error:
                    errors.append(str(error))
        thread = threading.Thread(target=run)
        thread.start()
        return thread

    @staticmethod
    def tick(world):
        clock = world.clock()
        return clock.tick if clock is not None else 0

    def until(self, condition):
        until = time.monotonic() + DEADLINE_S
        while not condition():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.001)

    def test_a_number_of_ticks_that_cannot_be_is_refused(self):
        _, world = self.start()
        for ticks in (-1, 0, 2**63 - 1, 2**64 - 1, 2**64):
            with self.assertRaisesRegex(ValueError, "are accepted"):
                world.step(ticks)
        self.assertEqual(world.step(3).tick, 3)

    def test_a_pause_and_a_shutdown_end_it(self):
        server, world = self.start()
        for end, said in ((world.pause, "pause"), (world.shutdown, "stopped|closed")):
            errors, tick = [], self.tick(world)
            thread = self.step_in_a_thread(errors)
            self.until(lambda: self.tick(world) > tick)
            end()
            thread.join(DEADLINE_S)
            self.assertFalse(thread.is_alive())
            self.assertRegex(errors[0], said)
        self.assertEqual(server.process.wait(DEADLINE_S), 0)

    def test_the_death_of_the_client_that_asked_ends_it(self):
        _, world = self.start()
        stepper = subprocess.Popen([sys.executable, "-c", f"import otolith; otolith.World().step({self.LONG})"],
                                   env={**os.environ, "PYTHONPATH": sys.path[0]})
        try:
            self.until(lambda: self.tick(world) > 0)
        finally:
            stepper.kill()
            stepper.wait()

        def steps():
            try:
                return world.step(1)
            except otolith.OtolithError as error:
                self.assertIn("another step", str(error))
        self.until(steps)


class Following(unittest.TestCase):
    """A world that restarts as another run."""

    def test_a_reader_goes_on_behind_its_last_sample_after_a_crash(self):
        seen = []
        with Server("--no-publish", "--supervise") as server, \
                otolith.World(follow_s=DEADLINE_S, on_restart=lambda world: seen.append(world.epoch)) as world:
            imu = world["car/imu"]
            reader, first = imu.reader(), world.epoch
            samples = [reader.collect(20)]
            world.checkpoint(os.path.join(server.folder.name, "now.ckpt"))
            samples.append(reader.collect(20))
            os.kill(world.info()["pid"], signal.SIGSEGV)
            while world.epoch == first:  # the killed run may have left any number of samples
                samples.append(reader.collect(20, timeout_s=DEADLINE_S))
            samples.append(reader.collect(100, timeout_s=DEADLINE_S))
            numbers = np.concatenate([part["seq"] for part in samples])
            self.assertTrue((np.diff(numbers) == 1).all())
            self.assertEqual(reader.lost, 0)
            self.assertNotEqual(world.epoch, first)
            self.assertEqual(seen, [world.epoch])
            self.assertEqual((reader.epoch, reader.lineage), (world.epoch, first))
            self.assertIs(world["car/imu"], imu)
            self.assertEqual(world.info()["epoch"], world.epoch)
            self.assertGreaterEqual(imu.latest()["seq"], numbers[-1])

    def test_what_stood_unread_is_read_before_the_samples_of_another_run(self):
        with Server("--no-publish") as server, otolith.World() as world:
            reader, first = world["car/imu"].reader(), world.epoch
            at = int(reader.collect(1)["seq"][0])
            path = os.path.join(server.folder.name, "now.ckpt")
            world.checkpoint(path)
            world["car/imu"].reader().collect(100)
            world.restore(path)
            self.assertEqual(world.reattach(DEADLINE_S), world.epoch)
            self.assertNotEqual(world.epoch, first)
            rest = np.concatenate([reader.read(30), reader.read()])
            self.assertEqual((reader.epoch, reader.lineage), (first, first))
            self.assertEqual(list(rest["seq"]), list(range(at + 1, at + 1 + len(rest))))
            self.assertGreaterEqual(len(rest), 100)
            again = reader.collect(10, timeout_s=DEADLINE_S)
            self.assertEqual((reader.epoch, reader.lineage), (world.epoch, world.epoch))
            self.assertLess(again["seq"][0], rest["seq"][-1])
            self.assertEqual(reader.lost, 0)

    def test_a_lossless_reader_is_one_in_the_next_run_too(self):
        with Server("--no-publish", "--mode", "asap", "--start-paused") as server, otolith.World(timeout_s=DEADLINE_S) as world:
            path = os.path.join(server.folder.name, "now.ckpt")
            world.step(1000)
            world.checkpoint(path)
            with world.lossless("car/imu") as (imu,):
                world.restore(path)
                world.reattach(DEADLINE_S)
                world.resume()
                last = 0
                while last < 20000:
                    samples = imu.read()
                    if len(samples) == 0:
                        world.wait_tick(timeout_s=DEADLINE_S)
                        continue
                    self.assertTrue(last == 0 or samples["seq"][0] == last + 1)
                    last = int(samples["seq"][-1])
                self.assertEqual(imu.lost, 0)

    def test_a_world_that_does_not_come_again_is_closed(self):
        with Server("--no-publish") as server, otolith.World(follow_s=0.2) as world:
            self.assertRaises(otolith.OtolithError, world.reattach, 0.0)  # it still runs
            world["car/imu"].reader().collect(1)
            server.process.send_signal(signal.SIGKILL)
            with self.assertRaisesRegex(otolith.Closed, "did not restart within 0.2 s"):
                for _ in range(100000):
                    world.wait_tick(timeout_s=DEADLINE_S)
            self.assertIsNotNone(world["car/imu"].latest())


class Participants(unittest.TestCase):
    """Python gives a car its truth while its sensors and its filter run."""

    WORLD = os.path.join(SOURCE, "configs", "worlds", "external_truth.yaml")

    def setUp(self):
        self.server = self.enterContext(Server("--no-publish", world=self.WORLD))

    def drive(self, car, ticks):
        for _ in range(ticks):
            t_s = car.wait(DEADLINE_S).until_ns * 1e-9
            car.set((5 * t_s, 0, 0), (5, 0, 0), (1, 0, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 0))
            car.done()

    def test_a_process_drives_a_car_in_lockstep(self):
        with otolith.Participant("physics", role="physics") as car:
            self.assertEqual((car.role, car.vehicles), ("physics", ["car"]))
            self.drive(car, 500)
            grant = car.wait(DEADLINE_S)
            self.assertEqual((grant.tick, grant.t_ns, grant.dt_s), (500, 500_000_000, 0.001))
            truth = car.truth()
            self.assertEqual(list(truth["position_enu_m"]), [2.5, 0, 0])
            self.assertEqual(car.world["car/imu"].latest()["t_ns"], 500_000_000)
            self.assertEqual(car.world["car/mag"].latest()["seq"], 25)
            estimate = car.world["car/ekf"].latest()
            self.assertLess(abs(estimate["position_enu_m.x"] - 2.5), 0.5)

    def test_a_process_controls_a_quadrotor_as_a_simulator_in_process_does(self):
        path = os.path.join(SOURCE, "configs", "worlds", "quadrotor.yaml")
        with otolith.Participant("physics") as car:
            self.assertIsNone(car.controlled)
            self.assertRaises(otolith.OtolithError, car.control, [0.5])
        with Server("--no-publish", world=path), otolith.Participant("autopilot") as pilot, otolith.Sim(path) as sim:
            self.assertEqual((pilot.controlled, pilot.vehicles), ("quad", []))
            for i in range(20):
                rotors = [0.55 + 0.01 * ((i + k) % 4) for k in range(4)]
                pilot.control(rotors)
                pilot.run(10)
                sim.control("quad", rotors)
                sim.step(10)
            own, other = pilot.world["quad/motion"].latest(), sim.latest("quad/motion")
            self.assertGreater(other["position_enu_m.z"], 0.01)
            self.assertEqual(own.tobytes(), other.tobytes())
            self.assertRaises(otolith.OtolithError, pilot.control, [float("nan")])
            self.assertRaises(otolith.OtolithError, pilot.control, [0.0] * 17)
    def test_a_bad_answer_is_an_error_that_says_why_and_may_be_given_again(self):
        with otolith.Participant("physics") as car:
            self.drive(car, 3)
            car.wait(DEADLINE_S)
            car.set((0, 0, float("nan")), (5, 0, 0), (1, 0, 0, 0), (0, 0, 0))
            car.done()
            with self.assertRaisesRegex(otolith.OtolithError, "the position is not finite"):
                car.wait(DEADLINE_S)
            self.drive(car, 3)
            self.assertEqual(car.wait(DEADLINE_S).tick, 6)
            car.done(7)
            self.assertRaises(otolith.OtolithError, car.done)
            with self.assertRaisesRegex(otolith.NotFound, "did you mean 'physics'"):
                otolith.Participant("physic")
        self.assertRaises(otolith.OtolithError, car.wait)

    def test_the_examples_drive(self):
        for command in ([sys.executable, os.path.join(EXAMPLES, "physics_process.py"), "1000"],
                        [os.path.join(C_EXAMPLES, "example_physics_process"), "1000"]):
            out = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout
            self.assertRegex(out, r"^done after tick \d+000: x 0?\.?\d")

    def test_the_readme_drives(self):
        blocks = [block for block in readme_blocks() if "Participant(" in block]
        self.assertEqual(len(blocks), 1)
        exec(compile(blocks[0], "README.md", "exec"), {})  # noqa: S102


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
