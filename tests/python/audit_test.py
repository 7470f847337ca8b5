"""eightfold.audit() in Python, on a machine without a GPU. Needs plugin 0.10.2 in the cache."""

import inspect
import json
import pathlib
import re
import subprocess
import sys
import unittest
import warnings

from python_process import DATA, EXAMPLE, PACKAGE, PythonTest

sys.path.insert(0, PACKAGE)

import jax
import jax.numpy as jnp
import numpy as np

import eightfold
from programs_for_cuda import F8, W, X, conv, repro

ON = {"target": "rtx5070", "plugin": "0.10.2"}


def audit(*arguments, **options):
    return eightfold.audit(*arguments, **{**ON, **options})


def lower(f, *arguments):
    return jax.jit(f).trace(*arguments).lower(lowering_platforms=("cuda",))


class Example(PythonTest):
    def test_prints_the_demotion_its_cause_and_the_repair(self):
        done = self.run_python(EXAMPLE, env={"JAX_PLATFORMS": "cpu"})
        lines = EXAMPLE.read_text().splitlines()
        loop = next(i for i, line in enumerate(lines, 1) if "return lax.while_loop" in line)
        convolution = next(i for i, line in enumerate(lines, 1) if "return lax.conv_general" in line)
        self.assertIn("2 convolutions: 1 in FP8, 1 asked for FP8 and ran in f32", done.stdout)
        self.assertIn(f"repro.py:{convolution} conv ← repro.py:{loop} f | "
                      "EF101: another computation was rewritten first\n", done.stdout)
        self.assertTrue(done.stdout.endswith("\n2 0\n"), done.stdout)


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.report = audit(jax.jit(repro), X, W)

    def test_counts_are_those_of_the_stock_compiler(self):
        # tests/data/programs/expected.tsv: repro, 0.10.2.
        self.assertEqual((self.report.totals.graph_convolutions, self.report.totals.legacy_convolutions), (1, 1))
        fixed = audit(jax.jit(repro), X, W, fix=True)
        self.assertEqual((fixed.totals.graph_convolutions, fixed.totals.legacy_convolutions), (2, 0))
        self.assertEqual(fixed.demoted, ())
        self.assertEqual(fixed.share("f8"), 1)

    def test_shares_are_weighted_by_how_often_kernels_run(self):
        # The loop's convolution runs four times, the entry's once, of the same size.
        self.assertAlmostEqual(self.report.share("f8"), 4 / 5)
        self.assertAlmostEqual(self.report.share("fp8"), 4 / 5)
        self.assertAlmostEqual(self.report.share("f32"), 1 / 5)
        self.assertEqual(self.report.share("bf16"), 0)
        self.assertEqual(audit(lambda x: x + 1, X).share("f8"), 1)
        # 36 places, 9 taps, 128 channels in and out; padding counts as work.
        self.assertEqual(self.report.totals.flops, 5 * 2 * 36 * 128 * 128 * 9)

    def test_kernels_say_what_was_asked_what_runs_and_where_it_was_written(self):
        entry, loop = sorted(self.report.kernels, key=lambda kernel: kernel.runs)
        self.assertEqual((entry.status, entry.asked_for, entry.runs_in), ("demoted", ("f8e4m3fn",) * 2, ("f32",) * 2))
        self.assertEqual((loop.status, loop.runs_in, loop.runs, loop.cause), ("as_asked", ("f8e4m3fn",) * 2, 4, ""))
        self.assertEqual(self.report.demoted, (entry,))
        self.assertEqual(entry.frames[0].function, "conv")
        self.assertEqual(entry.frames[0].line, inspect.getsourcelines(conv)[1] + 1)
        self.assertRegex(entry.source, r"^programs_for_cuda\.py:\d+ conv ← programs_for_cuda\.py:\d+ repro$")
        self.assertEqual(entry.finding, self.report.findings[0])
        self.assertEqual(entry.finding.id, "EF101")

    def test_the_headline_is_the_repr(self):
        self.assertRegex(repr(self.report),
                         r"^2 convolutions: 1 in FP8, 1 asked for FP8 and ran in f32 \(main[.\d]*\)$")
        self.assertEqual(repr(audit(lambda x: x + 1, X)),
                         "no matrix work: no convolution, matmul or attention call runs")

    def test_json_is_that_of_the_program(self):
        proto = lower(repro, X, W).compiler_ir("hlo").as_serialized_hlo_module_proto()
        done = subprocess.run([f"{PACKAGE}/eightfold/bin/eightfold", "audit", "-", "--target", "rtx5070", "--plugin",
                               "0.10.2", "--format", "json"], input=proto, capture_output=True)
        theirs, ours = json.loads(done.stdout), json.loads(self.report.to_json())
        for part in ("target", "computations", "totals", "findings"):
            self.assertEqual(ours[part], theirs[part])
        self.assertEqual(self.report.to_dict(), ours)

    def test_html_is_escaped(self):
        class Odd:
            def __call__(self, x, w):
                return (lambda x, w: conv(x, w))(x, w)

        html = audit(Odd(), X, W)._repr_html_()
        self.assertIn("&lt;lambda&gt;", html)
        self.assertEqual(set(re.findall("</?([a-z]+)", html)), {"p", "b", "table", "thead", "tr", "th", "tbody", "td"})


