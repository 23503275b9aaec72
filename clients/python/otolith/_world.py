"""A running world: its channels in shared memory, its clock, and control over it."""
from __future__ import annotations

import collections
import contextlib
import ctypes as ct
import fnmatch
import json
import os
import time
import weakref
from typing import Any, Callable, Iterator, NamedTuple, Optional, Union, overload

import numpy as np

from . import _dtype
from . import _library as c
from ._errors import Closed, Timeout, check
from ._handle import Handle

_MOST_TICKS = 2**63 - 2

_Path = Union[str, os.PathLike]


class Param(NamedTuple):
    """A parameter of a node: its value as text, and whether it may change while the world runs."""

    key: str
    value: str
    unit: str
    text: str
    runtime: bool


class Reply(NamedTuple):
    """The reply to a change: the tick from which it holds, and the server's sentence."""

    tick: int
    text: str


def worlds() -> list[str]:
    """Names of the worlds that run for this user."""
    entries = (c.WorldEntry * 256)()
    count = min(c.lib.oto_worlds_list(entries, len(entries)), len(entries))
    return sorted(entry.name.decode() for entry in entries[:count] if entry.alive)


def _encode(text: Any) -> Optional[bytes]:
    return None if text is None else str(text).encode()


class World(Handle):
    """
    A client of one world, for one thread. `world` None: OTOLITH_WORLD, else the only running world. With `follow_s` it
    reattaches if the world restarts within that time (see `reattach`), and then calls `on_restart(world)`. `channels` lists its
    channels; `epoch` identifies the run. Raises NotFound without such a world, OtolithError if the server refuses the role.

    With `connect="tls+tcp://HOST:PORT"` it controls a world on another machine, with the role of the certificate `cert` and its key
    `key`; `ca` and `crl` are as in Subscriber. Such a world has no channels: Subscriber reads its samples.
    """

    def __init__(self, world: Optional[str] = None, *, timeout_s: float = 20.0, name: Optional[str] = None,
                 socket_path: Optional[_Path] = None, role: Optional[str] = None, follow_s: Optional[float] = None,
                 on_restart: Optional[Callable[[World], Any]] = None, connect: Optional[str] = None, ca: Optional[_Path] = None,
                 cert: Optional[_Path] = None, key: Optional[_Path] = None, crl: Optional[_Path] = None):
        self._handle: Optional[ct.c_void_p] = None
        if connect is not None and follow_s is not None:
            raise ValueError("follow_s: a world on another machine is not reattached to; open it again")
        self.follow_s, self.on_restart = follow_s, on_restart
        handle, error = ct.c_void_p(), c.Error()
        tls = c.tls_files(ca, cert, key, crl)
        options = c.ClientOptions(ct.sizeof(c.ClientOptions), max(1, int(timeout_s * 1000)), _encode(world),
                                  _encode(socket_path), _encode(name), _encode(role), _encode(connect), ct.pointer(tls))
        check(c.lib.oto_client_open(ct.byref(options), ct.byref(handle), ct.byref(error)), error)
        self._take(handle, True)

    @classmethod
    def _borrow(cls, handle: ct.c_void_p) -> World:
        """A world whose client another object closes."""
        world = cls.__new__(cls)
        world.follow_s = world.on_restart = None
        world._take(handle, False)
        return world

    def _take(self, handle: ct.c_void_p, owned: bool) -> None:
        self._handle, self._owned = handle, owned
        self._known: dict[int, Channel] = {}
        self._types: dict[int, tuple[np.dtype, dict[str, str]]] = {}
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()
        self._lossless: Optional[_Lossless] = None
        self._list_channels()

    def _list_channels(self) -> None:
        """Those of the run attached to. One that was there before stays the same object."""
        pointers = [c.lib.oto_client_channel(self._handle, i)
                    for i in range(c.lib.oto_client_channel_count(self._handle))]
        for channel in self._known.values():
            channel._take_facts()
        for pointer in pointers:
            address = ct.addressof(pointer.contents)
            if address not in self._known:
                self._known[address] = Channel(self, pointer)
        self.channels: list[Channel] = [self._known[ct.addressof(pointer.contents)] for pointer in pointers]
        self.epoch: int = c.lib.oto_client_header(self._handle).contents.epoch

    def close(self) -> None:
        """Detaches from the world; channels and readers of it must not be used afterwards."""
        if self._handle is not None and self._owned:
            c.lib.oto_client_close(self._handle)
        self._handle = None

    @property
    def handle(self) -> ct.c_void_p:
        """The C library's handle. Raises OtolithError after `close`."""
        if self._handle is None:
            raise Closed("the world is closed", c.CLOSED)
        return self._handle

    def __getitem__(self, topic: str) -> Channel:
        """A channel by its topic, or by its node's name, with or without the leading "world/". Raises NotFound."""
        error = c.Error()
        found = c.lib.oto_client_find(self.handle, topic.encode(), ct.byref(error))
        if not found:
            check(c.NOT_FOUND, error)
        return self.channels[found.contents.index]

    def matching(self, pattern: str) -> list[Channel]:
        """The channels whose topics match a pattern such as "car_00*/imu", with or without the leading "world/"; a `*` matches no `/`."""
        patterns = [each.split("/") for each in pattern.split(",")]

        def matches(name: list[str]) -> bool:
            return any(len(name) == len(each) and all(map(fnmatch.fnmatchcase, name, each)) for each in patterns)

        names = ((channel, channel.topic.split("/")) for channel in self.channels)
        return [channel for channel, name in names if matches(name) or matches(name[1:])]

    @property
    def alive(self) -> bool:
        """Whether the server of this run still lives."""
        return bool(c.lib.oto_client_server_alive(self.handle))

    def reattach(self, timeout_s: float = 10.0) -> int:
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

    def _follow(self, sentence: str) -> None:
        """The run is over: reattaches to the next run if `follow_s` is set."""
        if self.follow_s is None:
            raise Closed(sentence, c.CLOSED)
        try:
            self.reattach(self.follow_s)
        except Timeout as none:
            raise Closed(f"{sentence}, and did not restart within {self.follow_s:g} s", c.CLOSED) from none

    def clock(self) -> Optional[c.Clock]:
        """The newest reading of the clock (tick, sim_time_ns, real_time_factor, …); None before the first tick."""
        clock = c.Clock()
        return clock if c.lib.oto_client_clock(self.handle, ct.byref(clock)) == c.OK else None

    def wait_tick(self, tick: Optional[int] = None, timeout_s: float = 1.0) -> Optional[c.Clock]:
        """
        Waits for the tick after `tick` (None: after the newest) and returns the clock then. With `follow_s` that may be
        the first tick of another run, which `epoch` shows. Raises Timeout after `timeout_s` of real time, Closed when the run is over.
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

    def _ask(self, verb: str, *arguments: Union[str, bytes, int, float]) -> Reply:
        """Sends a request with its arguments in the order of the table of verbs; the library checks them."""
        texts = [each if isinstance(each, bytes) else str(each).encode() for each in arguments]
        reply, error = c.Reply(), c.Error()
        check(c.lib.oto_control_send(self.handle, verb.encode(), (ct.c_char_p * len(texts))(*texts), len(texts),
                                     ct.byref(reply), ct.byref(error)), error)
        return Reply(reply.tick, reply.text.decode(errors="replace"))

    def pause(self) -> Reply:
        """Stops the clock at the next tick boundary."""
        return self._ask("pause")

    def resume(self) -> Reply:
        """Resumes the clock."""
        return self._ask("resume")

    def step(self, ticks: int = 1) -> Reply:
        """Runs that many ticks, pauses, and returns when they are done."""
        if not 1 <= ticks <= _MOST_TICKS:
            raise ValueError(f"step: {ticks} ticks; 1 to {_MOST_TICKS} are accepted")
        return self._ask("step", ticks)

    def scale(self, scale: float) -> Reply:
        """Sets the simulated seconds per real second."""
        return self._ask("scale", scale)

    def mode(self, mode: str) -> Reply:
        """Sets the clock's mode: realtime, asap, step, lockstep or external."""
        return self._ask("mode", mode)

    def set(self, node: str, param: str, value: Any) -> Reply:
        """Sets one parameter; a value that is no text is written as JSON, which is YAML."""
        text = value if isinstance(value, str) else json.dumps(value)
        return self._ask("set", node, param, text)

    @overload
    def get(self, node: str) -> dict[str, Param]: ...

    @overload
    def get(self, node: str, param: str) -> Param: ...

    def get(self, node: str, param: Optional[str] = None) -> Union[dict[str, Param], Param]:
        """All parameters of a node, as a dict from key to Param; one Param if it is named. Raises NotFound."""
        error = c.Error()
        found: dict[str, Param] = {}

        def each(_: Any, info: Any) -> None:
            fields = info.contents
            key, value, unit, text = (getattr(fields, name).decode(errors="replace") for name in ("key", "value", "unit", "text"))
            entry = Param(key, value, unit, text, bool(fields.runtime))
            found[entry.key] = entry

        check(c.lib.oto_control_get(self.handle, node.encode(), _encode(param), c.PARAM_FUNCTION(each),
                                    None, ct.byref(error)), error)
        if param is None:
            return found
        [entry] = found.values()
        return entry

    def swap(self, node: str, plugin: _Path) -> Reply:
        """Replaces the plugin of a node by that of a file, while it runs."""
        return self._ask("swap", node, os.fsencode(plugin))

    def checkpoint(self, path: _Path) -> Reply:
        """Saves the world's state at a tick boundary, which the reply names."""
        return self._ask("checkpoint", os.fsencode(os.path.abspath(path)))

    def restore(self, path: _Path) -> Reply:
        """Restores the world from a checkpoint, as a new run: use `reattach`, or open it again."""
        return self._ask("restore", os.fsencode(os.path.abspath(path)))

    def fault(self, node: str, kind: str, **terms: Any) -> Reply:
        """Injects a fault into a sensor's samples: fault("car/imu", "bias", value=0.1, fields="angular_velocity.x",
        for_s=5). The terms are those of a world's `faults:`. Returns a reply whose text is "fault NUMBER"."""
        return self._ask("fault", node, json.dumps({"kind": kind, **terms}))

    def clear_faults(self, node: str, fault: int = 0) -> Reply:
        """Ends one fault of a node by its number, or all of them."""
        return self._ask("clear_faults", node, fault)

    def shutdown(self) -> Reply:
        """Ends the run in order."""
        return self._ask("shutdown")

    def info(self) -> dict[str, Any]:
        """The server's own facts: endpoints, drivers, privileges, options."""
        return json.loads(self._ask("info").text)

    @contextlib.contextmanager
    def lossless(self, *channels: Union[str, Channel]) -> Iterator[list[Reader]]:
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

    def __init__(self, world: World, readers: list[Reader]):
        self._world, self._readers = world, readers
        self._next = (ct.c_uint64 * len(readers))()
        for reader in readers:
            reader.group = self

    def begin(self) -> None:
        """Asks the server for it, also that of another run."""
        pointers = (ct.POINTER(c.Channel) * len(self._readers))(*(reader.channel.pointer for reader in self._readers))
        error = c.Error()
        check(c.lib.oto_lossless_begin(self._world.handle, pointers, len(self._readers), ct.byref(error)), error)
        self.acknowledge()

    def acknowledge(self) -> None:
        for i, reader in enumerate(self._readers):
            self._next[i] = reader.next_seq
        c.lib.oto_lossless_acknowledge(self._world.handle, self._next, len(self._readers))


