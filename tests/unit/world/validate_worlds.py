"""Validates world files by a JSON Schema (2020-12), and shows that the schema refuses what the parser refuses."""
import copy
import json
import sys

import jsonschema
import yaml


class Loader(yaml.SafeLoader):
    """YAML 1.2's core schema has no dates and reads 1e3 as a number; PyYAML's 1.1 resolver does neither."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def refuses(validator, world, change):
    changed = copy.deepcopy(world)
    change(changed)
    assert not validator.is_valid(changed), f"the schema accepts {change.__name__}"


def unknown_key(world):
    world["sead"] = 1


def unknown_nested_key(world):
    world["vehicles"][0]["nodes"] = [{"name": "imu", "plugin": "mems_imu", "rate": 1}]


def latitude_out_of_range(world):
    world["origin"] = {"latitude_deg": 91}


def negative_rate(world):
    world["clock"] = {"rate_hz": -1}


def no_vehicles(world):
    world["vehicles"] = []


def seed_too_large(world):
    world["seed"] = 2**64


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            world = yaml.load(file, Loader)
        errors = [f"{path}: {error.json_path}: {error.message}" for error in validator.iter_errors(world)]
        assert not errors, "\n".join(errors)
        for change in (unknown_key, unknown_nested_key, latitude_out_of_range, negative_rate, no_vehicles, seed_too_large):
            refuses(validator, world, change)
        print(f"{path}: valid")
    assert len(sys.argv) > 2, "no world files were given"


main()
