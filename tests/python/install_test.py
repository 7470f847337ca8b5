"""The fix and the audit inside JAX processes that load the stock CUDA plugin 0.10.2 without a GPU."""

import functools
import json
import pathlib
import subprocess
import sys
import unittest

from python_process import PACKAGE, PythonTest, cuda_packages

SKIP_CHECK = {"JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1"}
RTX5070 = {"EIGHTFOLD_TARGET": "rtx5070"}
COMPILE = "from programs_for_cuda import *; print(fresh_repro())"
ON_CPU = "import jax, jax.numpy as jnp; print(jax.jit(lambda x: x * 2)(jnp.ones(3)), jax.devices())"
PUTTING_BACK = "eightfold: putting back FP8 convolutions for GeForce RTX 5070 (sm_120), in jax-cuda12-pjrt 0.10.2"


@functools.cache
def seed_for(first):
    """A hash seed with which JAX initialises the plugin module `first` before the other one."""
    modules = ("jax_plugins.xla_cuda12", "eightfold._jax_plugin")
    for seed in range(100):
        order = subprocess.run([sys.executable, "-c", f"print(next(iter(set({modules}))))"], text=True,
                               capture_output=True, env={"PYTHONHASHSEED": str(seed)}).stdout.strip()
        if order == first:
            return str(seed)
    raise AssertionError(first)


class InJax(PythonTest):
    @classmethod
    def setUpClass(cls):
        cls.path = [PACKAGE, cuda_packages()]

    def in_jax(self, code, **env):
        """What `code` prints, and what is said on standard error by us."""
        done = self.run_code(code, env={**SKIP_CHECK, **RTX5070, **env})
        return done.stdout.strip(), done.stderr


class Environment(InJax):
    def test_without_the_variable_nothing_happens(self):
        out, said = self.in_jax(COMPILE + "; import sys; print(*(m for m in sys.modules if m.startswith('eightfold.')))")
        self.assertEqual(out, "1 1\neightfold._errors eightfold._jax_plugin")
        self.assertEqual(said, "")

    def test_fix_puts_them_back_whichever_plugin_jax_initialises_first(self):
        for first in ("jax_plugins.xla_cuda12", "eightfold._jax_plugin"):
            with self.subTest(first=first):
                out, said = self.in_jax(COMPILE, EIGHTFOLD="fix", PYTHONHASHSEED=seed_for(first),
                                        JAX_LOGGING_LEVEL="DEBUG")
                self.assertEqual(out, "2 0")
                loaded = [line.split()[-1] for line in said.splitlines() if "Loading plugin module" in line]
                self.assertEqual(loaded[0], first)
                self.assertEqual([line for line in said.splitlines() if line.startswith("eightfold")], [PUTTING_BACK])

    def test_without_a_gpu_or_a_target_it_says_so_once(self):
        out, said = self.in_jax(COMPILE + "; print(fresh_repro())", EIGHTFOLD="fix", EIGHTFOLD_TARGET="")
        self.assertEqual(out, "1 1\n1 1")
        self.assertEqual(said, "eightfold: the fix is not installed: there is no GPU here, and EIGHTFOLD_TARGET, "
                         "which can name the one to compile for, is not set")

    def test_where_the_plugin_does_not_load_it_says_so_once_and_the_cpu_computes(self):
        for order in ("jax_plugins.xla_cuda12", "eightfold._jax_plugin"):
            out, said = self.in_jax(ON_CPU, EIGHTFOLD="fix,audit", JAX_SKIP_CUDA_CONSTRAINTS_CHECK="",
                                    PYTHONHASHSEED=seed_for(order))
            self.assertEqual(out, "[2. 2. 2.] [CpuDevice(id=0)]")
            self.assertEqual(said.count("the fix has nothing to do: JAX has loaded no CUDA plugin"), 1, said)
            self.assertEqual(said.count("the audit has nothing to do: JAX has loaded no CUDA plugin"), 1, said)

    def test_jax_on_the_cpu_is_as_it_was(self):
        for value in ("", "fix", "audit"):
            out, _ = self.in_jax(ON_CPU, EIGHTFOLD=value, JAX_PLATFORMS="cpu")
            self.assertEqual(out, "[2. 2. 2.] [CpuDevice(id=0)]")

    def test_a_value_that_means_nothing_is_named_and_the_program_goes_on(self):
        out, said = self.in_jax(COMPILE, EIGHTFOLD="fixx")
        self.assertEqual(out, "1 1")
        self.assertIn("eightfold: EIGHTFOLD=fixx does nothing: it can be fix,", said)
        out, said = self.in_jax(COMPILE, EIGHTFOLD="fix", EIGHTFOLD_TARGET="rtx5071")
        self.assertEqual(out, "1 1")
        self.assertIn("no target called rtx5071", said)

    def test_a_broken_package_does_not_break_the_program(self):
        broken = self.folder / "eightfold"
        broken.mkdir()
        for file in (pathlib.Path(PACKAGE) / "eightfold").glob("*.py"):  # all but the native part
            (broken / file.name).symlink_to(file)
        out, said = self.in_jax(COMPILE, EIGHTFOLD="fix")
        self.assertEqual(out, "1 1")
        # Which of the two notices first depends on the order in which JAX loads its plugins.
        self.assertRegex(said, "eightfold: (the fix is not installed|EIGHTFOLD=fix does nothing): .*_native")


