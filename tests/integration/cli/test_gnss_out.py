"""`otolith gnss-out`: programs that read receivers read it back: gpsd's gpsdecode, gpsbabel, python3-nmea2. Over a pty, TCP and UDP."""
import datetime
import json
import os
import pathlib
import select
import shutil
import socket
import struct
import subprocess
import sys
import unittest

PROGRAMS, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))
sys.path.insert(0, str(SOURCE / "tests/support"))
from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

WORLD = """
world: drive
origin: {latitude_deg: -33.5, longitude_deg: -70.25, altitude_m: 600, date: 2026-03-01}
clock: {rate_hz: 1000, mode: realtime, scale: 5}
environment: {magnetic_field: [0, 20, -40]}
vehicles:
  - name: car
    motion: {plugin: motion_script, params: {repeat: false, segments: [{kind: accelerate, to_speed_m_s: 20, accel_m_s2: 20}, {kind: cruise, duration_s: 600}]}}
    nodes:
      - name: gnss
        plugin: gnss
        rate_hz: 10
        params:
          mode: fixed
          latency_ms: 50
          geoid_separation_m: 25.5
          utc_start_s: 86398
          fixed: {position_sigma_m: 0.001, position_white_m: 0.001, velocity_sigma_m_s: 0.001, velocity_white_m_s: 0.001}
      - {name: other, plugin: gnss, rate_hz: 10, params: {acquired_at_start: false, first_fix_s: 600}}
"""
NORTH_DEG, EAST_DEG = -33.5, -70.25
UTC_NS = int(datetime.datetime(2026, 3, 2, 0, 0, 1, tzinfo=datetime.timezone.utc).timestamp()) * 10**9


def checksum_is_good(line):
    body, _, told = line.strip()[1:].partition("*")
    value = 0
    for character in body:
        value ^= ord(character)
    return f"{value:02X}" == told


