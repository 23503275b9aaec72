"""Motion models without a world."""
from __future__ import annotations

import ctypes as ct
import json
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _library as c
from ._errors import Closed, check
from ._handle import Handle


def _numbers(array: np.ndarray) -> Any:
    return array.ctypes.data_as(ct.POINTER(ct.c_double))


class Model(Handle):
    """
    A motion model with a state of its own: Model("catr"), Model("kinematic_bicycle", front_axle_m=1.4, delta=0.1).
    `names` and `units` describe the state, `len(model)` is its number of elements n. Time steps are integer nanoseconds; 0 and
    negative ones are allowed. Raises NotFound for an unknown model, and OtolithError with the library's sentence otherwise.
    """

    def __init__(self, name: str, **params: Any):
        self._handle: Optional[ct.c_void_p] = None
        handle, error = ct.c_void_p(), c.Error()
        check(c.sim.oto_model_open(name.encode(), None, None, None, ct.byref(handle), ct.byref(error)), error)
        self._handle = handle
        for key, value in params.items():
            self.set(key, value)

    def close(self) -> None:
        """Frees the model."""
        if self._handle is not None:
            c.sim.oto_model_close(self._handle)
            self._handle = None

    def _open(self) -> ct.c_void_p:
        if self._handle is None:
            raise Closed("the model is closed", c.CLOSED)
        return self._handle

    def _call(self, function: Any, *arguments: Any) -> None:
        error = c.Error()
        check(function(self._open(), *arguments, ct.byref(error)), error)

    def set(self, key: str, value: Any) -> None:
        """A parameter by its key or short name; the state stays."""
        self._call(c.sim.oto_model_set, key.encode(), (value if isinstance(value, str) else json.dumps(value)).encode())

    def __len__(self) -> int:
        return c.sim.oto_model_size(self._open())

    def _quantities(self) -> list[c.ModelQuantity]:
        return [c.sim.oto_model_quantity(self._open(), i).contents for i in range(len(self))]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the state's elements, in order."""
        return tuple(quantity.name.decode() for quantity in self._quantities())

    @property
    def units(self) -> dict[str, str]:
        """Unit of each element of the state, by name."""
        return {quantity.name.decode(): quantity.unit.decode() for quantity in self._quantities()}

    @property
    def state(self) -> np.ndarray:
        """The state, shape (n,), as a copy; assigning to it resets the model."""
        values = np.empty(len(self))
        c.sim.oto_model_state(self._open(), _numbers(values))
        return values

    @state.setter
    def state(self, values: npt.ArrayLike) -> None:
        self.reset(values)

    def reset(self, values: npt.ArrayLike) -> None:
        """Sets the whole state, n numbers in the order of `names`. Raises ValueError for another shape."""
        values = np.ascontiguousarray(values, dtype=np.float64)
        if values.shape != (len(self),):
            raise ValueError(f"the state has {len(self)} numbers ({', '.join(self.names)}), not shape {values.shape}")
        self._call(c.sim.oto_model_reset, _numbers(values))

    def __getitem__(self, key: Union[int, str]) -> float:
        """One number of the state, by place or name."""
        index = ct.c_uint32(key if isinstance(key, int) and key >= 0 else 0)
        if isinstance(key, str):
            self._call(c.sim.oto_model_index, key.encode(), ct.byref(index))
        elif index.value != key or key >= len(self):
            raise IndexError(f"the state has places 0 to {len(self) - 1}, not {key}")
        value = ct.c_double()
        self._call(c.sim.oto_model_get, index, ct.byref(value))
        return value.value

    def derived(self) -> dict[str, float]:
        """What follows from the state, by name: speed, heading, …"""
        extension = c.sim.oto_model_of(self._open()).contents
        values = np.empty(max(1, extension.derived_count))
        c.sim.oto_model_derived(self._open(), _numbers(values))
        return {extension.derived[i].name.decode(): float(values[i]) for i in range(extension.derived_count)}

    def predict(self, dt_ns: int) -> None:
        """Moves the state by dt_ns nanoseconds."""
        self._call(c.sim.oto_model_predict, dt_ns)

    def predicted(self, dt_ns: int) -> np.ndarray:
        """The state after dt_ns, shape (n,); the model's own stays."""
        values = np.empty(len(self))
        self._call(c.sim.oto_model_predict_to, dt_ns, _numbers(values))
        return values

    def jacobian(self, dt_ns: int) -> np.ndarray:
        """Shape (n, n): [i, j] = d next[i] / d state[j]."""
        values = np.empty((len(self), len(self)))
        self._call(c.sim.oto_model_jacobian, dt_ns, _numbers(values))
        return values

    def jacobian_and_predict(self, dt_ns: int) -> np.ndarray:
        """The Jacobian, shape (n, n), at the old state; the state moves on."""
        values = np.empty((len(self), len(self)))
        self._call(c.sim.oto_model_jacobian_and_predict, dt_ns, _numbers(values))
        return values

    def roll_out(self, dt_ns: int, steps: int) -> np.ndarray:
        """The states after 1, 2, … steps, shape (steps, n); the model's own stays."""
        values = np.empty((steps, len(self)))
        self._call(c.sim.oto_model_roll_out, dt_ns, steps, _numbers(values))
        return values