class Channel:
    """
    A channel of a world: `topic`, `node`, `plugin`, `type_name`, `dtype` of its samples, `units` by field, `rate_hz` (0: events),
    `capacity` of its ring in samples.
    """

    topic: str
    node: str
    plugin: str
    plugin_version: str
    frame_id: str

    def __init__(self, world: World, pointer: Any):
        self.world, self.pointer = world, pointer
        self._take_facts()
        facts = pointer.contents
        self.type_name = facts.type.name.decode()
        self.payload_bytes = facts.type.bytes
        if facts.type_hash not in world._types:  # a fleet has ten thousand channels of one type
            units = {field.name.decode(): field.unit.decode(errors="replace") for field in _dtype.fields_of(facts.type)}
            world._types[facts.type_hash] = (_dtype.sample_dtype(facts.type), units)
        self.dtype: np.dtype
        self.units: dict[str, str]
        self.dtype, self.units = world._types[facts.type_hash]

    def _take_facts(self) -> None:
        """What another run may change; `epoch` is that of the last run that had the channel."""
        facts = self.pointer.contents
        for name in ("topic", "node", "plugin", "plugin_version", "frame_id"):
            setattr(self, name, getattr(facts, name).decode(errors="replace"))
        self.rate_hz = facts.rate_num / facts.rate_den
        self.capacity, self.epoch, self.lineage = facts.capacity, facts.epoch, facts.lineage

    def __repr__(self) -> str:
        return f"<Channel {self.topic} ({self.type_name}, {self.rate_hz:g} Hz)>"

    def latest(self) -> Optional[np.void]:
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

    def reader(self, from_oldest: bool = False) -> Reader:
        """Reads every sample from now on, or from the oldest that is still in the ring."""
        return Reader(self, from_oldest)


