"""Pages of the site that are made from the tables of the programs: Markdown text by name."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

import api_reference
import schema_table


def run_json(*command, environment=None):
    return json.loads(subprocess.run([str(word) for word in command], env=environment, stdout=subprocess.PIPE, check=True, text=True).stdout)


def cell(value):
    return str(value).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines) + "\n"


def code(value):
    return f"`{value}`" if str(value) else ""


def with_unit(value, unit):
    return f"{code(value)} {'' if unit == '1' else unit}".strip()


def sentence(text):
    return text[:1].upper() + text[1:]


def make_plugins(otolith, readmes):
    """The list, and a page for each plugin with its parameters and its README's address."""
    plugins = run_json(otolith, "plugins", "--json")
    pages = {"plugins": "# Plugins and their parameters\n\nWhat `otolith plugins` lists. A page has the parameters of a plugin, as "
                        "`otolith params PLUGIN` prints them.\n\n"}
    for kind in ("sensor", "motion", "estimator"):
        rows = [(f"[`{one['plugin']}`](ref:plugin/{one['plugin']})", one["text"], one["version"]) for one in plugins if one["kind"] == kind]
        pages["plugins"] += f"## {kind.capitalize()}s\n\n" + table(("plugin", "what it is", "version"), rows) + "\n"
    for one in plugins:
        params = run_json(otolith, "params", one["plugin"], "--json")
        rows = [(code(param["param"]), "required" if param["required"] else with_unit(param["default"], param["unit"]),
                 param["accepted"].replace("|", " | "), param["text"] + ("" if param["runtime"] else " (fixed while running)"))
                for param in params]
        readme = readmes.get(one["plugin"])
        more = f"[Equations, sources and tests](src:{readme})\n\n" if readme else ""
        pages[f"plugin/{one['plugin']}"] = (f"# {one['plugin']}\n\n{sentence(one['text'])}. Kind: {one['kind']}; version {one['version']}.\n\n{more}"
                                            "## Parameters\n\n" + table(("parameter", "default", "accepted", "meaning"), rows))
    return pages


def number_of(entry):
    printed = entry["printed"] if isinstance(entry["printed"], list) else [entry["printed"]]
    text = " ".join(f"{value:g}" for value in (printed[:1] if len(set(printed)) == 1 else printed))
    return f"{text} {entry['unit']} {entry['is']}", entry["source"]


def make_parts(otolith):
    parts = run_json(otolith, "parts", "--json")
    rows, details = [], ""
    for part in parts:
        name = part["part"]
        rows.append((f"[`{name}`](#{re.sub(r'[^a-z0-9-]', '', name.lower())})", part["title"], part["vendor"], part["mode"] or ""))
        facts = [(f"{triad}: {term.replace('_', ' ')}", *number_of(entry)) for triad in ("accelerometer", "gyroscope", "magnetometer")
                 for term, entry in (part.get(triad) or {}).get("numbers", {}).items() if "printed" in entry]
        documents = "; ".join(f"{key}: {value['title']}, {value['number']} {value['revision'] or ''}".strip() for key, value in part["documents"].items())
        details += f"## {name}\n\n{part['title']}, mode `{part['mode']}`. {documents}\n\n" + table(("number", "printed", "source"), facts) + "\n"
    return {"parts": "# Parts\n\nReal sensors with the source of every number; `part: NAME` in a world file ([how](src:tools/site/pages/howto/imu-noise.md), "
                     "[format](src:configs/parts/README.md)). `otolith parts NAME` prints a part in every convention.\n\n"
                     + table(("part", "title", "vendor", "default mode"), rows) + "\n" + details}


RECORDS = {"truth": "The true state of a vehicle's body origin.", "imu": "ROS `sensor_msgs/Imu` without its header.",
           "mag": "ROS `sensor_msgs/MagneticField` without its header.", "odometry": "Wheel odometry.", "navsat": "A satellite fix, with the fields of ROS `sensor_msgs/NavSatFix`.",
           "pressure": "Air pressure: ROS `sensor_msgs/FluidPressure`, and the temperature.", "wheels": "Counters of four wheels, and odometry.",
           "estimate": "The estimate of a vehicle's state; every estimator of motion has it.",
           "event": "An occurrence in a world, on `WORLD/@events`.", "fault_label": "The truth about faults in a sample, on `NODE.label`."}


