"""
Types the commands of a page as a reader would, in a folder, home and runtime directory of their own. Shared by tools/check-readme and
tools/site/check_pages.py.

A world without --for runs beside the next commands, as in a second terminal, until the next world starts. What only shows something is
given SHOWN_S after its first output. Both are ended as by Ctrl-C.
"""
import os
import pathlib
import pty
import select
import signal
import subprocess
import time

LIMIT_S = 300.0  # of a command: ends what hangs
SETUP_S = 900.0  # of the first one, which installs and builds
SHOWN_S = 3.0    # of a command that shows something, from its first output until it is ended
PACE_S = 1.0     # between commands: nobody types faster, and a swap, for one, is on probation for a while


class Failed(Exception):
    pass


def start(interpreter, command, folder, environment, output):
    words = ["/usr/bin/python3", "-c", command] if interpreter == "python" else ["bash", "-c", command]
    return subprocess.Popen(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                            start_new_session=True)


def end(process, patience_s=120.0):
    """As Ctrl-C in its terminal does; what does not end then is killed."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
        if wait(process, patience_s) is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise Failed(f"it did not end within {patience_s:g} s of Ctrl-C")
    if process.returncode not in (0, 128 + signal.SIGINT, -signal.SIGINT):
        raise Failed(f"it ended with {process.returncode}")


def wait(process, seconds):
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


class Session:
    """
    One reader at one machine: a folder, a runtime directory, at most one world. `world` and `shows` are patterns of the commands that
    start a world and of those that run until they are ended; `accepts(command, code,
    output)` says whether an exit code is a success.
    """

    def __init__(self, folder, environment, world, shows, accepts):
        self.folder, self.runtime, home = folder / "main", folder / "run", folder / "home"
        self.folder.mkdir()
        self.runtime.mkdir(mode=0o700)
        home.mkdir()
        self.environment = dict(os.environ, HOME=str(home), XDG_RUNTIME_DIR=str(self.runtime), PYTHONDONTWRITEBYTECODE="1", **environment)
        self.environment.pop("OTOLITH_WORLD", None)
        self.starts_world, self.shows, self.accepts = world, shows, accepts
        self.world, self.patience_s, self.count, self.output = None, SETUP_S, 0, ""

    def run(self, interpreter, command):
        self.count += 1
        if self.world is not None:
            wait(self.world, PACE_S)
        log = self.folder.parent / f"{self.count}.log"
        try:
            with open(log, "wb") as output:
                if self.starts_world.match(command):
                    self.start_world(command, output)
                elif self.shows.match(command):
                    self.show(command, output)
                else:
                    self.run_to_its_end(interpreter, command, output)
        except Failed as failure:
            raise Failed(f"{failure}\n{log.read_text(errors='replace')[-2000:]}") from None
        self.output = log.read_text(errors="replace")

    def show(self, command, output):
        """In a terminal, because some commands draw only there."""
        keyboard, terminal = pty.openpty()
        process = start("sh", command, self.folder, dict(self.environment, TERM="xterm"), terminal)
        os.close(terminal)
        until = time.monotonic() + LIMIT_S
        while select.select([keyboard], [], [], max(0.0, until - time.monotonic()))[0]:
            if output.tell() == 0:
                until = time.monotonic() + SHOWN_S
            try:
                output.write(os.read(keyboard, 65536))
            except OSError:  # it has ended
                break
            output.flush()
        end(process)
        os.close(keyboard)
        if output.tell() == 0:
            raise Failed("it showed nothing")

    def run_to_its_end(self, interpreter, command, output):
        process = start(interpreter, command, self.folder, self.environment, output)
        code = wait(process, LIMIT_S)
        if code is None:
            end(process)
            raise Failed(f"it did not end within {LIMIT_S:g} s")
        if not self.accepts(command, code, pathlib.Path(output.name).read_text(errors="replace")):
            raise Failed(f"it ended with {code}")

    def start_world(self, command, output):
        """Returns when the world has its socket."""
        self.end_world()
        self.world = start("sh", command, self.folder, self.environment, output)
        until = time.monotonic() + self.patience_s
        self.patience_s = LIMIT_S
        while not list(self.runtime.glob("otolith/*/control.sock")):
            if time.monotonic() > until or wait(self.world, 0.05) is not None:
                raise Failed(f"no world runs, exit code {self.world.poll()}")

    def end_world(self):
        if self.world is not None:
            world, self.world = self.world, None
            end(world)
