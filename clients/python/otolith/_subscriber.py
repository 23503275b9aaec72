"""Samples over nng, from this machine or another."""
from __future__ import annotations

import ctypes as ct
import os
import time
from typing import Any, Iterator, NamedTuple, Optional, Union

import numpy as np

from . import _dtype
from . import _library as c
from ._errors import Closed, check
from ._handle import Handle

_Path = Union[str, "os.PathLike[str]"]


class Sample(NamedTuple):
    """One sample: `lost` is the number of samples missing before it, `data` a scalar of the channel's dtype."""

    topic: str
    frame_id: str
    lost: int
    epoch: int
    data: np.void


class Subscriber(Handle):
    """
    Subscribes to a topic, or to all topics below a prefix that ends in '/', at `url`: "ipc:///PATH", "tcp://HOST:PORT" or
    "tls+tcp://HOST:PORT". The PEM files for TLS are those of the command line: `ca` signs the server's certificate (default: the
    authorities of the system), `cert` and `key` are this client's, `crl` has revocation lists. Iterating gives samples without end.
    `corrupt` is the number of frames that could not be decoded. Raises OtolithError for an address or file that cannot be used.
    """

    def __init__(self, url: str, topic: str = "", *, ca: Optional[_Path] = None, cert: Optional[_Path] = None,
                 key: Optional[_Path] = None, crl: Optional[_Path] = None):
        self._handle: Optional[ct.c_void_p] = None
        tls = c.tls_files(ca, cert, key, crl)
        handle, error = ct.c_void_p(), c.Error()
        check(c.lib.oto_subscriber_open_tls(url.encode(), topic.encode(), ct.byref(tls), ct.byref(handle), ct.byref(error)), error)
        self._handle = handle
        self._dtypes: dict[Any, np.dtype] = {}
        self.corrupt: int = 0  # frames that could not be decoded

    def close(self) -> None:
        """Ends the subscription."""
        if self._handle is not None:
            c.lib.oto_subscriber_close(self._handle)
            self._handle = None

    def _dtype_of(self, sample: c.WireSample) -> np.dtype:
        record_type = sample.type.contents
        key = (sample.topic, tuple((f.name, f.type, f.count, f.offset) for f in _dtype.fields_of(record_type)))
        if key not in self._dtypes:
            self._dtypes[key] = _dtype.sample_dtype(record_type)
        return self._dtypes[key]

    def next(self, timeout_s: float = 5.0) -> Sample:
        """The next sample. Raises Timeout if there is none within `timeout_s` seconds of real time."""
        if self._handle is None:
            raise Closed("the subscriber is closed", c.CLOSED)
        sample, error = c.WireSample(), c.Error()
        until = time.monotonic() + timeout_s
        status = c.CORRUPT
        while status == c.CORRUPT:
            left_ms = max(0, int((until - time.monotonic()) * 1000))
            status = c.lib.oto_subscriber_next(self._handle, left_ms, ct.byref(sample), ct.byref(error))
            self.corrupt += status == c.CORRUPT
        check(status, error)
        raw = bytes(sample.head) + ct.string_at(sample.payload, sample.type.contents.bytes)
        return Sample(sample.topic.decode(), sample.frame_id.decode(errors="replace"), sample.lost, sample.epoch,
                      np.frombuffer(raw, self._dtype_of(sample))[0])

    def __iter__(self) -> Iterator[Sample]:
        while True:
            yield self.next()
