"""Motion models without a world."""
import ctypes as ct
import json

import numpy as np

from . import _library as c
from ._errors import OtolithError, check


def _numbers(array):
    return array.ctypes.data_as(ct.POINTER(ct.c_double))


class Model:
    """
    A motion model with a state of its own: Model("catr"), Model("kinematic_bicycle", front_axle_m=1.4, delta=0.1).
    `names` and `units` describe the state. Time steps are integer nanoseconds; 0 and negative ones are allowed.
    """

    def __init__(self, name, **params):
        self._handle = None
        handle, error = ct.c_void_p(), c.Error()
        check(c.sim.oto_model_open(name.encode(), None, None, None, ct.byref(handle), ct.byref(error)), error)
        self._handle = handle
        for key, value in params.items():
            self.set(key, value)

    def close(self):
        if self._handle is not None:
            c.sim.oto_model_close(self._handle)
            self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    def _open(self):
        if self._handle is None:
            raise OtolithError("the model is closed", c.CLOSED)
        return self._handle

    def _call(self, function, *arguments):
        error = c.Error()
        check(function(self._open(), *arguments, ct.byref(error)), error)

    def set(self, key, value):
        """A parameter by its key or short name; the state stays."""
        self._call(c.sim.oto_model_set, key.encode(), (value if isinstance(value, str) else json.dumps(value)).encode())

    def __len__(self):
        return c.sim.oto_model_size(self._open())

    def _quantities(self):
        return [c.sim.oto_model_quantity(self._open(), i).contents for i in range(len(self))]

    @property
    def names(self):
        return tuple(quantity.name.decode() for quantity in self._quantities())

    @property
    def units(self):
        return {quantity.name.decode(): quantity.unit.decode() for quantity in self._quantities()}

    @property
    def state(self):
        """A copy; assigning to it resets the model."""
        values = np.empty(len(self))
        c.sim.oto_model_state(self._open(), _numbers(values))
        return values

    @state.setter
    def state(self, values):
        self.reset(values)

    def reset(self, values):
        values = np.ascontiguousarray(values, dtype=np.float64)
        if values.shape != (len(self),):
            raise ValueError(f"the state has {len(self)} numbers ({', '.join(self.names)}), not shape {values.shape}")
        self._call(c.sim.oto_model_reset, _numbers(values))

    def __getitem__(self, key):
        """One number of the state, by place or name."""
        index = ct.c_uint32(key if isinstance(key, int) and key >= 0 else 0)
        if isinstance(key, str):
            self._call(c.sim.oto_model_index, key.encode(), ct.byref(index))
        elif index.value != key or key >= len(self):
            raise IndexError(f"the state has places 0 to {len(self) - 1}, not {key}")
        value = ct.c_double()
        self._call(c.sim.oto_model_get, index, ct.byref(value))
        return value.value

    def derived(self):
        """What follows from the state, by name: speed, heading, …"""
        extension = c.sim.oto_model_of(self._open()).contents
        values = np.empty(max(1, extension.derived_count))
        c.sim.oto_model_derived(self._open(), _numbers(values))
        return {extension.derived[i].name.decode(): float(values[i]) for i in range(extension.derived_count)}

    def predict(self, dt_ns):
        """Moves the state on."""
        self._call(c.sim.oto_model_predict, dt_ns)

    def predicted(self, dt_ns):
        """The state after dt_ns; the model's own stays."""
        values = np.empty(len(self))
        self._call(c.sim.oto_model_predict_to, dt_ns, _numbers(values))
        return values

    def jacobian(self, dt_ns):
        """[i, j] = d next[i] / d state[j]."""
        values = np.empty((len(self), len(self)))
        self._call(c.sim.oto_model_jacobian, dt_ns, _numbers(values))
        return values

    def jacobian_and_predict(self, dt_ns):
        """The Jacobian at the old state; the state moves on."""
        values = np.empty((len(self), len(self)))
        self._call(c.sim.oto_model_jacobian_and_predict, dt_ns, _numbers(values))
        return values

    def roll_out(self, dt_ns, steps):
        """The states after 1, 2, … steps, a row each; the model's own stays."""
        values = np.empty((steps, len(self)))
        self._call(c.sim.oto_model_roll_out, dt_ns, steps, _numbers(values))
        return values
