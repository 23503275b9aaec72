// What the page knows of the world: channels, subscriptions with their rings, events, status.

import { Ring, capacityFor } from './ring.js';

const EVENTS_KEPT = 2000;
const WATCHED_WHOLE = 256; // channels: the records of all are counted in a smaller world
const WATCHED_MAX = 400;

// Columns of a record type: {name, base, unit, text, frame}; base is shared by the components of a vector.
function columnsOf(type) {
  const out = [];
  for (const field of type.fields) {
    const dot = field.name.lastIndexOf('.');
    for (let i = 0; i < field.count; i++) {
      out.push({
        name: field.count > 1 ? `${field.name}.${i}` : field.name,
        base: field.count > 1 ? field.name : dot > 0 ? field.name.slice(0, dot) : field.name,
        unit: field.unit, text: field.text, frame: field.frame,
      });
    }
  }
  return out;
}

// The vehicle of a node: "demo/car" of "demo/car/imu".
export function vehicleOf(node) {
  return node.slice(0, Math.max(0, node.lastIndexOf('/')));
}

export class World {
  constructor(link) {
    this.link = link;
    this.name = '';
    this.channels = [];
    this.byTopic = new Map();
    this.byIndex = new Map();
    this.truths = new Map(); // vehicle -> the channel of its truth
    this.places = null; // [east, north] of each vehicle, in the order of `vehicles`
    this.subscriptions = new Map(); // key -> {id, topic, columns, ring, users}
    this.byId = new Map();
    this.nextId = 0;
    this.events = [];
    this.eventsLost = 0;
    this.eventSerial = 0; // grows with each change of the list
    this.status = null;
    this.time = 0;
    this.control = false;
    this.clock = new Ring(['lateness_p99_us', 'work_p50_us', 'real_time_factor'], 8192);
    this.listeners = new Map();
  }

  on(name, listener) {
    if (!this.listeners.has(name)) this.listeners.set(name, []);
    this.listeners.get(name).push(listener);
  }

  emit(name, value) {
    for (const listener of this.listeners.get(name) ?? []) listener(value);
  }

  // ---- messages ----

  // The description of a large world comes in parts.
  describe(message) {
    this.parts = message;
    if (!message.more) this.#take();
  }

  describeMore({ channels, more }) {
    this.parts.channels.push(...channels);
    if (!more) this.#take();
  }

