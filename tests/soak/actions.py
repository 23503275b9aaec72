"""What the soak does to a world: each action takes the Soak and may refuse to go, but not leave it broken."""
import contextlib
import os
import signal
import socket
import time

import otolith

from damage import NAME_SECTIONS, flipped, loader_bytes
from processes import Violation, end, wait_for

FAULTS = [("bias", {"value": 0.1}), ("stuck", {}), ("dropout", {}), ("noise", {"value": 0.05}), ("sign", {}), ("nan", {}),
          ("delay", {"value": 0.1}), ("repeat", {"count": 3}), ("time_jitter", {"value": 0.001}),
          ("scale", {"value": 1.1}), ("saturation", {"value": 1.0}), ("spikes", {"value": 5, "rate_hz": 2})]
MOTIONS = ("motion_script", "motion_catr", "motion_ctrv", "motion_linear_xyzrpy", "motion_rigid_body_6dof")
DAMAGED = {"car/imu": "mems_imu", "car/mag": "magnetometer", "car/odo": "odometer", "car/motion": "motion_script"}
SUBSCRIBER = b"\0SP\0\0\x21\0\0"  # the handshake of nng's sub
GREETINGS = (b"", SUBSCRIBER[:3], SUBSCRIBER, b"\0SP\0\0\x30\0\0", b"GET / HTTP/1.1\r\n\r\n", SUBSCRIBER + b"\1" + b"\xff" * 8,
             SUBSCRIBER + b"\1\0\0\0\0\0\0\0\4abcd")
PUBLISHER_KIB = 64 * 1024


# ---- that change the state ----

def swap_same(soak):
    soak.world.swap("car/imu", "mems_imu")


def swap_rebuilt(soak):
    soak.world.swap("car/imu", soak.rebuilt_plugin())


def swap_other(soak):
    soak.world.swap("car/imu", "sdf_imu")


def swap_back(soak):
    soak.must_or_refuse("swap", "car/imu", "--undo")


def swap_shadowed(soak):
    soak.must_or_refuse("swap", "car/imu", "mems_imu", "--shadow", "50ms", "--probation", "50ms")


def swap_motion(soak):
    soak.world.swap("car/motion", soak.random.choice(MOTIONS))


def swap_damaged(soak):
    """One changed bit in names and versions: refused, or without an effect. In code it would be a plugin of its own."""
    node = soak.random.choice(sorted(DAMAGED))
    plugin = soak.plugin_file(DAMAGED[node])
    at = soak.random.choice(soak.random.choice(loader_bytes(plugin, NAME_SECTIONS)))
    path = soak.own_file("damaged.so", flipped(plugin, at, soak.random.randrange(8)))
    try:
        soak.world.swap(node, path)
    except otolith.OtolithError as refusal:
        os.unlink(path)
        if not any(words in str(refusal) for words in ("refused", "cannot be loaded", "the probe of", "under way")):
            raise Violation(f"{DAMAGED[node]}.so, byte {at:#x}: a refusal that does not say why: {refusal}") from None
        soak.done["swap_damaged, refused"] += 1
        return
    soak.world.swap(node, DAMAGED[node])


def set_parameter(soak):
    bias = [round(soak.random.uniform(-0.1, 0.1), 6) for _ in range(3)]
    soak.world.set(soak.random.choice(("car/imu", "car/apart")), "accelerometer.constant_bias_m_s2", bias)


def fault(soak):
    kind, terms = soak.random.choice(FAULTS)
    node = soak.random.choice(("car/mag", "car/odo"))
    soak.world.fault(node, kind, for_s=round(soak.random.uniform(0.05, 1.0), 3), **terms)


def clear_faults(soak):
    soak.world.clear_faults(soak.random.choice(("car/mag", "car/odo")))


def pause_and_step(soak):
    soak.world.pause()
    before = soak.world.clock().tick
    ticks = soak.random.randint(1, 300)
    soak.world.step(ticks)
    after = soak.world.clock().tick
    if after - before != ticks:
        raise Violation(f"a step of {ticks} ticks went from {before} to {after}")
    soak.world.resume()


def scale(soak):
    soak.world.scale(soak.random.choice((0.25, 0.5, 2.0, 4.0)))
    time.sleep(soak.random.uniform(0, 0.3))
    soak.world.scale(1.0)


def mode(soak):
    soak.world.mode("asap")
    time.sleep(soak.random.uniform(0, 0.3))
    soak.world.mode("realtime")
    soak.world.resume()


