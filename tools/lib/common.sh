# What the tools share: the packages, the build, and how they report. Sourced by bash.
# OTOLITH_AS_BUILT=1 in the environment: nothing is installed or built, what is there is used.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# What it takes to build everything, and to type every line of README.md.
packages_build=(build-essential cmake ninja-build pkg-config libuv1-dev libnng-dev libssl-dev libmsgpack-dev libfyaml-dev libcsv-dev libexpat1-dev libzstd-dev zlib1g-dev
  libwebsockets-dev libwebsockets-evlib-uv libcap-dev libcmocka-dev)
packages_use=(nng-utils python3 python3-numpy python3-msgpack gnuplot-nox)
packages_test=(python3-jsonschema python3-yaml libmpfr-dev libsdformat-dev clang libclang-rt-14-dev chromium scdoc
  python3-markdown zsh fish python3-pytest python3-setuptools python3-wheel gpsd-clients gpsbabel python3-nmea2
  libzip-dev libnats-dev nats-server openssl munge slurmctld slurmd slurm-client cyclonedds-dev libfastrtps-dev)
packages_changed=0

# A compiler cache is used where there is one; without one everything is compiled.
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-ccache} CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
fi

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# Installs what is missing of the named packages, as root or through sudo.
install_packages() {
  [ -z "${OTOLITH_AS_BUILT-}" ] || return 0
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep 'install ok installed' >/dev/null || missing+=("$package")
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
  # A mirror that fails once is asked again; another apt, as at the start of a new machine, is waited for.
  local patient=(-qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
  if ! { "${as_root[@]}" apt-get update "${patient[@]}" &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y "${patient[@]}" --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    say "apt-get could not install them; the log is $log"
    return 1
  fi
  rm -f "$log"
  packages_changed=1
}

# build PRESET [TARGET]: configures at first and after packages were installed, builds, quietly unless it fails.
build() {
  [ -z "${OTOLITH_AS_BUILT-}" ] || return 0
  local preset=$1 target=${2:-all} log="$root/build/$1.log"
  mkdir -p "$root/build"
  if [ ! -e "$root/build/$preset/build.ninja" ] || ((packages_changed)); then
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