  #take() {
    const message = this.parts;
    this.parts = null;
    const continues = message.lineage === this.lineage;
    const restarted = this.epoch !== undefined && this.epoch !== message.epoch;
    const sought = restarted && Boolean(this.recording && message.recording); // a playback begins a new run at each seek
    Object.assign(this, { name: message.world, version: message.version, epoch: message.epoch, lineage: message.lineage,
      seed: message.seed, control: message.control, rateHz: message.rate_hz, recording: message.recording ?? null });
    const columns = message.types.map(columnsOf);
    this.channels = message.channels.map((channel) => {
      const type = message.types[channel.type];
      return Object.assign(channel, { type, bytes: type.bytes, columns: columns[channel.type], plugin: '', measuredHz: 0, seq_s: NaN });
    });
    this.byTopic = new Map(this.channels.map((channel) => [channel.topic, channel]));
    this.byIndex = new Map(this.channels.map((channel) => [channel.index, channel]));
    this.truths = new Map();
    for (const channel of this.channels) {
      const vehicle = vehicleOf(channel.node);
      if (channel.truth && !this.truths.has(vehicle)) this.truths.set(vehicle, channel);
    }
    this.places = null;
    this.watched = '';
    if (!continues) {
      for (const subscription of this.subscriptions.values()) subscription.ring.clear();
      this.clock.clear();
      this.time = 0;
    }
    if (sought) {
      this.events = [];
      this.eventSerial++;
    } else if (restarted) {
      const t = continues ? this.time : 0;
      if (!continues) this.events = [];
      this.#addEvent({ seq: -1, t, tick: 0, severity: 1, kind: 'restart', source: 'world',
        text: continues ? 'the world restarted and continues' : 'the world restarted from its start' });
    }
    this.seenEvent = 0;
    for (const [key, subscription] of this.subscriptions) this.#request(key, subscription);
    this.emit('world', { restarted, continues, sought });
  }

  // The newest seq and the plugin of the watched channels.
  takeRecords({ t, channels }) {
    for (const [index, seq, plugin] of channels) {
      const channel = this.byIndex.get(index);
      if (!channel) continue;
      const elapsed = t - channel.seq_s;
      if (elapsed > 0 && seq >= channel.seq) {
        const hz = (seq - channel.seq) / elapsed;
        channel.measuredHz = channel.measuredHz > 0 ? 0.7 * channel.measuredHz + 0.3 * hz : hz;
      }
      Object.assign(channel, { plugin, seq, seq_s: t });
    }
  }

  // Chooses the channels whose records are counted: these topics, and all of a small world.
  watch(topics) {
    const chosen = this.channels.length <= WATCHED_WHOLE ? this.channels : [...topics].map((topic) => this.byTopic.get(topic)).filter(Boolean).slice(0, WATCHED_MAX);
    const watched = chosen.map((channel) => channel.index).join();
    if (watched !== this.watched) this.link.send('watch', watched);
    this.watched = watched;
  }

  take(status) {
    const before = this.status;
    const now = performance.now();
    status.received_ms = now;
    this.status = status;
    if (status.lateness.ticks > 0 && status.t > this.clock.lastTime) {
      this.clock.append(Float64Array.of(status.t), [Float64Array.of(status.lateness.p99_us ?? NaN),
        Float64Array.of(status.work.p50_us ?? NaN), Float64Array.of(status.real_time_factor ?? NaN)], 0);
    }
    const late = before ? status.counters.late_ticks - before.counters.late_ticks : 0;
    if (late > 0) {
      this.#addEvent({ seq: -1, t: status.t, tick: status.tick, severity: 1, kind: 'late', source: 'clock',
        text: `${late} late tick${late > 1 ? 's' : ''} (more than 100 µs)` });
    }
    this.emit('status', status);
  }

  takeEvents(message) {
    this.eventsLost = message.lost;
    for (const item of message.items) {
      if (item.seq <= this.seenEvent) continue;
      this.seenEvent = item.seq;
      if (!this.events.some((known) => known.seq === item.seq && known.t === item.t && known.text === item.text)) {
        this.#addEvent(item);
      }
    }
  }

  #addEvent(item) {
    this.events.push(item);
    if (this.events.length > EVENTS_KEPT) this.events.splice(0, this.events.length - EVENTS_KEPT);
    this.eventSerial++;
    this.emit('event', item);
  }

  batch(id, lost, times, columns) {
    const subscription = this.byId.get(id);
    if (subscription && columns.length === subscription.columns.length) subscription.ring.append(times, columns, lost);
  }

  // ---- subscriptions ----

  column(topic, name) {
    return this.byTopic.get(topic)?.columns.find((column) => column.name === name);
  }

  // Columns that are subscribed together with `name`: the components of its vector; for an error term, all terms of its axis.
  #group(channel, name) {
    const column = channel.columns.find((each) => each.name === name);
    if (!column) return [name];
    if (channel.topic.endsWith('.taps') && !name.includes('.truth.')) {
      const triad = name.split('.')[0], axis = name.split('.').at(-1);
      return channel.columns.filter((each) => each.name.startsWith(`${triad}.`) && each.name.endsWith(`.${axis}`) && !each.name.includes('.truth.')).map((each) => each.name);
    }
    return channel.columns.filter((each) => each.base === column.base).map((each) => each.name);
  }

  // {ring, column} of a field; subscribes to it at first use. NULL where the world has no such field.
  use(topic, name) {
    const channel = this.byTopic.get(topic);
    if (!channel || !channel.columns.some((column) => column.name === name)) return null;
    const names = this.#group(channel, name);
    const key = `${topic}|${names[0]}`;
    let subscription = this.subscriptions.get(key);
    if (!subscription) {
      const id = this.nextId++ & 0xffff;
      subscription = { id, topic, columns: names, users: 0, ring: new Ring(names, capacityFor(channel.rate_hz)) };
      this.subscriptions.set(key, subscription);
      this.byId.set(id, subscription);
      this.#request(key, subscription);
    }
    return { key, ring: subscription.ring, column: subscription.columns.indexOf(name) };
  }

  #request(key, subscription) {
    if (this.byTopic.has(subscription.topic)) {
      this.link.send('subscribe', String(subscription.id), subscription.topic, ...subscription.columns);
    }
  }

  // Ends the subscriptions whose keys are not in `used`.
  keep(used) {
    for (const [key, subscription] of this.subscriptions) {
      if (!used.has(key)) {
        this.link.send('unsubscribe', String(subscription.id));
        this.subscriptions.delete(key);
        this.byId.delete(subscription.id);
      }
    }
  }

  lostOf(topic) {
    let lost = 0;
    for (const subscription of this.subscriptions.values()) {
      if (subscription.topic === topic) lost = Math.max(lost, subscription.ring.lost);
    }
    return lost;
  }

  // Each has the channel of its truth.
  get vehicles() {
    return this.channels.filter((channel) => channel.truth || channel.type.name === 'truth');
  }

  get lost() {
    let lost = 0;
    for (const subscription of this.subscriptions.values()) lost += subscription.ring.lost;
    return lost;
  }
}
