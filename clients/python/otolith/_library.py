"""
libotolith and libotolith-sim by ctypes: the structures of include/otolith and the functions used here. Each library is loaded
when its first function is used, so that the package works where only one of them is there.
"""
import ctypes as ct
import os
import sysconfig

TOPIC_BYTES, WORLD_NAME_BYTES = 96, 64
STATUS = ("ok", "invalid", "not found", "exists", "no memory", "input/output", "syntax", "range", "limit", "version",
          "corrupt", "denied", "timeout", "again", "lapped", "closed", "conflict", "unsupported", "plugin")
OK, NOT_FOUND, CORRUPT, TIMEOUT, AGAIN, CLOSED = 0, 2, 10, 12, 13, 15


class Error(ct.Structure):
    _fields_ = [("status", ct.c_int), ("text", ct.c_char * 512)]


class Field(ct.Structure):
    _fields_ = [("name", ct.c_char_p), ("type", ct.c_uint32), ("count", ct.c_uint32), ("offset", ct.c_uint32),
                ("unit", ct.c_char_p), ("frame", ct.c_char_p), ("text", ct.c_char_p)]


class RecordType(ct.Structure):
    _fields_ = [("name", ct.c_char_p), ("bytes", ct.c_uint32), ("field_count", ct.c_uint32),
                ("fields", ct.POINTER(Field))]


class RingView(ct.Structure):
    _fields_ = [("ring", ct.c_void_p), ("slots", ct.c_void_p), ("mask", ct.c_uint64), ("stride", ct.c_uint32),
                ("payload_bytes", ct.c_uint32)]


class Channel(ct.Structure):
    _fields_ = [("index", ct.c_uint32), ("node_index", ct.c_uint32), ("flags", ct.c_uint32),
                ("capacity", ct.c_uint32), ("topic", ct.c_char * TOPIC_BYTES), ("node", ct.c_char * TOPIC_BYTES),
                ("plugin", ct.c_char * 32), ("plugin_version", ct.c_char * 16),
                ("frame_id", ct.c_char * WORLD_NAME_BYTES), ("type_hash", ct.c_uint64), ("rate_num", ct.c_uint64),
                ("rate_den", ct.c_uint64), ("type", RecordType), ("view", RingView), ("epoch", ct.c_uint64), ("lineage", ct.c_uint64)]


class SampleHead(ct.Structure):
    _fields_ = [("t_ns", ct.c_int64), ("sensor_time_ns", ct.c_int64), ("seq", ct.c_uint64), ("flags", ct.c_uint32),
                ("bytes", ct.c_uint32)]


class Cursor(ct.Structure):
    _fields_ = [("next", ct.c_uint64), ("lost", ct.c_uint64)]


class Reader(ct.Structure):
    _fields_ = [("channel", ct.POINTER(Channel)), ("cursor", Cursor), ("lineage", ct.c_uint64)]


class Clock(ct.Structure):
    _fields_ = [("tick", ct.c_uint64), ("sim_time_ns", ct.c_int64), ("start_mono_ns", ct.c_int64),
                ("work_ns", ct.c_int64), ("real_time_factor", ct.c_double), ("scale", ct.c_double),
                ("state_hash", ct.c_uint64)]


class TlsFiles(ct.Structure):
    _fields_ = [("size", ct.c_uint32), ("ca", ct.c_char_p), ("cert", ct.c_char_p), ("key", ct.c_char_p), ("crl", ct.c_char_p)]


def tls_files(ca, cert, key, crl):
    """The PEM files as the library takes them; None: none."""
    if (cert is None) != (key is None):
        raise ValueError("cert and key belong together")
    return TlsFiles(ct.sizeof(TlsFiles), *(None if path is None else os.fsencode(path) for path in (ca, cert, key, crl)))


class ClientOptions(ct.Structure):
    _fields_ = [("size", ct.c_uint32), ("timeout_ms", ct.c_int32), ("world", ct.c_char_p),
                ("socket_path", ct.c_char_p), ("name", ct.c_char_p), ("role", ct.c_char_p), ("url", ct.c_char_p),
                ("tls", ct.POINTER(TlsFiles))]


class SegmentHeader(ct.Structure):
    """The members up to the last one that is used here."""
    _fields_ = [("magic", ct.c_uint64), ("major", ct.c_uint16), ("minor", ct.c_uint16), ("header_bytes", ct.c_uint32),
                ("endian", ct.c_uint32), ("page_bytes", ct.c_uint32), ("segment_bytes", ct.c_uint64), ("epoch", ct.c_uint64)]


