"""otolith export ros2-msgs: a package whose messages are complete and agree with its CMakeLists.txt."""
import pathlib
import re
import sys
import unittest
import xml.etree.ElementTree as xml

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
sys.path.insert(0, str(SOURCE / "tests" / "support"))
from otolith_case import OtolithCase  # noqa: E402

PRIMITIVES = {"bool", "byte", "char", "string", "float32", "float64", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64))}
STANDARD = {"std_msgs/Header", "geometry_msgs/Vector3", "geometry_msgs/Quaternion"}


class Export(OtolithCase):
    program = str(BIN / "otolith")

    def export(self, name="otolith_msgs"):
        self.otolith("export", "ros2-msgs", self.path / name)
        return self.path / name

    def fields(self, text):
        """Type and name of each field of a message."""
        for line in text.splitlines():
            words = line.split("#")[0].split()
            if words and words != ["---"]:
                self.assertEqual(len(words), 2, line)
                yield re.sub(r"\[\d*\]$", "", words[0]), words[1]

    def test_every_message_uses_only_what_the_package_or_its_dependencies_have(self):
        package = self.export()
        ours = {f"otolith_msgs/{path.stem}" for path in (package / "msg").iterdir()}
        self.assertLess({"otolith_msgs/Truth", "otolith_msgs/Navsat", "otolith_msgs/ImuTaps", "otolith_msgs/SampleHead", "otolith_msgs/Event"}, ours)
        for path in (*(package / "msg").iterdir(), *(package / "srv").iterdir()):
            self.assertRegex(path.stem, "^[A-Z][A-Za-z0-9]*$")
            for half in path.read_text().split("---\n"):
                names = []
                for kind, name in self.fields(half):
                    self.assertIn(kind, PRIMITIVES | STANDARD | ours, path.name)
                    self.assertRegex(name, "^[a-z](_?[a-z0-9])*$", path.name)
                    names.append(name)
                self.assertEqual(len(names), len(set(names)), path.name)

    def test_the_package_lists_its_messages_and_services(self):
        package = self.export()
        listed = set(re.findall(r"^  ((?:msg|srv)/\w+\.\w+)$", (package / "CMakeLists.txt").read_text(), re.M))
        self.assertEqual(listed, {f"{path.parent.name}/{path.name}" for kind in ("msg", "srv") for path in (package / kind).iterdir()})
        manifest = xml.parse(package / "package.xml").getroot()
        self.assertEqual(manifest.findtext("name"), "otolith_msgs")
        self.assertEqual(manifest.findtext("member_of_group"), "rosidl_interface_packages")
        self.assertRegex(manifest.findtext("version"), r"^\d+\.\d+\.\d+$")

    def test_it_is_the_same_each_time(self):
        first, second = self.export("a"), self.export("b")
        files = sorted(path.relative_to(first) for path in first.rglob("*.*"))
        self.assertEqual([(first / name).read_bytes() for name in files], [(second / name).read_bytes() for name in files])

    def test_errors(self):
        self.assertIn("ros2-msgs DIRECTORY and fmu", self.otolith("export", "ros1", self.path / "x", code=2))
        (self.path / "file").write_text("")
        self.assertIn("cannot be made", self.otolith("export", "ros2-msgs", self.path / "file" / "x", code=1))


if __name__ == "__main__":
    unittest.main()
