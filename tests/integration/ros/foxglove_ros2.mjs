// foxglove_ros2.mjs [--domain ID] [--loopback] [--msgs FOLDER] [TOPIC...]: a ROS 2 node of another vendor, @foxglove/ros2, which has an
// RTPS of its own. Prints as lines of JSON what it discovers and the messages of the topics, decoded by its own decoder.
//   --domain    default $ROS_DOMAIN_ID, else 0     --loopback  nothing leaves 127.0.0.1; the others have 127.0.0.1:(7400 + 250 x ID) as a peer
//   --msgs      folder that `otolith export ros2-msgs` wrote
// Without topics, lines on standard input name them: subscribe DDS_TOPIC
import ros2 from "@foxglove/ros2";
import ros2Nodejs from "@foxglove/ros2/nodejs.js";
import { parse } from "@foxglove/rosmsg";
import { ros2jazzy } from "@foxglove/rosmsg-msgs-common";
import rtps from "@foxglove/rtps";
import dgram from "node:dgram";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const { values: options, positionals: topics } = parseArgs({
  allowPositionals: true,
  options: { domain: { type: "string", default: process.env.ROS_DOMAIN_ID ?? "0" }, loopback: { type: "boolean" }, msgs: { type: "string" } },
});

// The library takes a whole packet for its header's sender: it does not know INFO_SRC, with which the participants of one process share
// packets. It would count the endpoints of one as received from another, and never ask for those. Nor does it know that an INFO_DST of zeros is for all.
const INFO_SRC = 0x0c, INFO_DST = 0x0e;

function* bySender(packet) {
  let header = packet.subarray(0, 20), parts = [header];
  for (let at = 20; at + 4 <= packet.length; ) {
    const bytes = 4 + (packet[at + 1] & 1 ? packet.readUInt16LE(at + 2) : packet.readUInt16BE(at + 2));
    const part = packet.subarray(at, at + bytes);
    if (packet[at] === INFO_SRC || (packet[at] === INFO_DST && part.subarray(4).every((byte) => byte === 0))) {
      yield Buffer.concat(parts);
      const destination = packet[at] === INFO_SRC ? parts.filter((each) => each[0] === INFO_DST).slice(-1) : [];
      header = packet[at] === INFO_SRC ? Buffer.concat([packet.subarray(0, 4), part.subarray(8, 24)]) : header;
      parts = [header, ...destination];
    } else {
      parts.push(part);
    }
    at += bytes;
  }
  yield Buffer.concat(parts);
}

class RtpsSocket extends ros2Nodejs.UdpSocketNode {
  emit(event, data, from) {
    if (event !== "message") return super.emit(event, data, from);
    for (const part of bySender(data)) super.emit(event, part, from);
    return true;
  }
}
class LoopbackSocket extends RtpsSocket {
  async addMembership() {}
  async send(data, offset, length, port, address) {
    if (address.startsWith("127.")) await super.send(data, offset, length, port, address);
  }
}
const Socket = options.loopback ? LoopbackSocket : RtpsSocket;

// JSON with whole 64-bit numbers
function json(value) {
  if (ArrayBuffer.isView(value) || Array.isArray(value)) return `[${Array.from(value, json).join(", ")}]`;
  if (value === null || typeof value !== "object") return typeof value === "bigint" ? String(value) : JSON.stringify(value);
  return `{${Object.entries(value).map(([name, member]) => `"${name}": ${json(member)}`).join(", ")}}`;
}
const print = (report) => console.log(json(report));

// ---- definitions: the messages of ROS as the vendor has them, and those of otolith_msgs ----

const plain = (name) => name.replace("/msg/", "/");
const known = new Map(Object.entries(ros2jazzy));
for (const file of options.msgs ? readdirSync(`${options.msgs}/msg`) : []) {
  const name = `otolith_msgs/${file.replace(".msg", "")}`;
  const [definition] = parse(readFileSync(`${options.msgs}/msg/${file}`, "utf8"), { ros2: true, skipTypeFixup: true });
  known.set(name, { ...definition, name });
}
function definitionsOf(name, found = new Map()) {
  if (!known.has(name)) throw new Error(`no definition of ${name}`);
  if (!found.has(name)) {
    found.set(name, known.get(name));
    for (const field of known.get(name).definitions) if (field.isComplex) definitionsOf(plain(field.type), found);
  }
  return [...found.values()];
}

// ---- the node ----

const node = new ros2.RosNode({
  name: "foxglove",
  domainId: Number(options.domain),
  udpSocketCreate: async (wanted) => new Socket(dgram.createSocket({ type: "udp4", reuseAddr: true, recvBufferSize: 1 << 22, ...wanted })),
  ...(options.loopback ? { addresses: ["127.0.0.1"] } : { getNetworkInterfaces: ros2Nodejs.getNetworkInterfaces }),
});
// RosNode.subscribe asks for transient_local, which DDS does not match with volatile writers: its participant takes what the writer offers.
const participant = node._participant;
participant.attributes.leaseDuration = { sec: 3600, nsec: 0 }; // it announces itself once

const wanted = new Set(topics);
const subscribed = new Set();

function subscribe(publication) {
  const topic = ros2.ddsToRosTopic(publication.topicName)?.topic;
  if (!wanted.has(topic) || subscribed.has(topic)) return;
  subscribed.add(topic);
  const { topicName, typeName, durability, reliability } = publication;
  const subscribeOpts = { topicName, typeName, durability, reliability, history: { kind: rtps.HistoryKind.KeepLast, depth: 1000 } };
  const msgDefinition = definitionsOf(plain(ros2.ddsToRosType(typeName)));
  const subscription = new ros2.Subscription({ subscribeOpts, participant, msgDefinition, readerEntityId: participant.subscribe(subscribeOpts) });
  subscription.on("message", (_, message) => print({ topic, at_ns: process.hrtime.bigint(), message }));
}

const writers = new Map();
const endpoint = (kind, { topicName, typeName, guidPrefix, entityId, userData, reliability, durability }) =>
  print({
    [kind]: topicName,
    type: typeName,
    guid: guidPrefix + rtps.uint32ToHex(entityId),
    user_data: userData ?? "",
    reliable: reliability.kind === rtps.Reliability.Reliable,
    latched: durability === rtps.Durability.TransientLocal,
  });
node.on("discoveredParticipant", ({ guidPrefix, userData }) => print({ participant: guidPrefix, user_data: userData ?? "" }));
node.on("discoveredSubscription", (reader) => endpoint("reader", reader));
node.on("discoveredPublication", (writer) => {
  endpoint("writer", writer);
  writers.set(writer.topicName, writer);
  subscribe(writer);
});
participant.on("error", (error) => console.error(String(error)));

await node.start();
print({ ready: true });
for (const end of ["SIGINT", "SIGTERM"]) process.on(end, () => node.shutdown().finally(() => process.exit(0)));
if (topics.length === 0) {
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    wanted.add(ros2.ddsToRosTopic(line.split(" ")[1]).topic);
    writers.forEach(subscribe);
  });
  lines.on("close", () => node.shutdown().finally(() => process.exit(0)));
}
