"""A running world for the tests that need one. The programs are those of the checkout's build, of OTOLITH_BIN, or installed."""
import os
import pathlib
import shutil
import subprocess
import time

import pytest

import otolith

CHECKOUT = pathlib.Path(__file__).resolve().parent / "../../.."  # if these tests are in one
WORLD = """
world: pytest
seed: 3
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 100, params: {gyroscope.noise_density_rad_s_rthz: 4.9e-5}}
      - {name: odo, plugin: odometer, rate_hz: 50}
"""


def find_program(name):
    for folder in (os.environ.get("OTOLITH_BIN"), CHECKOUT / "build/release/bin"):
        if folder and (pathlib.Path(folder) / name).exists():
            return str(pathlib.Path(folder) / name)
    return shutil.which(name)


@pytest.fixture
def world_file(tmp_path):
    """The path of a world file with an IMU at 100 Hz and an odometer at 50 Hz."""
    file = tmp_path / "world.yaml"
    file.write_text(WORLD)
    return file


@pytest.fixture
def world(world_file, tmp_path, monkeypatch):
    """An attached otolith.World; its server ends with the test."""
    program = find_program("otolithd")
    if program is None:
        pytest.skip("there is no otolithd: build it, install it, or name its folder in OTOLITH_BIN")
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.delenv("OTOLITH_WORLD", raising=False)
    server = subprocess.Popen([program, world_file, "--mode", "realtime"], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 300
        while not list(runtime.glob("otolith/*/server.json")) and server.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        with otolith.World() as attached:
            yield attached
    finally:
        server.terminate()
        server.wait(300)
