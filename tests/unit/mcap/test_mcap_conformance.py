"""Files of MCAP's conformance suite, byte for byte: sizes and SHA-256 in tests/golden/mcap_conformance.csv are those of the LFS
pointers of tests/conformance/data/*/*.mcap in github.com/foxglove/mcap at commit 95d06735 (2026-08-04), of every variant
without padding bytes, which no writer makes."""
import csv
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, TABLE = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))


class Conformance(unittest.TestCase):
    def test_every_variant_has_the_bytes_of_upstream(self):
        with open(TABLE, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 208)
        with tempfile.TemporaryDirectory(prefix="otolith-test-") as directory:
            names = "".join(row["name"] + "\n" for row in rows)
            subprocess.run([PROGRAM, directory], input=names, text=True, check=True, timeout=300)
            for row in rows:
                data = (pathlib.Path(directory) / row["name"]).read_bytes()
                self.assertEqual((len(data), hashlib.sha256(data).hexdigest()), (int(row["bytes"]), row["sha256"]), row["name"])


if __name__ == "__main__":
    unittest.main()