class Reader:
    """
    A position in a channel. `epoch` is that of the run of which `read` returned samples last; while `lineage` stays the same, runs
    continue each other and `seq` continues.
    """

    def __init__(self, channel: Channel, from_oldest: bool = False):
        channel.world.handle
        self.channel = channel
        self.group: Optional[_Lossless] = None
        self._reader = c.lib.oto_reader_make(channel.pointer, 0 if from_oldest else 1)
        self._room = 0
        self._rest: collections.deque[tuple[np.ndarray, int, int]] = collections.deque()
        self.epoch: int = channel.epoch
        self.lineage: int = channel.lineage
        channel.world._readers.add(self)

    @property
    def lost(self) -> int:
        """Number of samples that were overwritten before they were read."""
        return self._reader.cursor.lost

    @property
    def next_seq(self) -> int:
        """The `seq` of the sample that is read next."""
        return c.lib.oto_reader_position(ct.byref(self._reader))

    def _make_room(self, count: int) -> None:
        if count > self._room:
            self._heads = np.empty(count, _dtype.HEAD)
            self._payloads = np.empty((count, self.channel.payload_bytes), np.uint8)
            self._room = count

    def _keep_rest(self) -> None:
        """Keeps what is unread in the memory of a run that is over; it is read first."""
        while len(samples := self._take(self.channel.capacity)) > 0:
            self._rest.append((samples, self.channel.epoch, self._reader.lineage))

    def _take(self, count: int) -> np.ndarray:
        self._make_room(count)
        done = c.lib.oto_reader_read(ct.byref(self._reader), self._heads.ctypes.data, self._payloads.ctypes.data,
                                     count)
        return _dtype.join(self._heads[:done], self._payloads[:done]).reshape(-1).view(self.channel.dtype)

    def read(self, count: Optional[int] = None) -> np.ndarray:
        """
        All new samples, at most `count` (None: the ring's size), oldest first: a structured array of shape (n,) of the channel's
        dtype; n may be 0. They are always of one run.
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

    def collect(self, count: int, timeout_s: float = 10.0) -> np.ndarray:
        """
        Waits for `count` samples and returns them, shape (count,). Raises Timeout if no tick is made within `timeout_s` of real time,
        Closed if the run is over and `follow_s` of the world is not set.
        """
        samples, got, world = np.empty(count, self.channel.dtype), 0, self.channel.world
        while got < count:
            clock = world.clock()
            part = self.read(count - got)
            if len(part) == 0:
                world.wait_tick(clock.tick if clock is not None else 0, timeout_s)
            samples[got:got + len(part)] = part
            got += len(part)
        return samples
