"""Worlds in this process: libotolith-sim without a server."""
from __future__ import annotations

import collections
import collections.abc
import ctypes as ct
import json
import operator
import os
import warnings
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence, Union

import numpy as np

from . import _dtype
from . import _library as c
from ._errors import Closed, NotFound, OtolithError, check
from ._handle import Handle
from ._participant import (_CONTINUES, _HAS_ACCEL, _HAS_ANGULAR_ACCEL, _HAS_SPEED, _JUMPS, _RECORD, TRUTH)

_MOST_TICKS = 2**63 - 2
_SLICE_TICKS = 1000  # of one call of the library: between two of them an interrupt is noticed
_VALUE_BYTES = 65536
_SECOND_NS = 1_000_000_000
_CONFLICT = 16

# Of the numbers of struct oto_truth_record: name, slice, flag that says that it is given (None: it must be).
_TRUTH_PARTS = {"position_enu_m": (slice(0, 3), None), "velocity_enu_m_s": (slice(3, 6), None),
                "accel_enu_m_s2": (slice(6, 9), _HAS_ACCEL), "q_enu_from_body": (slice(9, 13), None),
                "angular_rate_body_rad_s": (slice(13, 16), None), "angular_accel_body_rad_s2": (slice(16, 19), _HAS_ANGULAR_ACCEL),
                "longitudinal_speed_m_s": (slice(19, 20), _HAS_SPEED)}
_TRUTH_NUMBERS = 20
_HAS_ALL = _HAS_ACCEL | _HAS_ANGULAR_ACCEL | _HAS_SPEED

Event = collections.namedtuple("Event", "t_ns tick kind severity source value text")


def _yaml(value: Any) -> bytes:
    """A text is YAML as it is; another value becomes JSON, which is YAML. NumPy arrays become lists."""
    return (value if isinstance(value, str) else json.dumps(value, default=lambda array: array.tolist())).encode()


def _unsigned(value: Any, what: str) -> int:
    number = operator.index(value)
    if not 0 <= number < 2**64:
        raise ValueError(f"{what} {number}; 0 to {2**64 - 1} are accepted")
    return number


class SimChannel:
    """
    One output of a node: `topic` and `node` without the leading "world/", `type_name`, `dtype` of its samples, `units` by field,
    `rate_hz` (0: events), `capacity` in samples.
    """

    def __init__(self, facts: c.SimChannel, world: str):
        record_type, prefix = facts.type.contents, f"{world}/"
        self.index: int = facts.index
        self.full_topic: str = facts.topic.decode()
        self.topic: str = self.full_topic.removeprefix(prefix)
        self.node: str = facts.node.decode().removeprefix(prefix)
        self.frame_id: str = facts.frame_id.decode(errors="replace")
        self.type_name: str = record_type.name.decode()
        self.rate_hz: float = facts.rate_num / facts.rate_den if facts.rate_den else 0.0
        self.capacity: int = facts.capacity
        self.is_truth: bool = bool(facts.flags & c.CHANNEL_TRUTH)
        self.payload_bytes: int = record_type.bytes
        self.dtype: np.dtype = _dtype.sample_dtype(record_type)
        self.units = {field.name.decode(): field.unit.decode(errors="replace") for field in _dtype.fields_of(record_type)}
        self._none = np.empty(0, self.dtype)
        self._forget()

    def _forget(self) -> None:
        self._lost = 0
        self._kept: list[np.ndarray] = []

    def _keep(self, samples: np.ndarray) -> None:
        if len(samples) > 0:
            self._kept.append(samples)

    def __repr__(self) -> str:
        return f"<SimChannel {self.topic} ({self.type_name}, {self.rate_hz:g} Hz)>"


