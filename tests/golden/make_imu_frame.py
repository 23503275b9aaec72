#!/usr/bin/python3
"""Writes imu_frame.bin: the frame that test_frame.c encodes, made by Python's msgpack and by nothing of ours."""
import os
import struct

import msgpack

FNV_START, FNV_PRIME, MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


def fnv(data, value):
    for byte in data:
        value = (value ^ byte) * FNV_PRIME & MASK
    return value


def xyz(name, offset, unit, frame):
    return [(f"{name}.{axis}", 10, 1, offset + 8 * i, unit, frame) for i, axis in enumerate("xyz")]


FIELDS = (
    [(f"orientation.{axis}", 10, 1, 8 * i, "1", "enu") for i, axis in enumerate("xyzw")]
    + [("orientation_covariance", 10, 9, 32, "rad^2", "sensor")]
    + xyz("angular_velocity", 104, "rad/s", "sensor")
    + [("angular_velocity_covariance", 10, 9, 128, "rad^2/s^2", "sensor")]
    + xyz("linear_acceleration", 200, "m/s^2", "sensor")
    + [("linear_acceleration_covariance", 10, 9, 224, "m^2/s^4", "sensor")]
)
schema = fnv(struct.pack("<I", 37 * 8), fnv(b"imu", FNV_START))
for name, kind, count, offset, unit, frame in FIELDS:
    for part in (name.encode() + b"\0", struct.pack("<III", kind, count, offset), unit.encode() + b"\0", frame.encode() + b"\0"):
        schema = fnv(part, schema)


def diagonal(value):
    return [value if i % 4 == 0 else 0.0 for i in range(9)]


frame = {
    "epoch": 0x0123456789ABCDEF,
    "seq": 2469,
    "schema": schema,
    "samples": [
        {
            "header": {"seq": 2469, "stamp": {"sec": 12, "nanosec": 345000000}, "frame_id": "imu_link"},
            "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
            "orientation_covariance": [-1.0] + [0.0] * 8,
            "angular_velocity": {"x": 0.125, "y": -0.25, "z": 0.5},
            "angular_velocity_covariance": diagonal(0.0625),
            "linear_acceleration": {"x": 1.5, "y": -2.75, "z": 9.8125},
            "linear_acceleration_covariance": diagonal(0.25),
            "otolith": {"sensor_time_ns": 12345000123, "flags": 4},
        }
    ],
}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "imu_frame.bin"), "wb") as file:
    file.write(b"demo/car/imu\0" + msgpack.packb(frame))