class ParticipantOptions(ct.Structure):
    _fields_ = [("size", ct.c_uint32), ("timeout_ms", ct.c_int32), ("world", ct.c_char_p),
                ("socket_path", ct.c_char_p), ("name", ct.c_char_p), ("role", ct.c_char_p), ("step_n", ct.c_uint32),
                ("answer_ms", ct.c_int32), ("on_timeout", ct.c_char_p)]


class Grant(ct.Structure):
    """What is asked for: the truth at tick `until`, `dt_s` after that of tick `tick`."""
    _fields_ = [("tick", ct.c_uint64), ("until", ct.c_uint64), ("t_ns", ct.c_int64), ("until_ns", ct.c_int64),
                ("dt_s", ct.c_double)]


class WorldEntry(ct.Structure):
    _fields_ = [("name", ct.c_char * WORLD_NAME_BYTES), ("pid", ct.c_int64), ("alive", ct.c_bool)]


class Reply(ct.Structure):
    _fields_ = [("tick", ct.c_uint64), ("text", ct.c_char * 4096)]


class ParamInfo(ct.Structure):
    _fields_ = [("key", ct.c_char * 96), ("value", ct.c_char * 512), ("unit", ct.c_char * 32),
                ("text", ct.c_char * 160), ("runtime", ct.c_bool)]


class WireSample(ct.Structure):
    _fields_ = [("topic", ct.c_char_p), ("epoch", ct.c_uint64), ("lost", ct.c_uint64), ("head", SampleHead),
                ("type", ct.POINTER(RecordType)), ("payload", ct.c_void_p), ("frame_id", ct.c_char_p)]


class ModelQuantity(ct.Structure):
    _fields_ = [("name", ct.c_char_p), ("unit", ct.c_char_p), ("frame", ct.c_char_p), ("text", ct.c_char_p)]


class ModelExtension(ct.Structure):
    """The members that are used here; its operations come after them."""
    _fields_ = [("size", ct.c_uint32), ("flags", ct.c_uint32), ("state_count", ct.c_uint32),
                ("derived_count", ct.c_uint32), ("states", ct.POINTER(ModelQuantity)),
                ("derived", ct.POINTER(ModelQuantity))]


class SimOptions(ct.Structure):
    _fields_ = [("size", ct.c_uint32), ("override_count", ct.c_uint32), ("path", ct.c_char_p), ("text", ct.c_char_p),
                ("overrides", ct.POINTER(ct.c_char_p)), ("has_seed", ct.c_bool), ("seed", ct.c_uint64), ("warn", ct.c_void_p),
                ("warn_context", ct.c_void_p)]


class SimChannel(ct.Structure):
    _fields_ = [("index", ct.c_uint32), ("flags", ct.c_uint32), ("topic", ct.c_char_p), ("node", ct.c_char_p),
                ("frame_id", ct.c_char_p), ("type", ct.POINTER(RecordType)), ("rate_num", ct.c_uint64),
                ("rate_den", ct.c_uint64), ("capacity", ct.c_uint32)]


class Swap(ct.Structure):
    _fields_ = [("size", ct.c_uint32), ("unit", ct.c_uint32), ("plugin", ct.c_char_p), ("params", ct.c_char_p),
                ("part", ct.c_char_p), ("mode", ct.c_char_p), ("probation_ns", ct.c_int64), ("shadow_ns", ct.c_int64),
                ("shadow_tolerance", ct.c_double), ("budget_ns", ct.c_int64), ("has_unit", ct.c_bool),
                ("reset_state", ct.c_bool), ("no_probe", ct.c_bool), ("wait", ct.c_bool), ("undo", ct.c_bool),
                ("cancel", ct.c_bool)]


CHANNEL_TRUTH, CHANNEL_ENABLED = 1 << 0, 1 << 2
WARN_FUNCTION = ct.CFUNCTYPE(None, ct.c_void_p, ct.c_char_p)
PARAM_FUNCTION = ct.CFUNCTYPE(None, ct.c_void_p, ct.POINTER(ParamInfo))

