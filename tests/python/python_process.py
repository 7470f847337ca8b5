"""Runs Python programs that use eightfold, in processes of their own."""

import faulthandler
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

DATA = pathlib.Path(os.environ["DATA"])
PACKAGE = os.environ["EIGHTFOLD_PACKAGE"]  # the folder that `import eightfold` finds it in
EXAMPLE = pathlib.Path(os.environ["EXAMPLE"])
JAX_VERSION = "0.10.2"

# A test that hangs says where.
faulthandler.dump_traceback_later(500)

# What XLA itself says on a machine without a GPU.
_NOISE = re.compile(r"cudart_stub|absl::InitializeLog")


def cuda_packages():
    """A folder with JAX's two CUDA packages, from PyPI, kept in the cache: in the tests' own environment they
    would be part of every test."""
    cache = pathlib.Path(os.environ.get("EIGHTFOLD_CACHE")
                         or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "eightfold")
    folder = cache / f"jax-cuda12-{JAX_VERSION}-py{sys.version_info.major}{sys.version_info.minor}"
    cache.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = pathlib.Path(f"{folder}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", unfinished,
                            f"jax-cuda12-plugin=={JAX_VERSION}", f"jax-cuda12-pjrt=={JAX_VERSION}"], check=True)
            unfinished.rename(folder)
    return str(folder)


class PythonTest(unittest.TestCase):
    """Each test runs in an empty folder, without defaults from the environment."""

    path = [PACKAGE]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_python(self, *arguments, exit_code=0, env=None):
        """The finished process, with stdout and stderr as text, the latter without XLA's own noise."""
        environment = {name: value for name, value in os.environ.items()
                       if not re.match("EIGHTFOLD|XLA_FLAGS|JAX|PYTHONHASHSEED", name) or name == "EIGHTFOLD_CACHE"}
        environment["PYTHONPATH"] = os.pathsep.join([*self.path, str(pathlib.Path(__file__).parent)])
        environment["DATA"] = str(DATA)
        environment.update(env or {})
        done = subprocess.run([sys.executable, *map(str, arguments)], cwd=self.folder, text=True,
                              capture_output=True, env=environment, timeout=400)
        done.stderr = "\n".join(line for line in done.stderr.splitlines() if not _NOISE.search(line))
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done

    def run_code(self, code, **options):
        return self.run_python("-c", code, **options)
