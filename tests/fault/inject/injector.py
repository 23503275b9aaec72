"""The test's side of the injector: records the places of a program's calls, and lets one of them fail."""
import mmap
import pathlib
import struct
import subprocess
import tempfile

OFF, RECORD, FAIL = range(3)
PLACES, TEXT_BYTES = 8192, 2048
HEAD = struct.Struct("=II24sQIIIIII")
PLACE = struct.Struct("=QII20sI")
TEXTS = HEAD.size
TABLE = TEXTS + 2 * TEXT_BYTES
BYTES = TABLE + PLACES * PLACE.size
FIRED, CRASHED = 48, 52  # offsets of what the programs write


class Injector:
    """One page that all programs started with `environment` heed."""

    def __init__(self, library, depth=12):
        self.file = tempfile.NamedTemporaryFile(prefix="otolith-inject-")
        self.file.truncate(BYTES)
        self.page = mmap.mmap(self.file.fileno(), BYTES)
        self.depth = depth
        self.environment = {"LD_PRELOAD": str(library), "OTO_INJECT": self.file.name}

    def _set(self, mode, program=b"", place=0, variant=0, skip=0):
        self.off()
        HEAD.pack_into(self.page, 0, OFF, self.depth, program, place, variant, skip, 0, 0, 0, 0)
        self.page[TEXTS:TABLE] = bytes(2 * TEXT_BYTES)
        self.page[0:4] = struct.pack("=I", mode)

    def off(self):
        self.page[0:4] = struct.pack("=I", OFF)

    def record(self, program):
        self.page[TABLE:] = bytes(BYTES - TABLE)
        self._set(RECORD, program.encode())

    def places(self, last=False):
        """(hash, variant, skip, call) of what was recorded, in the order in which it was met: of each place the first call
        and, where `last`, the last one."""
        self.off()
        found = [PLACE.unpack_from(self.page, TABLE + i * PLACE.size) for i in range(PLACES)]
        found = sorted((place for place in found if place[0] != 0), key=lambda place: place[1])
        return [(place[0], variant, skip, place[3].rstrip(b"\0").decode()) for place in found for variant in range(place[2])
                for skip in ([0, place[4] - 1] if last and place[4] > 1 else [0])]

    def arm(self, program, place):
        self._set(FAIL, program.encode(), *place[:3])

    def _word(self, offset):
        return struct.unpack_from("=I", self.page, offset)[0]

    @property
    def fired(self):
        return self._word(FIRED) != 0

    @property
    def crashed(self):
        return self._word(CRASHED) != 0

    def _text(self, index):
        return self.page[TEXTS + index * TEXT_BYTES:TEXTS + (index + 1) * TEXT_BYTES].split(b"\0")[0].decode()

    @property
    def fired_text(self):
        return self._text(0)

    @property
    def crash_text(self):
        return self._text(1)


def explain(text, folder):
    """Stacks with the names of our own functions, where addr2line knows them."""
    lines = []
    for line in text.splitlines():
        module, plus, offset = line.strip().partition("+")
        path = pathlib.Path(folder) / module
        if plus and path.is_file():
            done = subprocess.run(["addr2line", "-fs", "-e", path, hex(int(offset, 16) - 1)], capture_output=True, text=True,
                                  check=False)
            line = "  " + " ".join(done.stdout.split()) if done.returncode == 0 else line
        lines.append(line)
    return "\n".join(lines)


def spread(places, count):
    """`count` of the places, evenly; all of them where `count` is 0."""
    return places if count == 0 or len(places) <= count else [places[i * len(places) // count] for i in range(count)]