_P = ct.c_void_p
_ERROR = ct.POINTER(Error)
_REPLY = ct.POINTER(Reply)
_NUMBERS = ct.POINTER(ct.c_double)
_CLIENT = {
    "oto_worlds_list": (ct.c_size_t, ct.POINTER(WorldEntry), ct.c_size_t),
    "oto_client_open": (ct.c_int, ct.POINTER(ClientOptions), ct.POINTER(_P), _ERROR),
    "oto_client_close": (None, _P),
    "oto_client_header": (ct.POINTER(SegmentHeader), _P),
    "oto_client_server_alive": (ct.c_bool, _P),
    "oto_client_clock": (ct.c_int, _P, ct.POINTER(Clock)),
    "oto_client_wait_tick": (ct.c_int, _P, ct.c_uint64, ct.c_int32),
    "oto_client_run_is_over": (ct.c_bool, _P),
    "oto_client_reattach": (ct.c_int, _P, ct.c_int32, _ERROR),
    "oto_client_channel_count": (ct.c_uint32, _P),
    "oto_client_channel": (ct.POINTER(Channel), _P, ct.c_uint32),
    "oto_client_find": (ct.POINTER(Channel), _P, ct.c_char_p, _ERROR),
    "oto_channel_latest": (ct.c_int, ct.POINTER(Channel), ct.POINTER(SampleHead), _P, ct.c_size_t),
    "oto_reader_make": (Reader, ct.POINTER(Channel), ct.c_int),
    "oto_reader_position": (ct.c_uint64, ct.POINTER(Reader)),
    "oto_reader_read": (ct.c_size_t, ct.POINTER(Reader), _P, _P, ct.c_size_t),
    "oto_control_send": (ct.c_int, _P, ct.c_char_p, ct.POINTER(ct.c_char_p), ct.c_uint32, _REPLY, _ERROR),
    "oto_control_get": (ct.c_int, _P, ct.c_char_p, ct.c_char_p, PARAM_FUNCTION, _P, _ERROR),
    "oto_lossless_begin": (ct.c_int, _P, ct.POINTER(ct.POINTER(Channel)), ct.c_uint32, _ERROR),
    "oto_lossless_acknowledge": (ct.c_int, _P, ct.POINTER(ct.c_uint64), ct.c_uint32),
    "oto_participant_join": (ct.c_int, ct.POINTER(ParticipantOptions), ct.POINTER(_P), _ERROR),
    "oto_participant_leave": (None, _P),
    "oto_participant_client": (_P, _P),
    "oto_participant_role_of": (ct.c_int, _P),
    "oto_participant_vehicle_count": (ct.c_uint32, _P),
    "oto_participant_vehicle": (ct.c_char_p, _P, ct.c_uint32),
    "oto_participant_wait": (ct.c_int, _P, ct.c_int32, ct.POINTER(Grant), _ERROR),
    "oto_participant_truth": (_P, _P, ct.c_uint32),
    "oto_participant_set": (ct.c_int, _P, ct.c_uint32, _P, ct.c_uint32),
    "oto_participant_controlled": (ct.c_char_p, _P),
    "oto_participant_control": (ct.c_int, _P, _NUMBERS, ct.c_uint32),
    "oto_participant_done": (ct.c_int, _P, ct.c_uint64),
    "oto_participant_run_until": (ct.c_int, _P, ct.c_uint64, _ERROR),
    "oto_participant_completed": (ct.c_uint64, _P),
    "oto_participant_wait_completed": (ct.c_int, _P, ct.c_uint64, ct.c_int32, _ERROR),
    "oto_subscriber_open_tls": (ct.c_int, ct.c_char_p, ct.c_char_p, ct.POINTER(TlsFiles), ct.POINTER(_P), _ERROR),
    "oto_subscriber_close": (None, _P),
    "oto_subscriber_next": (ct.c_int, _P, ct.c_int32, ct.POINTER(WireSample), _ERROR),
}
_SIM = {
    "oto_sim_open": (ct.c_int, ct.POINTER(SimOptions), ct.POINTER(_P), _ERROR),
    "oto_sim_close": (None, _P),
    "oto_sim_step": (ct.c_int, _P, ct.c_uint64, _ERROR),
    "oto_sim_reset": (ct.c_int, _P, ct.c_uint64, _ERROR),
    "oto_sim_tick": (ct.c_uint64, _P),
    "oto_sim_time_ns": (ct.c_int64, _P),
    "oto_sim_seed": (ct.c_uint64, _P),
    "oto_sim_state_hash": (ct.c_uint64, _P),
    "oto_sim_world": (ct.c_char_p, _P),
    "oto_sim_channel_count": (ct.c_uint32, _P),
    "oto_sim_channel_at": (ct.c_int, _P, ct.c_uint32, ct.POINTER(SimChannel), _ERROR),
    "oto_sim_channel": (ct.c_int, _P, ct.c_char_p, ct.POINTER(SimChannel), _ERROR),
    "oto_sim_read_samples": (ct.c_size_t, _P, ct.c_uint32, _P, ct.c_size_t, _P),
    "oto_sim_unread": (ct.c_uint64, _P, ct.c_uint32, _P),
    "oto_sim_latest": (ct.c_int, _P, ct.c_uint32, _P, _P, _ERROR),
    "oto_sim_set": (ct.c_int, _P, ct.c_char_p, ct.c_char_p, ct.c_char_p, _ERROR),
    "oto_sim_get": (ct.c_int, _P, ct.c_char_p, ct.c_char_p, ct.c_char_p, ct.c_size_t, _ERROR),
    "oto_sim_swap": (ct.c_int, _P, ct.c_char_p, ct.POINTER(Swap), _ERROR),
    "oto_sim_fault": (ct.c_int, _P, ct.c_char_p, ct.c_char_p, ct.POINTER(ct.c_uint64), _ERROR),
    "oto_sim_clear_faults": (ct.c_int, _P, ct.c_char_p, ct.c_uint64, _ERROR),
    "oto_sim_drive": (ct.c_int, _P, ct.c_char_p, _P, ct.c_uint32, ct.c_uint64, _ERROR),
    "oto_sim_control": (ct.c_int, _P, ct.c_char_p, _NUMBERS, ct.c_uint32, _ERROR),
    "oto_sim_save": (ct.c_int, _P, ct.POINTER(_P), ct.POINTER(ct.c_size_t), _ERROR),
    "oto_sim_restore": (ct.c_int, _P, ct.c_char_p, ct.c_size_t, _ERROR),
    "oto_model_open": (ct.c_int, ct.c_char_p, ct.c_char_p, _P, _P, ct.POINTER(_P), _ERROR),
    "oto_model_close": (None, _P),
    "oto_model_set": (ct.c_int, _P, ct.c_char_p, ct.c_char_p, _ERROR),
    "oto_model_of": (ct.POINTER(ModelExtension), _P),
    "oto_model_size": (ct.c_uint32, _P),
    "oto_model_quantity": (ct.POINTER(ModelQuantity), _P, ct.c_uint32),
    "oto_model_index": (ct.c_int, _P, ct.c_char_p, ct.POINTER(ct.c_uint32), _ERROR),
    "oto_model_reset": (ct.c_int, _P, _NUMBERS, _ERROR),
    "oto_model_get": (ct.c_int, _P, ct.c_uint32, _NUMBERS, _ERROR),
    "oto_model_state": (None, _P, _NUMBERS),
    "oto_model_derived": (None, _P, _NUMBERS),
    "oto_model_predict": (ct.c_int, _P, ct.c_int64, _ERROR),
    "oto_model_predict_to": (ct.c_int, _P, ct.c_int64, _NUMBERS, _ERROR),
    "oto_model_jacobian": (ct.c_int, _P, ct.c_int64, _NUMBERS, _ERROR),
    "oto_model_jacobian_and_predict": (ct.c_int, _P, ct.c_int64, _NUMBERS, _ERROR),
    "oto_model_roll_out": (ct.c_int, _P, ct.c_int64, ct.c_uint64, _NUMBERS, _ERROR),
}


