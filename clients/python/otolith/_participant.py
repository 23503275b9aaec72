"""Taking part in a world: giving vehicles their truth, keeping step with its ticks, or driving its clock."""
from __future__ import annotations

import ctypes as ct
import os
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _library as c
from ._errors import Closed, check
from ._handle import Handle
from ._world import World, _encode

_RECORD = 25  # doubles of struct oto_truth_record; the last five are spare
TRUTH = np.dtype([("position_enu_m", "f8", 3), ("velocity_enu_m_s", "f8", 3), ("accel_enu_m_s2", "f8", 3),
                  ("q_enu_from_body", "f8", 4), ("angular_rate_body_rad_s", "f8", 3),
                  ("angular_accel_body_rad_s2", "f8", 3), ("longitudinal_speed_m_s", "f8"), ("spare", "f8", 5)])
_HAS_ACCEL, _HAS_ANGULAR_ACCEL, _HAS_SPEED, _CONTINUES, _JUMPS = 1, 2, 4, 8, 16
_SLICE_MS = 200  # in which an interrupt is noticed
_ROLES = (None, "physics", "controller", "master")


class Participant(Handle):
    """
    One participant of a world, by the name that its file gives it; for one thread. It leaves when it is closed.

    `step_n`: ticks of one answer; `answer_s`: how long a tick waits for it; `on_timeout`: "hold" or "drop" in place of the
    world's policy. None: as the world file has it. `vehicles`: names of those whose truth it gives; `controlled`: name of the one
    whose controls it gives, or None. `world` names the world, as for World. Raises NotFound without such a world, and
    OtolithError if the server refuses the participant.
    """

    def __init__(self, name: str, world: Optional[str] = None, *, role: Optional[str] = None, step_n: Optional[int] = None,
                 answer_s: Optional[float] = None, on_timeout: Optional[str] = None, timeout_s: float = 20.0,
                 socket_path: Union[str, os.PathLike, None] = None):
        self._handle: Optional[ct.c_void_p] = None
        self.world: World = None  # type: ignore[assignment]  # until the participant has joined
        handle, error = ct.c_void_p(), c.Error()
        options = c.ParticipantOptions(ct.sizeof(c.ParticipantOptions), max(1, int(timeout_s * 1000)), _encode(world),
                                       _encode(socket_path), _encode(name), _encode(role), step_n or 0,
                                       -1 if answer_s is None else round(answer_s * 1000), _encode(on_timeout))
        check(c.lib.oto_participant_join(ct.byref(options), ct.byref(handle), ct.byref(error)), error)
        self._handle = handle
        self.world = World._borrow(ct.c_void_p(c.lib.oto_participant_client(handle)))
        self.role = _ROLES[c.lib.oto_participant_role_of(handle)]
        count = c.lib.oto_participant_vehicle_count(handle)
        self.vehicles = [c.lib.oto_participant_vehicle(handle, i).decode() for i in range(count)]
        controlled = c.lib.oto_participant_controlled(handle)
        self.controlled = controlled.decode() if controlled is not None else None
        self._grant, self._error = c.Grant(), c.Error()
        self._refs = ct.byref(self._grant), ct.byref(self._error)
        self._truth: Any = (ct.c_double * _RECORD)()
        self._address = ct.addressof(self._truth)

    def close(self) -> None:
        """Leaves the world."""
        if self.world is not None:
            self.world.close()
        if self._handle is not None:
            c.lib.oto_participant_leave(self._handle)
            self._handle = None

    def _open(self) -> ct.c_void_p:
        if self._handle is None:
            raise Closed("the participant has left", c.CLOSED)
        return self._handle

    def _index(self, vehicle: Union[int, str]) -> int:
        return vehicle if isinstance(vehicle, int) else self.vehicles.index(vehicle)

    def wait(self, timeout_s: float = 10.0) -> c.Grant:
        """The next grant: tick, until, t_ns, until_ns, dt_s. Raises Timeout, Closed, or OtolithError that says why the
        last answer was refused; another try is then granted. The object is filled anew by the next wait."""
        handle, left_ms = self._open(), int(timeout_s * 1000)
        while True:
            status = c.lib.oto_participant_wait(handle, min(left_ms, _SLICE_MS), *self._refs)
            left_ms -= _SLICE_MS
            if status == c.OK:
                return self._grant
            if status != c.TIMEOUT or left_ms <= 0:
                check(status, self._error)

    def truth(self, vehicle: Union[int, str] = 0) -> np.void:
        """The vehicle's truth at grant.tick, as the server has it: a scalar of dtype TRUTH."""
        address = c.lib.oto_participant_truth(self._open(), self._index(vehicle))
        return np.frombuffer(ct.string_at(address, TRUTH.itemsize), TRUTH)[0]

    def set(self, position_enu_m: Sequence[float], velocity_enu_m_s: Sequence[float], q_enu_from_body: Sequence[float],
            angular_rate_body_rad_s: Sequence[float], accel_enu_m_s2: Optional[Sequence[float]] = None,
            angular_accel_body_rad_s2: Optional[Sequence[float]] = None, longitudinal_speed_m_s: Optional[float] = None, *,
            vehicle: Union[int, str] = 0, continues: bool = False, jumps: bool = False) -> None:
        """
        The vehicle's truth at grant.until. The quaternion is (w, x, y, z). Accelerations that are not given follow from the
        velocities. `continues`: the first record continues truth(); `jumps`: a later one does not continue the previous one.
        """
        record, flags = self._truth, _CONTINUES * continues | _JUMPS * jumps
        record[0:3], record[3:6] = position_enu_m, velocity_enu_m_s
        record[9:13], record[13:16] = q_enu_from_body, angular_rate_body_rad_s
        if accel_enu_m_s2 is not None:
            record[6:9] = accel_enu_m_s2
            flags |= _HAS_ACCEL
        if angular_accel_body_rad_s2 is not None:
            record[16:19] = angular_accel_body_rad_s2
            flags |= _HAS_ANGULAR_ACCEL
        if longitudinal_speed_m_s is not None:
            record[19] = longitudinal_speed_m_s
            flags |= _HAS_SPEED
        status = c.lib.oto_participant_set(self._open(), self._index(vehicle), self._address, flags)
        if status != c.OK:
            check(status, None, f"setting the truth of vehicle {vehicle}")

    def control(self, values: Sequence[float]) -> None:
        """
        Gives the vehicle `controlled` its controls, which hold from the next tick until the next call: for motion_multirotor 0 to
        1 for each rotor. `values`: at most 16 finite numbers, the others are 0. Raises OtolithError if there is no such vehicle.
        """
        status = c.lib.oto_participant_control(self._open(), (ct.c_double * len(values))(*values), len(values))
        if status != c.OK:
            check(status, None, f"controlling vehicle {self.controlled}")

    def done(self, tick: Optional[int] = None) -> None:
        """Answers for the grant, or only up to `tick` of it."""
        status = c.lib.oto_participant_done(self._open(), self._grant.until if tick is None else tick)
        if status != c.OK:
            check(status, None, "answering without a grant")

    # ---- the clock's master, in mode external ----

    @property
    def completed(self) -> int:
        """Number of completed ticks."""
        return c.lib.oto_participant_completed(self._open())

    def run(self, ticks: int = 1, timeout_s: float = 10.0) -> int:
        """Grants `ticks` ticks, waits until they are completed, and returns the tick then. Raises Timeout."""
        until, error, left_ms = self.completed + ticks, c.Error(), int(timeout_s * 1000)
        check(c.lib.oto_participant_run_until(self._open(), until, ct.byref(error)), error)
        while True:
            status = c.lib.oto_participant_wait_completed(self._handle, until, min(left_ms, _SLICE_MS), ct.byref(error))
            left_ms -= _SLICE_MS
            if status == c.OK:
                return until
            if status != c.TIMEOUT or left_ms <= 0:
                check(status, error)
