#!/usr/bin/env bash
# out_of_tree.sh BUILD_DIR SOURCE_DIR: a plugin is built against a staged install, by CMake and by pkg-config, and runs
# in a world of the installed server.
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "out_of_tree: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/stage" >"$work/log" 2>&1 || { cat "$work/log"; fail "the install failed"; }
cmake -S "$source/tests/integration/out_of_tree" -B "$work/plugin" -DCMAKE_PREFIX_PATH="$work/stage" >"$work/log" 2>&1 &&
  cmake --build "$work/plugin" >>"$work/log" 2>&1 || { cat "$work/log"; fail "the plugin was not built"; }
plugin=$work/plugin/thermometer.so
symbols=$(nm -D --defined-only "$plugin" | awk '{print $3}' | grep -v '^__' || true)
[ "$symbols" = otolith_plugin ] || fail "it exports more than otolith_plugin: $symbols"

pc=$(find "$work/stage" -name otolith.pc)
[ -n "$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --variable=plugindir otolith)" ] || fail "pkg-config tells no plugindir"

cat >"$work/world.yaml" <<WORLD
world: outoftree
seed: 1
clock: {rate_hz: 1000, mode: asap}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: thermometer, plugin: $plugin, rate_hz: 10, params: {offset_degc: 1.5}}
WORLD
mkdir -m 700 "$work/run"
XDG_RUNTIME_DIR=$work/run OTOLITH_PLUGIN_PATH=$(find "$work/stage" -type d -path '*otolith/plugins') \
  "$work/stage/bin/otolith" run "$work/world.yaml" --for 2s --quiet --no-publish \
  --csv outoftree/car/thermometer="$work/out.csv" || fail "the world did not run"
[ "$(head -n 1 "$work/out.csv")" = "t_ns,seq,temperature_degc" ] || fail "header: $(head -n 1 "$work/out.csv")"
[ "$(tail -n 1 "$work/out.csv")" = "2000000000,20,26.5" ] || fail "last sample: $(tail -n 1 "$work/out.csv")"
echo "a plugin built out of the tree runs in the installed server"