class _Library:
    """The functions of one library as attributes; it is loaded when the first of them is used."""

    def __init__(self, name, variable, functions):
        self._name, self._variable, self._functions = name, variable, functions

    def _candidates(self):
        """The environment variable, the build beside this checkout, the prefix of this package, then wherever ld.so looks."""
        if os.environ.get(self._variable):
            return [os.path.abspath(os.environ[self._variable])]  # plugins are found beside it, also after a chdir
        above = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))  # a checkout, or PREFIX/lib
        places = [os.path.join(above, "build", "release", "lib", f"{self._name}.so"), os.path.join(above, f"{self._name}.so.0"),
                  os.path.join(above, sysconfig.get_config_var("MULTIARCH") or "", f"{self._name}.so.0")]
        return [place for place in places if os.path.exists(place)] + [f"{self._name}.so.0"]

    def _load(self):
        reasons = []
        for path in self._candidates():
            try:
                return ct.CDLL(path)
            except OSError as reason:
                reasons.append(str(reason))
        raise ImportError(f"{self._name} is not found; build it with tools/run or name it in {self._variable}: "
                          + "; ".join(reasons))

    def __getattr__(self, name):
        if name not in self._functions:
            raise AttributeError(f"{self._name} has no function {name}")
        library = self._load()
        for each, (result, *arguments) in self._functions.items():
            function = getattr(library, each)
            function.restype, function.argtypes = result, arguments
            setattr(self, each, function)
        return getattr(self, name)


lib = _Library("libotolith", "OTOLITH_LIBRARY", _CLIENT)
sim = _Library("libotolith-sim", "OTOLITH_SIM_LIBRARY", _SIM)
free = ct.CDLL(None).free
free.restype, free.argtypes = None, (_P,)
