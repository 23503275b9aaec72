// check_foxglove.mjs URL READ_TOKEN CONTROL_TOKEN: otolith-web as npm's @foxglove/ws-protocol sees it, and foxglove.sdk.v1 by a
// client of this test's own.
import protocol from "@foxglove/ws-protocol";
import { parse } from "@foxglove/rosmsg";
import { MessageReader } from "@foxglove/rosmsg2-serialization";
import WebSocket from "ws";
import assert from "node:assert";

const { FoxgloveClient } = protocol;
const [url, readToken, controlToken] = process.argv.slice(2);
const within = (promise, what) =>
  Promise.race([promise, new Promise((_, reject) => setTimeout(() => reject(new Error(`waited too long for ${what}`)), 300000).unref())]);
const once = (client, event, accepts = () => true) =>
  within(
    new Promise((resolve) => {
      const take = (value) => {
        if (accepts(value)) {
          client.off(event, take);
          resolve(value);
        }
      };
      client.on(event, take);
    }),
    event,
  );

const connect = (token) =>
  new FoxgloveClient({ ws: new WebSocket(`${url}?token=${token}`, [FoxgloveClient.SUPPORTED_SUBPROTOCOL]) });

// ---- foxglove.websocket.v1, by npm's client
const client = connect(controlToken);
const services = once(client, "advertiseServices");
const [info, channels] = await Promise.all([once(client, "serverInfo"), once(client, "advertise")]);
assert.match(info.sessionId, /^[0-9a-f]{16}$/);
for (const capability of ["time", "parameters", "parametersSubscribe", "connectionGraph", "services"])
  assert.ok(info.capabilities.includes(capability), capability);
const imu = channels.find((channel) => channel.topic === "/car/imu");
assert.strictEqual(imu.schemaName, "sensor_msgs/msg/Imu");
assert.ok(channels.some((channel) => channel.topic === "/tf"));

const reader = new MessageReader(parse(imu.schema, { ros2: true }));
const subscription = client.subscribe(imu.id);
let last = -1n;
for (let i = 0; i < 50; i++) {
  const message = await once(client, "message", (event) => event.subscriptionId === subscription);
  const value = reader.readMessage(message.data);
  assert.strictEqual(BigInt(value.header.stamp.sec) * 1000000000n + BigInt(value.header.stamp.nanosec), message.timestamp);
  assert.ok(message.timestamp > last);
  last = message.timestamp;
}
const first = await once(client, "time");
const second = await once(client, "time", (event) => event.timestamp > first.timestamp);
assert.ok(second.timestamp > 0n);

// ---- topics that no record has: the clock, and the state of the world with each of its nodes
const read = async (topic) => {
  const channel = channels.find((one) => one.topic === topic);
  const id = client.subscribe(channel.id);
  const message = await once(client, "message", (event) => event.subscriptionId === id);
  client.unsubscribe(id);
  return { schemaName: channel.schemaName, time: message.timestamp,
           value: new MessageReader(parse(channel.schema, { ros2: true })).readMessage(message.data) };
};
const clock = await read("/clock");
assert.strictEqual(clock.schemaName, "rosgraph_msgs/msg/Clock");
assert.strictEqual(BigInt(clock.value.clock.sec) * 1000000000n + BigInt(clock.value.clock.nanosec), clock.time);
const diagnostics = await read("/diagnostics");
assert.strictEqual(diagnostics.schemaName, "diagnostic_msgs/msg/DiagnosticArray");
const status = Object.fromEntries(diagnostics.value.status.map((one) => [one.name,
  { level: one.level, ...Object.fromEntries(one.values.map((fact) => [fact.key, fact.value])) }]));
assert.ok(Number(status.rec.ticks) > 0 && status.rec.lateness_p99_us !== undefined && status.rec.samples_lost_here !== undefined);
assert.strictEqual(status["rec/car/imu"].plugin, "mems_imu");
assert.strictEqual(status["rec/car/mag"].level, 0);
assert.ok(Number(status["rec/car/imu"].samples) > 0);

