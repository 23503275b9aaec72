#!/usr/bin/python3
"""Writes the seeds in corpus/ that are not findings. Run by hand when a format changes. Those of fuzz_checkpoint come from a run of
the world in fuzz_checkpoint.c, those of fuzz_world_config are worlds, that of fuzz_elf is a linked function."""
import os
import struct

import msgpack

HERE = os.path.dirname(os.path.abspath(__file__))


def write(target, name, data):
    with open(os.path.join(HERE, "corpus", target, name), "wb") as file:
        file.write(data)


def message(op, **arguments):
    write("fuzz_control_message", op, msgpack.packb({"v": 1, "id": 9, "op": op, **arguments}))


message("attach", name="nngcat")
message("wake", on=True)
message("step", ticks=10)
message("scale", scale=0.5)
message("mode", mode="asap")
message("get", node="demo/car/imu", param="accelerometer.noise_density_m_s2_rthz", first=3)
message("set", node="demo/car/imu", param="accelerometer.constant_bias_m_s2", value="[1,0,0]")
message("swap", node="demo/car/imu", plugin="./mems_imu.so")
message("lossless", channels=[0, 1, 65535])
message("ack", next=[1, 2**40, 2**64 - 1])
message("reply", status=0, tick=7, text="done", keys=["a", "b"], values=["1", "[2]"], runtime=[0, 1])
write("fuzz_control_message", "claims_4g", b"\x84\xa1v\x01\xa2id\x01\xa2op\xa1x\xa1a\xdd\xff\xff\xff\xff")
write("fuzz_control_message", "deep", b"\x84\xa1v\x01\xa2id\x01\xa2op\xa1x\xa1a" + b"\x91" * 600)

with open(os.path.join(HERE, "..", "golden", "imu_frame.bin"), "rb") as file:
    imu = file.read()
write("fuzz_frame", "imu", imu)


def frame(topic, body):
    return topic + b"\0" + msgpack.packb(body)


FNV_START, FNV_PRIME, MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1
fields = [("speed_m_s", 10, "f64", 1, 0), ("wheel.left", 9, "f32", 1, 8), ("wheel.right", 9, "f32", 1, 12),
          ("name", 11, "text", 8, 16)]
schema = FNV_START
for part in [b"small", struct.pack("<I", 24)] + [
    bit for name, kind, _, count, offset in fields
    for bit in (name.encode() + b"\0", struct.pack("<III", kind, count, offset), b"\0", b"\0")
]:
    for byte in part:
        schema = (schema ^ byte) * FNV_PRIME & MASK
announce = frame(b"w/@schema", {"epoch": 1, "v": 1, "world": "w", "channels": [{
    "topic": "w/x", "node": "w/x", "type": "small", "schema": schema, "rate": [1, 1], "frame_id": "", "bytes": 24,
    "fields": [{"name": n, "type": t, "count": c, "offset": o, "unit": "", "frame": "", "text": ""}
               for n, _, t, c, o in fields]}]})
sample = frame(b"w/x", {"epoch": 1, "seq": 1, "schema": schema, "samples": [
    {"header": {"seq": 1 + i, "stamp": {"sec": 0, "nanosec": i}, "frame_id": ""}, "speed_m_s": 1.5,
     "wheel": {"left": 1.0, "right": 2}, "name": "abc", "otolith": {"sensor_time_ns": -1, "flags": 0}} for i in range(2)]})
packed = frame(b"w/x", {"epoch": 1, "seq": 1, "schema": schema,
                        "packed": struct.pack("<qqQIIdff8s", 5, 6, 1, 0, 24, 1.5, 1, 2, b"abc")})
write("fuzz_frame", "schema", announce)
for name, second in ("announced", sample), ("announced_packed", packed):
    write("fuzz_frame", name, struct.pack(">H", len(announce)) + announce + second)

HEADER, DIRECTORY = 0, 16384 + 8192
write("fuzz_segment", "sound", b"")
for name, offset, value in (
    ("channel_count", 72, 255), ("field_offset", 52, 255), ("capacity", DIRECTORY + 512 + 360, 255),
    ("ring_offset", DIRECTORY + 512 + 357, 255), ("first_field", DIRECTORY + 512 + 372, 200),
    ("topic", DIRECTORY + 512, 0), ("ring_head", 16384 + 12288 + 8192 + 7, 255), ("lock", 16384 + 12288 + 64, 6),
):
    write("fuzz_segment", name, struct.pack("<IB", offset, value))


def request(name, *lines, body=b""):
    write("fuzz_web_http", name, "\r\n".join([*lines, "", ""]).encode() + body)


