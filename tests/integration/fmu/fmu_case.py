"""FMUs for tests: zip files made from the test FMU's binary and a description that each test may change."""
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

MACHINE = platform.machine()
PLATFORM = {2: "linux64" if MACHINE == "x86_64" else f"{MACHINE}-linux", 3: f"{MACHINE}-linux"}
TOKEN = "{otolith-test-fmu}"

# name, value reference, causality, type, unit; the references of tests/support/fmu/test_fmu.c
VARIABLES = (("x", 1, "output", "Real", "m"), ("y", 2, "output", "Real", "km"), ("heading", 3, "output", "Real", "deg"),
             ("vx", 4, "output", "Real", "m/s"), ("vy", 5, "output", "Real", "m/s"), ("radius", 6, "parameter", "Real", "m"),
             ("rate", 7, "parameter", "Real", "rad/s"), ("when", 8, "parameter", "Real", "s"), ("mode", 9, "parameter", "Integer", ""),
             ("mass", 10, "output", "Real", "kg"), ("strange", 1, "output", "Real", "furlong"),
             ("push", 11, "input", "Real", "m"), ("gear", 12, "input", "Integer", ""))
ARRAYS = """<Float64 name="vector" valueReference="13" causality="output" unit="m"><Dimension start="3"/></Float64>
<Float64 name="offsets" valueReference="14" causality="input" start="0"><Dimension start="2"/><Dimension valueReference="15"/></Float64>
<UInt64 name="columns" valueReference="15" causality="structuralParameter" variability="fixed" start="3"/>
<Float64 name="cube" valueReference="16" causality="output"><Dimension valueReference="99"/></Float64>
<Float64 name="easting" valueReference="1" causality="output" unit="m"><Alias name="east"/></Float64>"""
UNITS = """<UnitDefinitions>
  <Unit name="m"><BaseUnit m="1"/></Unit> <Unit name="km"><BaseUnit m="1" factor="1000"/></Unit>
  <Unit name="deg"><BaseUnit rad="1" factor="0.017453292519943295"/></Unit> <Unit name="m/s"><BaseUnit m="1" s="-1"/></Unit>
  <Unit name="rad/s"><BaseUnit s="-1"/></Unit> <Unit name="s"><BaseUnit s="1"/></Unit> <Unit name="kg"><BaseUnit kg="1"/></Unit>
  <Unit name="furlong"/>
</UnitDefinitions>"""


def variable(version, name, reference, causality, kind, unit):
    unit = f' unit="{unit}"' if unit else ""
    if version == 2:
        return f'<ScalarVariable name="{name}" valueReference="{reference}" causality="{causality}"><{kind}{unit}/></ScalarVariable>'
    element = {"Real": "Float64", "Integer": "Int32"}[kind]
    return f'<{element} name="{name}" valueReference="{reference}" causality="{causality}"{unit}/>'


def description(version, token=TOKEN, saves="true", co_simulation=True, doctype="", extra=""):
    state = {2: "state", 3: "State"}[version]
    kind = "CoSimulation" if co_simulation else "ModelExchange"
    name = {2: "guid", 3: "instantiationToken"}[version]
    return f"""<?xml version="1.0"?>{doctype}
<fmiModelDescription fmiVersion="{version}.0" modelName="test" {name}="{token}">
<{kind} modelIdentifier="model" canGetAndSetFMU{state}="{saves}" canSerializeFMU{state}="{saves}"
  {'hasEventMode="true" ' if version == 3 else ''}{extra}/>
{UNITS}<ModelVariables>{''.join(variable(version, *v) for v in VARIABLES)}{ARRAYS if version == 3 else ''}</ModelVariables></fmiModelDescription>"""


def write_fmu(path, version, binary, text=None, entries=()):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", text if text is not None else description(version))
        if binary is not None:
            archive.write(binary, f"binaries/{PLATFORM[version]}/model.so")
        for name, content in entries:
            archive.writestr(name, content)
    return path


TRUTH = {"position_x_m": "x", "position_y_m": "y", "velocity_x_m_s": "vx", "velocity_y_m_s": "vy", "yaw_rad": "heading"}


class FmuCase(OtolithCase):
    binaries = {}  # of the test FMU, by version

    def fmu(self, version, text=None, **more):
        return write_fmu(self.path / f"test{version}.fmu", version, self.binaries[version], text, **more)

    def world(self, fmu, truth=None, rate_hz=1000, step_s=None, nodes=(), inputs=None, **start):
        """A world file; JSON is YAML. With inputs, the participant `driver` gives the controls and drives the clock."""
        params = {"path": str(fmu), "truth": TRUTH if truth is None else truth,
                  "start": [{"variable": name, "value": value} for name, value in start.items()]}
        if step_s is not None:
            params["step_s"] = step_s
        motion, clock = {"plugin": "motion_fmu", "params": params}, {"rate_hz": rate_hz, "mode": "asap"}
        if inputs is not None:
            params["inputs"] = inputs
            motion["controls"] = "driver"
            clock.update(mode="external", master="driver")
        file = self.path / "world.yaml"
        file.write_text(json.dumps({"world": "test", "seed": 3, "clock": clock, "publish": False,
                                    "vehicles": [{"name": "car", "motion": motion, "nodes": list(nodes)}]}))
        return file

    def run_world(self, world, *options, code=0, duration="0.5s"):
        """The truth at each tick, and the summary."""
        table, summary = self.path / "truth.csv", self.path / "summary.json"
        said = self.otolith("run", world, "--quiet", "--for", duration, f"--csv=car/motion={table}", "--summary", summary, *options,
                            code=code)
        if code != 0:
            return said
        lines = table.read_text().splitlines()
        names = lines[0].split(",")
        rows = [dict(zip(names, map(float, line.split(",")))) for line in lines[1:]]
        return rows, json.loads(summary.read_text())

    # ---- a running world ----

    def start_world(self, world, *options):
        self.server = subprocess.Popen([self.program, "run", world, "--quiet", *map(str, options)], env=self.environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.until(lambda: self.call("ls", "--world", "test").returncode == 0, "the world")

    def end_world(self):
        self.server.terminate()
        self.server.wait(timeout=PATIENCE_S)
        self.server = None

    def kill_host(self):
        """Ends the motion's plugin host, and waits for the next one: a tick waits a few seconds for it, which a busy machine may need."""
        def pid():
            return json.loads(self.otolith("info", "car/motion", "--json", "--world", "test"))["plugin_host"]["pid"]
        killed = pid()
        self.assertGreater(killed, 0)
        os.kill(killed, signal.SIGKILL)
        self.until(lambda: pid() not in (0, killed), "the next plugin host", patience_s=600)
