"""Programs of npm for tests: fetched once into the build folder from the committed lock file, or the test is skipped."""
import shutil
import subprocess


def npm_folder(case, build, source, script):
    """The folder with node_modules and the script of tests/integration/ros."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        case.skipTest("npm is not installed")
    place = build / "tests" / f"npm-{script.split('.')[0]}"
    place.mkdir(parents=True, exist_ok=True)
    lock = place / "package-lock.json"
    wanted = (source / "tests/integration/ros/package-lock.json").read_bytes()
    for name in ("package.json", script):
        shutil.copy(source / "tests/integration/ros" / name, place)
    if lock.exists() and lock.read_bytes() == wanted and (place / "node_modules").exists():
        return place
    shutil.copy(source / "tests/integration/ros/package-lock.json", place)
    fetched = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"], cwd=place,
                             capture_output=True, text=True, timeout=120)
    if fetched.returncode != 0:
        lock.unlink()
        case.skipTest("the npm registry is not reachable: " + fetched.stderr.strip().splitlines()[-1][:200])
    return place
