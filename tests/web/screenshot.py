"""Makes the picture of README.md: the default world with its error terms, a fault and an analysis.

usage: screenshot.py FOLDER_OF_PROGRAMS CHECKOUT [--keep]     --keep writes clients/web/page.png; without it the picture is only made
"""
import sys

import browser
import web_case
from web_case import WebCase

WIDTH, HEIGHT = 1440, 900
KEEP = "--keep" in sys.argv


class Screenshot(WebCase):
    def take(self, theme, path):
        page = self.browser.open(self.link_.page(f"?w=20&theme={theme}", control=True), width=WIDTH, height=HEIGHT)
        self.addCleanup(page.close)
        page.wait("otolith.charts.length >= 3 && otolith.scene.angles.children.length === 3")
        page.run("otolith.toggleTerms(otolith.charts[0])")
        page.wait("otolith.charts[1].model.terms && otolith.charts[1].terms.shown.length >= 2")
        now = page.run("otolith.world.time")
        page.run("otolith.ask('fault', 'demo/car/imu', '{kind: bias, value: 0.6, fields: linear_acceleration.x, for_s: 4}').then(() => 0)")
        page.wait(f"otolith.world.time > {now} + 7")
        page.wait("otolith.charts[0].rows[0].cells[1].textContent !== '–' && !document.getElementById('toast').className.includes('shown')")
        page.screenshot(path)
        self.assertEqual(page.errors, [])

    def test_the_picture_is_made(self):
        self.browser = browser.Browser()
        self.addCleanup(self.browser.close)
        self.link_ = self.start()
        other = self.browser.open(self.link_.page())  # lets the world reach its first turns
        other.wait("otolith.world.time > 16")
        other.close()
        for theme in ("dark", "light"):
            path = self.path / f"{theme}.png"
            self.take(theme, path)
            size = path.read_bytes()[16:24]
            self.assertEqual((int.from_bytes(size[:4], "big"), int.from_bytes(size[4:], "big")), (WIDTH, HEIGHT))
            self.assertGreater(path.stat().st_size, 50000)  # an empty page compresses to a few kilobytes
            if KEEP:
                name = "page.png" if theme == "dark" else "page_light.png"
                (WebCase.source / "clients/web" / name).write_bytes(path.read_bytes())


if __name__ == "__main__":
    sys.argv = [argument for argument in sys.argv if argument != "--keep"]
    if browser.find() is None:
        print("skipped: chromium is not installed")
        sys.exit(77)
    web_case.main("__main__")