def websocket_frame(payload, opcode=1, final=True):
    mask = bytes([1, 2, 3, 4])
    head = bytes([(0x80 if final else 0) | opcode])
    head += bytes([0x80 | len(payload)]) if len(payload) < 126 else bytes([0xFE]) + struct.pack(">H", len(payload))
    return head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))


UPGRADE = ["GET /?token=abc HTTP/1.1", "Host: 127.0.0.1:8090", "Upgrade: websocket", "Connection: Upgrade",
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: foo, otolith.v1"]
request("page", "GET / HTTP/1.1", "Host: localhost:8090", "Accept-Encoding: gzip")
request("not_modified", "GET / HTTP/1.1", "Host: [::1]:8090", 'If-None-Match: "e"')
request("foreign_host", "GET / HTTP/1.1", "Host: evil.example")
request("absent", "GET /nothing?token=%00 HTTP/1.0", "Host: localhost")
request("post", "POST / HTTP/1.1", "Host: localhost", "Content-Length: 4", body=b"abcd")
request("h2c", "GET / HTTP/1.1", "Host: localhost", "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")
write("fuzz_web_http", "prior_knowledge", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
request("foreign_origin", *UPGRADE, "Origin: http://evil.example")
request("own_origin", *UPGRADE, "Origin: http://127.0.0.1:8090", body=websocket_frame(b"hello\na\nb"))
request("frames", *UPGRADE, body=websocket_frame(b"a" * 300, 2) + websocket_frame(b"x", 1, False) + websocket_frame(b"y", 0)
        + websocket_frame(b"p", 9) + websocket_frame(struct.pack(">H", 1000), 8))
request("fragments", *UPGRADE, body=websocket_frame(b"", 1, False) * 50 + websocket_frame(b"", 0))
request("too_long", *UPGRADE, body=websocket_frame(b"z" * 5000, 2))


def conversation(name, options, *messages):
    """Texts, and bytes for binary messages. Options: bits of fuzz_web_messages.c."""
    parts = [(0, m.encode()) if isinstance(m, str) else (1, m) for m in messages]
    write("fuzz_web_messages", name, bytes([options]) + b"".join(struct.pack("<BH", kind, len(data)) + data for kind, data in parts))


READ, CONTROL = "0" * 31 + "1", "0" * 31 + "2"
conversation("page_read", 0, f"hello\n{READ}\n", "subscribe\n1\ndemo/car/imu\nlinear_acceleration.x\nangular_velocity.z", "ack\n100",
             "do\n1\nget\ndemo/car/imu", "do\n2\npause", "unsubscribe\n1", "subscribe\n2\ndemo/none\nx", "subscribe\n3\ndemo/car/imu\nnone")
conversation("page_control", 0, f"hello\n\n{CONTROL}", "watch\n0,1,99,x", "places\non", "do\n1\nset\ndemo/car/imu\na.x\n1", "do\n2\nswap\ndemo/car/imu\nmems_imu", "do\n3\nstep\n5\na\nb\nc\nd")
conversation("page_stranger", 0, "hello\nwrong\n", "ack\n1")
conversation("page_binary", 0, b"\0\1\2")
SUBSCRIBE = '{"op":"subscribe","subscriptions":[' + ",".join(f'{{"id":{i},"channelId":{i}}}' for i in range(8)) + "]}"
conversation("foxglove_read", 3, SUBSCRIBE, '{"op":"getParameters","parameterNames":[],"id":"all"}', '{"op":"subscribeConnectionGraph"}',
             '{"op":"subscribeParameterUpdates","parameterNames":["a"]}', '{"op":"unsubscribe","subscriptionIds":[1,2,-1,"x"]}',
             '{"op":"setParameters","parameters":[{"name":"demo/car/imu:a.x","value":[1,2]}],"id":"s"}', "{ no message")
call = lambda service, text: struct.pack("<BIII", 2, service, 7, 4) + b"json" + text.encode()
conversation("foxglove_control", 5 + 16, '{"op":"setParameters","parameters":[{"name":"demo/car/imu:a.x","value":[1,2]},{"name":"x"}],"id":"s"}',
             call(0, "{}"), call(2, '{"ticks":5}'), call(5, '{"node":"a","spec":{"kind":"bias"}}'), call(4, "{}"), call(99, ""), b"\2\0", b"\7")
conversation("foxglove_playback", 13, struct.pack("<BBfBQI", 3, 0, 1.0, 1, 10**9, 3) + b"id1", struct.pack("<BBfBQI", 3, 1, float("nan"), 0, 2**64 - 1, 2**32 - 1))
