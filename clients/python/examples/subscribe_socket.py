#!/usr/bin/python3
"""Subscribes with nothing but a TCP socket and msgpack: the SP protocol is that small. usage: subscribe_socket.py HOST PORT [COUNT]"""
import itertools
import socket
import sys

import msgpack

host, port, count = sys.argv[1], int(sys.argv[2]), int((sys.argv[3:] or ["0"])[0])
stream = socket.create_connection((host, port)).makefile("rwb", buffering=65536)
stream.write(b"\0SP\0\0\x21\0\0")  # what we are: a subscriber (0x21) of the scalability protocols
stream.flush()
assert stream.read(8) == b"\0SP\0\0\x20\0\0", "there is no publisher"
for _ in itertools.islice(itertools.count(), count or None):
    size = int.from_bytes(stream.read(8), "big")
    topic, body = stream.read(size).split(b"\0", 1)
    print(topic.decode(), msgpack.unpackb(body), flush=True)
