"""One call fails in a running server, at any place of any request: the server replies, keeps ticking, and leaks no descriptor."""
import collections
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "inject"))
from failing import World, complain, every, known_fault, otolith, until  # noqa: E402

PARAM = "temperature_degc"


def attach(client, _):
    client.info()


def wake(client, _):
    client.wait_tick()


def get(client, _):
    client.get("car/mag")


def set_param(client, _):
    client.set("car/mag", PARAM, "world")


def set_isolated_param(client, _):
    client.set("car/imu", PARAM, "world")


def set_nonsense(client, _):
    try:
        client.set("car/mag", PARAM, '"nonsense"')
    except otolith.OtolithError as refusal:
        if "nonsense" not in str(refusal):
            raise


def swap(client, _):
    client.swap("car/mag", "magnetometer")


def fault(client, _):
    client.fault("car/mag", "stuck", for_s=0.01)
    client.clear_faults("car/mag")


def checkpoint(client, folder):
    client.checkpoint(folder / "asked.ckpt")


def restore_nothing(client, folder):
    try:
        client.restore(folder / "none.ckpt")
    except otolith.OtolithError as refusal:
        if "none.ckpt" not in str(refusal):
            raise


def pause_step_resume(client, _):
    client.pause()
    client.step(3)


def lossless(client, _):
    client.mode("asap")
    with client.lossless("car/mag"):
        pass


REQUESTS = (attach, wake, get, set_param, set_isolated_param, set_nonsense, swap, fault, checkpoint, restore_nothing,
            pause_step_resume, lossless)


class FailingRequests(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.complaints = []
        self.begin()

    def tearDown(self):
        self.world.close()

    def begin(self):
        self.world.injector.off()
        self.world.clean()
        self.world.spawn("--no-publish")
        self.world.attach()

    def ask(self, request):
        """The error of the request; None: it was executed. Each request has a client of its own."""
        try:
            with otolith.World("w", name="asks") as client:
                request(client, self.world.path)
        except otolith.OtolithError as refusal:
            return str(refusal)
        return None

    def calm(self, request):
        """The state before a request: the world is paced and no swap is on probation (a second of simulated time)."""
        client = self.world.client
        client.resume()
        if request is swap:
            client.mode("asap")
            tick = client.clock().tick
            self.assertTrue(until(lambda: client.clock().tick > tick + 1100))
        client.mode("realtime")

    def what_is_wrong(self, request, before):
        world = self.world
        said = self.ask(request)
        world.injector.off()
        if world.is_gone():
            return None if known_fault(world.injector.crash_text) else f"the server ended: {world.injector.crash_text}"
        if said == "":
            return "it was refused without a message"
        self.calm(request)
        if not world.is_well():
            return f"the world stands still; the client heard {said}"
        again = self.ask(request)
        self.calm(request)
        if again is not None:
            return f"it is refused for ever after: {again}; the client first heard {said}"
        if not until(lambda: not collections.Counter(world.descriptors()) - before):
            return f"descriptors are left: {collections.Counter(world.descriptors()) - before}, {world.descriptors()}"
        return None

    def request_in_trouble(self, request):
        world = self.world
        self.assertIsNone(self.ask(request))
        self.calm(request)
        world.injector.record("otolithd")
        self.assertIsNone(self.ask(request))
        self.calm(request)
        before = self.settled()
        for place in every(world, "otolithd", 5):
            wrong = self.what_is_wrong(request, before)
            if wrong:
                self.complaints.append(f"{request.__name__}: {complain(world, place, wrong)}")
            if wrong or world.is_gone():
                world.stop()
                self.begin()
                self.assertIsNone(self.ask(request))
                self.calm(request)
                before = self.settled()
        world.injector.off()

    def settled(self):
        """
        How many descriptors of each kind are open when nothing is under way: what a swap replaced is let go after its probation. On a busy
        machine something may be under way all the same, and be let go later.
        """
        seen, since = [], time.monotonic()

        def same_for_a_while():
            nonlocal seen, since
            now = self.world.descriptors()
            if now != seen:
                seen, since = now, time.monotonic()
            return time.monotonic() > since + 1
        self.assertTrue(until(same_for_a_while))
        return collections.Counter(seen)

    def test_a_request_in_which_a_call_fails_is_answered_and_nothing_is_lost(self):
        for request in REQUESTS:
            self.request_in_trouble(request)
        self.assertEqual(self.complaints, [], "\n\n".join(self.complaints))
        self.assertEqual(self.world.stop(), 0)
        self.assertFalse(self.world.is_left())


unittest.main()
