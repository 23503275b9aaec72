#!/bin/sh
# configs/world.schema.json is what the parser's tables give, and the example worlds are valid by it.
set -eu
print_schema=$1
configs=$2
made=$(mktemp)
trap 'rm -f "$made"' EXIT
"$print_schema" >"$made"
if ! diff -u "$configs/world.schema.json" "$made"; then
    echo "configs/world.schema.json is not current: $print_schema > configs/world.schema.json" >&2
    exit 1
fi
if ! /usr/bin/python3 -c 'import jsonschema, yaml' 2>/dev/null; then
    echo "skipped: the example worlds are not validated without python3-jsonschema and python3-yaml"
    exit 77
fi
exec /usr/bin/python3 "$(dirname "$0")/validate_worlds.py" "$made" "$configs"/worlds/*.yaml
