"""Audits and compiles programs with --fix, with stock plugins of every kind: with the pass hook, without it, and repaired.

data/programs/fixed.tsv says what the compiled modules call: what XLA 0.12.0.1, which is repaired, makes of the same
programs, and for convolutions without a cuDNN plan what stays of them.
"""

import collections
import csv
import concurrent.futures
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jsonschema

sys.path.insert(0, os.environ["PROGRAM_MODULE"])
from program import DATA, EIGHTFOLD

SCHEMA = json.loads(pathlib.Path(os.environ["SCHEMA"]).read_text())
PROGRAMS = DATA / "programs"


def rows():
    with open(PROGRAMS / "fixed.tsv") as file:
        return [tuple(row) for row in csv.reader(file, delimiter="\t")][1:]


def program(name):
    return PROGRAMS / (name if "." in name else name + ".pb")


def run(*arguments):
    return subprocess.run([EIGHTFOLD, *map(str, arguments)], capture_output=True, text=True)


@functools.lru_cache(maxsize=None)
def audit(name, plugin, *options):
    """(exit code, report) of one audit for the RTX 5070, checked against the schema."""
    done = run("audit", program(name), "--target", "rtx5070", "--plugin", plugin, "--format", "json", *options)
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    return done.returncode, report


def convolution_calls(report):
    return {target: count for target, count in report["totals"]["custom_calls"].items() if "conv" in target}


class Fix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda row: audit(*row[:3]), rows()))

    def test_compiled_modules_call_what_they_should(self):
        for name, plugin, option, expected in rows():
            with self.subTest(name, plugin=plugin, option=option):
                report = audit(name, plugin, option)[1]
                wanted = dict(call.rsplit(" ", 1) for call in expected.split("; "))
                self.assertEqual(convolution_calls(report), {call: int(count) for call, count in wanted.items()})
                self.assertIsNone(report["fix"]["error"])
                self.assertEqual(report["totals"]["unmatched"], 0)

    def test_what_is_rewritten_is_no_longer_demoted(self):
        for name, plugin, option, expected in rows():
            with self.subTest(name, plugin=plugin, option=option):
                code, report = audit(name, plugin, option)
                # Kept from the graph calls for want of a plan, or a gradient that has no FP8 path.
                lost = sum(miss["left_alone"] for miss in report["fix"]["near_misses"])
                self.assertEqual(report["totals"]["demoted"], lost)
                self.assertEqual(code, 1 if lost else 0)

    def test_repaired_plugins_do_it_themselves(self):
        fix = audit("depthwise_loop", "0.12.0.1", "--fix=all")[1]["fix"]
        self.assertIn("by itself", fix["how"])
        self.assertEqual((fix["rewritten"], fix["near_misses"]), ([], []))

    def test_left_alone_for_want_of_a_plan(self):
        for plugin in ("0.9.2", "0.10.2", "0.12.0.1"):
            with self.subTest(plugin=plugin):
                report = audit("depthwise_loop", plugin, "--fix")[1]
                (miss,) = report["fix"]["near_misses"]
                self.assertIn("no plan for 64 groups of 1 input channel", miss["condition"])
                self.assertTrue(miss["no_plan"] and miss["hidden"])
                self.assertEqual([finding["id"] for finding in report["findings"]], ["EF106"])

    def test_a_graph_call_without_a_plan_is_a_finding(self):
        for name in ("depthwise", "grouped"):
            for plugin in ("0.10.2", "0.12.0.1"):
                with self.subTest(name, plugin=plugin):
                    findings = audit(name, plugin)[1]["findings"]
                    self.assertEqual([finding["id"] for finding in findings], ["EF107"])

    def test_fixed_values_keep_their_sources(self):
        lines = collections.Counter(
            kernel["source"]["line"] for kernel in audit("move", "0.10.2", "--fix")[1]["kernels"]
            if kernel["status"] == "as_asked" and kernel["runs_in"] == ["f8e4m3fn"] * 2)
        self.assertEqual(lines, {17: 40})

    def test_table_says_what_was_done(self):
        done = run("audit", program("move"), "--target", "rtx5070", "--plugin", "0.10.2", "--fix")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("42 convolutions: 40 in FP8, 2 asked for bf16", done.stdout)
        self.assertIn("fix: 40 FP8 convolutions rewritten in 2 computations", done.stdout)


# One FP8 convolution in a branch, computed in f32, and one behind it in $T.
IN_ANOTHER_TYPE = """HloModule m
yes {
  p = (f8e4m3fn[2,6,6,16], f8e4m3fn[3,3,16,16]) parameter(0)
  x = f8e4m3fn[2,6,6,16] get-tuple-element(p), index=0
  w = f8e4m3fn[3,3,16,16] get-tuple-element(p), index=1
  c = f32[2,6,6,16] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  ROOT n = f32[2,6,6,16] negate(c)
}
no {
  p = (f8e4m3fn[2,6,6,16], f8e4m3fn[3,3,16,16]) parameter(0)
  x = f8e4m3fn[2,6,6,16] get-tuple-element(p), index=0
  ROOT c = f32[2,6,6,16] convert(x)
}
ENTRY main {
  which = pred[] parameter(0)
  x = f8e4m3fn[2,6,6,16] parameter(1)
  w = f8e4m3fn[3,3,16,16] parameter(2)
  t = (f8e4m3fn[2,6,6,16], f8e4m3fn[3,3,16,16]) tuple(x, w)
  y = f32[2,6,6,16] conditional(which, t, t), true_computation=yes, false_computation=no
  cx = $T[2,6,6,16] convert(x)
  cw = $T[3,3,16,16] convert(w)
  c = $T[2,6,6,16] convolution(cx, cw), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  f = f32[2,6,6,16] convert(c)
  ROOT z = f32[2,6,6,16] add(f, y)
}
"""


