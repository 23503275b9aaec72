"""The table of rows and tests in a README is true: test_rows.py SOURCE README PREFIX COUNT."""
import pathlib
import re
import sys

source, readme, prefix, count = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
tests = "\n".join(path.read_text(encoding="utf-8") for path in sorted((source / "tests").rglob("*"))
                  if path.suffix in (".c", ".py", ".h") and path.name != "test_rows.py")
# Tests of cmocka (one that is in no list does not compile), methods of unittest, cases of the benchmarks.
names = set(re.findall(r"static void (\w+)\(void \*\*", tests)) | set(re.findall(r"def (test_\w+)", tests))
names |= set(re.findall(r'\{"(\w+)", "\{law: mavs', tests))
rows, unknown = set(), []
for line in readme.read_text(encoding="utf-8").splitlines():
    match = re.match(rf"\| ({prefix}\d+(?:, {prefix}\d+)*) \|.*\| (.*) \|$", line)
    if match:
        shown = re.findall(r"`(\w+)`", match[2])
        rows |= set(match[1].split(", ")) if shown else set()
        unknown += [name for name in shown if name not in names]
missing = [f"{prefix}{n}" for n in range(1, count + 1) if f"{prefix}{n}" not in rows]
for name in unknown:
    print(f"{readme}: there is no test '{name}'", file=sys.stderr)
for row in missing:
    print(f"{readme}: row {row} names no test", file=sys.stderr)
sys.exit(1 if unknown or missing else 0)
