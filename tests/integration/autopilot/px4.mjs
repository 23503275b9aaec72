// px4.mjs PORT STEPS [OPTION...]: PX4's end of the simulator interface, with npm's node-mavlink as the MAVLink of another vendor. Sends
// what PX4 sends, checks every rule of what it gets, and prints what it saw as one line of JSON.
//   silent=N   answers only after N samples, as PX4 does at its start       deaf=N   answers no sample after N
//   thrust=X   control of all motors                                        state    requests HIL_STATE_QUATERNION every 5 ms
//   free       without the lockstep flag                                    again    reconnects; SIGTERM ends it
import net from "node:net";
import assert from "node:assert";
import { MavLinkPacketSplitter, MavLinkPacketParser, MavLinkProtocolV2, common, minimal } from "node-mavlink";

const [port, steps, ...options] = process.argv.slice(2);
const option = (name, otherwise) => {
  const found = options.find((text) => text === name || text.startsWith(`${name}=`));
  return found === undefined ? otherwise : Number(found.split("=")[1] ?? 1);
};
const silent = option("silent", 0);
const deaf = option("deaf", Infinity);
const thrust = option("thrust", 0);
const known = { 0: minimal.Heartbeat, 107: common.HilSensor, 113: common.HilGps, 115: common.HilStateQuaternion };
const FLAGS = { imu: 0x3f, mag: 0x1c0, pressure: 0x1a00 };

const seen = { steps: 0, ids: {}, heartbeats: 0, gps: 0, state: 0, mag: 0, pressure: 0, times: [], badOrder: [], crc: 0, lastState: null, lastGps: null };
const newest = {}; // time of the newest HIL_SENSOR of each id
let sinceFirst = new Set(); // other ids since the last one of id 0
let socket;
let ended = false;
const protocol = new MavLinkProtocolV2(1, 1);
let sequence = 0;
const send = (message) => socket.write(protocol.serialize(message, sequence++ & 0xff));

const beat = new minimal.Heartbeat();
Object.assign(beat, { type: 2, autopilot: 12, baseMode: 0, customMode: 0, systemStatus: 3, mavlinkVersion: 3 });

function answer(time) {
  const controls = new common.HilActuatorControls();
  controls.timeUsec = time;
  controls.controls = Array(16).fill(0).map((_, i) => (i < 4 ? thrust : NaN));
  controls.mode = 129;
  controls.flags = option("free") ? 0n : 1n;
  send(controls);
}

function takeSensor(sensor) {
  if (ended) return;
  const id = sensor.id;
  const time = sensor.timeUsec;
  const flags = Number(sensor.fieldsUpdated);
  seen.ids[id] = (seen.ids[id] ?? 0) + 1;
  if (newest[id] !== undefined && time <= newest[id]) seen.badOrder.push(`id ${id}: ${time} after ${newest[id]}`);
  newest[id] = time;
  if ((flags & FLAGS.imu) !== FLAGS.imu) seen.badOrder.push(`id ${id} without accelerometer or gyroscope`);
  if (id !== 0) {
    sinceFirst.add(id);
    if (time <= (newest[0] ?? -1n)) seen.badOrder.push(`id ${id} of ${time} came behind id 0 of that tick`);
    return;
  }
  for (const other of sinceFirst) if (newest[other] > time) seen.badOrder.push(`id ${other} is newer than id 0`);
  sinceFirst = new Set();
  seen.mag += (flags & FLAGS.mag) !== 0;
  seen.pressure += (flags & FLAGS.pressure) !== 0;
  if ((flags & FLAGS.pressure) !== 0) seen.lastPressure = { hpa: sensor.absPressure, altitude: sensor.pressureAlt, temperature: sensor.temperature };
  if ((flags & FLAGS.mag) !== 0) seen.lastMag = [sensor.xmag, sensor.ymag, sensor.zmag];
  seen.lastAccel = [sensor.xacc, sensor.yacc, sensor.zacc];
  seen.lastGyro = [sensor.xgyro, sensor.ygyro, sensor.zgyro];
  seen.times.push(Number(time));
  seen.steps += 1;
  if (seen.steps === Number(steps)) {
    ended = true;
    socket.end();
    return;
  }
  if (seen.steps > silent && seen.steps <= deaf) answer(time);
}

function take(packet) {
  const type = known[packet.header.msgid];
  assert.ok(type !== undefined, `message ${packet.header.msgid} is none that PX4 expects`);
  const data = packet.protocol.data(packet.payload, type);
  if (data instanceof common.HilSensor) takeSensor(data);
  else if (data instanceof minimal.Heartbeat) seen.heartbeats += 1;
  else if (data instanceof common.HilGps) {
    seen.gps += 1;
    seen.lastGps = { lat: data.lat, lon: data.lon, alt: data.alt, fix: data.fixType, satellites: data.satellitesVisible, vd: data.vd };
  } else {
    seen.state += 1;
    seen.lastState = { q: data.attitudeQuaternion, lat: data.lat, lon: data.lon, alt: data.alt, vz: data.vz, zacc: data.zacc };
  }
}

function greet() {
  send(beat);
  if (option("state")) {
    const request = new common.CommandLong();
    Object.assign(request, { command: 511, targetSystem: 1, targetComponent: 1, confirmation: 0 });
    [request._param1, request._param2] = [115, 5000];
    send(request);
  }
}

const report = () => console.log(JSON.stringify(seen, (_, value) => (typeof value === "bigint" ? Number(value) : value)));

function connect() {
  socket = net.connect(Number(port), "127.0.0.1");
  socket.setNoDelay(true);
  const parser = new MavLinkPacketParser();
  socket.pipe(new MavLinkPacketSplitter({}, { onCrcError: () => (seen.crc += 1) })).pipe(parser);
  parser.on("data", take);
  socket.on("connect", greet);
  socket.on("error", (error) => (seen.error = error.code));
  socket.on("close", () => (option("again") && !ended ? setTimeout(connect, 20) : report()));
}

process.on("SIGTERM", () => {
  ended = true;
  socket.destroy();
  report();
  process.exit(0);
});
connect();