class Programs(unittest.TestCase):
    """All that audit() takes, to the same report."""

    def check(self, program, *arguments):
        report = audit(program, *arguments)
        self.assertEqual((report.totals.graph_convolutions, report.totals.legacy_convolutions), (1, 1))
        return report

    def test_functions_with_arrays_shapes_and_keywords(self):
        self.check(repro, np.ones(X.shape, F8), jnp.ones(W.shape, F8))
        self.check(jax.jit(repro), X, jnp.ones(W.shape, F8))
        report = eightfold.audit(repro, X, w=W, **ON)
        self.assertEqual(len(report.kernels), 2)

    def test_what_jax_made_of_one(self):
        self.assertRegex(self.check(jax.jit(repro).trace(X, W)).demoted[0].source, "conv")
        self.assertRegex(self.check(lower(repro, X, W)).demoted[0].source, "conv")

    def test_stablehlo_and_hlo(self):
        lowered = lower(repro, X, W)
        self.assertRegex(self.check(lowered.compiler_ir()).demoted[0].source, "conv")
        self.check(lowered.as_text())
        self.check(lowered.as_text("hlo"))
        self.check(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
        self.check(pathlib.Path(DATA / "programs" / "repro.pb"))
        self.check(str(DATA / "programs" / "repro.pb"))
        self.check(bytearray((DATA / "programs" / "repro.pb").read_bytes()))

    def test_a_program_over_several_devices_is_partitioned(self):
        mesh = jax.sharding.AbstractMesh((4,), ("x",))
        rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
        a = jax.ShapeDtypeStruct((64, 128), jnp.bfloat16, sharding=rows)
        report = audit(lambda a, b: a @ b, a, jax.ShapeDtypeStruct((128, 256), jnp.bfloat16))
        self.assertEqual(report.to_dict()["module"]["num_partitions"], 4)
        self.assertEqual(report.totals.flops, 2 * 64 / 4 * 128 * 256)

    def test_one_lowered_for_the_cpu_is_audited_with_a_warning(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.check(jax.jit(repro).lower(X, W))
        self.assertIn("jit_repro was lowered for cpu", str(caught[0].message))
        self.assertEqual(caught[0].filename, __file__)


class Errors(unittest.TestCase):
    def fails(self, kind, pattern, *arguments, **options):
        with self.assertRaisesRegex(kind, pattern) as caught:
            audit(*arguments, **options)
        self.assertIsInstance(caught.exception, eightfold.EightfoldError)

    def test_one_compiled_for_the_cpu_is_refused_with_advice(self):
        compiled = jax.jit(conv).lower(X, W).compile()
        self.fails(eightfold.InputError, r"compiled for the cpu[^$]*hand over the\s+jitted function", compiled)

    def test_messages_are_those_of_the_program(self):
        self.fails(eightfold.InputError, "no target called rtx507\n  did you mean rtx5070", repro, X, W, target="rtx507")
        self.fails(eightfold.InputError, "plugin 0.0.1 is not cached", repro, X, W, plugin="0.0.1")
        self.fails(eightfold.InputError, r"^program:2:\d+: [^$]*\^", "HloModule broken\nENTRY")
        self.fails(eightfold.InputError, "no such file: nothing.pb", "nothing.pb")
        self.fails(eightfold.CompilerError, "cannot compile program", "module @m {\n  nonsense\n}\n")

    def test_misuse_is_named(self):
        self.fails(eightfold.InputError, "cannot audit a int", 3)
        self.fails(eightfold.InputError, "takes no arguments", lower(repro, X, W), X)
        self.fails(eightfold.InputError, "partitions is 0; it can be", repro, X, W, partitions=0)
        self.fails(eightfold.InputError, "partitions is '8'; it can be", repro, X, W, partitions="8")
        self.fails(eightfold.InputError, "fix is 'some'", repro, X, W, fix="some")
        self.fails(eightfold.InputError, "program is no text: surrogates", "HloModule \udcff\n")
        self.fails(eightfold.InputError, r"'/tmp/\\udcff' is no text: surrogates", "/tmp/\udcff")
        self.fails(eightfold.InputError, r"'\\udcff' is no text: surrogates", repro, X, W, target="\udcff")

    def test_directories_are_refused_with_what_takes_them(self):
        self.fails(eightfold.InputError,
                   rf"^{re.escape(str(DATA))} is a directory, and audit\(\) takes one program\n  hand over one of the "
                   rf"modules in it, [^$]*: eightfold audit {re.escape(str(DATA))}$", DATA)

    def test_sharded_programs_are_asked_for_their_devices_as_python_spells_it(self):
        sharded = DATA / "programs" / "sharded.pb"
        self.fails(eightfold.InputError, r"sharded over 8 devices[^$]*\n  say partitions=8, or partitions=1 to", sharded)
        self.fails(eightfold.InputError, "which GPU. give target\n", repro, X, W, target=None)
        report = audit(sharded, partitions=8)
        self.assertEqual(report.to_dict()["module"]["num_partitions"], 8)
        # The module of data/programs/sharded.py: 64 images of 6×6×128, a 3×3 window, 128 output channels.
        self.assertEqual(report.totals.flops, 2 * 64 / 8 * 36 * 128 * 128 * 9)
        self.assertEqual(audit(sharded, partitions=1).totals.flops, 8 * report.totals.flops)


class Interrupt(PythonTest):
    def test_ctrl_c_does_not_wait_for_the_compiler(self):
        # A worker that never ends; it goes with its parent.
        worker = self.folder / "worker"
        worker.write_text("#!/bin/sh\ntouch started\nread forever <&3\n")
        worker.chmod(0o755)
        # Python leaves SIGINT ignored where it was started so, as background jobs of scripts are.
        code = """
import os, pathlib, signal, threading, time
import eightfold
signal.signal(signal.SIGINT, signal.default_int_handler)
def press():
    while not pathlib.Path("started").exists(): time.sleep(.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
try:
    eightfold.audit(pathlib.Path(os.environ["DATA"], "programs/repro.pb"), target="h100", plugin="0.10.2")
except KeyboardInterrupt:
    print("interrupted")
"""
        self.assertEqual(self.run_code(code, env={"EIGHTFOLD_WORKER": str(worker)}).stdout, "interrupted\n")


class Package(PythonTest):
    def test_importing_it_loads_neither_jax_nor_the_native_part(self):
        done = self.run_code("import eightfold, sys; print([m for m in ('jax', 'numpy', 'eightfold._native') "
                             "if m in sys.modules], eightfold.__version__)")
        self.assertRegex(done.stdout, r"^\[\] \d+\.\d+\.\d+$")

    def test_everything_public_has_types_and_a_docstring(self):
        def check(name, item):
            self.assertTrue(item.__doc__, name)
            if inspect.isfunction(item):
                hints = {p: v.annotation for p, v in inspect.signature(item).parameters.items() if p != "self"}
                self.assertNotIn(inspect.Parameter.empty, hints.values(), name)
                self.assertNotEqual(inspect.signature(item).return_annotation, inspect.Signature.empty, name)

        for name in eightfold.__all__:
            item = getattr(eightfold, name)
            check(name, item)
            for member, value in vars(item).items() if inspect.isclass(item) else ():
                value = getattr(value, "fget", None) or getattr(value, "func", None) or value
                if not member.startswith("_") and inspect.isfunction(value):
                    check(f"{name}.{member}", value)


class PytestPlugin(PythonTest):
    TEST = """
import eightfold
from programs_for_cuda import W, X, repro

def report():
    return eightfold.check(repro, (X, W), target="rtx5070", plugin="0.10.2")

def test_enough():
    assert report().share("f8") > .75

def test_too_little():
    assert report().share("f8") > .95

def test_the_other_way_round():
    assert .3 <= report().share("f32")

def test_something_else():
    assert 1.0 > 2.0
"""

    def test_a_failed_share_shows_what_does_not_run_as_asked(self):
        (self.folder / "test_it.py").write_text(self.TEST)
        done = self.run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", exit_code=1,
                               env={"JAX_PLATFORMS": "cpu"})
        self.assertIn("3 failed, 1 passed", done.stdout)
        self.assertIn("80.0% > 95.0% of the matrix work in FP8\n", done.stdout)
        self.assertRegex(done.stdout, r"convolution at programs_for_cuda.py:\d+ conv ← programs_for_cuda.py:\d+ repro "
                         r"\(in main[.\d]*, 20.0% of the work\)\n"
                         r"E +-   asked for f8e4m3fn\nE +\+   runs in   f32 \(cudnn-legacy\)\n"
                         r"E +EF101: another computation was rewritten first\n")
        self.assertIn("30.0% <= 20.0% of the matrix work in f32\n", done.stdout)
        self.assertIn("assert 1.0 > 2.0\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
