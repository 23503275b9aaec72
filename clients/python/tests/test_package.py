"""What a user of the package relies on; the project's own tests are in tests/integration/python of the source."""
import inspect
import pathlib
import re

import numpy as np
import pytest

import otolith

PACKAGE = pathlib.Path(otolith.__file__).parent
HEADER = PACKAGE.parents[2] / "include/otolith/version.h"


def public_functions():
    for name in otolith.__all__:
        found = getattr(otolith, name)
        if inspect.isfunction(found):
            yield name, found
        if inspect.isclass(found):
            for member, value in vars(found).items():
                value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                if not member.startswith("_") and inspect.isfunction(value):
                    yield f"{name}.{member}", value


def is_hinted(function):
    signature = inspect.signature(function)
    given = [parameter for parameter in signature.parameters.values() if parameter.name not in ("self", "cls")]
    return all(one.annotation is not inspect.Parameter.empty for one in given) and signature.return_annotation is not inspect.Signature.empty


def test_every_public_function_has_a_docstring_and_type_hints():
    assert (PACKAGE / "py.typed").exists()
    assert [name for name, function in public_functions() if not function.__doc__] == []
    assert [name for name, function in public_functions() if not is_hinted(function)] == []


def test_the_version_is_that_of_the_headers():
    if not HEADER.exists():
        pytest.skip("the package is not in a checkout")
    assert re.search(r'OTO_VERSION_STRING "([^"]+)"', HEADER.read_text())[1] == otolith.__version__


def test_a_step_returns_records_with_units(world_file):
    with otolith.Sim(world_file) as sim:
        imu = sim.step(1000)["car/imu"]
        assert imu.shape == (100,)
        assert imu["t_ns"][-1] == 1_000_000_000
        assert sim.channel("car/imu").units["linear_acceleration.z"] == "m/s^2"


def test_a_seed_determines_every_sample(world_file):
    with otolith.Sim(world_file, seed=7) as first, otolith.Sim(world_file, seed=7) as second, otolith.Sim(world_file, seed=8) as other:
        runs = [sim.step(500)["car/imu"] for sim in (first, second, other)]
        assert np.array_equal(runs[0], runs[1])
        assert not np.array_equal(runs[0]["angular_velocity.z"], runs[2]["angular_velocity.z"])
        assert first.state_hash == second.state_hash != other.state_hash


def test_errors_name_the_value_and_what_is_accepted(world_file):
    with otolith.Sim(world_file) as sim:
        with pytest.raises(otolith.NotFound, match="car/imx"):
            sim.read("car/imx")
        with pytest.raises(otolith.OtolithError, match="gyroscope"):
            sim.set("car/imu", "gyroscope.noise", 1)
        with pytest.raises(ValueError, match="0 ticks"):
            sim.step(0)
    with pytest.raises(otolith.Closed):
        sim.step()


def test_a_model_predicts_its_state():
    with otolith.Model("constant_velocity") as model:
        model.state = np.arange(len(model), dtype=float)
        assert model.predicted(1_000_000_000).shape == (len(model),)
        assert model.jacobian(1_000_000_000).shape == (len(model), len(model))
        with pytest.raises(ValueError, match="shape"):
            model.reset([1.0] * (len(model) + 1))


def test_a_reader_gets_every_sample_of_a_running_world(world):
    reader = world["car/imu"].reader()
    samples = reader.collect(20)
    assert samples.shape == (20,)
    assert np.array_equal(np.diff(samples["seq"]), np.ones(19))
    assert reader.lost == 0


def test_a_running_world_is_controlled(world):
    world.pause()
    tick = world.step(5).tick
    assert world.step(5).tick == tick + 5
    world.set("car/odo", "noise_m_s", 0.5)
    assert float(world.get("car/odo", "noise_m_s").value) == 0.5
    assert world.get("car/odo")["noise_m_s"].unit == "m/s"
    with pytest.raises(otolith.NotFound):
        world["car/nothing"]
