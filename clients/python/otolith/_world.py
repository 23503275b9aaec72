"""A running world: its channels in shared memory, its clock, and control over it."""
import collections
import contextlib
import ctypes as ct
import json
import os

import numpy as np

from . import _dtype
from . import _library as c
from ._errors import Closed, OtolithError, Timeout, check

Param = collections.namedtuple("Param", "key value unit text runtime")
Reply = collections.namedtuple("Reply", "tick text")


def worlds():
    """Names of the worlds that run for this user."""
    entries = (c.WorldEntry * 256)()
    count = min(c.lib.oto_worlds_list(entries, len(entries)), len(entries))
    return sorted(entry.name.decode() for entry in entries[:count] if entry.alive)


def _encode(text):
    return None if text is None else str(text).encode()


class World:
    """A client of one world, for one thread. `world` None: OTOLITH_WORLD, else the only one that runs."""

    def __init__(self, world=None, *, timeout_s=5.0, name=None, socket_path=None, role=None):
        self._handle = None
        handle, error = ct.c_void_p(), c.Error()
        options = c.ClientOptions(ct.sizeof(c.ClientOptions), max(1, int(timeout_s * 1000)), _encode(world),
                                  _encode(socket_path), _encode(name), _encode(role))
        check(c.lib.oto_client_open(ct.byref(options), ct.byref(handle), ct.byref(error)), error)
        self._take(handle, True)

    @classmethod
    def _borrow(cls, handle):
        """A world whose client another object closes."""
        world = cls.__new__(cls)
        world._take(handle, False)
        return world

    def _take(self, handle, owned):
        self._handle, self._owned = handle, owned
        count = c.lib.oto_client_channel_count(handle)
        self.channels = [Channel(self, c.lib.oto_client_channel(handle, i)) for i in range(count)]

    def close(self):
        """Lets go of the world; channels and readers of it must not be used afterwards."""
        if self._handle is not None and self._owned:
            c.lib.oto_client_close(self._handle)
        self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    @property
    def handle(self):
        if self._handle is None:
            raise OtolithError("the world is closed", c.CLOSED)
        return self._handle

    def __getitem__(self, topic):
        """A channel by its topic, or by its node's name, with or without the leading "world/"."""
        error = c.Error()
        found = c.lib.oto_client_find(self.handle, topic.encode(), ct.byref(error))
        if not found:
            check(c.NOT_FOUND, error)
        return self.channels[found.contents.index]

    @property
    def alive(self):
        return bool(c.lib.oto_client_server_alive(self.handle))

    def clock(self):
        """The newest reading of the clock (tick, sim_time_ns, real_time_factor, …); None before the first tick."""
        clock = c.Clock()
        return clock if c.lib.oto_client_clock(self.handle, ct.byref(clock)) == c.OK else None

    def wait_tick(self, tick=None, timeout_s=1.0):
        """Waits for the tick after `tick` (None: after the newest) and returns the clock then."""
        if tick is None:
            clock = self.clock()
            tick = clock.tick if clock is not None else 0
        status = c.lib.oto_client_wait_tick(self.handle, tick, int(timeout_s * 1000))
        if status == c.TIMEOUT:
            raise Timeout(f"no tick after {tick} within {timeout_s:g} s", status)
        if status == c.CLOSED:
            raise Closed("the world has ended, or its server has died", status)
        check(status, None, f"waiting for the tick after {tick}")
        return self.clock()

    # ---- control: every change holds from the tick that the reply names ----

    def _ask(self, name, *arguments):
        reply, error = c.Reply(), c.Error()
        check(getattr(c.lib, name)(self.handle, *arguments, ct.byref(reply), ct.byref(error)), error)
        return Reply(reply.tick, reply.text.decode(errors="replace"))

    def pause(self):
        return self._ask("oto_control_pause")

    def resume(self):
        return self._ask("oto_control_resume")

    def step(self, ticks=1):
        """Runs that many ticks, pauses, and returns when they are done."""
        return self._ask("oto_control_step", ticks)

    def scale(self, scale):
        return self._ask("oto_control_scale", scale)

    def mode(self, mode):
        return self._ask("oto_control_mode", mode.encode())

    def set(self, node, param, value):
        """Sets one parameter; a value that is no text is written as JSON, which is YAML."""
        text = value if isinstance(value, str) else json.dumps(value)
        return self._ask("oto_control_set", node.encode(), param.encode(), text.encode())

    def get(self, node, param=None):
        """The parameters of a node by key; of one alone if it is named."""
        found, error = {}, c.Error()

        def each(_, info):
            fields = info.contents
            texts = (getattr(fields, name).decode(errors="replace") for name in ("key", "value", "unit", "text"))
            entry = Param(*texts, bool(fields.runtime))
            found[entry.key] = entry

        check(c.lib.oto_control_get(self.handle, node.encode(), _encode(param), c.PARAM_FUNCTION(each),
                                    None, ct.byref(error)), error)
        return found if param is None else next(iter(found.values()))

    def swap(self, node, plugin):
        """Replaces the plugin of a node by that of a file, while it runs."""
        return self._ask("oto_control_swap", node.encode(), str(plugin).encode())

    def checkpoint(self, path):
        """Saves the world's state at a tick boundary; the reply's tick says which."""
        return self._ask("oto_control_checkpoint", os.fsencode(os.path.abspath(path)))

    def restore(self, path):
        """The world goes on from a checkpoint, as a new run: open it again."""
        return self._ask("oto_control_restore", os.fsencode(os.path.abspath(path)))

    def fault(self, node, kind, **terms):
        """Injects a fault into a sensor's samples: fault("car/imu", "bias", value=0.1, fields="angular_velocity.x",
        for_s=5). The terms are those of a world's `faults:`. Returns a reply whose text is "fault NUMBER"."""
        return self._ask("oto_control_fault", node.encode(), json.dumps({"kind": kind, **terms}).encode())

    def clear_faults(self, node, fault=0):
        """Ends one fault of a node by its number, or all of them."""
        return self._ask("oto_control_clear_faults", node.encode(), fault)

    def shutdown(self):
        return self._ask("oto_control_shutdown")

    def info(self):
        """The server's own facts: endpoints, drivers, privileges, options."""
        return json.loads(self._ask("oto_control_info").text)

    @contextlib.contextmanager
    def lossless(self, *channels):
        """
        Within it the world (in modes asap and step) waits for the readers given: `with world.lossless("car/imu") as
        (imu,): samples = imu.read()`. What a reader has read it acknowledges at once. Do not wait for ticks by control
        calls inside: the tick may be waiting for you.
        """
        readers = [(self[channel] if isinstance(channel, str) else channel).reader() for channel in channels]
        pointers = (ct.POINTER(c.Channel) * len(readers))(*(reader.channel.pointer for reader in readers))
        error = c.Error()
        check(c.lib.oto_lossless_begin(self.handle, pointers, len(readers), ct.byref(error)), error)
        group = _Lossless(self, readers)
        group.acknowledge()
        try:
            yield readers
        finally:
            for reader in readers:
                reader.group = None
            c.lib.oto_lossless_begin(self.handle, None, 0, None)


