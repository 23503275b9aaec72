"""
otolith from Python: attach to a running world, read its samples from shared memory as NumPy arrays, control it, and
subscribe over nng. A ctypes layer over libotolith; see README.md beside this package.
"""
from ._errors import Closed, NotFound, OtolithError, Timeout
from ._model import Model
from ._participant import Participant
from ._subscriber import Sample, Subscriber
from ._world import Channel, Param, Reader, Reply, World, worlds

__all__ = ["Channel", "Closed", "Model", "NotFound", "OtolithError", "Param", "Participant", "Reader", "Reply", "Sample",
           "Subscriber", "Timeout", "World", "worlds"]
__version__ = "0.1.0"
