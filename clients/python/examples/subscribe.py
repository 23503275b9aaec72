#!/usr/bin/python3
"""Subscribes without libotolith: ctypes on libnng and Python's msgpack. usage: subscribe.py URL [TOPIC] [COUNT]"""
import ctypes as ct, sys
import msgpack

nng = ct.CDLL("libnng.so.1")
class Socket(ct.Structure):
    _fields_ = [("id", ct.c_uint32)]
nng.nng_socket_set.argtypes = [Socket, ct.c_char_p, ct.c_void_p, ct.c_size_t]
nng.nng_dial.argtypes = [Socket, ct.c_char_p, ct.c_void_p, ct.c_int]
nng.nng_recv.argtypes = [Socket, ct.c_void_p, ct.POINTER(ct.c_size_t), ct.c_int]
url, topic, count = (sys.argv[1:] + ["", "0"][len(sys.argv) - 2:])[:3]
socket, data, size = Socket(), ct.create_string_buffer(1 << 20), ct.c_size_t()
assert nng.nng_sub0_open(ct.byref(socket)) == 0
assert nng.nng_socket_set(socket, b"sub:subscribe", topic.encode(), len(topic)) == 0
assert nng.nng_dial(socket, url.encode(), None, 2) == 0, f"cannot dial {url}"
for _ in range(int(count)) if int(count) else iter(int, 1):
    size.value = len(data)
    assert nng.nng_recv(socket, data, ct.byref(size), 0) == 0
    name, body = data.raw[:size.value].split(b"\0", 1)
    print(name.decode(), msgpack.unpackb(body), flush=True)
