"""The page in Chromium: every feature, a world that restarts under it, a page that sleeps, two pages, a foreign page."""
import http.server
import subprocess
import sys
import threading

import browser
import web_case
from web_case import Viewer, WebCase, free_ports

READY = "otolith.charts.length > 0 && otolith.world.time > 0 && otolith.charts[0].lines[0].data.ring.count > 50"
IMU = "demo/car/imu"
HISTORY = ("--set", "ring_capacity=65536")  # five minutes of the IMU, however slowly a browser opens its page


class PageCase(WebCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def open(self, link, query="", control=False, wait=READY, **more):
        page = self.browser.open(link.page(query, control), **more)
        self.addCleanup(page.close)
        if wait:
            page.wait(wait)
        return page

    def no_errors(self, page):
        page.run("0")
        self.assertEqual(page.errors, [])

    def fixed(self, page):
        return page.run("[otolith.view.t0, otolith.view.t1, otolith.view.following]")


class Plots(PageCase):
    def test_a_chart_is_full_on_connect_and_follows_the_simulated_time(self):
        link = self.start(None, *HISTORY)
        page = self.open(link, "?w=2", wait=None)
        page.wait("otolith.world.time > 3")
        again = self.open(link, "?w=2")
        ring = again.run("(() => { const { ring } = otolith.charts[0].lines[0].data; return [ring.count, ring.t[0]]; })()")
        self.assertGreater(ring[0], 400)
        self.assertAlmostEqual(ring[1], 0.005, delta=1e-6)
        before = again.run("otolith.view.t1")
        again.wait(f"otolith.view.t1 > {before} + 0.2")
        self.assertNotIn("#", again.run("location.href"))
        self.no_errors(again)

    def test_the_page_shows_the_samples_of_shared_memory(self):
        page = self.open(self.start(None, *HISTORY))
        page.wait("otolith.world.time > 1.5")
        self.otolith("pause")
        page.wait("otolith.world.status.state === 'paused'")
        values = page.run("""(() => { const { ring, column } = otolith.charts[0].lines[2].data;
            return Array.from({length: 100}, (_, i) => [ring.t[i], ring.values[column][i]]); })()""")
        recorded = self.path / "imu.csv"
        self.otolith("run", self.city, "--set", "world=again", "--set", "web=false", "--mode", "asap", "--for", "1s", "--quiet",
                     "--csv", f"again/car/imu={recorded}")
        lines = recorded.read_text().splitlines()
        column = lines[0].split(",").index("linear_acceleration.z")
        for (_, value), line in zip(values, lines[1:]):
            self.assertEqual(value, float(line.split(",")[column]))

    def test_time_stops_with_the_world(self):
        page = self.open(self.start(), control=True)
        page.run("document.getElementById('pause').click()")
        page.wait("otolith.world.status.state === 'paused' && document.getElementById('pause').textContent === 'Resume'")
        at = page.wait("otolith.world.time")
        tick = page.run("otolith.world.status.tick")
        page.run("document.getElementById('ticks').value = 7; document.getElementById('step').click()")
        page.wait(f"otolith.world.status.tick === {tick + 7}")
        page.wait(f"Math.abs(otolith.world.time - {tick + 7} / 1000) < 1e-6")
        self.assertGreaterEqual(page.run("otolith.world.time"), at)
        page.run("document.getElementById('pause').click()")
        page.wait("otolith.world.status.state === 'running'")
        self.no_errors(page)

    def test_the_view_holds_and_zooms_while_data_flow(self):
        page = self.open(self.start(), "?w=2")
        page.wait("otolith.world.time > 2.5")
        page.key(" ")
        page.wait("!otolith.view.following")
        count = page.run("otolith.charts[0].lines[0].data.ring.count")
        t0, t1, _ = self.fixed(page)
        page.wait(f"otolith.charts[0].lines[0].data.ring.count > {count + 100}")
        self.assertEqual(self.fixed(page)[:2], [t0, t1])
        box = page.run("(() => { const r = otolith.charts[0].plot.over.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()")
        x, y, width, height = box
        page.drag(x + 0.25 * width, y + 0.5 * height, x + 0.5 * width, y + 0.5 * height)
        page.wait(f"Math.abs(otolith.view.t1 - otolith.view.t0 - {(t1 - t0) / 4}) < {(t1 - t0) / 20}")
        zoomed = self.fixed(page)
        page.mouse("mouseWheel", x + 0.5 * width, y + 0.5 * height, deltaX=0, deltaY=-100)
        page.wait(f"otolith.view.t1 - otolith.view.t0 < {zoomed[1] - zoomed[0]}")
        held = self.fixed(page)
        page.drag(x + 0.5 * width, y + 0.5 * height, x + 0.7 * width, y + 0.5 * height, modifiers=8)
        page.wait(f"otolith.view.t0 < {held[0]}")
        page.key("ArrowRight")
        page.mouse("mouseMoved", x + 0.5 * width, y + 0.5 * height)
        page.wait("Number.isFinite(otolith.cursorTime())")
        page.wait("otolith.charts[0].rows.every(({cells}) => cells[0].textContent !== '–')")
        page.wait("otolith.charts[0].valueHead.textContent === `${otolith.cursorTime().toFixed(3)} s`")
        page.key(" ")
        page.wait("otolith.view.following")
        page.key("-")
        page.wait("otolith.view.span === 5")
        page.key("+")
        page.wait("otolith.view.span === 2")
        self.no_errors(page)

    def test_statistics_are_those_of_the_window(self):
        page = self.open(self.start(), "?w=2", control=True)
        page.wait("otolith.world.time > 2.5")
        page.key(" ")
        page.wait("!otolith.view.following")
        numbers = page.run("""(async () => { const { statistics } = await import('/analysis.js');
            const { ring, column } = otolith.charts[0].lines[2].data;
            const from = ring.find(otolith.view.t0), to = ring.find(otolith.view.t1), values = [];
            for (let i = from; i < to; i++) values.push(ring.values[column][i & ring.mask]);
            const mean = values.reduce((a, b) => a + b) / values.length;
            const sigma = Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / (values.length - 1));
            const rms = Math.sqrt(values.reduce((a, b) => a + b * b, 0) / values.length);
            const own = statistics(ring, column, from, to);
            return [[mean, sigma, rms, Math.min(...values), Math.max(...values)], [own.mean, own.sigma, own.rms, own.least, own.most]]; })()""")
        for expected, got in zip(*numbers):
            self.assertAlmostEqual(expected, got, delta=1e-9 * abs(expected) + 1e-12)
        page.wait("otolith.charts[0].rows[2].cells[1].textContent.startsWith('9.8')")

    def test_degrees_and_themes_change_and_a_layout_is_a_url(self):
        link = self.start()
        page = self.open(link, "?w=5&theme=light")
        chart = "otolith.charts[1]"
        self.assertEqual(page.run(f"{chart}.lines[0].unitText"), "°/s")
        page.key("d")
        page.wait(f"{chart}.lines[0].unitText === 'rad/s'")
        self.assertEqual(page.run("document.documentElement.dataset.theme"), "light")
        page.key("t")
        page.wait("document.documentElement.dataset.theme === 'dark'")
        page.run(f"{chart}.element.focus()")
        page.run("otolith.toggleField('demo/car/odo', 'speed_m_s')")
        page.run("otolith.remove(otolith.charts[0])")
        url = page.run("location.search")
        self.assertNotIn("token", page.run("location.href"))
        models = page.run("JSON.stringify(otolith.charts.map((each) => each.model))")
        self.assertIn("speed_m_s", models)
        again = self.open(link, url)
        self.assertEqual(again.run("JSON.stringify(otolith.charts.map((each) => each.model))"), models)
        self.assertEqual(again.run("[otolith.layout.degrees, otolith.view.span, otolith.layout.theme]"), [False, 5, "dark"])
        self.no_errors(again)

    def test_any_field_is_found_and_plotted_by_the_keyboard_alone(self):
        page = self.open(self.start())
        page.key("/")
        page.wait("document.activeElement.id === 'search'")
        page.call("Input.insertText", text="odo distance")
        page.wait("document.querySelector('#topics details[open] li:not([hidden]) button[data-column=distance_m]')")
        page.run("document.querySelector('button[data-column=distance_m]').focus()")
        page.run("otolith.addChart(); 0")
        page.key("\r")
        page.wait("otolith.active.model.series.some((line) => line.column === 'distance_m')")
        page.wait("otolith.active.lines[0].data.ring.count > 20")
        page.run("document.querySelector('[data-panel=view]').focus()")
        page.key("ArrowRight")
        page.wait("document.activeElement.dataset.panel === 'events' && !document.getElementById('panel-events').hidden && otolith.view.following")
        page.run("otolith.active.element.focus()")
        count = page.run("otolith.charts.length")
        page.key("Delete")
        page.wait(f"otolith.charts.length === {count - 1}")
        self.no_errors(page)

    def test_truth_is_under_the_measurement_and_error_terms_are_bands(self):
        page = self.open(self.start(), control=True)
        page.wait("otolith.charts.some((chart) => chart.lines.some((line) => line.truth))")
        page.run("otolith.toggleTerms(otolith.charts[0])")
        page.wait("otolith.charts[1].model.terms && otolith.charts[1].terms.shown.length >= 2")
        names = page.run("otolith.charts[1].terms.shown.map((term) => term.label)")
        self.assertIn("constant bias", names)
        self.assertIn("white noise", names)
        page.wait("otolith.charts[0].lines[0].truthName.includes('accelerometer.truth.x')")
        total = page.wait("""(() => { const { terms } = otolith.charts[1], line = otolith.charts[0].lines[0];
            const t = line.data.ring.lastTime - 0.1, value = line.data.ring.nearest(line.data.column, t, 1e-4);
            let sum = line.truth.ring.nearest(line.truth.column, t, 1e-4);
            for (const term of terms.all) sum += term.data.ring.nearest(term.data.column, t, 1e-4);
            return Number.isFinite(value) && Number.isFinite(sum) && [value, sum]; })()""")
        self.assertAlmostEqual(total[0], total[1], delta=1e-9)
        self.no_errors(page)

    def test_allan_deviation_and_spectrum_of_a_field_are_live(self):
        page = self.open(self.start(None, "--set", "clock.scale=4"))
        page.run("otolith.charts[1].table.rows[0].querySelector('button').click()")
        first = page.wait("otolith.spectra.result && otolith.spectra.result.count")
        page.wait(f"otolith.spectra.result.count > {first} + 100")
        taus, deviations = page.run("[otolith.spectra.result.allan.taus, otolith.spectra.result.allan.deviations]")
        # White noise of 0.007 deg/s/sqrt(Hz), single-sided: ADEV(0.005 s) = 0.007 / sqrt(2 * 0.005) deg/s, and the rounding of
        # 2.66e-4 rad/s adds q / sqrt(12) * sqrt(3) at one sample.
        white = 1.2e-4 * 57.29578 / (2 * 0.005) ** 0.5
        rounding = 2.66e-4 * 57.29578 / 12 ** 0.5
        self.assertAlmostEqual(taus[0], 0.005, delta=1e-5)
        self.assertTrue(0.8 * white < deviations[0] < 1.2 * (white ** 2 + rounding ** 2) ** 0.5, deviations[0])
        self.assertGreater(page.run("otolith.spectra.result.spectrum.frequencies.at(-1)"), 90)
        self.no_errors(page)


class Panels(PageCase):
    def test_attitude_and_top_view_move(self):
        page = self.open(self.start(None, "--set", "clock.scale=4"), "?p=view")
        page.wait("otolith.scene.angles.children.length === 3 && otolith.scene.place.children.length >= 3")
        before = page.run("otolith.scene.place.textContent")
        page.wait(f"otolith.scene.place.textContent !== {before!r}")
        painted = "(() => { const c = otolith.scene.{0}; const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; return new Set(new Uint32Array(d.buffer)).size; })()"
        for canvas in ("attitude", "map"):
            self.assertGreater(page.run(painted.replace("{0}", canvas)), 3)

    def test_swaps_and_faults_are_marks_and_a_list(self):
        page = self.open(self.start(), "?p=nodes", control=True)
        page.wait("document.querySelectorAll('.params tr').length > 20")
        page.run(f"otolith.nodes.choice.value = '{IMU}'; otolith.nodes.choice.onchange()")
        page.wait("[...document.querySelectorAll('.params tr')].some((row) => row.textContent.includes('range 0 to'))")
        page.run("""(() => { const [swap, fault] = document.querySelectorAll('.actions form');
            fault.elements.kind.value = 'bias'; fault.querySelector('button').click(); })()""")
        page.wait("otolith.world.events.some((event) => event.kind === 'fault')")
        page.run("(() => { const [swap] = document.querySelectorAll('.actions form'); swap.elements.plugin.value = 'sdf_imu'; swap.querySelector('button').click(); })()")
        page.wait("otolith.world.events.some((event) => event.kind === 'swap')")
        page.wait("otolith.world.byTopic.get('demo/car/imu').plugin === 'sdf_imu'")
        page.run("document.querySelector('[data-panel=events]').click()")
        page.wait("[...document.querySelectorAll('.events b')].some((each) => each.textContent === 'swap')")
        page.run("document.querySelector('.events button').click()")
        page.wait("!otolith.view.following")
        self.no_errors(page)

    def test_parameters_are_set_with_the_control_token_only(self):
        link = self.start()
        key = "accelerometer.resolution_m_s2"
        reader = self.open(link, "?p=nodes")
        reader.wait("document.querySelectorAll('.params tr').length > 20")
        self.assertEqual(reader.run("document.querySelectorAll('.params input').length"), 0)
        self.assertTrue(reader.run("document.getElementById('run').hidden && otolith.nodes.actions.hidden"))
        page = self.open(link, "?p=nodes", control=True)
        page.wait(f"document.querySelector('.params input[aria-label=\"{key}\"]')")
        page.run(f"(() => {{ const input = document.querySelector('.params input[aria-label=\"{key}\"]'); input.value = '0.5'; input.onchange(); }})()")
        self.until(lambda: self.otolith("get", IMU, key).strip() == "0.5", "the parameter")
        page.run(f"(() => {{ const input = document.querySelector('.params input[aria-label=\"{key}\"]'); input.value = '-1'; input.onchange(); }})()")
        page.wait("document.getElementById('toast').className.includes('failed')")
        page.wait(f"document.querySelector('.params input[aria-label=\"{key}\"]').value === '0.5'")

    def test_speed_and_checkpoint(self):
        page = self.open(self.start(), control=True)
        page.run("(() => { const scale = document.getElementById('scale'); scale.value = '3'; scale.onchange(); })()")
        page.wait("otolith.world.status.scale === 3")
        page.run("document.getElementById('checkpoint').click()")
        self.until(lambda: list(self.path.glob("demo-*.ckpt")), "the checkpoint")

    def test_rates_sizes_and_lateness_are_shown(self):
        page = self.open(self.start())
        page.wait("document.querySelector('details[data-topic=\"demo/car/imu\"] .rate').textContent.endsWith('Hz')")
        page.wait("Math.abs(otolith.world.byTopic.get('demo/car/imu').measuredHz - 200) < 20")
        page.wait("document.getElementById('lateness').textContent.endsWith('µs')")
        self.assertIn("296 B", page.run("document.querySelector('details[data-topic=\"demo/car/imu\"]').textContent"))

    def test_every_control_has_a_name(self):
        page = self.open(self.start(), "?p=nodes", control=True)
        page.wait("document.querySelectorAll('.params input').length > 5")
        unnamed = page.run("""[...document.querySelectorAll('button, input, select, canvas')].filter((each) =>
            !(each.textContent.trim() || each.getAttribute('aria-label') || each.title || each.closest('label') || each.closest('.uplot')))
            .map((each) => each.outerHTML)""")
        self.assertEqual(unnamed, [])


class Layout(PageCase):
    BOX = "(() => { const r = document.querySelector('%s').getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; })()"

    def columns(self, page):
        """The visible columns of numbers beside the first chart."""
        return page.run("[...otolith.charts[0].element.querySelectorAll('thead th')].filter((each) => each.offsetWidth > 0).map((each) => each.textContent).slice(1)")

    def test_a_laptop_shows_all_of_the_first_page(self):
        page = self.open(self.start(), control=True, width=1280, height=800)
        page.wait("otolith.charts.length === 4 && !document.getElementById('run').hidden")
        self.assertLess(page.run(self.BOX % "header")[3], 60)  # one row
        page.wait("otolith.charts.at(-1).element.getBoundingClientRect().bottom < innerHeight")
        page.wait("otolith.charts.every((each) => each.plot.width > 0.6 * each.element.clientWidth && each.plot.height > 100)")
        page.call("Emulation.setDeviceMetricsOverride", width=1280, height=1000, deviceScaleFactor=1, mobile=False)
        page.wait("otolith.charts.every((each) => each.plot.height > 150)")  # the charts share the height of the window
        self.no_errors(page)

    def test_a_phone_shows_the_charts_first_and_nothing_beyond_its_width(self):
        page = self.open(self.start(), "?p=nodes", control=True, width=390, height=844)
        page.wait("document.querySelectorAll('.params input').length > 5")
        self.assertLess(page.run(self.BOX % ".chart")[1], 200)
        self.assertEqual(page.run("[document.documentElement.scrollWidth, document.querySelector('main').scrollWidth]"), [390, 390])

    def test_values_of_parameters_are_within_their_panel(self):
        page = self.open(self.start(), "?p=nodes", control=True, width=1280, height=800)
        page.wait("document.querySelectorAll('.params input').length > 5")
        beyond = page.run("""(() => { const right = document.querySelector('aside').getBoundingClientRect().right;
            return [...document.querySelectorAll('.params input, .params b, .actions *')].filter((each) => each.getBoundingClientRect().right > right).length; })()""")
        self.assertEqual(beyond, 0)

    def test_all_statistics_are_shown_on_request_and_the_url_keeps_it(self):
        link = self.start()
        page = self.open(link, width=1280, height=800)
        self.assertEqual(self.columns(page), ["value", "mean", "σ"])
        page.key("s")
        page.wait("location.search.includes('stats=1')")
        self.assertEqual(self.columns(page), ["value", "mean", "σ", "rms", "min", "max"])
        again = self.open(link, page.run("location.search"), width=1280, height=800)
        self.assertEqual(len(self.columns(again)), 6)

    def test_a_chart_without_samples_says_why(self):
        page = self.open(self.start(), "?c=demo/car/imu~linear_acceleration.x&c=demo/car/nosuch~x&c=demo/car/imu.delta~delta_velocity_m_s.x")
        note = "otolith.charts[{}].note.textContent"
        page.wait(note.format(1) + " === 'This world has no field x of demo/car/nosuch.'")
        page.wait(note.format(2) + " === 'demo/car/imu.delta has no samples yet.'")
        page.wait("otolith.charts[0].note.hidden")
        page.run("otolith.addChart(); 0")
        page.wait(note.format(3) + ".startsWith('Choose fields')")


class Fleet(PageCase):
    """A world whose lists are too long to be drawn whole."""
    ROWS = "[...document.querySelectorAll('#topics details')]"

    def test_only_the_visible_topics_are_drawn_and_counted_and_the_search_finds_all(self):
        page = self.open(self.start(self.fleet(300)), control=True)
        page.wait("otolith.charts.length > 0 && otolith.world.channels.length > 600")
        self.assertEqual(page.run("otolith.charts[0].lines[0].topic"), "fleet/car_0000/imu")
        self.assertLess(page.run(f"{self.ROWS}.length"), 100)
        last = "otolith.world.byTopic.get('fleet/car_0299/imu')"
        page.wait("otolith.world.byTopic.get('fleet/car_0000/imu').measuredHz > 0")
        self.assertEqual(page.run(f"{last}.measuredHz"), 0)
        page.run("document.getElementById('topics').scrollTop = 1e9")
        page.wait("document.querySelector('#topics details[data-topic=\"fleet/car_0299/imu\"]')")
        page.wait(f"{last}.measuredHz > 0")
        self.assertLess(page.run(f"{self.ROWS}.length"), 100)
        self.assertFalse(page.run("Boolean(document.querySelector('#topics details[data-topic=\"fleet/car_0000/imu\"]'))"))
        page.key("/")
        page.call("Input.insertText", text="car_014 velocity.z")
        page.wait(f"{self.ROWS}.length === 10")  # the IMUs of car_0140 to car_0149
        page.wait("document.querySelector('#topics details[open] li:not([hidden]) button[data-column=\"angular_velocity.z\"]')")
        page.run("document.querySelector('[data-topic=\"fleet/car_0147/imu\"] button[data-column=\"angular_velocity.z\"]').click()")
        page.wait("otolith.active.lines.at(-1).topic === 'fleet/car_0147/imu' && otolith.active.lines.at(-1).data.ring.count > 5")
        self.no_errors(page)

    def test_an_open_topic_keeps_its_place_when_it_is_scrolled_away(self):
        page = self.open(self.start(self.fleet(300)))
        page.wait("otolith.world.channels.length > 600")
        page.run("document.querySelector('#topics summary').click()")
        page.wait("document.querySelector('#topics details[open] li')")
        page.wait("otolith.topics.opened.length === 1")
        height = page.run("document.getElementById('topics').scrollHeight")
        page.run("document.getElementById('topics').scrollTop = 5000")
        page.wait(f"{self.ROWS}.length > 0 && !document.querySelector('#topics details[open]')")
        self.assertAlmostEqual(page.run("document.getElementById('topics').scrollHeight"), height, delta=5)
        page.run("document.getElementById('topics').scrollTop = 0")
        page.wait("document.querySelector('#topics details[open] li')")

    def test_the_top_view_shows_all_vehicles_and_a_click_chooses_one(self):
        page = self.open(self.start(self.fleet(300)), "?p=view")
        page.wait("otolith.world.places && otolith.world.places.length === 600 && Boolean(otolith.scene.at)")
        distance, shows_all = page.run("[otolith.world.places[2 * 299] - otolith.world.places[0], otolith.scene.all]")
        self.assertAlmostEqual(distance, 5 * 299, delta=1)
        self.assertTrue(shows_all)
        painted = "(() => { const { dots } = otolith.scene; return new Uint32Array(dots.getContext('2d').getImageData(0, 0, dots.width, dots.height).data.buffer).filter(Boolean).length; })()"
        page.wait(f"{painted} > 300")
        x, y = page.run("(() => { const r = otolith.scene.map.getBoundingClientRect(), [x, y] = otolith.scene.at([...otolith.world.places.subarray(300, 302)]); return [r.x + x, r.y + y]; })()")
        page.mouse("mousePressed", x, y, button="left", clickCount=1)
        page.mouse("mouseReleased", x, y, button="left", clickCount=1)
        page.wait("/car_01[45]/.test(otolith.scene.choice.value)")
        page.wait("otolith.scene.truth.place[0].key.startsWith(otolith.scene.choice.value) && otolith.scene.truth.place[0].ring.count > 5")
        page.run("document.querySelector('[data-panel=nodes]').click()")
        page.wait("otolith.scene.asked === false")
        self.no_errors(page)

    def test_a_node_is_chosen_by_a_part_of_its_name(self):
        page = self.open(self.start(self.fleet(300)), "?p=nodes", control=True)
        page.wait("document.querySelectorAll('.params tr').length > 20")
        self.assertEqual(page.run("otolith.nodes.choice.value"), "fleet/car_0000/imu")
        page.run("document.querySelector('#panel-nodes h3 input').focus()")
        page.call("Input.insertText", text="car_0217/i")
        page.wait("[...document.querySelectorAll('datalist option')].some((each) => each.value === 'car_0217/imu')")
        page.run("document.activeElement.blur()")
        page.wait("otolith.nodes.choice.value === 'fleet/car_0217/imu' && otolith.nodes.choice.element.value === 'car_0217/imu'")
        page.wait("otolith.nodes.note.textContent.startsWith('mems_imu')")
        self.no_errors(page)


class Life(PageCase):
    def test_a_world_that_restarts_under_the_page(self):
        link = self.start(port=free_ports(1)[0])
        page = self.open(link, control=True)
        epoch = page.run("otolith.world.epoch")
        page.wait("otolith.world.time > 1")
        self.stop()
        page.wait("document.getElementById('state').textContent === 'no connection' && !document.getElementById('notice').hidden")
        self.start(port=link.port)
        page.wait(f"otolith.world.epoch !== '{epoch}'")
        page.wait("otolith.world.events.some((event) => event.kind === 'restart')")
        page.wait("otolith.charts[0].lines[0].data.ring.count > 20 && otolith.world.status.state === 'running'")
        page.wait("document.getElementById('notice').hidden")
        self.assertLess(page.run("otolith.charts[0].lines[0].data.ring.t[0]"), 1)

    def test_a_recording_that_is_played_is_moved_with_a_slider(self):
        file = self.path / "drive.mcap"
        self.otolith("run", self.city, "--set", "web=false", "--mode", "asap", "--for", "20s", "--quiet", "--mcap", file)
        self.server = subprocess.Popen([self.program, "play", file, "--hold"], env=self.environment, stderr=subprocess.DEVNULL)
        self.until(lambda: self.call("web").returncode == 0, "the page")
        page = self.open(self.link(), control=True)
        page.wait("!document.getElementById('playback').hidden && document.getElementById('range').textContent.endsWith('of 00:20.000')")
        self.assertTrue(page.run("otolith.nodes.actions.hidden && document.getElementById('checkpoint').hidden"))
        page.run("(() => { const seek = document.getElementById('seek'); seek.value = '12'; seek.oninput(); seek.onchange(); })()")
        page.wait("otolith.charts[0].lines[0].data.ring.count > 50 && Math.abs(otolith.charts[0].lines[0].data.ring.t[0] - 12) < 0.1")
        self.assertEqual(page.run("otolith.world.events.filter((event) => event.kind === 'restart').length"), 0)
        reader = self.open(self.link(), wait=None)
        reader.wait("!document.getElementById('playback').hidden && document.getElementById('seek').disabled")
        self.no_errors(page)

    def test_a_page_that_sleeps_catches_up_and_counts_what_it_lost(self):
        link = self.start(None, "--set", "ring_capacity=1024")
        page = self.open(link, "?c=demo/car/motion~position_enu_m.x~position_enu_m.y")
        count = page.wait("otolith.charts[0].lines[0].data.ring.count")
        web = self.children("otolith-web")[0]
        # The page holds its acknowledgements, as a frozen tab does.
        page.run("otolith.link.realSend = otolith.link.send; otolith.link.send = () => {}; 0")
        other = Viewer(link)
        start = other.text("status")["t"]
        self.until(lambda: other.text("status")["t"] > start + 30, "the sleep")
        other.close()
        self.assertLess(self.resident_kib(web), 64 * 1024)
        page.run("otolith.link.send = otolith.link.realSend; otolith.link.send('ack', String(otolith.link.received)); 0")
        page.wait(f"otolith.charts[0].lines[0].data.ring.count > {count}")
        page.wait("otolith.view.t1 - otolith.charts[0].lines[0].data.ring.lastTime < 0.5")

    def test_two_pages_do_not_disturb_each_other(self):
        link = self.start()
        one, two = self.open(link), self.open(link, "?w=20")
        one.close = lambda: None
        for page in (one, two):
            page.wait("otolith.world.time > 2")
        # One page holds its acknowledgements, as a frozen tab does: the other goes on.
        one.run("otolith.link.realSend = otolith.link.send; otolith.link.send = () => {}; 0")
        begin = two.run("otolith.world.time")
        two.wait(f"otolith.world.time > {begin + 5} && otolith.charts[0].lines[0].data.ring.lastTime > {begin + 5}")
        self.assertLess(*(page.run("otolith.charts[0].lines[0].data.ring.lastTime") for page in (one, two)))
        one.run("otolith.link.send = otolith.link.realSend; otolith.link.send('ack', String(otolith.link.received)); 0")
        one.wait(f"otolith.charts[0].lines[0].data.ring.lastTime > {begin + 5}")
        self.assertEqual(one.run("otolith.world.epoch"), two.run("otolith.world.epoch"))

    def test_a_page_that_was_too_busy_to_present_its_token_connects_again(self):
        page = self.open(self.start())
        page.run("(() => { otolith.link.reconnect(); for (const end = performance.now() + 7000; performance.now() < end;); })()")  # 5 s are allowed
        late = page.run("otolith.world.time")
        page.wait(f"otolith.world.time > {late} + 2")
        self.assertFalse(page.run("document.getElementById('tokens').open"))
        self.no_errors(page)

    def test_a_page_without_a_token_asks_for_it(self):
        link = self.start()
        page = self.browser.open(f"http://127.0.0.1:{link.port}/")
        self.addCleanup(page.close)
        page.wait("document.getElementById('tokens').open")
        page.run(f"(() => {{ document.getElementById('read-token').value = '{link.token}'; document.querySelector('#tokens .primary').click(); }})()")
        page.wait(READY)
        self.assertFalse(page.run("otolith.world.control"))

    def test_a_foreign_page_gets_nothing(self):
        link = self.start()

        class Foreign(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!doctype html><title>foreign</title>")

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        page = self.browser.open(f"http://localhost:{server.server_port}/")
        self.addCleanup(page.close)
        page.wait("document.title === 'foreign'")
        result = page.run(f"""new Promise((done) => {{ const s = new WebSocket('ws://127.0.0.1:{link.port}/', ['otolith.v1']); let opened = false;
            s.onopen = () => {{ opened = true; s.send('hello\\n{link.token}'); }}; s.onmessage = () => done('data'); s.onclose = () => done(opened ? 'opened' : 'refused'); }})""")
        self.assertEqual(result, "refused")
        self.assertEqual(page.run(f"fetch('http://127.0.0.1:{link.port}/').then((r) => 'read', () => 'refused')"), "refused")

    def test_nothing_inline_runs(self):
        page = self.open(self.start())
        page.run("(() => { const s = document.createElement('script'); s.textContent = 'globalThis.inline = 1'; document.body.append(s); })()")
        self.assertFalse(page.run("'inline' in globalThis"))


if __name__ == "__main__":
    if browser.find() is None:
        print("skipped: chromium is not installed")
        sys.exit(77)
    web_case.main("__main__")