class _Lossless:
    """Readers that acknowledge together, as the server wants it."""

    def __init__(self, world, readers):
        self._world, self._readers = world, readers
        self._next = (ct.c_uint64 * len(readers))()
        for reader in readers:
            reader.group = self

    def acknowledge(self):
        for i, reader in enumerate(self._readers):
            self._next[i] = reader.next_seq
        c.lib.oto_lossless_acknowledge(self._world.handle, self._next, len(self._readers))


class Channel:
    """A channel of a world: `dtype` is that of its samples."""

    def __init__(self, world, pointer):
        self.world, self.pointer = world, pointer
        facts = pointer.contents
        for name in ("topic", "node", "plugin", "plugin_version", "frame_id"):
            setattr(self, name, getattr(facts, name).decode(errors="replace"))
        self.type_name = facts.type.name.decode()
        self.rate_hz = facts.rate_num / facts.rate_den
        self.payload_bytes, self.capacity = facts.type.bytes, facts.capacity
        self.dtype = _dtype.sample_dtype(facts.type)
        self.units = {field.name.decode(): field.unit.decode(errors="replace")
                      for field in _dtype.fields_of(facts.type)}

    def __repr__(self):
        return f"<Channel {self.topic} ({self.type_name}, {self.rate_hz:g} Hz)>"

    def latest(self):
        """The newest sample, a scalar of `dtype`; None before the first."""
        self.world.handle
        buffer = np.zeros(1, self.dtype)
        head = buffer.ctypes.data_as(ct.POINTER(c.SampleHead))
        status = c.lib.oto_channel_latest(self.pointer, head, buffer.ctypes.data + _dtype.HEAD_BYTES,
                                          self.payload_bytes)
        if status == c.AGAIN:
            return None
        check(status, None, self.topic)
        return buffer[0]

    def reader(self, from_oldest=False):
        """Reads every sample from now on, or from the oldest that still stands."""
        return Reader(self, from_oldest)


class Reader:
    """A place in a channel. `lost` counts the samples that were overwritten before they were read."""

    def __init__(self, channel, from_oldest=False):
        channel.world.handle
        self.channel, self.group = channel, None
        self._reader = c.lib.oto_reader_make(channel.pointer, 0 if from_oldest else 1)
        self._room = 0

    @property
    def lost(self):
        return self._reader.cursor.lost

    @property
    def next_seq(self):
        return self._reader.cursor.next

    def _make_room(self, count):
        if count > self._room:
            self._heads = np.empty(count, _dtype.HEAD)
            self._payloads = np.empty((count, self.channel.payload_bytes), np.uint8)
            self._room = count

    def read(self, count=None):
        """All new samples, at most `count` (None: the ring's size), as one structured array; it may be empty."""
        self.channel.world.handle
        count = self.channel.capacity if count is None else count
        self._make_room(count)
        done = c.lib.oto_reader_read(ct.byref(self._reader), self._heads.ctypes.data, self._payloads.ctypes.data,
                                     count)
        samples = _dtype.join(self._heads[:done], self._payloads[:done]).reshape(-1).view(self.channel.dtype)
        if self.group is not None and done > 0:
            self.group.acknowledge()
        return samples

    def collect(self, count, timeout_s=10.0):
        """Waits until `count` samples have come, and returns them."""
        samples, got, world = np.empty(count, self.channel.dtype), 0, self.channel.world
        while got < count:
            clock = world.clock()
            part = self.read(count - got)
            if len(part) == 0:
                world.wait_tick(clock.tick if clock is not None else 0, timeout_s)
            samples[got:got + len(part)] = part
            got += len(part)
        return samples
