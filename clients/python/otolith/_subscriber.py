"""Samples over nng, from this machine or another."""
import collections
import ctypes as ct
import time

import numpy as np

from . import _dtype
from . import _library as c
from ._errors import OtolithError, check

Sample = collections.namedtuple("Sample", "topic frame_id lost epoch data")


class Subscriber:
    """
    Subscribes to a topic, or to all below a prefix that ends in '/'. Iterating gives samples for ever; `data` is a
    scalar of the channel's dtype, `lost` how many are missing before it.
    """

    def __init__(self, url, topic=""):
        self._handle = None
        handle, error = ct.c_void_p(), c.Error()
        check(c.lib.oto_subscriber_open(url.encode(), topic.encode(), ct.byref(handle), ct.byref(error)), error)
        self._handle = handle
        self._dtypes = {}
        self.corrupt = 0  # frames that could not be decoded

    def close(self):
        if self._handle is not None:
            c.lib.oto_subscriber_close(self._handle)
            self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    def _dtype_of(self, sample):
        record_type = sample.type.contents
        key = (sample.topic, tuple((f.name, f.type, f.count, f.offset) for f in _dtype.fields_of(record_type)))
        if key not in self._dtypes:
            self._dtypes[key] = _dtype.sample_dtype(record_type)
        return self._dtypes[key]

    def next(self, timeout_s=5.0):
        """The next sample; Timeout if none comes."""
        if self._handle is None:
            raise OtolithError("the subscriber is closed", c.CLOSED)
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

    def __iter__(self):
        while True:
            yield self.next()