const key = "rec/car/imu:accelerometer.constant_bias_m_s2";
client.getParameters([], "all");
const all = await once(client, "parameterValues", (event) => event.id === "all");
assert.deepStrictEqual(all.parameters.find((parameter) => parameter.name === key).value, [0, 0, 0]);
// Foxglove subscribes to all that it got in one message, which is longer than those of pages may be.
const names = all.parameters.map((parameter) => parameter.name);
assert.ok(JSON.stringify(names).length > 4096);
client.subscribeParameterUpdates(names);
client.setParameters([{ name: key, value: [1, 0, 0] }]);
const update = await once(client, "parameterValues", (event) =>
  event.parameters.some((parameter) => parameter.name === key && parameter.value[0] === 1));
assert.ok(update.parameters.length > 1);

const list = await services;
const call = async (name, request) => {
  const service = list.find((one) => one.name === name);
  const data = new TextEncoder().encode(JSON.stringify(request));
  const result = Promise.race([
    once(client, "serviceCallResponse", (event) => event.serviceId === service.id),
    once(client, "serviceCallFailure", (event) => event.serviceId === service.id).then((event) => {
      throw new Error(event.message);
    }),
  ]);
  client.sendServiceCallRequest({ serviceId: service.id, callId: 7, encoding: "json", data: new DataView(data.buffer) });
  return JSON.parse(new TextDecoder().decode((await result).data));
};
await call("/pause", {});
const tick = (await call("/step", { ticks: 10 })).tick;
assert.strictEqual((await call("/step", { ticks: 5 })).tick, tick + 5);
await call("/swap", { node: "car/imu", plugin: "mems_imu" }).catch((error) => assert.fail(error));
await assert.rejects(call("/fault", { node: "car/imu", spec: "{kind: nothing}" }));
await call("/fault", { node: "car/imu", spec: "{kind: bias, value: 0.1, for_s: 1}" });
await call("/resume", {});
assert.ok((await read("/rosout")).value.name !== undefined);

client.subscribeConnectionGraph();
const graph = await once(client, "connectionGraphUpdate");
assert.deepStrictEqual(graph.publishedTopics.find((topic) => topic.name === "/car/imu").publisherIds, ["rec/car/imu"]);
client.close();

// ---- reading alone has no services, and a wrong token is refused
const observer = connect(readToken);
assert.ok(!(await once(observer, "serverInfo")).capabilities.includes("services"));
observer.setParameters([{ name: key, value: [2, 0, 0] }]);
assert.match((await once(observer, "status")).message, /control token/);
observer.close();
const stranger = new WebSocket(`${url}?token=wrong`, ["foxglove.sdk.v1"]);
await within(new Promise((resolve) => stranger.on("close", resolve)), "the refusal");

// ---- foxglove.sdk.v1, by hand: text and binary messages as they are on the wire
const socket = new WebSocket(`${url}?token=${readToken}`, ["foxglove.websocket.v9", "foxglove.sdk.v1"]);
const received = [];
socket.on("message", (data, binary) => received.push(binary ? data : JSON.parse(data.toString())));
const until = async (accepts, what) =>
  within(
    (async () => {
      for (;;) {
        const index = received.findIndex(accepts);
        if (index >= 0) return received.splice(0, index + 1).at(-1);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })(),
    what,
  );
const advertised = await until((message) => message.op === "advertise", "advertise");
assert.strictEqual(socket.protocol, "foxglove.sdk.v1");
const channelId = advertised.channels.find((channel) => channel.topic === "/car/mag").id;
socket.send(JSON.stringify({ op: "subscribe", subscriptions: [{ id: 3, channelId }] }));
const data = await until((message) => Buffer.isBuffer(message) && message[0] === 1, "a message");
assert.strictEqual(data.readUInt32LE(1), 3);
assert.ok(data.readBigUInt64LE(5) > 0n);
assert.deepStrictEqual([...data.subarray(13, 17)], [0, 1, 0, 0]);
await until((message) => Buffer.isBuffer(message) && message[0] === 2 && message.length === 9, "the time");
socket.send("{ this is no message");
assert.strictEqual((await until((message) => message.op === "status", "a status")).level, 2);
socket.send(JSON.stringify({ op: "unsubscribe", subscriptionIds: [3] }));
socket.close();
console.log("ok");
process.exit(0);
