"""Programs of npm for tests: fetched once into the build folder from the committed lock file, or the test is skipped."""
import fcntl
import shutil
import subprocess


def npm_folder(case, build, source, script, part="ros"):
    """The folder with node_modules and the script of tests/integration/PART, which has the lock file."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        case.skipTest("npm is not installed")
    place, origin = build / "tests" / ("npm" if part == "ros" else f"npm-{part}"), source / "tests/integration" / part
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w") as guard:  # tests run side by side
        fcntl.flock(guard, fcntl.LOCK_EX)
        shutil.copy(origin / script, place)
        fetch(case, place, origin)
    return place


def fetch(case, place, origin):
    """The file `fetched` is written last, so that a download that was cut off is made again."""
    fetched, wanted = place / "fetched", (origin / "package-lock.json").read_bytes()
    if fetched.exists() and fetched.read_bytes() == wanted:
        return
    fetched.unlink(missing_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(origin / name, place)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300)
        reason = done.stderr.strip().splitlines()[-1][:200] if done.returncode != 0 else None
    except subprocess.TimeoutExpired:
        reason = "it did not answer within 300 s"
    if reason is not None:
        case.skipTest("the npm registry is not reachable: " + reason)
    fetched.write_bytes(wanted)
