"""
otolith from Python: run worlds in this process (Sim), or attach to a running one (World): read its samples from shared memory as
NumPy arrays, control it, and subscribe over nng. A ctypes layer over libotolith-sim and libotolith; see README.md beside this
package.
"""
from ._errors import Closed, NotFound, OtolithError, Timeout
from ._model import Model
from ._participant import TRUTH, Participant
from ._sim import Event, Samples, Sim, SimChannel
from ._subscriber import Sample, Subscriber
from ._version import VERSION
from ._world import Channel, Param, Reader, Reply, World, worlds

__all__ = ["Channel", "Closed", "Event", "Model", "NotFound", "OtolithError", "Param", "Participant", "Reader", "Reply", "Sample",
           "Samples", "Sim", "SimChannel", "Subscriber", "TRUTH", "Timeout", "World", "worlds"]
__version__ = VERSION
