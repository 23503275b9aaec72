"""A running world: its channels in shared memory, its clock, and control over it."""
import collections
import contextlib
import ctypes as ct
import json
import os
import time
import weakref

import numpy as np

from . import _dtype
from . import _library as c
from ._errors import Closed, OtolithError, Timeout, check

_MOST_TICKS = 2**63 - 2

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
    """
    A client of one world, for one thread. `world` None: OTOLITH_WORLD, else the only running world. With `follow_s` it
    reattaches if the world restarts within that time (see `reattach`), and then calls `on_restart(world)`.
    """

    def __init__(self, world=None, *, timeout_s=5.0, name=None, socket_path=None, role=None, follow_s=None,
                 on_restart=None):
        self._handle = None
        self.follow_s, self.on_restart = follow_s, on_restart
        handle, error = ct.c_void_p(), c.Error()
        options = c.ClientOptions(ct.sizeof(c.ClientOptions), max(1, int(timeout_s * 1000)), _encode(world),
                                  _encode(socket_path), _encode(name), _encode(role))
        check(c.lib.oto_client_open(ct.byref(options), ct.byref(handle), ct.byref(error)), error)
        self._take(handle, True)

    @classmethod
    def _borrow(cls, handle):
        """A world whose client another object closes."""
        world = cls.__new__(cls)
        world.follow_s = world.on_restart = None
        world._take(handle, False)
        return world

    def _take(self, handle, owned):
        self._handle, self._owned = handle, owned
        self._known, self._readers, self._lossless = {}, weakref.WeakSet(), None
        self._list_channels()

    def _list_channels(self):
        """Those of the run attached to. One that was there before stays the same object."""
        pointers = [c.lib.oto_client_channel(self._handle, i)
                    for i in range(c.lib.oto_client_channel_count(self._handle))]
        for channel in self._known.values():
            channel._take_facts()
        for pointer in pointers:
            address = ct.addressof(pointer.contents)
            if address not in self._known:
                self._known[address] = Channel(self, pointer)
        self.channels = [self._known[ct.addressof(pointer.contents)] for pointer in pointers]
        self.epoch = self.channels[0].epoch

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

    def reattach(self, timeout_s=10.0):
        """
        Waits until the run is over (its server died, restored a checkpoint or ended) and the world has restarted, and
        attaches to the new run: channels and readers stay valid, `epoch` changes. Unread samples of the old run are read
        first. If the new run continues the old one after a crash, readers continue after the last sample; otherwise they
        read it from the oldest sample. Raises Timeout if the world does not restart.
        """
        until, error, status = time.monotonic() + timeout_s, c.Error(), c.TIMEOUT
        while not c.lib.oto_client_run_is_over(self.handle) and time.monotonic() < until:
            time.sleep(0.005)
        for reader in list(self._readers):
            reader._keep_rest()
        while status == c.TIMEOUT:  # in slices: signals are heard between them
            left_s = until - time.monotonic()
            status = c.lib.oto_client_reattach(self.handle, max(0, min(100, int(left_s * 1000))), ct.byref(error))
            if status == c.TIMEOUT and left_s <= 0:
                raise Timeout(f"the world did not restart within {timeout_s:g} s", status)
        check(status, error)
        self._list_channels()
        if self._lossless is not None:
            self._lossless.begin()
        if self.on_restart is not None:
            self.on_restart(self)
        return self.epoch

    def _follow(self, sentence):
        """The run is over: reattaches to the next run if `follow_s` is set."""
        if self.follow_s is None:
            raise Closed(sentence, c.CLOSED)
        try:
            self.reattach(self.follow_s)
        except Timeout as none:
            raise Closed(f"{sentence}, and did not restart within {self.follow_s:g} s", c.CLOSED) from none

    def clock(self):
        """The newest reading of the clock (tick, sim_time_ns, real_time_factor, …); None before the first tick."""
        clock = c.Clock()
        return clock if c.lib.oto_client_clock(self.handle, ct.byref(clock)) == c.OK else None

    def wait_tick(self, tick=None, timeout_s=1.0):
        """
        Waits for the tick after `tick` (None: after the newest) and returns the clock then. With `follow_s` that may be
        the first tick of another run, which `epoch` tells.
        """
        if tick is None:
            clock = self.clock()
            tick = clock.tick if clock is not None else 0
        status = c.lib.oto_client_wait_tick(self.handle, tick, int(timeout_s * 1000))
        if status == c.TIMEOUT:
            raise Timeout(f"no tick after {tick} within {timeout_s:g} s", status)
        if status == c.CLOSED:
            self._follow("the world has ended, or its server has died")
            return self.wait_tick(None, timeout_s)
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
        if not 1 <= ticks <= _MOST_TICKS:
            raise ValueError(f"step: {ticks} ticks; 1 to {_MOST_TICKS} are accepted")
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
        self._lossless = _Lossless(self, readers)
        self._lossless.begin()
        try:
            yield readers
        finally:
            self._lossless = None
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

    def begin(self):
        """Asks the server for it, also that of another run."""
        pointers = (ct.POINTER(c.Channel) * len(self._readers))(*(reader.channel.pointer for reader in self._readers))
        error = c.Error()
        check(c.lib.oto_lossless_begin(self._world.handle, pointers, len(self._readers), ct.byref(error)), error)
        self.acknowledge()

    def acknowledge(self):
        for i, reader in enumerate(self._readers):
            self._next[i] = reader.next_seq
        c.lib.oto_lossless_acknowledge(self._world.handle, self._next, len(self._readers))


