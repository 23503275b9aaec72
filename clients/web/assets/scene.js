// Attitude and top view of a vehicle: the truth, and an estimate where there is one. The top view may show all vehicles.

import { Choice } from './choice.js';
import { number } from './units.js';
import { vehicleOf } from './world.js';

const PATH_POINTS = 600;
const FLEET = 16; // vehicles: the top view of a larger world shows all of them first
const CROWD = 4000; // numbers of places: more vehicles are dots of one pixel
const REACH_PX = 12; // of a click on a vehicle

// Roll, pitch and yaw (FLU body in ENU) of a quaternion, in radians.
function angles(w, x, y, z) {
  return [Math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)), Math.asin(Math.max(-1, Math.min(1, 2 * (w * y - z * x)))),
    Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))];
}

function prepare(canvas, height) {
  const ratio = devicePixelRatio, width = canvas.clientWidth;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
  }
  const ctx = canvas.getContext('2d');
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  return { ctx, width, height };
}

export class Scene {
  constructor(page, element) {
    this.page = page;
    this.element = element;
    element.innerHTML = '<h3>Attitude <select></select></h3><canvas role="img" aria-label="attitude"></canvas><div class="readout"></div><h3>Top view <button title="all vehicles; a click in the picture chooses one">all</button></h3><canvas role="img" aria-label="top view of the path"></canvas><div class="readout"></div>';
    [this.attitude, this.map] = element.querySelectorAll('canvas');
    [this.angles, this.place] = element.querySelectorAll('.readout');
    this.choice = new Choice(element.querySelector('select'), 'vehicle', () => this.bind());
    this.allButton = element.querySelector('button');
    this.allButton.onclick = () => this.#showAll(!this.all);
    this.map.onclick = (event) => this.#pick(event);
    this.asked = false;
    this.dots = document.createElement('canvas'); // the vehicles, drawn anew when their places or the view change
  }

  // Vehicles are the nodes with a record of type truth.
  build() {
    const { world } = this.page;
    this.vehicles = world.vehicles;
    this.choice.set(this.vehicles.map((channel) => [channel.topic.replace(`${world.name}/`, ''), channel.topic]));
    this.allButton.hidden = this.vehicles.length < 2;
    this.asked = false;
    this.#showAll(this.all ?? this.vehicles.length > FLEET);
    this.bind();
  }

