"""Flattens configs/world.schema.json, which the server prints from its own tables, into rows of keys for man page and site."""
import json

WORD = {"array": "list", "object": "map", "string": "text", "integer": "whole number", "boolean": "true or false", "null": "nothing"}


class Key:
    """path: "clock.rate_hz", lists as "vehicles[].name"; accepted, default: text for people; text, unit: the table's."""

    def __init__(self, path, schema, required):
        text, _, unit = schema.get("description", "").rpartition(" [")
        has_unit = bool(text) and unit.endswith("]")
        self.path, self.required = path, required
        self.text = text if has_unit else schema.get("description", "")
        self.unit = unit[:-1] if has_unit else ""
        self.accepted = describe(schema)
        self.default = json.dumps(schema["default"]) if "default" in schema else ""

    def depth(self):
        return self.path.count(".")


def print_number(value):
    return str(value) if isinstance(value, int) else f"{value:g}"


def describe_range(schema):
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
    if low is None or high is None:
        return ""
    above = "above " if "exclusiveMinimum" in schema else ""
    return f", {above}{print_number(low)} to {print_number(high)}"


def describe(schema):
    """What a key accepts, in a few words."""
    if "enum" in schema:
        return " | ".join(schema["enum"])
    if "anyOf" in schema:
        return ", or ".join(describe(choice) for choice in schema["anyOf"])
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    text = " or ".join(WORD.get(kind, kind) for kind in kinds)
    if "prefixItems" in schema:
        return f"[{', '.join(describe(item) for item in schema['prefixItems'])}]"
    if "array" in kinds:
        items, count = schema.get("items"), schema.get("minItems")
        number = f" of {count}" if count is not None and count == schema.get("maxItems") else ""
        return f"list{number}" + (f" of {describe(items)}s" if items and items.get("type") in ("number", "string") and not number else "")
    if "^[0-9]+/[0-9]+$" == schema.get("pattern"):
        return "a fraction such as 60000/1001"
    return text + describe_range(schema)


def children(schema):
    """(suffix of the path, schema) of the maps below a key: itself, its items, and the choices of anyOf."""
    if "properties" in schema:
        yield "", schema
    if isinstance(schema.get("items"), dict):
        for suffix, child in children(schema["items"]):
            yield "[]" + suffix, child
    for choice in schema.get("anyOf", []):
        yield from children(choice)


def flatten(schema, path=""):
    for suffix, node in children(schema):
        for name, child in node["properties"].items():
            here = f"{path}{suffix}.{name}".lstrip(".")
            yield Key(here, child, name in node.get("required", []))
            yield from flatten(child, here)


def read_keys(file):
    with open(file, encoding="utf-8") as stream:
        return list(flatten(json.load(stream)))
