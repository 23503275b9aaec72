#!/usr/bin/env bash
# out_of_tree.sh BUILD_DIR SOURCE_DIR: against a staged install a plugin is built by CMake, a client by pkg-config, and a program with
# a world of its own by both; the plugin runs in a world of the installed server. Server, program and Python find the installed
# plugins and parts without any help.
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "out_of_tree: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/stage" >"$work/log" 2>&1 || { cat "$work/log"; fail "the install failed"; }
cmake -S "$source/tests/integration/out_of_tree" -B "$work/plugin" -DCMAKE_PREFIX_PATH="$work/stage" \
  -DEXAMPLES="$source/server/sim/examples" >"$work/log" 2>&1 &&
  cmake --build "$work/plugin" >>"$work/log" 2>&1 || { cat "$work/log"; fail "the plugin was not built"; }
plugin=$work/plugin/thermometer.so
symbols=$(nm -D --defined-only "$plugin" | awk '{print $3}' | grep -v '^__' || true)
[ "$symbols" = otolith_plugin ] || fail "it exports more than otolith_plugin: $symbols"

PKG_CONFIG_PATH=$(dirname "$(find "$work/stage" -name otolith.pc)")
export PKG_CONFIG_PATH
[ -e "$(pkg-config --variable=plugindir otolith)/mems_imu.so" ] || fail "pkg-config's plugindir has no plugins"
read -ra flags <<<"$(pkg-config --cflags --libs otolith)"
cc -std=gnu17 "$source/clients/libotolith/examples/read_imu.c" "${flags[@]}" -lm -o "$work/read_imu" >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "the client was not built"; }
client=$(LD_LIBRARY_PATH=$(pkg-config --variable=libdir otolith) XDG_RUNTIME_DIR=$work "$work/read_imu" 2>&1) &&
  fail "the client found a world where there is none"
[[ $client == *world* ]] || fail "the client does not run: $client"

read -ra flags <<<"$(pkg-config --cflags --libs otolith-sim)"
cc -std=gnu17 "$source/server/sim/examples/sim_imu.c" "${flags[@]}" -o "$work/sim_imu" >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "the program with a world of its own was not built"; }
city=$work/stage/share/otolith/configs/worlds/city_drive.yaml parts=$work/stage/share/otolith/configs/worlds/real_parts.yaml
seconds=$(LD_LIBRARY_PATH=$(pkg-config --variable=libdir otolith-sim) "$work/sim_imu" "$city") || fail "sim_imu does not run: $seconds"
[ "$(grep -c '200 samples, 0 lost' <<<"$seconds")" = 3 ] || fail "sim_imu said: $seconds"
[ "$("$work/plugin/sim_imu" "$city")" = "$seconds" ] || fail "find_package and pkg-config give different programs"
if [ -e /usr/bin/python3 ]; then
  PYTHONPATH=$(echo "$work"/stage/lib/python3.*/dist-packages) /usr/bin/python3 -W ignore -c \
    "import otolith; otolith.Sim('$parts').step(10); otolith.Model('catr')" || fail "the installed Python package does not run"
  missing=$(PYTHONPATH=$(echo "$work"/stage/lib/python3.*/dist-packages) /usr/bin/python3 -c \
    "import otolith; otolith.Sim('$city', set={'vehicles.car.nodes.imu.part': 'nobody/nothing'})" 2>&1) && fail "a part of nobody is found"
  [[ $missing == *"$work/stage/share/otolith/configs/parts"* ]] || fail "parts are not searched beside the library: $missing"
fi

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
XDG_RUNTIME_DIR=$work/run "$work/stage/bin/otolith" run "$work/world.yaml" --for 2s --quiet --no-publish \
  --csv outoftree/car/thermometer="$work/out.csv" || fail "the world did not run"
[ "$(head -n 1 "$work/out.csv")" = "t_ns,seq,temperature_degc,sensor_time_ns,flags" ] || fail "header: $(head -n 1 "$work/out.csv")"
[ "$(tail -n 1 "$work/out.csv")" = "2000000000,20,26.5,2000000000,0" ] || fail "last sample: $(tail -n 1 "$work/out.csv")"
# What `otolith new` writes is built and tested against the install, and replaces the IMU of a running world.
cd "$work"
PATH=$work/stage/bin:$PATH XDG_RUNTIME_DIR=$work/run
export PATH XDG_RUNTIME_DIR
otolith new plugin lab_imu >"$work/log" 2>&1 && cmake -S lab_imu -B lab_imu/build -DCMAKE_PREFIX_PATH="$work/stage" >>"$work/log" 2>&1 &&
  cmake --build lab_imu/build >>"$work/log" 2>&1 && ctest --test-dir lab_imu/build --output-on-failure >>"$work/log" 2>&1 ||
  { cat "$work/log"; fail "the new plugin was not built"; }
# As dh_strip does for a package: a stripped plugin is loaded as it was linked.
strip --strip-unneeded --remove-section=.comment --remove-section=.note lab_imu/build/lab_imu.so
otolith run lab_imu/car.yaml --quiet --no-publish >"$work/run.log" 2>&1 &
world=$!
for _ in $(seq 600); do otolith echo first/car/imu -n 1 >/dev/null 2>&1 && break; kill -0 "$world" 2>/dev/null || break; sleep 0.1; done
swapped=$(otolith swap first/car/imu lab_imu/build/lab_imu.so --wait 2>&1) || { cat "$work/run.log"; fail "the swap failed: $swapped"; }
[[ $swapped == *"to lab_imu 0.1.0"* ]] || fail "swap said: $swapped"
kill -TERM "$world" && wait "$world" || [ $? -eq 143 ] || fail "the world did not end: $(cat "$work/run.log")"
echo "a plugin built out of the tree runs in the installed server, and a world in programs built out of the tree"