class Samples(collections.abc.Mapping):
    """
    What a step has left to be read: topic → structured array of shape (n,), oldest sample first. A channel is read when it is
    looked at, and then holds every sample since it was last read, also of earlier steps; a channel that nobody looks at
    costs nothing. After the next step only what was looked at before is here: the rest comes with the newer samples.
    """

    __slots__ = ("_sim", "_move", "_arrays")

    def __init__(self, sim: Sim):
        self._sim, self._move = sim, sim._move
        self._arrays: dict[int, np.ndarray] = {}

    def __getitem__(self, topic: str) -> np.ndarray:
        sim = self._sim
        channel = sim._known.get(topic) or sim.channel(topic)
        array = self._arrays.get(channel.index)
        if array is None:
            if self._move != sim._move:
                raise OtolithError(f"'{topic}' was not read before the world moved on; its samples come with those of the "
                                   "newest step", _CONFLICT)
            array = self._arrays[channel.index] = sim._read(channel)
        return array

    def __contains__(self, topic: object) -> bool:
        try:
            self._sim.channel(str(topic))
        except NotFound:
            return False
        return True

    def get(self, topic: str, default: Any = None) -> Any:
        """The samples of a topic, or `default` without such a topic."""
        return self[topic] if topic in self else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._sim.topics)

    def __len__(self) -> int:
        return len(self._sim.topics)

    def __repr__(self) -> str:
        return f"<Samples of {self._sim!r}>"


