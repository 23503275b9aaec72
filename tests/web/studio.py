"""Opens a live world and a recording in Foxglove Studio 1.48, the newest that npm has, in headless Chromium. Writes a picture of each
and prints what its panels say. Fails if the fields of a message do not appear. Not among the tests: the package has 180 MB.

usage: studio.py FOLDER_OF_PROGRAMS CHECKOUT FOLDER    FOLDER has node_modules and gets live.png and recording.png:
    npm install --prefix FOLDER --ignore-scripts @foxglove/studio-base@1.48.0 react@17.0.2 react-dom@17.0.2
"""
import http.server
import os
import pathlib
import re
import sys
import threading
import urllib.parse

import browser
import web_case
from web_case import WebCase

FOLDER = pathlib.Path(sys.argv.pop(3)) if len(sys.argv) > 3 else None
WIDTH, HEIGHT = 1440, 900
WAIT_S = 180
PAGE = """<!doctype html><html><head><meta charset="utf-8"><title>studio</title>
<style>html, body, #root { height: 100%; margin: 0; display: flex; flex-direction: column; }</style></head><body><div id="root"></div>
<script src="/node_modules/react/umd/react.production.min.js"></script>
<script src="/node_modules/react-dom/umd/react-dom.production.min.js"></script>
<script>self.react = React; self['react-dom'] = ReactDOM; self.global = self;</script>
<script src="/node_modules/@foxglove/studio-base/assets/index.js"></script>
<script src="/host.js"></script></body></html>"""
HOST = """
const plot = (paths) => ({ paths: paths.map((value) => ({ value, enabled: true, timestampMethod: 'receiveTime' })), isSynced: true, showLegend: true,
  legendDisplay: 'floating', xAxisVal: 'timestamp', showXAxisLabels: true, showYAxisLabels: true, showPlotValuesInLegend: true, sidebarDimension: 240 });
const data = { configById: { 'Plot!a': plot(['x', 'y', 'z'].map((axis) => `/car/imu.linear_acceleration.${axis}`)),
    'Plot!b': plot(['x', 'y', 'z'].map((axis) => `/car/motion/odometry.twist.twist.linear.${axis}`)), 'RawMessages!c': { topicPath: '/car/imu' },
    'DiagnosticSummary!d': {}, 'RosOut!e': {} }, globalVariables: {}, userNodes: {}, playbackConfig: { speed: 1 },
  layout: { direction: 'row', first: { direction: 'column', first: 'Plot!a', second: 'Plot!b' },
    second: { direction: 'column', first: 'RawMessages!c', second: { direction: 'column', first: 'DiagnosticSummary!d', second: 'RosOut!e' } } } };
const layouts = new Map([['one', { id: 'one', name: 'otolith', permission: 'CREATOR_WRITE', baseline: { data, savedAt: new Date().toISOString() } }]]);
const settings = new Map([['launchPreference', 'web'], ['telemetry.telemetryEnabled', false], ['telemetry.crashReportingEnabled', false]]);
const configuration = { get: (key) => settings.get(key), addChangeListener() {}, removeChangeListener() {},
  set: async (key, value) => { settings.set(key, value); } };
const storage = { list: async () => [...layouts.values()], get: async (space, id) => layouts.get(id),
  put: async (space, layout) => { layouts.set(layout.id, layout); return layout; }, delete: async (space, id) => { layouts.delete(id); }, importLayouts: async () => {} };
initI18n().then(() => ReactDOM.render(React.createElement(App, { deepLinks: [location.href], appConfiguration: configuration, layoutStorage: storage,
  dataSources: [new FoxgloveWebSocketDataSourceFactory(), new RemoteDataSourceFactory()], extensionLoaders: [], enableGlobalCss: true }),
  document.getElementById('root')));
"""


class Files(http.server.SimpleHTTPRequestHandler):
    """The page, the packages and the recording, of which a viewer reads ranges."""

    recording = None

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        if path in ("/", "/host.js"):
            self.reply(200, (PAGE if path == "/" else HOST).encode(), "text/html" if path == "/" else "text/javascript")
        elif path == "/drive.mcap":
            self.send_range(self.recording.read_bytes())
        else:
            super().do_GET()

    def do_HEAD(self):
        self.do_GET()

    def send_range(self, data):
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        first, last = (int(wanted[1]), int(wanted[2] or len(data) - 1)) if wanted else (0, len(data) - 1)
        more = {"Content-Range": f"bytes {first}-{last}/{len(data)}"} if wanted else {}
        self.reply(206 if wanted else 200, data[first:last + 1], "application/octet-stream", {"Accept-Ranges": "bytes", **more})

    def reply(self, code, body, kind, more=None):
        self.send_response(code)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Studio(WebCase):
    def host(self):
        os.chdir(FOLDER)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def open(self, origin, source, **parameters):
        shown = browser.Browser()
        self.addCleanup(shown.close)
        query = urllib.parse.urlencode({"ds": source, "layoutId": "one", **{f"ds.{key}": value for key, value in parameters.items()}})
        return shown.open(f"{origin}/?{query}", width=WIDTH, height=HEIGHT)

    def check(self, page, name):
        page.wait("document.body.innerText.includes('angular_velocity') && document.body.innerText.includes('linear_acceleration')", WAIT_S)
        page.wait("document.querySelectorAll('canvas').length >= 2", WAIT_S)
        end = page.run("performance.now()") + 8000
        page.wait(f"performance.now() > {end}")
        page.screenshot(FOLDER / f"{name}.png")
        print(page.run("document.body.innerText"))
        print(name, "errors", [error for error in page.errors if "font" not in error][:10])

    def test_a_live_world(self):
        origin = self.host()
        link = self.start(None, "--set", f'web.origins=["{origin}"]')
        page = self.open(origin, "foxglove-websocket", url=f"ws://127.0.0.1:{link.port}/?token={link.token}")
        self.check(page, "live")

    def test_a_recording(self):
        Files.recording = self.path / "drive.mcap"
        self.otolith("run", self.city, "--set", "web=false", "--mode", "asap", "--for", "60s", "--quiet", "--mcap", Files.recording)
        origin = self.host()
        page = self.open(origin, "remote-file", url=f"{origin}/drive.mcap")
        self.check(page, "recording")


if __name__ == "__main__":
    web_case.main("__main__")
