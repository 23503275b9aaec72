"""Copies of plugins with one changed bit."""
import re
import subprocess

# Tables and texts that the dynamic loader reads, without .init and .fini: damaged code shows only when it runs.
LOADER_SECTIONS = (".gnu.hash", ".dynsym", ".dynstr", ".gnu.version", ".gnu.version_r", ".rela.dyn", ".rela.plt", ".dynamic",
                   ".init_array", ".fini_array")
# Those of them that hold names and sizes and no address of code.
NAME_SECTIONS = (".gnu.hash", ".dynstr", ".gnu.version", ".gnu.version_r")


def loader_bytes(path, sections=LOADER_SECTIONS):
    """The offsets of the ELF header, of the program headers and of these sections, as ranges."""
    text = subprocess.run(["readelf", "-SlW", path], capture_output=True, text=True, check=True).stdout
    program_headers = int(re.search(r"There are (\d+) program headers", text)[1])
    ranges = [range(0, 64), range(64, 64 + 56 * program_headers)]
    for name, offset, size in re.findall(r"\] (\.\S+)\s+\S+\s+[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", text):
        if name in sections:
            ranges.append(range(int(offset, 16), int(offset, 16) + int(size, 16)))
    return ranges


DIGEST_MARK = b"otolith plugin digest 2\0"


def flipped(plugin, at, bit, digest=False):
    """The bytes of the file with one bit changed. Without its digest, so that the other checks are tried, or with it."""
    data = bytearray(plugin.read_bytes())
    place = data.find(DIGEST_MARK)
    if not digest and place >= 0:
        place += len(DIGEST_MARK)
        data[place:place + 8] = bytes(8)
    data[at] ^= 1 << bit
    return bytes(data)


def mapped_bytes(path):
    """The offsets of all bytes of the file that the dynamic loader maps, as ranges; without those that name sections."""
    text = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    parts = [(int(offset, 16), int(size, 16)) for offset, size in re.findall(r"^  LOAD +0x(\S+) \S+ \S+ 0x(\S+)", text, re.M)]
    return [range(64, parts[0][1]), *(range(offset, offset + size) for offset, size in parts[1:])]
