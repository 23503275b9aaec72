// The page: puts link, world, charts and panels together, and draws once a frame of the screen.

import { Chart } from './chart.js';
import { Events } from './events.js';
import { Keys } from './keys.js';
import { Link } from './link.js';
import { Nodes } from './nodes.js';
import { Scene } from './scene.js';
import { Spectra } from './spectra.js';
import { Theme } from './theme.js';
import { Topics } from './topics.js';
import { View } from './view.js';
import { World } from './world.js';
import { WINDOWS_S, defaultCharts, readLayout, writeLayout } from './layout.js';
import { clock, duration, number } from './units.js';

const TABLES_MS = 200;
const SCENE_MS = 50;

const $ = (id) => document.getElementById(id);

class Page {
  constructor() {
    this.layout = readLayout();
    this.theme = new Theme();
    this.theme.apply(this.layout.theme);
    this.charts = [];
    this.active = null;
    this.view = new View(this.layout.span, () => this.#viewChanged());
    this.link = new Link({
      state: (text) => this.#showState(text),
      refused: (reason) => this.askToken(`The server refused this page: ${reason}.`),
      world: (message) => this.world.describe(message),
      channels: (message) => this.world.describeMore(message),
      records: (message) => this.world.takeRecords(message),
      status: (message) => this.world.take(message),
      events: (message) => this.world.takeEvents(message),
      reply: (message) => this.toast(message.text, !message.ok),
      frame: (time) => { this.world.time = time; },
      batch: (id, lost, times, columns) => this.world.batch(id, lost, times, columns),
      places: (pairs) => {
        this.world.places = pairs;
        this.sceneDirty = true;
      },
    });
    this.world = new World(this.link);
    this.topics = new Topics(this, $('topics'), $('search'));
    this.scene = new Scene(this, $('panel-view'));
    this.events = new Events(this, $('panel-events'), $('count'));
    this.nodes = new Nodes(this, $('panel-nodes'));
    this.spectra = new Spectra(this, $('panel-analysis'));
    this.drawn_ms = 0;
    this.drawn = this.drawnBefore = 0;
    this.cost_ms = 0;
    this.tables_ms = 0;
    this.scene_ms = 0;
    this.fps = 0;
    this.fps_ms = performance.now();
    this.world.on('world', (facts) => this.#worldChanged(facts));
    this.world.on('status', (status) => this.#statusChanged(status));
    this.world.on('event', () => { this.view.dirty = true; });
    this.theme.listeners.push(() => this.#restyle());
    this.#bindTools();
    this.keys = new Keys(this);
    this.showPanel(this.layout.panel);
    this.link.connect();
    requestAnimationFrame((now) => this.#onFrame(now));
  }

  // ---- world ----

  #worldChanged({ restarted, continues, sought }) {
    document.title = `${this.world.name} · otolith`;
    $('world').textContent = this.world.name;
    $('world').title = `otolith ${this.world.version}, seed ${this.world.seed}, epoch ${this.world.epoch}`;
    $('run').hidden = !this.world.control;
    $('unlock').hidden = this.world.control;
    this.#showRecording(this.world.recording);
    this.topics.build();
    if (this.charts.length === 0) {
      for (const model of this.layout.charts ?? defaultCharts(this.world)) this.addChart(model, true);
    } else {
      for (const chart of this.charts) chart.bind();
    }
    this.activate(this.charts[0] ?? null);
    this.scene.build();
    this.nodes.build();
    this.changed();
    this.#watch();
    if (restarted) {
      this.view.follow();
      if (!sought) this.toast(continues ? 'the world restarted and continues' : 'the world restarted from its start');
    }
  }

  #showRecording(recording) {
    $('playback').hidden = recording === null;
    $('checkpoint').hidden = recording !== null;
    $('seek').disabled = !this.world.control;
    $('seek').title = this.world.control ? 'continue at another time' : 'with the control token: continue at another time';
    if (recording) [$('seek').min, $('seek').max] = [recording.start, recording.end];
  }

  #showState(text) {
    const pill = $('state');
    $('notice').hidden = text !== 'lost';
    document.body.classList.toggle('lost', text === 'lost');
    if (pill.textContent !== text) {
      pill.textContent = text === 'lost' ? 'no connection' : text === 'over' ? 'ended' : text;
      pill.className = `pill ${text}`;
    }
  }

  #statusChanged(status) {
    this.#showState(status.state);
    const { counters, lateness, work } = status;
    $('factor').textContent = status.state === 'running' ? `×${number(status.real_time_factor, 3)}` : '×0';
    $('lateness').textContent = lateness.p99_us === null ? '–' : duration(lateness.p99_us);
    $('work').textContent = work.p50_us === null ? '–' : duration(work.p50_us);
    $('late').textContent = counters.ticks > 0 ? `${number(100 * counters.late_ticks / counters.ticks, 2)} %` : '–';
    $('late').title = `${counters.late_ticks} of ${counters.ticks}`;
    $('late').classList.toggle('warning', counters.late_ticks > 0.01 * counters.ticks);
    if (this.world.recording) {
      $('range').textContent = `${clock(status.t)} of ${clock(this.world.recording.end)}`;
      if (!this.seeking) $('seek').value = status.t;
    }
    $('lost').textContent = String(this.world.lost);
    $('lost').classList.toggle('warning', this.world.lost > 0);
    $('pause').textContent = status.state === 'paused' ? 'Resume' : 'Pause';
    if (document.activeElement !== $('scale')) $('scale').value = String(+status.scale.toPrecision(4));
    this.topics.update();
    this.nodes.update();
    this.#watch();
    if (this.charts.some((chart) => chart.lines.some((line) => !line.truth))) {
      for (const chart of this.charts) chart.bindTruth();
    }
  }

  // The records of the channels that are shown are counted, and those of the taps, which may begin at any time.
  #watch() {
    const topics = new Set();
    for (const chart of this.charts) {
      for (const { topic } of chart.model.series) {
        topics.add(topic);
        topics.add(`${this.world.byTopic.get(topic)?.node}.taps`);
      }
    }
    this.nodes.watched(topics);
    this.topics.watched(topics);
    this.world.watch(topics);
  }

