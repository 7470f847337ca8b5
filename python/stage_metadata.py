"""Writes what makes a folder with the package in it look installed: stage_metadata.py PYPROJECT VERSION FOLDER."""

import pathlib
import sys
import tomllib

pyproject, version, folder = sys.argv[1:]
project = tomllib.loads(pathlib.Path(pyproject).read_text())["project"]
info = pathlib.Path(folder) / f"{project['name']}-{version}.dist-info"
info.mkdir(parents=True, exist_ok=True)
(info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n")
(info / "entry_points.txt").write_text("".join(
    f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items()) + "\n"
    for group, entries in project["entry-points"].items()))
