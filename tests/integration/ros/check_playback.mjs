// check_playback.mjs URL CONTROL_TOKEN: playback control of foxglove.sdk.v1, by hand, on a recording of 4 s that is played and paused.
import WebSocket from "ws";
import assert from "node:assert";

const [url, controlToken] = process.argv.slice(2);
const socket = new WebSocket(`${url}?token=${controlToken}`, ["foxglove.sdk.v1"]);
const received = [];
socket.on("message", (data, binary) => received.push(binary ? data : JSON.parse(data.toString())));
const until = async (accepts, what) => {
  const deadline = Date.now() + 300000;
  for (;;) {
    const index = received.findIndex(accepts);
    if (index >= 0) return received.splice(0, index + 1).at(-1);
    assert.ok(Date.now() < deadline, `waited too long for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};
const state = (id) => (message) => Buffer.isBuffer(message) && message[0] === 5 && message.subarray(19).toString() === id;
const request = (play, speed, seek, id) => {
  const bytes = Buffer.alloc(19 + id.length);
  bytes[0] = 3;
  bytes[1] = play ? 0 : 1;
  bytes.writeFloatLE(speed, 2);
  bytes[6] = seek === undefined ? 0 : 1;
  bytes.writeBigUInt64LE(seek ?? 0n, 7);
  bytes.writeUInt32LE(id.length, 15);
  bytes.write(id, 19);
  socket.send(bytes);
};

const info = await until((message) => message.op === "serverInfo", "serverInfo");
assert.ok(info.capabilities.includes("playbackControl"));
assert.deepStrictEqual([info.dataStartTime, info.dataEndTime], [{ sec: 0, nsec: 0 }, { sec: 4, nsec: 0 }]);
const { channels } = await until((message) => message.op === "advertise", "advertise");
const channelId = channels.find((channel) => channel.topic === "/car/imu").id;
socket.send(JSON.stringify({ op: "subscribe", subscriptions: [{ id: 9, channelId }] }));

request(true, 0.125, 2000000000n, "seek");
const playing = await until(state("seek"), "the state after a seek");
assert.strictEqual(playing[1], 0);
assert.strictEqual(playing.readFloatLE(10), 0.125);
assert.strictEqual(playing[14], 1);
const sample = await until(
  (message) => Buffer.isBuffer(message) && message[0] === 1 && message.readUInt32LE(1) === 9 && message.readBigUInt64LE(5) >= 2000000000n,
  "a sample after the seek, of the subscription before it",
);
assert.ok(sample.readBigUInt64LE(5) < 4000000000n);
request(false, 2, undefined, "pause");
const paused = await until(state("pause"), "the state of a pause");
assert.strictEqual(paused[1], 1);
assert.ok(!received.some((message) => message.op === "serverInfo"), "a seek is no new session");
console.log("ok");
process.exit(0);
