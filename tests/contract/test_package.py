"""What is installed: the wheel holds both packages and the page, and works with nothing but its own dependencies."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
EXTRAS = ("gradio", "plotly", "torch", "sklearn", "scipy", "pandas", "polars", "PIL", "orjson", "matplotlib")


def test_the_wheel_holds_both_packages_and_the_built_page(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
        manifest = json.loads(wheel.read("space_app/static/dist/manifest.json"))
    assert {"trackio_like/py.typed", "space_app/py.typed", "space_app/static/dist/LICENSES.txt"} <= names
    assert {f"space_app/static/dist/{manifest[part]}" for part in ("script", "style")} <= names
    assert not [name for name in names if "node_modules" in name or name.startswith("tests")]


def test_tracking_and_reading_need_none_of_the_extras(tmp_path: Path) -> None:
    script = tmp_path / "base.py"
    script.write_text(
        "import sys\n"
        f"for name in {EXTRAS!r}: sys.modules[name] = None  # importing it raises, as where it is not installed\n"
        "import trackio_like as t\n"
        "t.init(project='p', name='n', config={'lr': 0.1})\n"
        "t.log({'loss': 0.5})\n"
        "t.finish()\n"
        "run = t.Api().run('p', 'n')\n"
        "print(run.num_rows, run.state, run.config['lr'], run.history().column('value').to_pylist())\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[-2] == "1 finished 0.1 [0.5]"