class OtherTypes(unittest.TestCase):
    """Convolutions of FP8 values that ask for a type in which no call computes."""

    def check(self, wide, option, calls, misses):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program.hlo"
            path.write_text(IN_ANOTHER_TYPE.replace("$T", wide))
            for plugin in ("0.9.2", "0.10.2", "0.12.0.1"):
                with self.subTest(wide, option=option, plugin=plugin):
                    report = audit.__wrapped__(str(path), plugin, option)[1]
                    self.assertEqual(convolution_calls(report), calls)
                    found = [(miss["hidden"], miss["condition"]) for miss in report["fix"]["near_misses"]]
                    self.assertEqual(found, misses[plugin])

    def test_f64_is_hidden_from_xla(self):
        miss = [(True, "the input is converted to f64, and graph calls add in f32")]
        self.check("f64", "--fix", {"__cudnn$convForwardGraph": 1, "__cudnn$convForward": 1},
                   collections.defaultdict(lambda: miss))
        self.check("f64", "--fix=all", {"__cudnn$convForwardGraph": 2}, collections.defaultdict(list))

    def test_integers_which_xla_cannot_compile_otherwise_are_left_to_it(self):
        miss = [(False, "the input is converted to s32, which is not a float; hidden from XLA's own rewriter it "
                        "would not compile")]
        self.check("s32", "--fix", {"__cudnn$convForwardGraph": 2}, {"0.9.2": miss, "0.10.2": miss, "0.12.0.1": []})
        self.check("s32", "--fix=all", {"__cudnn$convForwardGraph": 2}, collections.defaultdict(list))


class Partitioned(unittest.TestCase):
    def test_fixed_behind_the_partitioning(self):
        code, plain = audit("sharded", "0.10.2", "--partitions", "8")
        fixed = audit("sharded", "0.10.2", "--partitions", "8", "--fix")[1]
        self.assertEqual(plain["totals"]["flops"], fixed["totals"]["flops"])
        self.assertEqual(fixed["totals"]["demoted"], 0)

    def test_refused_where_that_cannot_be(self):
        done = run("audit", program("sharded"), "--target", "rtx5070", "--plugin", "0.10.1", "--partitions", "8", "--fix")
        self.assertEqual(done.returncode, 2)
        self.assertIn("partitioned over 8 devices", done.stderr)
        done = run("fix", program("sharded"), "-", "--target", "rtx5070")
        self.assertEqual(done.returncode, 2)
        self.assertIn("sharded over", done.stderr)


class Offline(unittest.TestCase):
    def test_fixed_programs_compile_to_the_same_calls(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("repro", "cond", "called_twice"):
                for plugin in ("0.9.2", "0.10.2"):
                    fixed = pathlib.Path(folder) / (name + ".pb")
                    done = run("fix", program(name), fixed, "--target", "rtx5070")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("fix: 2 FP8 convolutions rewritten in 2 computations", done.stderr)
                    done = run("audit", fixed, "--target", "rtx5070", "--plugin", plugin, "--format", "json")
                    self.assertEqual(convolution_calls(json.loads(done.stdout)), {"__cudnn$convForwardGraph": 2})

    def test_gpus_without_fp8_are_left_alone(self):
        done = run("fix", program("repro"), "-", "--target", "a100")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("__cudnn$", done.stdout)
        self.assertIn("nothing rewritten", done.stderr)

    def test_compiled_modules_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            compiled = pathlib.Path(folder) / "compiled.pb"
            done = run("compile", program("repro"), "-o", compiled, "--target", "rtx5070", "--plugin", "0.10.2", "--fix")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("fix: 2 FP8 convolutions rewritten", done.stderr)
            done = run("fix", compiled, "-", "--target", "rtx5070")
            self.assertEqual(done.returncode, 2)
            self.assertIn("compiled already", done.stderr)


class Flags(unittest.TestCase):
    def test_what_is_not_compiled_cannot_be_fixed_on_the_way(self):
        done = run("audit", program("repro"), "--no-compile", "--fix")
        self.assertEqual(done.returncode, 2)
        self.assertIn("exclude each other", done.stderr)

    def test_what_is_compiled_already_says_that_it_is(self):
        with tempfile.TemporaryDirectory() as folder:
            compiled, dump = pathlib.Path(folder) / "compiled.pb", pathlib.Path(folder) / "dump"
            done = run("compile", program("repro"), "-o", compiled, "--target", "rtx5070", "--plugin", "0.10.2",
                       "--dump", dump)
            self.assertEqual(done.returncode, 0, done.stderr)
            for path in (compiled, dump):
                with self.subTest(path=path.name):
                    done = run("audit", path, "--fix", "--fail-on", "never")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("already compiled", done.stdout)

    def test_stablehlo_is_fixed_by_compiling(self):
        done = run("fix", program("repro.mlir"), "-", "--target", "rtx5070")
        self.assertEqual(done.returncode, 2)
        self.assertIn("eightfold compile --fix", done.stderr)

    def test_bad_values_are_refused(self):
        done = run("audit", program("repro"), "--target", "rtx5070", "--plugin", "0.10.2", "--fix=some")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--fix", done.stderr)


if __name__ == "__main__":
    unittest.main()
