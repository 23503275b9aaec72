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