def describe_types(binaries, world):
    """{record: what `otolith info` prints} of a world that stands still at its start."""
    with tempfile.TemporaryDirectory(prefix="otolith-site-") as folder:
        environment = dict(os.environ, XDG_RUNTIME_DIR=folder)
        server = subprocess.Popen([binaries / "otolithd", world, "--start-paused", "--no-publish", "--set", "web=false"], env=environment, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60
            while not list(pathlib.Path(folder).glob("otolith/*/server.json")) and time.monotonic() < deadline and server.poll() is None:
                time.sleep(0.02)
            topics = [topic for one in run_json(binaries / "otolith", "ls", "--json", environment=environment) for topic in one["topics"]]
            types = {}
            for topic in topics:
                if topic["type"] not in types:
                    types[topic["type"]] = run_json(binaries / "otolith", "info", topic["topic"], "--json", environment=environment)
        finally:
            server.terminate()
            server.wait()
    return types


def make_records(binaries, source):
    """From the field tables of worlds that have them all."""
    types = {}
    for world in ("estimator", "test_car"):
        types.update(describe_types(binaries, source / f"configs/worlds/{world}.yaml"))
    text = ("# Records\n\nThe standard records, as their field tables describe them (`otolith info TOPIC`). A plugin may publish others; they describe "
            "themselves in the same way. Every sample also has `t_ns`, `sensor_time_ns`, `seq` and `flags`.\n\n")
    for name in sorted(types, key=lambda one: list(RECORDS).index(one) if one in RECORDS else 99):
        rows = [(code(field["name"]), field["type"] + (f" × {field['count']}" if field["count"] > 1 else ""),
                 field["unit"] if field["unit"] != "1" else "", field["frame"], field["text"]) for field in types[name]["fields"]]
        text += f"## {name}\n\n{RECORDS.get(name, '')} {types[name]['bytes']} bytes.\n\n" + table(("field", "type", "unit", "axes", "meaning"), rows) + "\n"
    return {"records": text}


def make_verbs(source):
    """Names and roles from the server's table, arguments from its page; a verb that one of them lacks is an error."""
    rows = re.findall(r'\[OTO_VERB_\w+\] = \{"(\w+)", (\w+), ', (source / "clients/libotolith/wire/control_verbs.c").read_text())
    page = (source / "server/README.md").read_text()
    section = page.split("| op | arguments |", 1)[1].split("\n\n", 1)[0]
    described = {}
    for line in section.splitlines()[2:]:
        names, arguments, reply = [part.strip() for part in line.strip("|").split(" | ")] if line.count(" | ") == 2 else \
            (line.strip("|").split("|")[0].strip(), "", line.strip("|").split("|")[-1].strip())
        for name in re.findall(r"`(\w+)`", names):
            described[name] = (arguments, reply)
    missing = {name for name, _ in rows} ^ set(described)
    if missing:
        raise SystemExit(f"make-site: server/README.md and clients/libotolith/wire/control_verbs.c differ in the verbs {', '.join(sorted(missing))}")
    made = [(code(name), role.lower(), *described[name]) for name, role in rows]
    return {"verbs": "# Control verbs\n\nRequests on the control socket of a world. [The protocol](src:server/README.md#control-socket): one datagram a request, "
                     "a msgpack map. From C use `otolith/client.h`, from Python `World`, from a shell the commands.\n\n"
                     + table(("verb", "role", "arguments", "reply, besides status and text"), made)}


def make_world(source):
    rows = [(code(key.path), "required" if key.required else with_unit(key.default, key.unit), key.accepted, key.text)
            for key in schema_table.read_keys(source / "configs/world.schema.json")]
    return {"world": "# Keys of a world file\n\nThe same table is the man page [world(5)](ref:man/world.5) and the "
                     "[JSON Schema](src:configs/world.schema.json).\n\n" + table(("key", "default, unit", "accepted", "meaning"), rows)}


def make_reference(binaries, source):
    readmes = {}
    for file in sorted(source.glob("plugins/*/README.md")):
        address = file.relative_to(source).as_posix()
        build = file.parent / "CMakeLists.txt"
        names = re.findall(r"otolith_add_plugin\((\w+)", build.read_text()) if build.exists() else []
        readmes.update({name: address for name in names})
        if file.parent.name == "motion_models":  # its plugins are added by a loop over models
            readmes.update({f"motion_{model.stem}": address for model in file.parent.glob("*.c")})
    otolith = binaries / "otolith"
    return {**make_world(source), **make_plugins(otolith, readmes), **make_parts(otolith), **make_records(binaries, source), **make_verbs(source),
            **api_reference.make_headers(source), **api_reference.make_python(source)}
