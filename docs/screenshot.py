"""Draw docs/_static/select_page.png: the page of ``diverset select`` on the U.S. cities inside the package.

Needs a headless Chromium: ``python docs/screenshot.py``.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs" / "_static" / "select_page.png"
OPTIONS = "-k 10 --features longitude,latitude --quality population --diversity 0.6 --id name".split()


def main():
    """Select, open the page, take a picture."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("screenshot.py needs chromium or google-chrome")
    with tempfile.TemporaryDirectory() as folder:
        lines = (ROOT / "src" / "diverset" / "data" / "us_cities.csv").read_text(encoding="utf-8").splitlines()
        contiguous = [line for line in lines if not any(f",{state}," in line for state in ("AK", "HI"))]
        Path(folder, "cities.csv").write_text("\n".join(contiguous) + "\n", encoding="utf-8")
        subprocess.run(["diverset", "select", "cities.csv", *OPTIONS, "-o", "picks.html"], cwd=folder, check=True)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,991"]
        page = Path(folder, "picks.html").as_uri()
        subprocess.run([browser, *flags, f"--screenshot={TARGET}", page], check=True, timeout=120)


if __name__ == "__main__":
    main()
