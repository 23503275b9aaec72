"""The programs under test: started in a runtime directory of their own, looked at through /proc, ended by pid."""
import contextlib
import os
import re
import signal
import subprocess
import time

DEADLINE_S = 300


class Violation(Exception):
    """An invariant does not hold."""


def wait_for(condition, what, deadline_s=DEADLINE_S):
    end = time.monotonic() + deadline_s
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise Violation(f"waited {deadline_s} s in vain: {what}")
        time.sleep(0.02)


def _stat(pid):
    """State and parent of a process; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[1])


def children(pid):
    """(pid, name, state) of the children of a process."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        stat = _stat(entry)
        if stat is not None and stat[1] == pid:
            try:
                with open(f"/proc/{entry}/comm", encoding="ascii", errors="replace") as file:
                    found.append((int(entry), file.read().strip(), stat[0]))
            except OSError:
                pass
    return found


def strangers(directory):
    """Processes that were started with this runtime directory, but for this one."""
    needle, found = f"XDG_RUNTIME_DIR={directory}".encode(), []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if needle in file.read().split(b"\0") and int(entry) != os.getpid():
                    found.append(int(entry))
        except OSError:
            pass
    return found


class Server:
    """An otolithd, for as long as it runs."""

    def __init__(self, bin_directory, runtime, world, arguments=()):
        self.bin, self.runtime, self.world = bin_directory, runtime, os.path.basename(world).split(".")[0]
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=runtime)
        self.log = open(os.path.join(runtime, self.world + ".log"), "ab")
        self.process = subprocess.Popen([os.path.join(bin_directory, "otolithd"), *arguments, world],
                                        env=self.environment, stdout=self.log, stderr=self.log)
        self.pid = self.process.pid  # of the server itself, which a supervising parent may have started

    def log_text(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def alive(self):
        return self.process.poll() is None

    def named_children(self, name):
        """Living children whose name begins so (the kernel keeps 15 characters)."""
        return [pid for pid, comm, state in children(self.pid) if comm == name[:15] and state != "Z"]

    def zombies(self):
        return [pid for parent in {self.pid, self.process.pid} for pid, _, state in children(parent) if state == "Z"]

    def figures(self):
        """What must stay flat: KiB of anonymous memory, open descriptors, mappings, threads."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            status = file.read()
        with open(f"/proc/{self.pid}/maps", encoding="ascii", errors="replace") as file:
            maps = sum(1 for _ in file)
        return {"rss_kib": int(re.search(r"RssAnon:\s+(\d+)", status)[1]),
                "descriptors": len(os.listdir(f"/proc/{self.pid}/fd")), "mappings": maps,
                "threads": int(re.search(r"Threads:\s+(\d+)", status)[1])}

    def cli(self, *arguments):
        """`otolith ARGUMENTS` about this world: (exit code, standard output, standard error)."""
        done = subprocess.run([os.path.join(self.bin, "otolith"), *arguments, "--world", self.world], env=self.environment,
                              capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        return done.returncode, done.stdout, done.stderr

    def spawn_cli(self, *arguments):
        return subprocess.Popen([os.path.join(self.bin, "otolith"), *arguments, "--world", self.world],
                                env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        """An orderly end; returns the exit code."""
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(DEADLINE_S)
        self.log.close()
        return code

    def kill(self):
        """The supervising parent first: it would restart the server."""
        if self.alive():
            self.process.kill()
            self.process.wait()
            if self.pid != self.process.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGTERM)
        self.log.close()


def end(process):
    """Ends a child of this program whatever it is about, stopped ones too."""
    if process.poll() is None:
        process.kill()
    process.wait()