def send(pid, number):
    """A signal for a child of the server, which may have ended it meanwhile."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def kill_host(soak):
    hosts = soak.server.named_children("otolith-plugin-host")
    if hosts:
        send(soak.random.choice(hosts), signal.SIGKILL)


def stop_host(soak):
    hosts = soak.server.named_children("otolith-plugin-host")
    if hosts:
        send(soak.random.choice(hosts), signal.SIGSTOP)


def kill_server(soak):
    """The third death within a minute would end the run for good, so that two are enough."""
    now = time.monotonic()
    if now - soak.killed_at < 45:
        raise otolith.OtolithError("not so soon again", None)
    soak.killed_at = now
    os.kill(soak.server.pid, soak.random.choice((signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)))
    soak.reopen()
    soak.world.mode("realtime")
    soak.world.resume()


def restore(soak):
    soak.take_checkpoint()
    soak.world.restore(soak.checkpoint_path)
    soak.reopen()


# ---- that must not change it ----

def checkpoint(soak):
    soak.take_checkpoint()


def join(soak):
    """A client that comes, reads and goes."""
    with otolith.World(soak.server.world, name="visitor") as world:
        reader = world["car/odo"].reader()
        world.wait_tick(timeout_s=60)
        reader.read()


def leave_rudely(soak):
    client = soak.server.spawn_cli("echo", "car/odo")
    time.sleep(soak.random.uniform(0, 0.3))
    end(client)


def stop_client(soak):
    """A client stands still for a while, then it is killed or goes on."""
    client = soak.server.spawn_cli("echo", "car/odo")
    time.sleep(soak.random.uniform(0, 0.2))
    os.kill(client.pid, signal.SIGSTOP)
    soak.stopped.append(client)
    if len(soak.stopped) > 6:
        first = soak.stopped.pop(0)
        os.kill(first.pid, signal.SIGCONT)
        end(first)


def subscribe(soak):
    """A subscriber of the publisher that gets samples and goes; served again also after the publisher was killed."""
    url = f"ipc://{soak.runtime}/otolith/{soak.server.world}/pub.ipc"
    def served():
        try:
            with otolith.Subscriber(url, f"{soak.server.world}/car/odo") as subscriber:
                return len(subscriber.next(timeout_s=2.0)) > 0
        except otolith.OtolithError:
            return False
    wait_for(served, "a new subscriber gets no samples")


def publisher_kib(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("VmRSS:")), 0)
    return 0


def hostile_subscribers(soak):
    """Connections that close at once, stop within the handshake, speak another protocol, lie about lengths or stay silent."""
    address = f"{soak.runtime}/otolith/{soak.server.world}/pub.ipc"
    for _ in range(soak.random.choice((10, 100, 400))):
        connection = socket.socket(socket.AF_UNIX)
        connection.setblocking(False)
        with contextlib.suppress(OSError):
            connection.connect(address)
            connection.send(soak.random.choice(GREETINGS))
        if soak.random.random() < 0.1:
            soak.silent.append(connection)
        else:
            connection.close()
    while len(soak.silent) > 60:
        soak.silent.pop(0).close()
    subscribe(soak)
    for pid in soak.server.named_children("otolith-publisher"):
        if publisher_kib(pid) > PUBLISHER_KIB:
            raise Violation(f"the publisher of '{soak.server.world}' takes {publisher_kib(pid)} KiB")


def ask_for_damaged(soak):
    """Files that are refused whatever the chance: the run must not notice."""
    node = soak.random.choice(sorted(DAMAGED))
    data = soak.plugin_file(DAMAGED[node]).read_bytes()
    for damaged in (data[:soak.random.randrange(4096)], bytes([data[0] ^ 1]) + data[1:], data[:18] + b"\0" + data[19:],
                    data.replace(b"otolith_plugin\0", b"otolith_plugim\0")):
        path = soak.own_file("refused.so", damaged)
        try:
            soak.world.swap(node, path)
        except otolith.OtolithError as refusal:
            os.unlink(path)
            if not str(refusal):
                raise Violation("a damaged plugin was refused without a sentence") from None
        else:
            raise Violation("a damaged plugin was accepted")


def kill_publisher(soak):
    for pid in soak.server.named_children("otolith-publisher"):
        send(pid, signal.SIGKILL)


def ask_nonsense(soak):
    """Requests that must be refused, each with a sentence."""
    for ask in (lambda: soak.world.set("car/nothing", "x", 1), lambda: soak.world.mode("sideways"),
                lambda: soak.world.scale(-1.0), lambda: soak.world.restore("/dev/null"),
                lambda: soak.world.swap("car/imu", "no_such_plugin")):
        try:
            ask()
        except otolith.OtolithError as refusal:
            if not str(refusal):
                raise Violation("a refusal without a sentence") from None
        else:
            raise Violation("nonsense was accepted")


RECORDED = [swap_same, swap_rebuilt, swap_other, swap_back, swap_shadowed, swap_motion, swap_damaged, set_parameter, fault,
            clear_faults, pause_and_step, scale, mode, restore]  # of which a log contains every effect
DISTURBING = RECORDED + [kill_host, stop_host, kill_server]
OUTSIDE = [checkpoint, join, leave_rudely, stop_client, subscribe, hostile_subscribers, kill_publisher, ask_for_damaged,
           ask_nonsense]