class Audit(InJax):
    def test_one_line_for_each_module_with_matrix_work(self):
        code = ("from programs_for_cuda import *; compile_for_cuda(lambda x: x.astype(jnp.float32) + 1, X);"
                "print(fresh_repro())")
        out, said = self.in_jax(code, EIGHTFOLD="audit")
        self.assertEqual(out, "1 1")
        self.assertEqual(said, "eightfold: jit__lambda: 2 convolutions: 1 in FP8, 1 asked for FP8 and ran in f32; EF101")

    def test_with_the_fix_it_sees_what_the_program_asked_and_what_the_fix_made(self):
        for value in ("fix,audit", "audit,fix"):
            out, said = self.in_jax(COMPILE, EIGHTFOLD=value)
            self.assertEqual(out, "2 0")
            self.assertEqual(said, f"{PUTTING_BACK}\neightfold: jit__lambda: 2 convolutions: 2 in FP8")

    def test_a_folder_gets_reports(self):
        self.in_jax(COMPILE + "; fresh_repro()", EIGHTFOLD="audit:its,reports")
        names = sorted(path.name for path in (self.folder / "its,reports").iterdir())
        self.assertEqual(names, ["jit__lambda.2.json", "jit__lambda.2.txt", "jit__lambda.json", "jit__lambda.txt"])
        report = json.loads((self.folder / "its,reports" / "jit__lambda.json").read_text())
        self.assertEqual(report["totals"]["custom_calls"], {"__cudnn$convForward": 1, "__cudnn$convForwardGraph": 1})
        self.assertEqual(report["module"]["asked_from"], "module before optimization")
        self.assertEqual(report["findings"][0]["id"], "EF101")

    def test_only_process_0_reports(self):
        code = ("from jax._src import distributed; distributed.global_state.process_id = {};" + COMPILE).format
        self.assertEqual(self.in_jax(code(1), EIGHTFOLD="audit"), ("1 1", ""))
        self.assertIn("2 convolutions", self.in_jax(code(0), EIGHTFOLD="audit")[1])

    def test_a_compiled_program_can_be_audited(self):
        out, _ = self.in_jax("from programs_for_cuda import *; import eightfold;"
                             "print(repr(eightfold.audit(compile_for_cuda(repro, X, W))))")
        self.assertRegex(out, r"^2 convolutions: 1 in FP8, 1 asked for FP8 and ran in f32")


class Install(InJax):
    def test_before_and_after_jax_loads_its_plugins(self):
        code = """
import eightfold
from programs_for_cuda import *
eightfold.install()
print(eightfold.installation().state)
print(fresh_repro(), eightfold.installation().state)
eightfold.uninstall()
print(fresh_repro(), eightfold.installation())
eightfold.install()
print(fresh_repro(), eightfold.installation().state)
"""
        self.assertEqual(self.in_jax(code), ("waiting\n2 0 registered\n1 1 None\n2 0 registered", ""))

    def test_twice_is_once_and_options_can_change(self):
        code = """
import eightfold
from programs_for_cuda import *
eightfold.install()
eightfold.install()
fresh_repro()
now = eightfold.installation()
print(now.plugin, "|", now.target, now.extent, now.calls, now.changed, now.failed, now.rewritten, now.error, now.seconds > 0)
eightfold.install(fix="all", target="h100")
now = eightfold.installation()
print(now.target, now.extent, now.calls)
"""
        out, said = self.in_jax(code)
        self.assertEqual(out, "jax-cuda12-pjrt 0.10.2 | GeForce RTX 5070 (sm_120) planned 1 1 0 2  True\n"
                         "H100 80GB SXM (sm_90) all 0")
        self.assertEqual(said, "")

    def test_for_a_while(self):
        code = """
import eightfold
from programs_for_cuda import *
with eightfold.installed():
    print(fresh_repro())
print(fresh_repro())
eightfold.install()
try:
    with eightfold.installed(fix="all"):
        raise KeyError
except KeyError:
    print(eightfold.installation().extent)
"""
        self.assertEqual(self.in_jax(code), ("2 0\n1 1\nplanned", ""))

    def test_where_jax_runs_without_the_plugin_it_raises(self):
        code = """
import jax, eightfold
jax.devices()
try:
    eightfold.install()
except eightfold.CompilerError as error:
    print(error)
print(eightfold.installation())
"""
        out, _ = self.in_jax(code, JAX_SKIP_CUDA_CONSTRAINTS_CHECK="")
        self.assertRegex(out, "^JAX has loaded no CUDA plugin in this process, .*\nNone$")

    def test_a_target_that_is_not_known_raises_once_the_plugin_is_there_and_warns_before(self):
        code = """
import eightfold, jax
eightfold.install(target="rtx5071")
print(jax.devices())
try:
    eightfold.install(target="rtx5071")
except eightfold.InputError as error:
    print(error)
"""
        out, said = self.in_jax(code, JAX_PLATFORMS="cpu")
        self.assertRegex(out, r"^\[CpuDevice\(id=0\)\]\nno target called rtx5071")
        self.assertIn("RuntimeWarning: eightfold: the fix is not installed: no target called rtx5071", said)

    def test_a_target_that_is_not_known_leaves_what_is_installed(self):
        code = """
import eightfold, jax
jax.devices()
eightfold.install(target="h100")
try:
    eightfold.install(target="rtx5071")
except eightfold.InputError as error:
    print(error)
print(eightfold.installation().target)
"""
        out, _ = self.in_jax(code, JAX_PLATFORMS="cpu")
        self.assertRegex(out, r"^no target called rtx5071\n(.*\n)*H100 80GB SXM \(sm_90\)$")


