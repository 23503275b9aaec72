"""otolith-web without a browser: who may connect, what is sent, what hostile clients can do."""
import collections
import http.client
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import time

import web_case
from foxglove_client import start_foxglove_client
from web_case import PATIENCE_S, Link, Viewer, WebCase, free_ports
from websocket import Refused, WebSocket

IMU = "demo/car/imu"
X = "linear_acceleration.x"


def get(port, path="/", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=web_case.PATIENCE_S)
    connection.putrequest("GET", path, skip_host="Host" in headers, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


class Admission(WebCase):
    def test_the_page_comes_with_a_policy_that_allows_nothing_inline(self):
        link = self.start()
        status, headers, body = get(link.port)
        self.assertEqual(status, 200)
        self.assertIn(b"<!doctype html>", body)
        self.assertNotIn(b"<script>", body)
        self.assertNotIn(b"style=", body)
        policy = headers["content-security-policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertEqual(headers["x-content-type-options"], "nosniff")
        self.assertEqual(headers["referrer-policy"], "no-referrer")
        status, headers, _ = get(link.port, If_None_Match=headers["etag"])
        self.assertEqual(status, 304)
        self.assertEqual(get(link.port, "/../../etc/passwd")[0], 404)
        self.assertEqual(get(link.port, "/page.css", Accept_Encoding="gzip")[1]["content-encoding"], "gzip")

    def test_a_foreign_host_is_refused_on_every_request(self):
        link = self.start()
        self.assertEqual(get(link.port, Host="evil.example")[0], 403)
        self.assertEqual(get(link.port, Host=f"127.0.0.1.evil.example:{link.port}")[0], 403)
        self.assertEqual(get(link.port, Host="localhost:9")[0], 200)  # a tunnel
        with self.assertRaises(Refused):
            WebSocket("127.0.0.1", link.port, headers={"Host": "evil.example", "Origin": "http://evil.example"})

    def test_a_foreign_origin_is_refused_on_every_request(self):
        link = self.start()
        for origin in ("http://evil.example", "null", f"https://127.0.0.1:{link.port}", f"http://127.0.0.1:{link.port}.evil.example"):
            self.assertEqual(get(link.port, Origin=origin)[0], 403, origin)
            with self.assertRaises(Refused):
                WebSocket("127.0.0.1", link.port, headers={"Origin": origin})
        WebSocket("127.0.0.1", link.port, headers={"Origin": f"http://127.0.0.1:{link.port}"}).close()

    def test_configured_origins_and_their_host_are_admitted_and_no_others(self):
        link = self.start(None, "--set", "web.origins=[https://robots.example, 'http://[::1]:3000']")
        proxied = {"Host": "robots.example", "Origin": "https://robots.example"}
        self.assertEqual(get(link.port, **proxied)[0], 200)
        self.assertEqual(get(link.port, Host="robots.example")[0], 200)
        for headers in (proxied, {"Origin": "https://robots.example"}, {"Origin": "http://[::1]:3000"}):
            WebSocket("127.0.0.1", link.port, headers=headers).close()
        for headers in ({"Host": "a.robots.example"}, {"Origin": "http://robots.example"}, {"Origin": "https://robots.example.evil.example"}):
            with self.assertRaises(Refused, msg=headers):
                WebSocket("127.0.0.1", link.port, headers=headers)
        stranger = WebSocket("127.0.0.1", link.port, headers=proxied)
        stranger.send("hello\nwrong\n")
        self.assertEqual(stranger.receive_until_end(), 4001)

    def test_origins_that_no_browser_sends_are_refused_by_check(self):
        for origins in ("[robots.example]", "[https://robots.example/]", "['https://*.example']", "[https://Robots.example]", "https://robots.example"):
            done = subprocess.run([self.binaries / "otolith", "check", self.city, "--set", f"web={{origins: {origins}}}"],
                                  env=self.environment, capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0, origins)
            self.assertIn("origin", done.stderr)
        done = subprocess.run([self.binaries / "otolith-web", "--origin", "robots.example"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)

    def test_the_process_gives_up_what_it_does_not_need(self):
        self.start()
        facts = dict(line.split(":", 1) for line in pathlib_read(self.children("otolith-web")[0], "status").splitlines())
        self.assertEqual(facts["NoNewPrivs"].strip(), "1")
        self.assertEqual(facts["Seccomp"].strip(), "2")

    def test_other_upgrades_and_protocols_are_refused(self):
        link = self.start()
        for headers in ({"Upgrade": "h2c", "Connection": "Upgrade, HTTP2-Settings", "HTTP2-Settings": "AAMAAABkAAQAAP__"}, {"Upgrade": "bogus"}):
            with self.assertRaises(Refused, msg=headers):
                WebSocket("127.0.0.1", link.port, headers=headers)
        for protocol in (None, "", "unknown.v1", "http"):
            with self.assertRaises(Refused, msg=protocol):
                WebSocket("127.0.0.1", link.port, protocol=protocol)
        plain = socket.create_connection(("127.0.0.1", link.port))
        plain.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.assertNotIn(b"101", plain.recv(100))
        plain.close()

    def test_data_need_the_read_token_and_control_needs_another(self):
        link = self.start()
        for hello in ("hello", "hello\n", "hello\n" + "0" * 32, "hello\n" + link.token[:-1], f"subscribe\n1\n{IMU}\n{X}", "hi"):
            socket_ = WebSocket("127.0.0.1", link.port)
            socket_.send(hello)
            self.assertEqual(socket_.receive_until_end(), 4001, hello)
        self.assertEqual(WebSocket("127.0.0.1", link.port).receive_until_end(), 4002, "no token within 5 s")
        viewer = Viewer(link)
        self.assertFalse(viewer.world["control"])
        reply = viewer.ask("pause")
        self.assertFalse(reply["ok"])
        self.assertIn("control token", reply["text"])
        viewer.close()
        viewer = Viewer(link, control=True)
        self.assertTrue(viewer.ask("pause")["ok"])
        self.until(lambda: viewer.text("status")["state"] == "paused", "the pause")
        self.assertTrue(viewer.ask("step", 5)["ok"])
        self.assertTrue(viewer.ask("resume")["ok"])
        viewer.close()

    def test_read_token_none_lets_everybody_on_this_machine_read(self):
        self.start(None, "--set", "web.read_token=none")
        link = Link(self.otolith("web", "--control").strip())
        self.assertEqual(link.token, "")
        viewer = Viewer(link)
        self.assertFalse(viewer.world["control"])
        viewer.close()

    def test_the_tokens_are_in_a_file_for_their_owner(self):
        link = self.start()
        path = self.path / "otolith/demo.web"
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertIn(link.control, path.read_text())
        self.assertNotEqual(link.control, link.token)
        arguments = pathlib_read(self.children("otolith-web")[0], "cmdline")
        self.assertNotIn(link.token, arguments)
        self.assertNotIn(link.control, (self.path / "server.log").read_text())


def pathlib_read(pid, name):
    with open(f"/proc/{pid}/{name}", encoding="utf-8") as file:
        return file.read()


class Data(WebCase):
    def test_a_subscription_begins_with_the_history_of_the_ring(self):
        link = self.start()
        viewer = Viewer(link)
        self.until(lambda: viewer.text("status")["t"] > 2.0, "two seconds")
        viewer.subscribe(3, IMU, X, "linear_acceleration.z")
        first = viewer.batch()
        self.assertEqual((first["id"], first["first"], first["lost"]), (3, 1, 0))
        times, seq = list(first["t"]), first["first"] + len(first["t"])
        while times[-1] < 3.0:
            batch = viewer.batch()
            self.assertEqual(batch["first"], seq)
            seq += len(batch["t"])
            times += batch["t"]
        for i, t in enumerate(times):
            self.assertAlmostEqual(t, (i + 1) / 200, delta=1e-9)
        self.assertTrue(all(9 < z < 11 for z in first["columns"][1]))
        viewer.close()

    def test_pages_viewers_and_recorders_cost_a_tick_no_system_call(self):
        link = self.start()
        viewer = Viewer(link)
        viewer.subscribe(3, IMU, X)
        client = start_foxglove_client(link, ["/car/imu", "/tf", "/diagnostics"])
        self.addCleanup(lambda: (os.kill(client, signal.SIGKILL), os.waitpid(client, 0)))
        self.otolith("record", "-o", self.path / "a.mcap", "--for", "2s")
        self.assertEqual(self.wakes(link), 0)
        # `echo` waits for ticks, unless the machine is so busy that it always finds samples.
        self.until(lambda: self.otolith("echo", IMU, "-n", "2") and self.wakes(link) > 0, "a wake")
        viewer.close()

    def wakes(self, link):
        viewer = Viewer(link)
        count = viewer.text("status")["counters"]["wakes"]
        viewer.close()
        return count

    def test_a_viewer_gets_as_many_parameters_as_it_may_name_in_one_message(self):
        link = self.start(self.fleet(60))
        viewer = WebSocket("127.0.0.1", link.port, f"/?token={link.token}", protocol="foxglove.websocket.v1", timeout_s=PATIENCE_S)
        viewer.send(json.dumps({"op": "getParameters", "parameterNames": [], "id": "all"}))
        said = self.next_text(viewer, "status")["message"]
        self.assertRegex(said, "^the parameters of the first [0-9]+ of 120 nodes are shown$")
        names = [each["name"] for each in self.next_text(viewer, "parameterValues")["parameters"]]
        self.assertGreater(len(json.dumps(names)), 65536)
        viewer.send(json.dumps({"op": "subscribeParameterUpdates", "parameterNames": names}))
        viewer.send(json.dumps({"op": "getParameters", "parameterNames": [], "id": "again"}))
        self.assertEqual(self.next_text(viewer, "parameterValues")["id"], "again")
        viewer.close()

    def next_text(self, viewer, op):
        while True:
            data = viewer.receive()
            if isinstance(data, str) and json.loads(data)["op"] == op:
                return json.loads(data)

    def test_unknown_topics_and_columns_are_answered_with_a_sentence(self):
        viewer = Viewer(self.start())
        viewer.subscribe(1, "demo/car/nothing", X)
        self.assertIn("demo/car/nothing", viewer.text("reply")["text"])
        viewer.subscribe(1, IMU, "linear_acceleration.w")
        self.assertIn("linear_acceleration.w", viewer.text("reply")["text"])
        viewer.subscribe(1, IMU, *[f"{X}{i}" for i in range(70)])
        self.assertFalse(viewer.text("reply")["ok"])
        viewer.subscribe(1, IMU, X)
        self.assertTrue(viewer.batch()["t"])
        viewer.close()

    def test_a_page_that_sleeps_costs_a_bounded_window_and_its_losses_are_counted(self):
        link = self.start(None, "--set", "ring_capacity=1024")
        web = self.children("otolith-web")[0]
        viewer = Viewer(link)
        columns = [f"{base}.{axis}" for base in ("position_enu_m", "velocity_enu_m_s", "accel_enu_m_s2", "angular_rate_body_rad_s") for axis in "xyz"]
        for number in range(30):  # 1 kHz, 30 times
            viewer.subscribe(number, "demo/car/motion", *columns)
        before = self.resident_kib(web)
        other = Viewer(link)
        start = other.text("status")["t"]
        self.until(lambda: other.text("status")["t"] > start + 4.0, "four seconds of sleep")
        self.assertLess(self.resident_kib(web) - before, 16 * 1024)
        other.close()
        lost = collections.Counter()

        def is_counted():
            batch = viewer.batch()
            lost[batch["id"]] += batch["lost"]
            return lost[batch["id"]] > 500
        self.until(is_counted, "a loss of more than 500 samples")
        viewer.close()

    def test_parameters_have_units_and_ranges(self):
        viewer = Viewer(self.start())
        params = {param["key"]: param for param in viewer.ask("get", IMU)["params"]}
        density = params["accelerometer.noise_density_m_s2_rthz"]
        self.assertIn("0 to", density["range"])
        self.assertEqual(params["law"]["range"], "mems|mavs")
        self.assertEqual(params["taps"]["range"], "true|false")
        self.assertTrue(any(param["unit"] == "m/s^2" for param in params.values()))
        viewer.close()

    def test_every_verb_of_control_works_and_refuses_wrong_arguments(self):
        viewer = Viewer(self.start(), control=True)
        good = [("scale", 2), ("scale", 1), ("set", IMU, "taps", "true"), ("fault", IMU, "{kind: bias, value: 0.1, for_s: 1}"),
                ("clear_faults", IMU, 0), ("checkpoint", "here.ckpt"), ("swap", IMU, "mems_imu")]
        for request in good:
            reply = viewer.ask(*request)
            self.assertTrue(reply["ok"], (request, reply["text"]))
        self.assertTrue((self.path / "here.ckpt").exists())
        bad = [("scale", "fast"), ("scale", -1), ("step", 0), ("step", 1e9), ("set", IMU, "nothing", 1), ("fault", IMU, "{"), ("pause", 1),
               ("swap", "nowhere", "mems_imu"), ("checkpoint", "here.ckpt"), ("checkpoint", "../there.ckpt"), ("checkpoint", "/tmp/x"),
               ("checkpoint", ""), ("shutdown",), ("restore", "here.ckpt")]
        for request in bad:
            reply = viewer.ask(*request)
            self.assertFalse(reply["ok"], request)
            self.assertNotEqual(reply["text"], "", request)
        viewer.close()


class Fleet(WebCase):
    """Worlds whose description exceeds one message."""
    COUNT = 600

    def test_a_fleet_is_described_in_parts_and_only_what_is_watched_is_counted(self):
        viewer = Viewer(self.start(self.fleet(self.COUNT)))
        self.assertTrue(viewer.world["more"])
        channels = viewer.channels()
        self.assertEqual([each["index"] for each in channels], list(range(len(channels))))
        topics = [each["topic"] for each in channels]
        self.assertEqual(len(set(topics)), len(topics))
        self.assertLessEqual({f"fleet/car_{i:04}/{node}" for i in range(self.COUNT) for node in ("motion", "imu")}, set(topics))
        self.assertNotIn("channels", viewer.text("status"))
        motion, last = topics.index("fleet/car_0000/motion"), topics.index("fleet/car_0599/imu")
        viewer.socket.send(f"watch\n{motion},{last},{len(topics)},x")
        first = viewer.text("records")["channels"]
        self.assertEqual([(index, plugin) for index, _, plugin in first], [(motion, "motion_script"), (last, "mems_imu")])
        self.until(lambda: viewer.text("records")["channels"][1][1] > first[1][1], "records of the last car")
        viewer.socket.send("watch\n")
        viewer.ask("get", "fleet/car_0599/imu")  # its reply comes after the change
        for _ in range(3):
            kind = viewer.next()
            self.assertFalse(kind[0] == "text" and kind[1]["op"] == "records")
        viewer.close()

    def test_the_places_of_all_vehicles_are_sent_on_request(self):
        viewer = Viewer(self.start(self.fleet(self.COUNT)))
        viewer.channels()
        viewer.socket.send("places\non")
        while (message := viewer.next())[0] != "places":
            pass
        self.assertEqual(len(message[1]), self.COUNT)
        for i, (east, north) in enumerate(message[1]):
            self.assertAlmostEqual(east - message[1][0][0], 5 * i, delta=1)  # the cars drive alike
            self.assertAlmostEqual(north, message[1][0][1], delta=1)
        viewer.close()

    def test_a_viewer_gets_the_channels_and_the_connection_graph_in_parts(self):
        link = self.start(self.fleet(self.COUNT))
        viewer = WebSocket("127.0.0.1", link.port, f"/?token={link.token}", protocol="foxglove.websocket.v1", timeout_s=PATIENCE_S)
        viewer.send(json.dumps({"op": "subscribeConnectionGraph"}))
        wanted = {f"/car_{i:04}/{rest}" for i in range(self.COUNT) for rest in ("motion", "motion/odometry", "imu")} | {"/tf", "/clock"}
        channels, graph, parts = {}, set(), 0
        while not (wanted <= set(channels) and wanted <= graph):
            data = viewer.receive()
            message = json.loads(data) if isinstance(data, str) else {"op": "data"}
            if message["op"] == "advertise":
                self.assertLess(len(data), 512 << 10)
                parts += 1
                for each in message["channels"]:
                    self.assertNotIn(each["id"], channels.values())
                    channels[each["topic"]] = each["id"]
            elif message["op"] == "connectionGraphUpdate":
                self.assertLess(len(data), 512 << 10)
                graph |= {each["name"] for each in message["publishedTopics"]}
        self.assertGreater(parts, 1)
        viewer.send(json.dumps({"op": "subscribe", "subscriptions": [{"id": 4, "channelId": channels["/car_0599/imu"]}]}))
        while isinstance(data := viewer.receive(), str) or data[0] != 1:
            pass
        self.assertEqual(int.from_bytes(data[1:5], "little"), 4)
        viewer.close()


class Hostile(WebCase):
    def survives(self, link, web):
        self.assertEqual(self.children("otolith-web"), [web])
        viewer = Viewer(link)
        viewer.subscribe(1, IMU, X)
        self.assertTrue(viewer.batch()["t"])
        viewer.close()

    def test_garbage_frames_close_only_their_own_connection(self):
        link = self.start()
        web = self.children("otolith-web")[0]
        good = Viewer(link)
        good.subscribe(1, IMU, X)
        frames = [lambda s: s.send(b"\x00" * 100), lambda s: s.send(os.urandom(4000)), lambda s: s.send("x" * 5000),
                  lambda s: s.send(b"\xff\xfe", opcode=1), lambda s: s.send("unmasked", mask=False), lambda s: s.send(b"", opcode=3),
                  lambda s: s.send(b"", opcode=11), lambda s: s.socket.sendall(b"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff" + os.urandom(64)),
                  lambda s: s.socket.sendall(os.urandom(3000)), lambda s: s.send(b"x" * 200, opcode=9), lambda s: s.send(b"\x03", opcode=8),
                  lambda s: [s.send("", final=False)] + [s.send(b"", opcode=0, final=False) for _ in range(400)],
                  lambda s: s.send("subscribe\n99999999999\n\n\n"), lambda s: s.send("\n" * 4000), lambda s: s.send("do\n" + "\n" * 80),
                  lambda s: s.send("hello\n" + link.token)]
        for admitted in (False, True):
            for index, frame in enumerate(frames):
                victim = Viewer(link).socket if admitted else WebSocket("127.0.0.1", link.port)
                try:
                    frame(victim)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                victim.close()
                self.assertTrue(good.batch()["t"], index)
        good.close()
        self.survives(link, web)

    def test_messages_that_are_too_long_or_too_many_close_the_connection(self):
        link = self.start()
        web = self.children("otolith-web")[0]
        viewer = Viewer(link)
        viewer.socket.send("x" * 4097)
        self.assertEqual(viewer.socket.receive_until_end(), 1009)
        viewer = Viewer(link)
        try:
            for _ in range(2000):
                viewer.socket.send("ack\n0")
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.assertIn(viewer.socket.receive_until_end(), (1008, None))
        self.survives(link, web)

    def test_connections_beyond_the_limit_are_refused_and_those_there_go_on(self):
        link = self.start()
        web = self.children("otolith-web")[0]
        good = Viewer(link)
        good.subscribe(1, IMU, X)
        many = []
        for _ in range(60):
            try:
                many.append(WebSocket("127.0.0.1", link.port, timeout_s=2))
            except (Refused, OSError):
                pass
        self.assertTrue(good.batch()["t"])
        for each in many:
            each.close()
        good.close()
        self.until(lambda: self.connects(link), "a free place")
        self.survives(link, web)

    def connects(self, link):
        try:
            Viewer(link, timeout_s=2).close()
            return True
        except (Refused, OSError, EOFError):
            return False

    def test_half_a_request_is_given_up(self):
        link = self.start()
        web = self.children("otolith-web")[0]
        slow = [socket.create_connection(("127.0.0.1", link.port)) for _ in range(40)]
        for each in slow:
            each.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: " + b"a" * 500)
        self.survives(link, web)
        for each in slow:
            each.close()

    def test_requests_with_headers_of_any_size_do_not_end_the_program(self):
        link = self.start()
        web = self.children("otolith-web")[0]
        for size in (1, 1000, 5000, 70000):
            for line in (b"GET /" + b"a" * size + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: " + b"a" * size + b"\r\n\r\n",
                         b"GET /?token=" + b"a" * size + b" HTTP/1.1\r\nHost: localhost\r\nOrigin: " + b"b" * size + b"\r\n\r\n",
                         b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n" + b"a" * size, os.urandom(size)):
                with socket.create_connection(("127.0.0.1", link.port), timeout=5) as each:
                    try:
                        each.sendall(line)
                        each.settimeout(0.2)
                        each.recv(1000)
                    except OSError:
                        pass
        self.survives(link, web)


class Supervision(WebCase):
    def test_a_page_that_dies_restarts_with_the_same_link(self):
        link = self.start(port=free_ports(1)[0])
        os.kill(self.children("otolith-web")[0], signal.SIGKILL)
        self.until(lambda: self.children("otolith-web") and self.connects(link), "the page")
        self.assertEqual(self.link().text, link.text)

    def programs_without_page(self):
        """A folder with the programs of the server but that of its page."""
        folder = self.path / "bin"
        folder.mkdir()
        for name in ("otolithd", "otolith-publisher", "otolith-plugin-host"):
            shutil.copy(self.binaries / name, folder / name)
        plugins = next((self.binaries.parent / "lib/otolith").glob("plugins-*"))
        self.environment["OTOLITH_PLUGIN_PATH"] = str(plugins)
        return folder

    def gated_page(self):
        """A folder of programs whose page starts only when the file `open` is there, and counts its starts in the file `starts`."""
        folder = self.programs_without_page()
        script = f'#!/bin/sh\necho start >> "{self.path}/starts"\n[ -e "{self.path}/open" ] || exit 1\nexec "{self.binaries}/otolith-web" "$@"\n'
        (folder / "otolith-web").write_text(script)
        (folder / "otolith-web").chmod(0o700)
        return folder

    def starts(self):
        return len((self.path / "starts").read_text().splitlines())

    def test_a_page_that_starts_again_is_waited_for_and_a_dead_one_has_no_link(self):
        gate = self.path / "open"
        gate.touch()
        link = self.start(port=free_ports(1)[0], folder=self.gated_page())
        gate.unlink()
        os.kill(self.children("otolith-web")[0], signal.SIGKILL)
        facts = self.path / "otolith" / "demo" / "server.json"
        self.until(lambda: json.loads(facts.read_text())["page"] == "", "the end of the page")
        self.assertTrue(json.loads(facts.read_text())["page_expected"])
        waits = subprocess.Popen([self.program, "web", "--control"], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        before = self.starts()
        self.until(lambda: self.starts() >= before + 3, "attempts to start the page")
        self.assertIsNone(waits.poll(), "it does not wait for the page")
        gate.touch()
        said, errors = waits.communicate(timeout=PATIENCE_S)
        self.assertEqual((waits.returncode, said.strip()), (0, link.text), errors)

    def connects(self, link):
        try:
            Viewer(link).close()
            return True
        except (OSError, EOFError, Refused):
            return False

    def test_a_world_that_starts_again_has_the_same_link(self):
        link = self.start()
        self.stop()
        self.assertEqual(self.start(port=0).token, link.token)

    def test_worlds_on_one_machine_have_ports_of_their_own(self):
        first = self.start(None, port=0)
        one = self.server
        try:
            second = subprocess.Popen([self.binaries / "otolithd", self.city, "--set", "world=other", "--set", f'web={{listen: "127.0.0.1:{first.port}"}}'],
                                      env=self.environment, stderr=subprocess.PIPE, text=True, cwd=self.path)
            self.until(lambda: self.call("web", "--world", "other").returncode == 0, "the other page")
            link = Link(self.otolith("web", "--control", "--world", "other").strip())
            self.assertNotEqual(link.port, first.port)
            viewer = Viewer(link)
            self.assertEqual(viewer.world["world"], "other")
            viewer.close()
            second.terminate()
            self.assertIn(f"port {first.port} is taken; the page is on port {link.port}", second.communicate(timeout=300)[1])
        finally:
            self.server = one

    def test_a_missing_program_is_a_sentence(self):
        folder = self.programs_without_page()
        log = open(self.path / "server.log", "w", encoding="utf-8")
        self.server = subprocess.Popen([folder / "otolithd", self.city], env=self.environment, stdout=log, stderr=log, cwd=self.path)
        log.close()
        self.until(lambda: self.call("ls").returncode == 0, "the world")
        self.assertIn("the world has no page", (self.path / "server.log").read_text())
        self.assertIn("no page", self.otolith("web", code=1))

    def test_without_a_token_a_page_listens_on_loopback_only(self):
        done = subprocess.run([self.binaries / "otolithd", "--check", self.city, "--set", 'web={listen: "0.0.0.0:8090", read_token: none}'],
                              capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("on loopback only", done.stderr)
        done = subprocess.run([self.binaries / "otolith-web", "--listen", "0.0.0.0:0", "--read-token", "none"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)

    def test_a_page_of_its_own_follows_the_world_to_its_next_run(self):
        self.start()
        page = subprocess.Popen([self.binaries / "otolith-web", "--listen", "127.0.0.1:0"], env=self.environment, stdout=subprocess.PIPE, text=True)
        link = Link(page.stdout.readline().strip())
        viewer = Viewer(link)
        viewer.subscribe(1, IMU, X)
        self.assertTrue(viewer.batch()["t"])
        self.server.kill()
        self.server.wait()
        self.start()
        described = viewer.text("world")
        self.assertNotEqual(described["epoch"], viewer.world["epoch"])
        viewer.subscribe(1, IMU, X)
        self.assertTrue(viewer.batch()["t"])
        viewer.close()
        page.terminate()
        self.assertEqual(page.wait(timeout=300), 0)
        page.stdout.close()


if __name__ == "__main__":
    web_case.main("__main__")