  // ---- charts ----

  addChart(model = { series: [], terms: false }, quiet = false) {
    const chart = new Chart(this, model);
    this.charts.push(chart);
    $('stack').append(chart.element);
    if (!quiet) {
      this.activate(chart);
      chart.element.scrollIntoView({ block: 'nearest' });
      this.changed();
    }
    return chart;
  }

  remove(chart) {
    this.charts = this.charts.filter((each) => each !== chart);
    chart.destroy();
    if (this.active === chart) this.activate(this.charts.at(-1) ?? null);
    this.changed();
  }

  activate(chart) {
    if (this.active === chart && chart?.element.classList.contains('active')) return;
    this.active?.element.classList.remove('active');
    this.active = chart;
    chart?.element.classList.add('active');
    this.topics.mark();
  }

  isPlotted(topic, column) {
    return this.active?.model.series.some((line) => line.topic === topic && line.column === column) ?? false;
  }

  toggleField(topic, column) {
    const chart = this.active && !this.active.model.terms ? this.active : this.addChart();
    const { series } = chart.model, index = series.findIndex((line) => line.topic === topic && line.column === column);
    if (index >= 0) series.splice(index, 1);
    else series.push({ topic, column });
    chart.bind();
    this.topics.mark();
    this.changed();
  }

  async toggleTerms(chart) {
    if (chart.model.terms) {
      this.remove(chart);
      return;
    }
    const line = chart.lines[0], channel = this.world.byTopic.get(line.topic);
    const taps = this.world.byTopic.get(`${channel.node}.taps`);
    if (taps && taps.seq === 0) {
      if (!this.world.control) {
        this.toast(`the taps of ${channel.node} are off; otolith set ${channel.node} taps true turns them on`, true);
        return;
      }
      if (!(await this.ask('set', channel.node, 'taps', 'true')).ok) return;
    }
    const model = { series: [{ topic: line.topic, column: line.column }], terms: true };
    this.charts.splice(this.charts.indexOf(chart) + 1, 0, new Chart(this, model));
    chart.element.after(this.charts[this.charts.indexOf(chart) + 1].element);
    this.changed();
  }

