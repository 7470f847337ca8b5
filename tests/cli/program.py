"""Runs the eightfold program for the tests in this folder."""

import os
import pathlib
import subprocess
import tempfile
import unittest

EIGHTFOLD = os.environ["EIGHTFOLD"]
DATA = pathlib.Path(os.environ["DATA"])


class ProgramTest(unittest.TestCase):
    """Each test runs in an empty folder, without defaults from the environment."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *arguments, exit_code=0, stdin=b"", env=None):
        """The finished process, with stdout as bytes and stderr as text."""
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("EIGHTFOLD_TARGET", "EIGHTFOLD_PLUGIN", "XLA_FLAGS")}
        environment.update(env or {})
        done = subprocess.run([EIGHTFOLD, *map(str, arguments)], cwd=self.folder, input=stdin,
                              capture_output=True, env=environment, timeout=600)
        done.stderr = done.stderr.decode()
        self.assertEqual(done.returncode, exit_code, done.stderr)
        return done