class GnssOut(OtolithCase):
    def setUp(self):
        super().setUp()
        world = self.path / "drive.yaml"
        world.write_text(WORLD)
        self.server = subprocess.Popen([str(PROGRAMS / "otolithd"), "--no-publish", str(world)], env=self.environment,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.until(self.is_running, "the world")
        # with a steady speed and with the date that follows midnight
        self.until(lambda: json.loads(self.otolith("echo", "car/gnss", "-n", "1", "--json"))["utc_ns"] > UTC_NS, "the day after")

    def is_running(self):
        self.assertIsNone(self.server.poll(), "the server ended")
        return "car/gnss" in self.call("ls").stdout

    def nmea(self, topic="car/gnss", count=3):
        text = self.otolith("gnss-out", topic, "-n", count)
        for line in text.splitlines():
            self.assertTrue(checksum_is_good(line), line)
            self.assertLessEqual(len(line), 120)
        self.assertEqual([line[3:6] for line in text.splitlines()], ["GGA", "RMC", "GSA", "VTG"] * count)
        return text

    def decode(self, data):
        if shutil.which("gpsdecode") is None:
            self.skipTest("gpsdecode (package gpsd-clients) is not installed")
        done = subprocess.run(["gpsdecode"], input=data, capture_output=True, timeout=PATIENCE_S, check=True)
        return [json.loads(line) for line in done.stdout.decode().splitlines() if '"TPV"' in line]

    def expect_report(self, report):
        self.assertEqual(report["mode"], 3)
        self.assertAlmostEqual(report["lat"], NORTH_DEG, delta=1e-6)
        self.assertTrue(EAST_DEG < report["lon"] < EAST_DEG + 0.5)
        self.assertAlmostEqual(report["speed"], 20, delta=0.02)
        self.assertAlmostEqual(report["track"], 90, delta=0.1)
        self.assertAlmostEqual(report["altMSL"], 574.5, delta=0.5)

    def test_gpsd_reads_nmea(self):
        reports = self.decode(self.nmea(count=5).encode())
        self.assertGreaterEqual(len(reports), 4)
        self.expect_report(reports[-1])
        self.assertAlmostEqual(reports[-1]["altHAE"], 600.0, delta=0.5)
        self.assertEqual(reports[-1]["time"][:10], "2026-03-02")  # a day after the world's date

    def test_gpsd_reads_ubx(self):
        data = subprocess.run([self.program, "gnss-out", "car/gnss", "--ubx", "-n", "5"], env=self.environment,
                              capture_output=True, timeout=PATIENCE_S, check=True).stdout
        self.assertEqual(len(data), 5 * 100)
        reports = self.decode(data)
        self.assertGreaterEqual(len(reports), 4)
        self.expect_report(reports[-1])
        self.assertAlmostEqual(reports[-1]["altHAE"], 600.0, delta=0.5)
        self.assertGreaterEqual(reports[-1]["status"], 2)  # differential at least: gpsd 3.22 does not read carrSoln
        self.assertEqual(reports[-1]["time"][:10], "2026-03-02")

    def test_gpsbabel_reads_nmea(self):
        if shutil.which("gpsbabel") is None:
            self.skipTest("gpsbabel is not installed")
        path = self.path / "fixes.nmea"
        path.write_text(self.nmea(count=4))
        done = subprocess.run(["gpsbabel", "-t", "-i", "nmea", "-f", str(path), "-o", "geojson", "-F", "-"], capture_output=True,
                              text=True, timeout=PATIENCE_S, check=True)
        features = json.loads(done.stdout)["features"]
        points = [point for feature in features for point in feature["geometry"]["coordinates"]]
        self.assertGreaterEqual(len(points), 4)
        for longitude, latitude, altitude in points:
            self.assertAlmostEqual(latitude, NORTH_DEG, delta=1e-5)
            self.assertTrue(EAST_DEG < longitude < EAST_DEG + 0.5)
            self.assertAlmostEqual(altitude, 574.5, delta=0.5)

    def test_pynmea2_reads_every_field(self):
        try:
            import pynmea2  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("pynmea2 (package python3-nmea2) is not installed")
        gga, rmc, gsa, vtg = (pynmea2.parse(line, check=True) for line in self.nmea(count=1).splitlines())
        self.assertAlmostEqual(gga.latitude, NORTH_DEG, delta=1e-6)
        self.assertEqual((gga.lat_dir, gga.lon_dir, gga.gps_qual, gga.num_sats), ("S", "W", 4, "14"))
        self.assertAlmostEqual(gga.altitude, 574.5, delta=0.5)
        self.assertAlmostEqual(float(gga.geo_sep), 25.5, delta=1e-3)
        self.assertEqual((rmc.status, rmc.datestamp), ("A", datetime.date(2026, 3, 2)))
        self.assertAlmostEqual(rmc.spd_over_grnd, 38.877, delta=0.03)
        self.assertEqual(gsa.mode_fix_type, "3")
        self.assertAlmostEqual(float(gsa.pdop), 1.44, delta=0.01)
        self.assertAlmostEqual(vtg.spd_over_grnd_kmph, 72, delta=0.05)

    def test_without_a_fix_fields_are_empty(self):
        gga, rmc, gsa, vtg = (line.split("*")[0].split(",") for line in self.nmea("car/other", 1).splitlines())
        self.assertEqual(gga[2:9], ["", "", "", "", "0", "00", ""])
        self.assertEqual((rmc[2], rmc[3:9]), ("V", [""] * 6))
        self.assertEqual(gsa[2], "1")
        self.assertEqual((vtg[1], vtg[5], vtg[9]), ("", "", "N"))

    def test_an_injected_outage_takes_the_fix_and_nan_is_no_fix(self):
        self.otolith("fault", "car/gnss", "outage")
        self.until(lambda: ",V,,,,,," in self.nmea(count=1), "the outage")
        self.otolith("fault", "car/gnss", "--clear")
        self.until(lambda: ",A," in self.nmea(count=1), "the fix after it")
        self.otolith("fault", "car/gnss", "nan", "--field", "latitude")
        self.until(lambda: ",V,,,,,," in self.nmea(count=1), "the fix that is not a number")

    # ---- lines ----

    def start(self, *arguments):
        sender = subprocess.Popen([self.program, "gnss-out", "car/gnss", *map(str, arguments)], env=self.environment,
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(sender.stderr.close)
        self.addCleanup(sender.wait, PATIENCE_S)
        self.addCleanup(sender.terminate)
        return sender, sender.stderr.readline().rsplit(" ", 1)[-1].strip()

    def read_until(self, read, wanted):
        text = b""
        while text.count(wanted) < 3:
            data = read()
            self.assertTrue(data, "the line ended")
            text += data
        return text

    def test_a_terminal_carries_whole_sentences(self):
        link = self.path / "ttyGNSS"
        _, place = self.start(f"--pty={link}")
        self.assertEqual(os.readlink(link), place)
        with open(link, "rb", buffering=0) as terminal:
            text = self.read_until(lambda: terminal.read(4096), b"VTG")
        lines = text.decode().split("\r\n")
        self.assertTrue(all(checksum_is_good(line) for line in lines[1:-1]))

    def test_tcp_clients_come_and_go(self):
        _, place = self.start("--tcp=0", "--ubx")
        host, port = place.rsplit(":", 1)
        for _ in range(2):
            with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as client:
                data = self.read_until(lambda c=client: c.recv(4096), b"\xb5\x62\x01\x07")
            self.assertEqual(data[:4], b"\xb5\x62\x01\x07")
            latitude = struct.unpack_from("<i", data, 6 + 28)[0] * 1e-7
            self.assertAlmostEqual(latitude, NORTH_DEG, delta=1e-6)

    def test_udp_datagrams_are_whole_messages(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
            receiver.bind(("127.0.0.1", 0))
            self.start(f"--udp=127.0.0.1:{receiver.getsockname()[1]}", "--ubx")
            self.assertTrue(select.select([receiver], [], [], PATIENCE_S)[0])
            data = receiver.recv(4096)
        self.assertEqual(len(data), 100)
        a = b = 0
        for byte in data[2:98]:
            a = (a + byte) & 255
            b = (b + a) & 255
        self.assertEqual(bytes((a, b)), data[98:])

    def test_what_is_no_fix_is_refused(self):
        self.assertIn("expected 'navsat'", self.otolith("gnss-out", "car/motion", "-n", 1, code=1))
        self.assertIn("HOST:PORT", self.otolith("gnss-out", "car/gnss", "--udp=5", code=1))


if __name__ == "__main__":
    OtolithCase.program = str(PROGRAMS / "otolith")
    unittest.main()