  #showAll(all) {
    this.all = this.vehicles.length > 1 && all;
    this.allButton.setAttribute('aria-pressed', String(this.all));
    this.page.sceneDirty = true;
    this.ask();
  }

  // The server sends the places of all vehicles only while they are shown.
  ask() {
    const wanted = this.all && !this.element.hidden;
    if (wanted !== this.asked) this.page.link.send('places', wanted ? 'on' : 'off');
    this.asked = wanted;
  }

  bind() {
    const { world } = this.page, topic = this.choice.value, vehicle = topic.split('/').slice(0, -1).join('/');
    this.truth = this.#source(topic);
    const estimate = world.channels.find((channel) => channel.type.name === 'estimate' && channel.node.startsWith(`${vehicle}/`));
    this.estimate = estimate ? this.#source(estimate.topic) : null;
    this.page.fieldsChanged();
  }

  #source(topic) {
    const { world } = this.page;
    const pose = ['w', 'x', 'y', 'z'].map((axis) => world.use(topic, `q_enu_from_body.${axis}`));
    const place = ['x', 'y', 'z'].map((axis) => world.use(topic, `position_enu_m.${axis}`));
    const velocity = ['x', 'y', 'z'].map((axis) => world.use(topic, `velocity_enu_m_s.${axis}`));
    return pose.includes(null) || place.includes(null) ? null : { pose, place, velocity };
  }

  usedKeys(into) {
    for (const source of [this.truth, this.estimate]) {
      for (const data of [...(source?.pose ?? []), ...(source?.place ?? []), ...(source?.velocity ?? [])]) if (data) into.add(data.key);
    }
  }

  #at(data, time) {
    return data.map((each) => (each ? each.ring.nearest(each.column, time, Infinity) : NaN));
  }

  redraw(time) {
    if (this.element.hidden || !this.truth) return;
    const [w, x, y, z] = this.#at(this.truth.pose, time);
    const [roll, pitch, yaw] = angles(w, x, y, z);
    const other = this.estimate ? angles(...this.#at(this.estimate.pose, time)) : null;
    if (Number.isFinite(roll)) this.#drawAttitude(roll, pitch, yaw, other);
    this.#drawMap(time, yaw);
    this.#write(roll, pitch, yaw, time);
  }

  #write(roll, pitch, yaw, time) {
    const deg = this.page.layout.degrees, factor = deg ? 180 / Math.PI : 1, unit = deg ? '°' : '';
    const heading = (Math.PI / 2 - yaw + 4 * Math.PI) % (2 * Math.PI);
    const [px, py, pz] = this.#at(this.truth.place, time), velocity = this.#at(this.truth.velocity, time);
    const set = (element, pairs) => {
      while (element.children.length < pairs.length) element.append(document.createElement('div'));
      pairs.forEach(([name, text], i) => {
        element.children[i].dataset.name = name;
        element.children[i].textContent = text;
      });
    };
    const fixed = (value) => (Number.isFinite(value) ? (value * factor).toFixed(deg ? 1 : 3).replace('-', '−') + unit : '–');
    set(this.angles, [['roll', fixed(roll)], ['pitch', fixed(pitch)], ['heading', fixed(heading)]]);
    const metres = (value) => (Number.isFinite(value) ? (Math.round(value * 100) / 100 + 0).toFixed(2).replace('-', '−') : '–');
    set(this.place, [['east', `${metres(px)} m`], ['north', `${metres(py)} m`], ['up', `${metres(pz)} m`],
      ['speed', `${metres(Math.hypot(...velocity))} m/s`]]);
  }

  // An artificial horizon. Pitch is positive with the nose down (FLU), as in the angles that are written below it.
  #drawAttitude(roll, pitch, yaw, other) {
    const { ctx, width, height } = prepare(this.attitude, 170), { theme } = this.page;
    const perRad = height / (50 * Math.PI / 180);
    ctx.save();
    ctx.translate(width / 2, height / 2);
    ctx.save();
    ctx.rotate(-roll);
    ctx.translate(0, -pitch * perRad);
    ctx.fillStyle = theme.sky;
    ctx.fillRect(-width, -6 * height, 2 * width, 6 * height);
    ctx.fillStyle = theme.ground;
    ctx.fillRect(-width, 0, 2 * width, 6 * height);
    ctx.strokeStyle = ctx.fillStyle = 'rgba(255,255,255,0.85)';
    ctx.lineWidth = 1.2;
    ctx.font = '10px system-ui';
    ctx.textBaseline = 'middle';
    ctx.beginPath();
    ctx.moveTo(-width, 0);
    ctx.lineTo(width, 0);
    for (let d = -80; d <= 80; d += 5) {
      if (d === 0) continue;
      const y = -d * Math.PI / 180 * perRad, half = d % 10 === 0 ? 30 : 14;
      ctx.moveTo(-half, y);
      ctx.lineTo(half, y);
      if (d % 10 === 0) ctx.fillText(String(Math.abs(d)), half + 6, y);
    }
    ctx.stroke();
    ctx.restore();
    this.#drawSymbol(ctx, '#ffd23f', 3);
    if (other && other.every(Number.isFinite)) {
      ctx.save();
      ctx.rotate(other[0] - roll);
      ctx.translate(0, (other[1] - pitch) * perRad);
      this.#drawSymbol(ctx, theme.accent, 1.5);
      ctx.restore();
    }
    ctx.restore();
    this.#drawHeading(ctx, width, yaw);
  }

  #drawSymbol(ctx, color, thick) {
    ctx.strokeStyle = color;
    ctx.lineWidth = thick;
    ctx.beginPath();
    for (const side of [-1, 1]) {
      ctx.moveTo(side * 62, 0);
      ctx.lineTo(side * 26, 0);
      ctx.lineTo(side * 26, 9);
    }
    ctx.moveTo(3, 0);
    ctx.arc(0, 0, 3, 0, 7);
    ctx.stroke();
  }

  #drawHeading(ctx, width, yaw) {
    const heading = 90 - yaw * 180 / Math.PI, perDeg = width / 120, names = { 0: 'N', 90: 'E', 180: 'S', 270: 'W' };
    ctx.fillStyle = this.page.theme.sky;
    ctx.fillRect(0, 0, width, 20);
    ctx.fillStyle = 'rgba(0,0,0,0.45)';
    ctx.fillRect(0, 0, width, 20);
    ctx.fillStyle = ctx.strokeStyle = '#fff';
    ctx.font = '10px system-ui';
    ctx.textAlign = 'center';
    ctx.textBaseline = 'alphabetic';
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (let d = Math.ceil((heading - 60) / 10) * 10; d <= heading + 60; d += 10) {
      const x = width / 2 + (d - heading) * perDeg, whole = ((d % 360) + 360) % 360;
      ctx.moveTo(x, 20);
      ctx.lineTo(x, d % 30 === 0 ? 14 : 17);
      if (d % 30 === 0) ctx.fillText(names[whole] ?? String(whole), x, 12);
    }
    ctx.moveTo(width / 2, 20);
    ctx.lineTo(width / 2, 26);
    ctx.stroke();
    ctx.textAlign = 'start';
  }

  // ---- top view ----

  #path(source, time) {
    const [x, y] = source.place, { ring } = x, to = Math.min(ring.count, ring.find(time) + 1), from = ring.first;
    const step = Math.max(1, Math.floor((to - from) / PATH_POINTS)), points = [];
    for (let i = from; i < to; i += step) points.push([ring.values[x.column][i & ring.mask], ring.values[y.column][i & ring.mask]]);
    if (to > from) points.push([ring.values[x.column][(to - 1) & ring.mask], ring.values[y.column][(to - 1) & ring.mask]]);
    return points;
  }

  #drawMap(time, yaw) {
    const { ctx, width, height } = prepare(this.map, 250), { theme } = this.page;
    const path = this.#path(this.truth, time);
    if (path.length === 0) return;
    const estimate = this.estimate ? this.#path(this.estimate, time) : [];
    const box = [Infinity, Infinity, -Infinity, -Infinity];
    const extend = (x, y) => {
      box[0] = Math.min(box[0], x);
      box[1] = Math.min(box[1], y);
      box[2] = Math.max(box[2], x);
      box[3] = Math.max(box[3], y);
    };
    for (const [x, y] of [...path, ...estimate]) extend(x, y);
    const places = this.all ? this.page.world.places : null;
    for (let i = 0; places && i < places.length; i += 2) if (Number.isFinite(places[i])) extend(places[i], places[i + 1]);
    const size = Math.max((box[2] - box[0]) / (width - 50), (box[3] - box[1]) / (height - 50), 10 / width);
    const cx = (box[0] + box[2]) / 2, cy = (box[1] + box[3]) / 2;
    const at = ([x, y]) => [width / 2 + (x - cx) / size, height / 2 - (y - cy) / size];
    this.#drawGrid(ctx, width, height, size, at, cx, cy);
    this.at = at;
    if (places) this.#drawDots(ctx, places, width, height, [cx, cy, size]);
    this.#drawPath(ctx, path, at, theme.accent, 2);
    this.#drawPath(ctx, estimate, at, theme.warning, 1.5);
    const [x, y] = at(path.at(-1));
    ctx.save();
    ctx.translate(x, y);
    ctx.rotate(-yaw);
    ctx.fillStyle = theme.text;
    ctx.beginPath();
    ctx.moveTo(10, 0);
    ctx.lineTo(-6, 6);
    ctx.lineTo(-3, 0);
    ctx.lineTo(-6, -6);
    ctx.fill();
    ctx.restore();
  }

  // One square for each vehicle, written as pixels: ten thousand cost less than a path of a hundred points.
  #drawDots(ctx, places, width, height, view) {
    const { dots } = this, key = [width, height, ...view, this.page.theme.name].join();
    if (this.drawnPlaces !== places || this.drawnView !== key) {
      const ratio = devicePixelRatio, [cx, cy, size] = view;
      dots.width = Math.round(width * ratio);
      dots.height = Math.round(height * ratio);
      const image = new ImageData(dots.width, dots.height), pixels = new Uint32Array(image.data.buffer);
      const [red, green, blue] = this.page.theme.accent.match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
      const color = (0xff000000 | blue << 16 | green << 8 | red) >>> 0;
      const side = places.length > CROWD ? [0] : [0, 1, dots.width, dots.width + 1];
      for (let i = 0; i < places.length; i += 2) {
        const x = Math.round((width / 2 + (places[i] - cx) / size) * ratio), y = Math.round((height / 2 - (places[i + 1] - cy) / size) * ratio);
        if (!(x > 0 && y > 0 && x < dots.width && y < dots.height)) continue;
        for (const pixel of side) pixels[y * dots.width + x - pixel] = color;
      }
      dots.getContext('2d').putImageData(image, 0, 0);
      this.drawnPlaces = places;
      this.drawnView = key;
    }
    ctx.drawImage(dots, 0, 0, width, height);
    const shown = places.length / 2, all = this.vehicles.length;
    ctx.fillStyle = this.page.theme.dim;
    ctx.font = '10px system-ui';
    ctx.fillText(shown < all ? `the first ${shown} of ${all} vehicles` : `${all} vehicles`, 8, 14);
  }

  // Chooses the vehicle at the pointer.
  #pick(event) {
    const { places } = this.page.world;
    if (!this.all || !places || !this.at) return;
    let best = REACH_PX, nearest = -1;
    for (let i = 0; i < places.length; i += 2) {
      const [x, y] = this.at([places[i], places[i + 1]]), distance = Math.hypot(x - event.offsetX, y - event.offsetY);
      if (distance < best) [best, nearest] = [distance, i / 2];
    }
    if (nearest < 0) return;
    this.choice.value = this.vehicles[nearest].topic;
    this.bind();
  }

  #drawPath(ctx, path, at, color, width) {
    ctx.strokeStyle = color;
    ctx.lineWidth = width;
    ctx.lineJoin = 'round';
    ctx.beginPath();
    path.forEach((point, i) => (i === 0 ? ctx.moveTo(...at(point)) : ctx.lineTo(...at(point))));
    ctx.stroke();
  }

  #drawGrid(ctx, width, height, size, at, cx, cy) {
    const wish = size * 70, power = 10 ** Math.floor(Math.log10(wish));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= wish), { theme } = this.page;
    ctx.strokeStyle = theme.grid;
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (let x = Math.ceil((cx - size * width / 2) / step) * step; x < cx + size * width / 2; x += step) {
      ctx.moveTo(at([x, 0])[0], 0);
      ctx.lineTo(at([x, 0])[0], height);
    }
    for (let y = Math.ceil((cy - size * height / 2) / step) * step; y < cy + size * height / 2; y += step) {
      ctx.moveTo(0, at([0, y])[1]);
      ctx.lineTo(width, at([0, y])[1]);
    }
    ctx.stroke();
    ctx.fillStyle = ctx.strokeStyle = theme.dim;
    ctx.font = '10px system-ui';
    ctx.textBaseline = 'alphabetic';
    ctx.beginPath();
    ctx.moveTo(10, height - 10);
    ctx.lineTo(10 + step / size, height - 10);
    ctx.stroke();
    ctx.fillText(`${number(step, 3)} m`, 12, height - 14);
    ctx.fillText('N ↑', width - 24, 14);
  }
}