class Cache(InJax):
    """What is compiled without a client goes into JAX's cache but cannot be read from it: files are what shows."""

    def entries(self, pattern):
        return {path.name for path in (self.folder / "cache").glob(f"{pattern}-cache")}

    def test_fixed_programs_are_kept_apart(self):
        cache = {"JAX_COMPILATION_CACHE_DIR": str(self.folder / "cache"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        self.assertEqual(self.in_jax(COMPILE, **cache)[0], "1 1")
        plain = self.entries("*")
        self.assertEqual(len(plain), 1)
        out, said = self.in_jax(COMPILE + "; print(fresh_repro())", EIGHTFOLD="fix", **cache)
        self.assertEqual(out, "2 0\n2 0")
        self.assertEqual(said.count("JAX's compilation cache"), 1)
        self.assertRegex(said, r"fixed ones go into and come from \S*/cache/eightfold-[\d.]+-planned\n")
        self.assertEqual(self.entries("*"), plain)
        self.assertEqual(len(self.entries("eightfold-*-planned/*")), 1)

    def test_one_that_is_turned_on_later_tells_them_apart_by_their_keys(self):
        code = f"""
import eightfold
from programs_for_cuda import *
{{}}
compile_for_cuda(lambda x: x.astype(jnp.float32), X)
jax.config.update("jax_compilation_cache_dir", {str(self.folder / 'cache')!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
print(fresh_repro())
"""
        for install, calls, entries in (("", "1 1", 1), ("eightfold.install()", "2 0", 2), ("", "1 1", 2),
                                        ("eightfold.install(fix='all')", "2 0", 3)):
            self.assertEqual(self.in_jax(code.format(install))[0], calls)
            self.assertEqual(len(self.entries("*")), entries)

    def test_uninstalling_gives_the_old_one_back(self):
        code = """
import eightfold
from programs_for_cuda import *
import warnings
warnings.simplefilter("ignore")
before = jax.config.jax_compilation_cache_dir
with eightfold.installed():
    print(fresh_repro(), jax.config.jax_compilation_cache_dir != before)
print(fresh_repro(), jax.config.jax_compilation_cache_dir == before)
"""
        out, _ = self.in_jax(code, JAX_COMPILATION_CACHE_DIR=str(self.folder / "cache"),
                             JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0")
        self.assertEqual(out, "2 0 True\n1 1 True")


class Device(InJax):
    """CUDA's libraries, played by one of ours."""

    LIBRARY = """
#include <stddef.h>
#include <string.h>
int cuInit(unsigned flags) { return 0; }
int cuDeviceGet(int* device, int ordinal) { *device = 7; return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = device != 7 ? -1 : attribute == 75 ? 8 : attribute == 76 ? 9 : -1;
  return 0;
}
int cuDeviceGetName(char* name, int size, int device) { strncpy(name, "Toy", size); return 0; }
size_t cudnnGetVersion(void) { return CUDNN; }
"""

    def with_device(self, cudnn):
        source = self.folder / "cuda.c"
        source.write_text(self.LIBRARY)
        for name in ("libcuda.so.1", "libcudnn.so.9"):
            subprocess.run(["cc", "-shared", "-fPIC", f"-DCUDNN={cudnn}", f"-Wl,-soname,{name}", source, "-o",
                            self.folder / name], check=True)
        return self.in_jax(COMPILE.replace("import *", "import *; import eightfold; eightfold.install()")
                           + "; print(eightfold.installation().target)",
                           LD_LIBRARY_PATH=str(self.folder), EIGHTFOLD_TARGET="h100")[0]

    def test_its_own_capability_comes_before_the_environment(self):
        self.assertEqual(self.with_device(91002).splitlines()[-1], "Toy (sm_89)")

    def test_its_own_cudnn_decides(self):
        # XLA's rewrite wants cuDNN 9.8 on compute capability 8.9; for Hopper and Blackwell less is enough.
        self.assertEqual(self.with_device(91002), "2 0\nToy (sm_89)")
        self.assertEqual(self.with_device(90700), "1 1\nToy (sm_89)")


if __name__ == "__main__":
    unittest.main()
