#!/usr/bin/python3
"""
Types the commands of the site's pages against an installed otolith, in the order in which a reader meets them.

usage: check_pages.py (--build BUILD_DIRECTORY | --installed) PAGE.md...

With --build the build is installed into a folder first; with --installed the programs of this machine are used. In a page
  ```sh                 each line is typed, and must succeed
  ```sh fails           each line must fail
  ```python             is run, if it imports otolith
  ```LANGUAGE FILE      is written to FILE
  ```output             each line must be in what the command before printed; "…" stands for any text
Other blocks are not typed. ../lib/typed_pages.py describes how commands are typed.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from typed_pages import Failed, Session  # noqa: E402

BLOCK = re.compile(r"^```(?P<language>\w+)(?: +(?P<word>\S+))?\n(?P<text>.*?)^```$", re.S | re.M)
LINE = re.compile(r"(?:.*\\\n)*.+")  # a backslash at its end continues it
WORLD = re.compile(r"otolith run\b(?!.*--for)(?!.*--replay)(?!.*--help)")
SHOWS = re.compile(r"otolith top\b(?!.*--json)")


def installed_environment(build, stage):
    """Installs the build into `stage`; the variables with which a program finds it, as a system folder would be found."""
    done = subprocess.run(["cmake", "--install", build, "--prefix", stage], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Failed(f"the build was not installed\n{done.stdout}")
    config = next(pathlib.Path(stage).rglob("otolith.pc"))
    return {"PATH": f"{stage}/bin:{os.environ['PATH']}", "PKG_CONFIG_PATH": str(config.parent), "CMAKE_PREFIX_PATH": str(stage),
            "LD_LIBRARY_PATH": str(config.parent.parent), "PYTHONPATH": str(next(pathlib.Path(stage).glob("lib/python3*/dist-packages")))}


def check_output(expected, output):
    for line in filter(None, (line.strip() for line in expected.splitlines())):
        pattern = r".*?".join(r"\s+".join(map(re.escape, part.split())) for part in line.split("…"))
        if not re.search(pattern, output):
            raise Failed(f"its output has no line '{line}'\n{output[-2000:]}")


class Typist:
    def __init__(self, folder, environment):
        self.must_fail = False
        self.session = Session(folder, environment, WORLD, SHOWS, lambda command, code, output: (code != 0) == self.must_fail)

    def type(self, language, word, text):
        """Yields what was typed."""
        if word and "." in word:
            file = self.session.folder / word
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        elif language == "sh":
            self.must_fail = word == "fails"
            for line in LINE.finditer(text):
                command = re.sub(r"\s+#.*", "", line[0]).strip()
                if command:
                    self.session.run("sh", command)
                    yield command
        elif language == "python" and "import otolith" in text:
            self.must_fail = False
            self.session.run("python", text)
            yield "python"
        elif language == "output":
            check_output(text, self.session.output)


def check(page, environment):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="otolith-page-"))
    text = page.read_text(encoding="utf-8")
    try:
        typist = Typist(folder, environment)
        try:
            for block in BLOCK.finditer(text):
                began = time.monotonic()
                try:
                    for command in typist.type(block["language"], block["word"], block["text"]):
                        print(f"{time.monotonic() - began:6.1f} s  {page.name}: {command.splitlines()[0]}", flush=True)
                        began = time.monotonic()
                except Failed as failure:
                    line = text.count("\n", 0, block.start()) + 1
                    raise Failed(f"{page}:{line}: {block['text']}\n{failure}") from None
        finally:
            typist.session.end_world()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments):
    stage = tempfile.mkdtemp(prefix="otolith-stage-")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job, and its children, would ignore Ctrl-C
    try:
        if arguments[:1] == ["--build"]:
            environment, pages = installed_environment(arguments[1], stage), arguments[2:]
        elif arguments[:1] == ["--installed"]:
            environment, pages = {}, arguments[1:]
        else:
            print(__doc__.strip(), file=sys.stderr)
            return 2
        for page in pages:
            check(pathlib.Path(page), environment)
    except Failed as failure:
        print(f"check_pages.py: {failure}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
