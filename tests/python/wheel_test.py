"""The package as `pip install .` makes it: builds a wheel of this source tree and uses what it installs.

The compiler is that of the build that the test belongs to, with its flags, and the wheel's build folder is beside
that one's, so that ccache has most of it done already.
"""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from python_process import DATA, EXAMPLE, PACKAGE, PythonTest, cuda_packages

ROOT = pathlib.Path(os.environ["ROOT"])


def setUpModule():
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    defines = {"CMAKE_CXX_COMPILER": os.environ["CXX_COMPILER"],
               "CMAKE_CXX_FLAGS_RELWITHDEBINFO": os.environ["CXX_FLAGS_RELWITHDEBINFO"],
               "EIGHTFOLD_WERROR": os.environ["WERROR"] or "OFF"}
    options = [f"build-dir={ROOT}/build-wheel", f"cmake.build-type={os.environ['BUILD_TYPE']}",
               *(f"cmake.define.{name}={value}" for name, value in defines.items())]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", ROOT, "--no-build-isolation", "--no-deps", "-q", "--target", folder.name,
         *(word for option in options for word in ("--config-settings", option))], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    Wheel.site = pathlib.Path(folder.name)
    Wheel.path = [folder.name]


class Wheel(PythonTest):
    site: pathlib.Path

    def test_holds_the_package_and_nothing_else(self):
        self.assertEqual({path.name for path in self.site.iterdir() if not path.name.endswith(".dist-info")},
                         {"bin", "eightfold"})
        names = {path.name for path in (self.site / "eightfold").iterdir()}
        self.assertLessEqual({"__init__.py", "py.typed", "_native.pyi", "bin"}, names)
        self.assertFalse([name for name in names if name.endswith((".cc", ".h", ".a"))])

    def test_its_entry_points_are_those_that_the_other_tests_use(self):
        def read(site):
            [package] = importlib.metadata.distributions(name="eightfold", path=[str(site)])
            return {(point.group, point.name, point.value) for point in package.entry_points}

        self.assertEqual(read(self.site) - read(PACKAGE), {("console_scripts", "eightfold", "eightfold._cli:main")})
        self.assertLessEqual(read(PACKAGE), read(self.site))

    def test_the_command_runs_and_finds_its_worker(self):
        version = re.search(r"project\(eightfold VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        command = self.site / "bin" / "eightfold"
        self.assertEqual(self.run_python(command, "--version").stdout, f"eightfold {version}\n")
        done = self.run_python(command, "audit", DATA / "programs" / "repro.pb", "--target", "rtx5070", "--plugin",
                               "0.10.2", exit_code=1)
        self.assertIn("1 in FP8, 1 asked for FP8 and ran in f32", done.stdout)

    def test_the_module_runs_and_finds_its_worker(self):
        done = self.run_python(EXAMPLE, env={"JAX_PLATFORMS": "cpu"})
        self.assertTrue(done.stdout.endswith("\n2 0\n"), done.stdout)

    def test_jax_finds_the_entry_point(self):
        self.path = [*self.path, cuda_packages()]
        done = self.run_code("from programs_for_cuda import *; print(fresh_repro())", env={
            "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1", "EIGHTFOLD_TARGET": "rtx5070", "EIGHTFOLD": "fix"})
        self.assertEqual(done.stdout, "2 0\n")


if __name__ == "__main__":
    unittest.main()