class Channel:
    """A channel of a world: `dtype` is that of its samples."""

    def __init__(self, world, pointer):
        self.world, self.pointer = world, pointer
        self._take_facts()
        facts = pointer.contents
        self.type_name = facts.type.name.decode()
        self.payload_bytes = facts.type.bytes
        self.dtype = _dtype.sample_dtype(facts.type)
        self.units = {field.name.decode(): field.unit.decode(errors="replace")
                      for field in _dtype.fields_of(facts.type)}

    def _take_facts(self):
        """What another run may tell differently; `epoch` is that of the last run that had the channel."""
        facts = self.pointer.contents
        for name in ("topic", "node", "plugin", "plugin_version", "frame_id"):
            setattr(self, name, getattr(facts, name).decode(errors="replace"))
        self.rate_hz = facts.rate_num / facts.rate_den
        self.capacity, self.epoch, self.lineage = facts.capacity, facts.epoch, facts.lineage

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
    """
    A place in a channel. `lost` counts the samples that were overwritten before they were read. `epoch` is that of the run
    of which `read` gave samples last; while `lineage` stays the same, runs continue each other and `seq` goes on.
    """

    def __init__(self, channel, from_oldest=False):
        channel.world.handle
        self.channel, self.group = channel, None
        self._reader = c.lib.oto_reader_make(channel.pointer, 0 if from_oldest else 1)
        self._room, self._rest = 0, collections.deque()
        self.epoch, self.lineage = channel.epoch, channel.lineage
        channel.world._readers.add(self)

    @property
    def lost(self):
        return self._reader.cursor.lost

    @property
    def next_seq(self):
        return c.lib.oto_reader_position(ct.byref(self._reader))

    def _make_room(self, count):
        if count > self._room:
            self._heads = np.empty(count, _dtype.HEAD)
            self._payloads = np.empty((count, self.channel.payload_bytes), np.uint8)
            self._room = count

    def _keep_rest(self):
        """Before the memory of a run that is over goes: what stands there unread. It is read first."""
        while len(samples := self._take(self.channel.capacity)) > 0:
            self._rest.append((samples, self.channel.epoch, self._reader.lineage))

    def _take(self, count):
        self._make_room(count)
        done = c.lib.oto_reader_read(ct.byref(self._reader), self._heads.ctypes.data, self._payloads.ctypes.data,
                                     count)
        return _dtype.join(self._heads[:done], self._payloads[:done]).reshape(-1).view(self.channel.dtype)

    def read(self, count=None):
        """
        All new samples, at most `count` (None: the ring's size), as one structured array; it may be empty. They are always
        of one run.
        """
        self.channel.world.handle
        count = self.channel.capacity if count is None else count
        if self._rest:
            samples, self.epoch, self.lineage = self._rest.popleft()
            if len(samples) > count:
                self._rest.appendleft((samples[count:], self.epoch, self.lineage))
            return samples[:count]
        samples = self._take(count)
        if len(samples) > 0:
            self.epoch, self.lineage = self.channel.epoch, self._reader.lineage
            if self.group is not None:
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
