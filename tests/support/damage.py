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


def flipped(plugin, at, bit):
    """The bytes of the file with one bit changed."""
    data = bytearray(plugin.read_bytes())
    data[at] ^= 1 << bit
    return bytes(data)
