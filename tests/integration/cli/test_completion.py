#!/usr/bin/python3
"""usage: test_completion.py BIN_DIR SOURCE_DIR

Completion in bash, zsh and fish, typed without a terminal, beside a running world. A shell that is not installed is skipped.
"""
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import unittest

BIN, SOURCE = (pathlib.Path(argument) for argument in sys.argv[1:3])
sys.path.insert(0, str(SOURCE / "tests/support"))
from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

FOLDER = SOURCE / "tools/completion"
# Types a line: its words as readline splits them follow it.
BASH = """
source "$1"
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=("${@:3}") COMP_CWORD=$(($# - 3))
_otolith 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""

# zsh completes in its line editor only: a zsh in a terminal reports that its editor has started, gets a line and a TAB, and writes its
# line to a file at Ctrl-X.
ZSHRC = """PS1= fpath=({folder} $fpath); autoload -U compinit; compinit -u -D
start() {{ : > {path}/started }}; zle -N zle-line-init start
finish() {{ print -rn -- "$BUFFER" > {path}/part; mv {path}/part {path}/line; exit }}; zle -N finish; bindkey "^X" finish
"""


class Completion(OtolithCase):
    program = str(BIN / "otolith")

    def setUp(self):
        super().setUp()
        self.environment["PATH"] = f"{BIN}:{self.environment['PATH']}"

    def start_world(self):
        self.server = subprocess.Popen([BIN / "otolithd", SOURCE / "configs/worlds/city_drive.yaml", "--no-publish", "--start-paused"],
                                       env=self.environment, stderr=subprocess.DEVNULL)
        self.until(lambda: self.call("ls").returncode == 0 and "demo/car/imu" in self.call("ls").stdout, "the world")

    def run_shell(self, words, cwd=None):
        done = subprocess.run([str(word) for word in words], env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S, cwd=cwd)
        self.assertEqual(done.stderr, "")
        return [line for line in done.stdout.splitlines() if line]

    def candidates(self, *words):
        return [line.split("\t")[0] for line in self.run_shell(["sh", FOLDER / "candidates.sh", self.program, *words])]

    def type_in_bash(self, line, *words):
        return self.run_shell(["bash", "--norc", "-c", BASH, "bash", FOLDER / "otolith.bash", line, *words], cwd=SOURCE)

    def test_commands_and_options_are_those_of_the_help(self):
        self.assertEqual(self.candidates("ec"), ["echo"])
        self.assertEqual(self.candidates("echo", "--c"), ["--csv", "--ca=", "--cert=", "--crl=", "--connect="])
        self.assertEqual(self.candidates("run", "--che"), ["--checkpoint="])
        self.assertEqual(self.candidates("echo", "--via="), ["--via=shm", "--via=nng"])
        self.assertEqual(self.candidates("run", "-m", "a"), ["asap"])
        self.assertEqual(self.candidates("model", "pre"), ["predict"])
        self.assertEqual(self.candidates("sdf", "ex"), ["export"])

    def test_plugins_parts_and_parameters_need_no_world(self):
        self.assertEqual(self.candidates("params", "odo"), ["odometer", "//files"])
        self.assertEqual(self.candidates("sense", "--plugin", "odometer", "--set", "track"), ["track_width_m="])
        self.assertEqual(self.candidates("parts", "tdk/icm-42688"), ["tdk/icm-42688-p"])
        self.assertEqual(self.candidates("swap", "x", "--part=tdk/icm-42688"), ["--part=tdk/icm-42688-p"])
        self.assertEqual(self.candidates("run", ""), ["//files"])

    def test_topics_nodes_and_parameters_are_those_of_the_running_world(self):
        self.assertEqual(self.candidates("echo", ""), [])
        self.start_world()
        self.assertEqual(self.candidates("ls", "-w", ""), ["demo"])
        self.assertEqual(self.candidates("echo", "demo/car/m"), ["demo/car/motion", "demo/car/mag"])
        self.assertIn("demo/@events", self.candidates("echo", ""))
        self.assertNotIn("demo/@events", self.candidates("get", ""))
        self.assertEqual(self.candidates("get", "demo/car/imu", "w"), ["w"])
        self.assertEqual(self.candidates("set", "demo/car/odo", "track"), ["track_width_m"])
        self.assertEqual(self.candidates("run", "--csv", "demo/car/i"), ["demo/car/imu="])
        self.assertEqual(self.candidates("run", "--csv", "demo/car/imu=x"), ["//files"])
        self.assertEqual(self.candidates("fault", "demo/car/imu", "s"), ["stuck", "scale", "spikes", "saturation", "sign"])
        self.assertEqual(self.candidates("fault", "demo/car/imu", "bias", "--field", "linear_acceleration.y"), ["linear_acceleration.y"])

    def test_bash_gets_what_continues_its_own_piece_of_the_word(self):
        self.start_world()
        self.assertEqual(self.type_in_bash("otolith echo demo/car/im", "otolith", "echo", "demo/car/im"), ["demo/car/imu"])
        self.assertEqual(self.type_in_bash("otolith echo demo/@e", "otolith", "echo", "demo/", "@", "e"), ["events"])
        self.assertEqual(self.type_in_bash("otolith run --mode=", "otolith", "run", "--mode", "="),
                         ["realtime", "asap", "step", "lockstep", "external"])
        self.assertEqual(self.type_in_bash("otolith run configs/worlds/min", "otolith", "run", "configs/worlds/min"),
                         ["configs/worlds/minimal.yaml"])

    def test_fish_completes_topics(self):
        if shutil.which("fish") is None:
            self.skipTest("there is no fish")
        self.start_world()
        self.environment["HOME"] = str(self.path)
        script = f"source {FOLDER}/otolith.fish; complete -C 'otolith echo demo/car/i'"
        self.assertEqual([line.split("\t")[0] for line in self.run_shell(["fish", "--no-config", "-c", script])], ["demo/car/imu"])

    def type_in_zsh(self, typed):
        """What the line is after a TAB."""
        started, line = self.path / "started", self.path / "line"
        for file in (started, line):
            file.unlink(missing_ok=True)
        (self.path / ".zshrc").write_text(ZSHRC.format(folder=FOLDER, path=self.path))
        keyboard, terminal = pty.openpty()
        shell = subprocess.Popen(["zsh", "-d", "-i"], env=dict(self.environment, TERM="dumb", ZDOTDIR=str(self.path)), cwd=SOURCE, stdin=terminal,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            self.until(started.exists, "the line editor of zsh")
            os.write(keyboard, f"{typed}\t\x18".encode())
            self.until(line.exists, f"the completion of '{typed}'")
        finally:
            shell.kill()
            shell.wait()
            os.close(keyboard)
            os.close(terminal)
        return line.read_text()

    def test_zsh_completes_topics_options_and_files(self):
        if shutil.which("zsh") is None:
            self.skipTest("there is no zsh")
        self.start_world()
        self.assertEqual(self.type_in_zsh("otolith ec"), "otolith echo ")
        self.assertEqual(self.type_in_zsh("otolith echo demo/car/im"), "otolith echo demo/car/imu ")
        self.assertEqual(self.type_in_zsh("otolith run --che"), "otolith run --checkpoint=")
        self.assertEqual(self.type_in_zsh("otolith run configs/worlds/mini"), "otolith run configs/worlds/minimal.yaml ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