class Sim(Handle):
    """
    A world in this process, from a file (`Sim("configs/worlds/city_drive.yaml")`) or from its text (`Sim(text="...")`). It
    stands at tick 0 until `step` is called, and runs as fast as the machine. `seed` replaces that of the file; `set` replaces
    values of it by path: set={"vehicles.car.nodes.imu.params.law": "mavs"}.

    Any number of worlds may be open; each belongs to one thread at a time, and threads run in parallel. The same world, seed
    and calls give the same samples, to the last bit those of a server. What fails raises OtolithError, with NotFound for a
    wrong name and Closed for a world that is closed or has reached its end; implausible values of the world are warnings.
    """

    def __init__(self, path: Union[str, os.PathLike, None] = None, *, text: Optional[str] = None, seed: Optional[int] = None,
                 set: Optional[Mapping[str, Any]] = None):
        self._handle: Optional[ct.c_void_p] = None
        if (path is None) == (text is None):
            raise ValueError("Sim needs a world file or text=")
        said: list[str] = []
        warn = c.WARN_FUNCTION(lambda _, sentence: said.append(sentence.decode(errors="replace")))
        overrides = [f"{key}=".encode() + _yaml(value) for key, value in (set or {}).items()]
        options = c.SimOptions(size=ct.sizeof(c.SimOptions), override_count=len(overrides),
                               path=None if path is None else os.fsencode(path), text=None if text is None else text.encode(),
                               overrides=(ct.c_char_p * len(overrides))(*overrides), has_seed=seed is not None,
                               seed=0 if seed is None else _unsigned(seed, "seed"), warn=ct.cast(warn, ct.c_void_p))
        handle = ct.c_void_p()
        self._error, self._lost, self._room = c.Error(), ct.c_uint64(), c.SimChannel()  # what the library writes to
        self._error_at, self._lost_at, self._room_at = ct.byref(self._error), ct.byref(self._lost), ct.byref(self._room)
        check(c.sim.oto_sim_open(ct.byref(options), ct.byref(handle), self._error_at), self._error)
        self._handle, self._step = handle, c.sim.oto_sim_step
        self._move = 0  # how often the world has moved on: samples of another move cannot be read any more
        self._truth = (ct.c_double * _RECORD)()
        self.world: str = c.sim.oto_sim_world(handle).decode()
        self.channels = [SimChannel(self._facts(i), self.world) for i in range(c.sim.oto_sim_channel_count(handle))]
        self._known = {channel.topic: channel for channel in self.channels}
        self._tick_rate_hz = next(channel.rate_hz for channel in self.channels if channel.is_truth)
        for sentence in said:
            warnings.warn(sentence, stacklevel=2)

    def close(self) -> None:
        """Ends the world. Arrays that were read stay valid."""
        if self._handle is not None:
            c.sim.oto_sim_close(self._handle)
            self._handle = None
            self._move += 1

    def __repr__(self) -> str:
        return f"<Sim {self.world}, closed>" if self._handle is None else f"<Sim {self.world}, tick {self.tick}>"

    def _open(self) -> ct.c_void_p:
        if self._handle is None:
            raise Closed("the world is closed", c.CLOSED)
        return self._handle

    def _call(self, function: Any, *arguments: Any) -> None:
        status = function(self._open(), *arguments, self._error_at)
        if status:
            check(status, self._error)

    # ---- time ----

    def step(self, ticks: int = 1, *, lossless: Union[str, Iterable[str]] = ()) -> Samples:
        """
        Makes `ticks` ticks and returns what is there to be read: step(1000)["car/imu"]["linear_acceleration.x"]. A channel
        keeps at least the newest second (`lost` counts the rest); of the topics in `lossless` every sample is kept. Raises
        Closed at the end of the world (clock.until_s), and OtolithError where a vehicle waits for its truth (see `drive`); the
        ticks before it are made then, and `read` gives their samples.
        """
        ticks = operator.index(ticks)
        if not 1 <= ticks <= _MOST_TICKS:
            raise ValueError(f"step: {ticks} ticks; 1 to {_MOST_TICKS} are accepted")
        handle = self._handle or self._open()
        self._move += 1
        if lossless or ticks > _SLICE_TICKS:
            topics = (lossless,) if isinstance(lossless, str) else lossless
            ticks = self._step_slices(ticks, [self.channel(topic) for topic in topics])
        status = self._step(handle, ticks, self._error_at)
        if status:
            check(status, self._error)
        return Samples(self)

    def _step_slices(self, ticks: int, kept: list[SimChannel]) -> int:
        """Steps in slices that no kept channel's ring is too small for; returns the ticks of the last one."""
        most = min([_SLICE_TICKS] + [max(1, int(channel.capacity * self._tick_rate_hz / channel.rate_hz / 2))
                                     for channel in kept if channel.rate_hz > 0])
        while True:
            for channel in kept:
                channel._keep(self._take(channel))
            if ticks <= most:
                return ticks
            self._call(self._step, most)
            ticks -= most

    def reset(self, seed: Optional[int] = None) -> None:
        """
        Back to tick 0 with another seed (None: the present one), as if the world had been opened with it: parameters, plugins
        and faults are those of the file again. Samples that were not read are dropped.
        """
        self._move += 1
        self._call(c.sim.oto_sim_reset, self.seed if seed is None else _unsigned(seed, "seed"))
        for channel in self.channels:
            channel._forget()

    @property
    def tick(self) -> int:
        """The ticks made."""
        return c.sim.oto_sim_tick(self._open())

    @property
    def time_ns(self) -> int:
        """The simulated time since time zero, in nanoseconds."""
        return c.sim.oto_sim_time_ns(self._open())

    @property
    def seed(self) -> int:
        """The seed of this run."""
        return c.sim.oto_sim_seed(self._open())

    @property
    def state_hash(self) -> int:
        """The 64-bit hash chain over all states, truths and samples up to this tick: equal hashes mean equal runs."""
        return c.sim.oto_sim_state_hash(self._open())

    # ---- samples ----

    def _facts(self, index: int) -> c.SimChannel:
        """Valid until the next call."""
        self._call(c.sim.oto_sim_channel_at, index, self._room_at)
        return self._room

    def channel(self, topic: str) -> SimChannel:
        """A channel by its topic or its node's name, with or without the leading "world/". Raises NotFound."""
        channel = self._known.get(topic)
        if channel is None:
            self._call(c.sim.oto_sim_channel, topic.encode(), self._room_at)
            channel = self._known[topic] = self.channels[self._room.index]
        return channel

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that have samples now, without the leading "world/"."""
        return tuple(channel.topic for channel in self.channels if self._facts(channel.index).flags & c.CHANNEL_ENABLED)

    @property
    def lost(self) -> dict[str, int]:
        """
        Per topic, how many samples were overwritten before they were read, since the world was opened, reset or restored. A
        channel keeps at least the newest second.
        """
        found = {}
        for channel in self.channels:
            c.sim.oto_sim_unread(self._open(), channel.index, self._lost_at)
            found[channel.topic] = channel._lost + self._lost.value
        return found

    def _read(self, channel: SimChannel) -> np.ndarray:
        samples = self._take(channel)
        if channel._kept:
            channel._keep(samples)
            rows = np.concatenate([part.view(np.uint8) for part in channel._kept])  # of bytes: else the fields would be packed
            samples, channel._kept = rows.view(channel.dtype), []
        return samples

    def _take(self, channel: SimChannel) -> np.ndarray:
        """What stands unread in the channel's ring."""
        handle = self._handle or self._open()
        count = c.sim.oto_sim_unread(handle, channel.index, None)
        if count == 0:
            return channel._none
        samples = np.empty(count, channel.dtype)
        c.sim.oto_sim_read_samples(handle, channel.index, samples.ctypes.data, count, self._lost_at)
        channel._lost += self._lost.value
        return samples

    def read(self, topic: str) -> np.ndarray:
        """
        The samples of a channel that were not read yet, oldest first: a structured array of shape (n,) with `t_ns`,
        `sensor_time_ns`, `seq`, `flags` and the fields of the record, in the units that `channel(topic).units` names.
        """
        return self._read(self.channel(topic))

    def latest(self, topic: str) -> Optional[np.void]:
        """The newest sample, read or not: a scalar of the channel's dtype; None before the first."""
        channel = self.channel(topic)
        buffer = np.zeros(1, channel.dtype)
        at = buffer.ctypes.data
        status = c.sim.oto_sim_latest(self._open(), channel.index, at, at + _dtype.HEAD_BYTES, self._error_at)
        if status == c.AGAIN:
            return None
        check(status, self._error)
        return buffer[0]

    def events(self) -> list[Event]:
        """The events that were not read yet: swaps, faults, quarantines, …, as named tuples."""
        return [Event(int(row["t_ns"]), int(row["tick"]), row["kind"].item(), int(row["severity"]),
                      row["source"].decode(errors="replace"), int(row["value"]), row["text"].decode(errors="replace"))
                for row in self.read("@events")]

    # ---- changes; each holds from the next tick on ----

    def set(self, node: str, param: str, value: Any) -> None:
        """Sets one parameter of a node. A text is YAML; numbers, lists and arrays are taken as they are."""
        self._call(c.sim.oto_sim_set, node.encode(), param.encode(), _yaml(value))

    def get(self, node: str, param: str) -> Any:
        """One parameter of a node: a number, a bool, a text or a list."""
        text = ct.create_string_buffer(_VALUE_BYTES)
        self._call(c.sim.oto_sim_get, node.encode(), param.encode(), text, _VALUE_BYTES)
        value = text.value.decode(errors="replace")
        try:
            return json.loads(value)
        except ValueError:
            return value

    def swap(self, node: str, plugin: Union[str, os.PathLike, None] = None, *, params: Union[str, os.PathLike, None] = None,
             part: Optional[str] = None, mode: Optional[str] = None, unit: Optional[int] = None, reset_state: bool = False,
             probation_s: float = 1.0, shadow_s: float = 0.0, shadow_tolerance: float = 0.0, undo: bool = False,
             cancel: bool = False) -> None:
        """
        Replaces the plugin of a node, by name or file. `params` is a file of parameters over those that are carried over;
        `part`, `mode` and `unit` take them from the part library. With `shadow_s` the candidate goes live after that time of
        steps beside the present plugin, unless a number differs by more than `shadow_tolerance` (0: any). Within `probation_s`
        a failing step takes it back, and `undo` may; `cancel` ends a swap in its shadow. Times are simulated.
        """
        path = None if plugin is None else os.fspath(plugin)
        options = c.Swap(size=ct.sizeof(c.Swap), plugin=None if path is None else os.fsencode(
                             os.path.abspath(path) if "/" in path or path.endswith(".so") else path),
                         params=None if params is None else os.fsencode(os.path.abspath(params)),
                         part=None if part is None else part.encode(), mode=None if mode is None else mode.encode(),
                         unit=unit or 0, has_unit=unit is not None, reset_state=reset_state,
                         probation_ns=round(probation_s * _SECOND_NS), shadow_ns=round(shadow_s * _SECOND_NS),
                         shadow_tolerance=shadow_tolerance, budget_ns=-1, undo=undo, cancel=cancel)
        self._call(c.sim.oto_sim_swap, node.encode(), ct.byref(options))

    def fault(self, node: str, kind: str, **terms: Any) -> int:
        """
        Injects a fault into a sensor's samples: fault("car/imu", "bias", value=0.1, fields="angular_velocity.x", for_s=5). The
        terms are those of a world's `faults:`. Returns the fault's number.
        """
        number = ct.c_uint64()
        self._call(c.sim.oto_sim_fault, node.encode(), _yaml({"kind": kind, **terms}), ct.byref(number))
        return number.value

    def clear_faults(self, node: str, fault: int = 0) -> None:
        """Ends one fault of a node by its number, or all of them."""
        self._call(c.sim.oto_sim_clear_faults, node.encode(), _unsigned(fault, "fault"))

    def drive(self, vehicle: str, truth: Union[Mapping[str, Any], np.ndarray, np.void, None], ticks: int = 1, *,
              continues: bool = False, jumps: bool = False) -> None:
        """
        Gives the truth at the end of tick `tick + ticks` of a vehicle whose motion is a participant's. `truth` is one of

        - a mapping with position_enu_m, velocity_enu_m_s, q_enu_from_body (w, x, y, z), angular_rate_body_rad_s and perhaps
          accel_enu_m_s2, angular_accel_body_rad_s2, longitudinal_speed_m_s, which follow from the velocities if they are absent;
        - an array of 20 numbers: position, velocity, acceleration, quaternion, rate, angular acceleration, speed;
        - a sample of a motion node, as latest("car/motion") gives it, or a scalar of dtype otolith.TRUTH;
        - None: the vehicle holds its last truth for one tick, flagged stale.

        `continues`: the first truth goes on smoothly from that of the world; `jumps`: a later one does not from the previous.
        """
        if truth is None:
            self._call(c.sim.oto_sim_drive, vehicle.encode(), None, 0, 1)
            return
        flags = self._take_truth(truth) | _CONTINUES * continues | _JUMPS * jumps
        self._call(c.sim.oto_sim_drive, vehicle.encode(), self._truth, flags, _unsigned(ticks, "ticks"))

    def control(self, vehicle: str, values: Sequence[float]) -> None:
        """
        Gives a vehicle its controls, which hold from the next tick until the next call: for motion_multirotor 0 to 1 for each
        rotor. `values`: at most 16 finite numbers, the others are 0. Raises OtolithError if the motion takes no controls.
        """
        numbers = (ct.c_double * len(values))(*values)
        self._call(c.sim.oto_sim_control, vehicle.encode(), numbers, len(values))

    def _take_truth(self, truth: Any) -> int:
        """Writes the record; returns which parts of it are given."""
        record = self._truth
        if isinstance(truth, collections.abc.Mapping):
            unknown, flags = truth.keys() - _TRUTH_PARTS.keys(), 0
            if unknown:
                raise ValueError(f"drive: a truth has no {', '.join(sorted(unknown))}; {', '.join(_TRUTH_PARTS)} are accepted")
            for name, (numbers, flag) in _TRUTH_PARTS.items():
                if name in truth:
                    record[numbers] = truth[name] if numbers.stop - numbers.start > 1 else (truth[name],)
                    flags |= flag or 0
                elif flag is None:
                    raise ValueError(f"drive: the truth needs {name}")
            return flags
        names = getattr(getattr(truth, "dtype", None), "names", None)
        if names is None:
            values = np.asarray(truth, np.float64)
            if values.shape != (_TRUTH_NUMBERS,):
                raise ValueError(f"drive: a truth has {_TRUTH_NUMBERS} numbers, not shape {values.shape}")
            record[:_TRUTH_NUMBERS] = values.tolist()
        else:
            offset = 0 if names == TRUTH.names else _dtype.HEAD_BYTES
            expected = TRUTH.itemsize + offset
            if truth.dtype.itemsize != expected or truth.size != 1:
                raise ValueError("drive: expected one sample of a motion node or one scalar of dtype TRUTH")
            ct.memmove(record, truth.tobytes()[offset:], TRUTH.itemsize)
        return _HAS_ALL

    # ---- checkpoints ----

    def save(self) -> bytes:
        """The state as the bytes of a checkpoint file, which `otolith run --restore` reads too."""
        data, count = ct.c_void_p(), ct.c_size_t()
        self._call(c.sim.oto_sim_save, ct.byref(data), ct.byref(count))
        try:
            return ct.string_at(data, count.value)
        finally:
            c.free(data)

    def restore(self, checkpoint: bytes) -> None:
        """Goes on from a checkpoint of the same world, of any seed of it; if that fails the world is as it was."""
        self._move += 1
        self._call(c.sim.oto_sim_restore, checkpoint, len(checkpoint))
        for channel in self.channels:
            channel._forget()
