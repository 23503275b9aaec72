"""`otolith parts --check`: every part gives the figures of its document back, and the table in configs/parts/README.md is current."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from otolith_case import OtolithCase  # noqa: E402

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))


class PartsCheck(OtolithCase):
    program = str(BIN / "otolith")
    timeout_s = 600

    def setUp(self):
        super().setUp()
        self.environment["OTOLITH_PARTS_PATH"] = str(SOURCE / "configs/parts")

    def test_every_part_gives_its_documents_figures_back_as_the_readme_shows(self):
        table = self.otolith("parts", "--check")
        self.assertGreater(table.count("in-run bias stability"), 8)
        self.assertIn(table, (SOURCE / "configs/parts/README.md").read_text())

    def test_one_part_is_checked_by_its_name_and_mode(self):
        table = self.otolith("parts", "--check", "st/lsm6dso", "--mode", "performance-8g")
        self.assertEqual(table.count("\n"), 6)  # head, and white noise and floor of two triads
        self.assertIn("`performance-8g` | accelerometer | N ", table)


if __name__ == "__main__":
    unittest.main(verbosity=2)
