// check_recording.mjs FILE: reads a recording with programs that nobody here wrote. Every message is decoded by
// @foxglove/rosmsg2-serialization and encoded again, to the same bytes; every standard message has the fields of ROS 2.
import { McapIndexedReader, McapStreamReader } from "@mcap/core";
import { loadDecompressHandlers } from "@mcap/support";
import { parse } from "@foxglove/rosmsg";
import { ros2humble } from "@foxglove/rosmsg-msgs-common";
import { MessageReader, MessageWriter } from "@foxglove/rosmsg2-serialization";
import { readFileSync } from "node:fs";
import assert from "node:assert";

const bytes = readFileSync(process.argv[2]);
const decompressHandlers = await loadDecompressHandlers();

const plain = (name) => name.replace("/msg/", "/");
const fieldsOf = (definition) =>
  definition.definitions
    .filter((field) => !field.isConstant)
    .map((field) => [field.name, plain(field.type), field.isArray ?? false, field.arrayLength ?? 0]);

function checkStandard(definitions, name) {
  for (const definition of definitions) {
    const known = ros2humble[plain(definition.name ?? name)];
    if (known) assert.deepStrictEqual(fieldsOf(definition), fieldsOf(known), definition.name ?? name);
    else assert.match(plain(definition.name ?? name), /^(otolith_msgs|builtin_interfaces)\//);
  }
}

const codecs = new Map();
function codecOf(schema) {
  if (!codecs.has(schema.id)) {
    assert.strictEqual(schema.encoding, "ros2msg");
    const definitions = parse(new TextDecoder().decode(schema.data), { ros2: true });
    checkStandard(definitions, schema.name);
    codecs.set(schema.id, { reader: new MessageReader(definitions), writer: new MessageWriter(definitions) });
  }
  return codecs.get(schema.id);
}

const readable = {
  size: async () => BigInt(bytes.length),
  read: async (offset, size) => new Uint8Array(bytes.buffer, bytes.byteOffset + Number(offset), Number(size)),
};
const indexed = await McapIndexedReader.Initialize({ readable, decompressHandlers });
assert.strictEqual(indexed.header.profile, "ros2");
const counts = new Map();
let last = 0n;
for await (const message of indexed.readMessages({ validateCrcs: true })) {
  const channel = indexed.channelsById.get(message.channelId);
  assert.strictEqual(channel.messageEncoding, "cdr");
  assert.ok(channel.metadata.has("offered_qos_profiles"));
  const { reader, writer } = codecOf(indexed.schemasById.get(channel.schemaId));
  const value = reader.readMessage(message.data);
  assert.deepStrictEqual(Buffer.from(writer.writeMessage(value)), Buffer.from(message.data), channel.topic);
  assert.ok(message.logTime >= last);
  last = message.logTime;
  const stamp = value.header?.stamp;
  if (stamp) assert.strictEqual(BigInt(stamp.sec) * 1000000000n + BigInt(stamp.nanosec ?? stamp.nsec), message.logTime);
  counts.set(message.channelId, (counts.get(message.channelId) ?? 0n) + 1n);
}
for (const [id, count] of indexed.statistics.channelMessageCounts) assert.strictEqual(counts.get(id) ?? 0n, count);

const stream = new McapStreamReader({ decompressHandlers, validateCrcs: true });
stream.append(bytes);
let streamed = 0n;
for (let record; (record = stream.nextRecord()); ) if (record.type === "Message") streamed++;
assert.ok(stream.done());
assert.strictEqual(streamed, indexed.statistics.messageCount);

const types = [...indexed.schemasById.values()].map((schema) => schema.name).sort();
console.log(JSON.stringify({ messages: Number(streamed), types }));
