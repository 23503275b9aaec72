// The connection to otolith-web: sub-protocol otolith.v1. Reconnects; the token comes from the fragment of the link, which
// a browser does not send, and stays in this tab.

const MAGIC = 0x3157544f;
const PLACES = 0x5057544f;
const REFUSED = 4001;

function takeTokens() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  for (const name of ['token', 'control']) {
    if (fragment.has(name)) sessionStorage.setItem(`otolith.${name}`, fragment.get(name));
  }
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search);
}

export class Link {
  // handlers: state(text), refused(reason), world, channels, records, status, events, reply (objects), frame(time),
  // batch(id, lost, times, columns), places(pairs of east and north)
  constructor(handlers) {
    this.handlers = handlers;
    this.requests = new Map();
    this.number = 0;
    this.pause_ms = 250;
    this.received = 0; // bytes of frames
    takeTokens();
    window.addEventListener('hashchange', () => {
      takeTokens();
      this.reconnect();
    });
  }

  get token() { return sessionStorage.getItem('otolith.token') ?? ''; }
  get control() { return sessionStorage.getItem('otolith.control') ?? ''; }

  setTokens(token, control) {
    sessionStorage.setItem('otolith.token', token);
    sessionStorage.setItem('otolith.control', control);
    this.reconnect();
  }

  reconnect() {
    clearTimeout(this.timer);
    if (this.socket) {
      this.socket.onclose = null;
      this.socket.close();
    }
    this.connect();
  }

  connect() {
    const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/`, ['otolith.v1']);
    this.socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      this.pause_ms = 250;
      socket.send(['hello', this.token, this.control].join('\n'));
    };
    socket.onmessage = (message) => {
      if (typeof message.data === 'string') this.#text(JSON.parse(message.data));
      else this.#frame(message.data);
    };
    socket.onclose = (event) => {
      for (const resolve of this.requests.values()) resolve({ ok: false, text: 'the connection was lost' });
      this.requests.clear();
      if (event.code === REFUSED) {
        this.handlers.refused(event.reason);
        return;
      }
      this.handlers.state('lost');
      this.timer = setTimeout(() => this.connect(), this.pause_ms);
      this.pause_ms = Math.min(2000, this.pause_ms * 1.5);
    };
  }

  send(...lines) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(lines.join('\n'));
  }

  // Sends a request; resolves with its reply. A newline separates arguments, so no argument may contain one.
  request(verb, ...values) {
    return new Promise((resolve) => {
      if (this.socket?.readyState !== WebSocket.OPEN) {
        resolve({ ok: false, text: 'not connected' });
        return;
      }
      const number = String(++this.number);
      this.requests.set(number, resolve);
      this.send('do', number, verb, ...values.map((value) => String(value).replaceAll('\n', ' ')));
    });
  }

  #text(message) {
    if (message.op === 'reply') {
      const resolve = this.requests.get(message.request);
      this.requests.delete(message.request);
      if (resolve) resolve(message);
      else this.handlers.reply(message);
    } else {
      this.handlers[message.op]?.(message);
    }
  }

  #frame(buffer) {
    const view = new DataView(buffer), magic = view.getUint32(0, true);
    if (magic === PLACES) this.handlers.places(new Float32Array(buffer, 16, 2 * view.getUint32(4, true)));
    if (magic !== MAGIC) return;
    const batches = view.getUint32(4, true);
    const sent = view.getUint32(16, true);
    let at = 24;
    for (let i = 0; i < batches; i++) {
      const id = view.getUint16(at, true), columnCount = view.getUint16(at + 2, true);
      const count = view.getUint32(at + 4, true), lost = view.getUint32(at + 8, true);
      at += 24;
      const times = new Float64Array(buffer, at, count);
      at += 8 * count;
      const columns = [];
      for (let c = 0; c < columnCount; c++) {
        columns.push(new Float64Array(buffer, at, count));
        at += 8 * count;
      }
      this.handlers.batch(id, lost, times, columns);
    }
    this.received += buffer.byteLength;
    this.handlers.frame(view.getFloat64(8, true));
    this.send('ack', String(sent)); // the server waits for it, so that frames do not pile up here
  }
}
