# What tools/run, tools/test and .ci/run share: the packages, the build, and how they speak. Sourced by bash.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

packages_build=(build-essential cmake ninja-build pkg-config libuv1-dev libnng-dev libmsgpack-dev libfyaml-dev libcsv-dev libexpat1-dev
  libcmocka-dev)
packages_test=(nng-utils python3 python3-numpy python3-msgpack python3-jsonschema python3-yaml gnuplot-nox libmpfr-dev libsdformat-dev clang
  libclang-rt-14-dev)

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# Installs what is missing of the named packages, as root or through sudo.
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      say "these packages are missing and neither root nor sudo is at hand to install them: ${missing[*]}"
      return 1
    fi
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    say "apt-get could not install them; the log is $log"
    return 1
  fi
  rm -f "$log"
}

# build PRESET [TARGET]: configures once, builds, quietly unless it fails.
build() {
  local preset=$1 target=${2:-all} log="$root/build/$1.log"
  mkdir -p "$root/build"
  if [ ! -e "$root/build/$preset/build.ninja" ]; then
    say "configuring build/$preset"
    if ! (cd "$root" && cmake --preset "$preset") >"$log" 2>&1; then
      cat "$log" >&2
      return 1
    fi
  fi
  say "building build/$preset"
  if ! (cd "$root" && cmake --build --preset "$preset" --target "$target") >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    say "the build failed; the whole log is $log"
    return 1
  fi
}