  // Fields, charts or the layout changed: the URL and the subscriptions follow.
  changed() {
    this.layout.span = this.view.span;
    writeLayout({ ...this.layout, charts: this.charts.map((chart) => chart.model).filter((model) => model.series.length > 0) });
    this.fieldsChanged();
    this.view.dirty = true;
  }

  fieldsChanged() {
    const used = new Set();
    for (const part of [...this.charts, this.scene, this.spectra]) part?.usedKeys(used);
    this.world.keep(used);
  }

  select(line) {
    this.spectra.select(line);
    this.showPanel('analysis');
  }

  // ---- view ----

  #viewChanged() {
    $('follow').setAttribute('aria-pressed', String(this.view.following));
    $('follow').textContent = this.view.following ? 'Follow' : 'Held';
    const known = WINDOWS_S.includes(this.view.span);
    $('span').value = known ? String(this.view.span) : '';
    if (this.layout.span !== this.view.span) this.changed();
  }

  cursorMoved() {
    this.tables_ms = Math.min(this.tables_ms, performance.now() - TABLES_MS + 30);
  }

  cursorTime() {
    return this.charts.map((chart) => chart.cursor).find(Number.isFinite) ?? NaN;
  }

  #onFrame(now_ms) {
    requestAnimationFrame((next) => this.#onFrame(next));
    if (now_ms - this.fps_ms >= 1000) {
      this.fps = 1000 * (this.drawn - this.drawnBefore) / (now_ms - this.fps_ms);
      this.fps_ms = now_ms;
      this.drawnBefore = this.drawn;
    }
    this.view.advance(this.world.time);
    if (now_ms - this.drawn_ms < 2 * this.cost_ms) return; // leaves half of the time for reading data
    this.drawn_ms = now_ms;
    this.drawn++;
    const start = performance.now();
    if (this.view.dirty) {
      this.view.dirty = false;
      $('time').textContent = clock(this.world.time);
      for (const chart of this.charts) if (chart.visible) chart.redraw();
      this.sceneDirty = true;
    }
    if (this.sceneDirty && now_ms - this.scene_ms >= SCENE_MS) {
      this.sceneDirty = false;
      this.scene_ms = now_ms;
      this.scene.redraw(this.view.following ? this.world.time : this.view.t1);
    }
    if (now_ms - this.tables_ms >= TABLES_MS) {
      this.tables_ms = now_ms;
      for (const chart of this.charts) if (chart.visible) chart.updateTable();
      this.events.update();
      this.spectra.update(now_ms);
    }
    this.cost_ms += 0.1 * (performance.now() - start - this.cost_ms);
  }

  // ---- tools ----

  async ask(...request) {
    const reply = await this.link.request(...request);
    this.toast(reply.text || `${request[0]}: done`, !reply.ok);
    return reply;
  }

  toast(text, failed = false) {
    const element = $('toast');
    element.textContent = text;
    element.className = `shown ${failed ? 'failed' : ''}`;
    clearTimeout(this.toastTimer);
    this.toastTimer = setTimeout(() => { element.className = ''; }, failed ? 6000 : 2500);
  }

  askToken(why) {
    $('why').textContent = why;
    $('read-token').value = this.link.token;
    $('control-token').value = this.link.control;
    if (!$('tokens').open) $('tokens').showModal();
  }

  pauseWorld() {
    if (this.world.control) this.ask(this.world.status?.state === 'paused' ? 'resume' : 'pause');
  }

  stepWorld() {
    if (this.world.control) this.ask('step', $('ticks').value);
  }

  toggleDegrees() {
    this.layout.degrees = !this.layout.degrees;
    this.#showDegrees();
    for (const chart of this.charts) chart.bind();
    this.changed();
  }

  #showDegrees() {
    $('degrees').textContent = this.layout.degrees ? 'deg' : 'rad';
    $('degrees').setAttribute('aria-pressed', String(this.layout.degrees));
  }

  toggleNumbers() {
    this.layout.numbers = !this.layout.numbers;
    this.#showNumbers();
    this.changed();
  }

  #showNumbers() {
    document.body.classList.toggle('all-numbers', this.layout.numbers);
    $('numbers').setAttribute('aria-pressed', String(this.layout.numbers));
  }

  toggleTheme() {
    this.layout.theme = this.theme.name === 'dark' ? 'light' : 'dark';
    this.theme.apply(this.layout.theme);
    this.changed();
  }

  #restyle() {
    for (const chart of this.charts) chart.bind();
    this.spectra.restyle();
    this.view.dirty = true;
  }

  showPanel(name) {
    for (const tab of document.querySelectorAll('[role=tab]')) {
      const chosen = tab.dataset.panel === name;
      tab.setAttribute('aria-selected', String(chosen));
      $(`panel-${tab.dataset.panel}`).hidden = !chosen;
    }
    this.layout.panel = name;
    this.events.serial = -1;
    if (this.world.name !== '') this.scene.ask();
    if (name === 'nodes' && this.world.name !== '') this.nodes.load();
    if (this.charts.length > 0) this.changed();
  }

  #bindTools() {
    $('span').replaceChildren(new Option('custom', '', false, false), ...WINDOWS_S.map((span) => new Option(span < 60 ? `${span} s` : `${span / 60} min`, String(span))));
    $('span').options[0].hidden = true;
    $('span').value = String(this.layout.span);
    $('span').onchange = () => this.view.setSpan(Number($('span').value));
    $('follow').onclick = () => this.view.toggle();
    $('degrees').onclick = () => this.toggleDegrees();
    $('numbers').onclick = () => this.toggleNumbers();
    $('theme').onclick = () => this.toggleTheme();
    $('add').onclick = () => this.addChart();
    $('help').onclick = () => $('keys').showModal();
    $('unlock').onclick = () => this.askToken('Control needs the control token.');
    $('pause').onclick = () => this.pauseWorld();
    $('step').onclick = () => this.stepWorld();
    $('scale').onchange = () => this.ask('scale', $('scale').value);
    $('seek').oninput = () => { this.seeking = true; };
    $('seek').onchange = () => this.ask('seek', $('seek').value).finally(() => { this.seeking = false; });
    $('checkpoint').onclick = () => this.ask('checkpoint', `${this.world.name}-${this.world.status?.tick ?? 0}.ckpt`);
    $('link').onclick = () => navigator.clipboard.writeText(location.href).then(() => this.toast('the link of this layout is copied'));
    $('tokens').onclose = () => {
      if ($('tokens').returnValue === 'ok') this.link.setTokens($('read-token').value.trim(), $('control-token').value.trim());
    };
    const tabs = [...document.querySelectorAll('[role=tab]')];
    tabs.forEach((tab, index) => {
      tab.onclick = () => this.showPanel(tab.dataset.panel);
      tab.onkeydown = (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!step) return;
        event.stopPropagation(); // the page's own arrow keys move the view
        const next = tabs[(index + step + tabs.length) % tabs.length];
        next.focus();
        next.click();
      };
    });
    this.#showDegrees();
    this.#showNumbers();
  }
}

globalThis.otolith = new Page(); // for the console
