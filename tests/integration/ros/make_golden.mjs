// make_golden.mjs > ../../golden/ros_messages.csv: messages as @foxglove/rosmsg2-serialization encodes them, for
// tests/unit/libotolith/test_ros.c, which encodes the same values. Run by hand, after `npm ci` in this folder.
import { parse } from "@foxglove/rosmsg";
import { ros2humble } from "@foxglove/rosmsg-msgs-common";
import { MessageWriter } from "@foxglove/rosmsg2-serialization";

const header = { stamp: { sec: 12, nanosec: 345678901 }, frame_id: "car/imu" };
const count = (n, from) => Array.from({ length: n }, (_, i) => from + i);
const xyz = (from) => ({ x: from, y: from + 1, z: from + 2 });

function closure(name, found = new Map()) {
  for (const field of ros2humble[name].definitions) {
    const type = field.type.replace("/msg/", "/");
    if (field.isComplex && !found.has(type)) {
      found.set(type, ros2humble[type]);
      closure(type, found);
    }
  }
  return found;
}
const standard = (name) => [{ definitions: ros2humble[name].definitions }, ...closure(name).values()];

const odd = parse(
  `std_msgs/Header header
otolith_msgs/SampleHead otolith
uint8 small
int16 two
string words
float64 wide
otolith_msgs/OddInner inner
uint64[2] large
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
================================================================================
MSG: otolith_msgs/SampleHead
uint64 seq
int64 sensor_time_ns
uint32 flags
================================================================================
MSG: otolith_msgs/OddInner
float32 real
int8 byte
`,
  { ros2: true },
);

const rows = [
  ["imu", standard("sensor_msgs/Imu"), {
    header, orientation: { x: 1, y: 2, z: 3, w: 4 }, orientation_covariance: count(9, 5), angular_velocity: xyz(14),
    angular_velocity_covariance: count(9, 17), linear_acceleration: xyz(26), linear_acceleration_covariance: count(9, 29),
  }],
  ["mag", standard("sensor_msgs/MagneticField"), { header, magnetic_field: xyz(1), magnetic_field_covariance: count(9, 4) }],
  ["odd", odd, {
    header, otolith: { seq: 7n, sensor_time_ns: -5n, flags: 9 }, small: 200, two: -300, words: "abc", wide: 0.5,
    inner: { real: 1.5, byte: -2 }, large: [1n, 18446744073709551615n],
  }],
  ["clock", standard("rosgraph_msgs/Clock"), { clock: header.stamp }],
  ["transform", standard("tf2_msgs/TFMessage"), {
    transforms: [{
      header: { ...header, frame_id: "map" }, child_frame_id: "car",
      transform: { translation: xyz(1), rotation: { x: 0, y: 0, z: 0, w: 1 } },
    }],
  }],
  ["odometry", standard("nav_msgs/Odometry"), {
    header: { ...header, frame_id: "map" }, child_frame_id: "car",
    pose: { pose: { position: xyz(1), orientation: { x: 0, y: 0, z: 0, w: 1 } }, covariance: count(36, 0).fill(0) },
    twist: { twist: { linear: xyz(4), angular: xyz(7) }, covariance: count(36, 0).fill(0) },
  }],
  ["fix", standard("sensor_msgs/NavSatFix"), {
    header, status: { status: -1, service: 9 }, latitude: 48, longitude: 11, altitude: 520, position_covariance: count(9, 1),
    position_covariance_type: 2,
  }],
  ["pressure", standard("sensor_msgs/FluidPressure"), { header, fluid_pressure: 95000, variance: 4 }],
  ["log", standard("rcl_interfaces/Log"), {
    stamp: header.stamp, level: 30, name: "demo/car/imu", msg: "late", file: "", function: "overrun", line: 0,
  }],
  ["diagnostics", standard("diagnostic_msgs/DiagnosticArray"), {
    header: { ...header, frame_id: "" },
    status: [{
      level: 1, name: "demo", message: "two", hardware_id: "",
      values: [{ key: "ticks", value: "1000" }, { key: "overruns", value: "3" }],
    }, {
      level: 0, name: "demo/car/imu", message: "publishes", hardware_id: "", values: [{ key: "plugin", value: "mems_imu" }],
    }],
  }],
];

console.log("name,cdr");
for (const [name, definitions, value] of rows) {
  console.log(`${name},${Buffer.from(new MessageWriter(definitions).writeMessage(value)).toString("hex")}`);
}
