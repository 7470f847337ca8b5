"""Audits every program with the stock plugins 0.10.2 and 0.12.0.1, which must be in the cache.

What compiled modules call comes from data/programs/expected.tsv, what report programs do from
data/reports/expected.tsv; both were written down from the plugins' own output, not from eightfold's.
"""

import collections
import concurrent.futures
import csv
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
from program import DATA, EIGHTFOLD, ProgramTest

PLUGINS = ("0.10.2", "0.12.0.1")
SCHEMA = json.loads(pathlib.Path(os.environ["SCHEMA"]).read_text())


def rows(path):
    with open(path) as file:
        return list(csv.reader(file, delimiter="\t"))[1:]


@functools.lru_cache(maxsize=None)
def audit(path, plugin, target="rtx5070", xla_flags="", options=()):
    """(exit code, report) of one audit, checked against the schema."""
    environment = dict(os.environ, XLA_FLAGS=xla_flags)
    done = subprocess.run([EIGHTFOLD, "audit", str(path), "--target", target, "--plugin", plugin, "--format", "json",
                           *options], capture_output=True, env=environment)
    assert done.returncode in (0, 1), done.stderr.decode()
    report = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    return done.returncode, report


def program(name):
    return DATA / "programs" / (name if "." in name else name + ".pb")


def warm(jobs):
    """Runs audits on two cores; the tests then find them done."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda job: audit(*job), jobs))


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.expected = rows(DATA / "programs" / "expected.tsv")
        warm([(program(name), plugin) for name, plugin, _ in cls.expected])

    def totals(self, name, plugin, **options):
        return audit(program(name), plugin, **options)[1]["totals"]

    def test_counts_equal_what_the_plugins_were_seen_to_make(self):
        for name, plugin, expected in self.expected:
            totals = self.totals(name, plugin)
            counted = {f"{target} {count}" for target, count in totals["custom_calls"].items()}
            counted |= {f"dot {types} {count}" for types, count in totals["dots"].items()}
            with self.subTest(name, plugin=plugin):
                self.assertEqual(counted, set(expected.split("; ")))

    def test_repro_from_stablehlo_counts_the_same(self):
        self.assertEqual(self.totals("repro.mlir", "0.10.2")["custom_calls"],
                         {"__cudnn$convForward": 1, "__cudnn$convForwardGraph": 1})
        self.assertEqual(self.totals("repro.mlir", "0.12.0.1")["custom_calls"], {"__cudnn$convForwardGraph": 2})
        self.assertEqual(self.totals("repro.mlir", "0.10.2")["demoted"], 1)

    def test_demotions(self):
        demoted = {"repro": 1, "move": 20, "three": 40, "cond": 1}
        for name in {row[0] for row in self.expected}:
            for plugin in PLUGINS:
                expected = demoted.get(name, 0) if plugin == "0.10.2" else 0
                if name == "fp8_gradients":
                    expected = 1
                with self.subTest(name, plugin=plugin):
                    self.assertEqual(self.totals(name, plugin)["demoted"], expected)

    def test_f32_from_bf16_and_weight_only(self):
        for plugin in PLUGINS:
            self.assertEqual(self.totals("move", plugin)["f32_from_bf16"], 2)
            self.assertEqual(self.totals("move_bf16", plugin)["f32_from_bf16"], 42)
            self.assertEqual(self.totals("weight_gradient", plugin)["weight_only"], 1)
            self.assertNotIn("bf16", self.totals("move_bf16", plugin)["flops_by_type"])

    def test_scaled_dots_are_undecided_and_run_in_fp8_without_triton(self):
        for name in ("dot_scaled_bf16", "dot_scaled_amax", "einsum_scaled"):
            for plugin in PLUGINS:
                with self.subTest(name, plugin=plugin):
                    code, report = audit(program(name), plugin)
                    self.assertEqual((code, report["totals"]["undecided"]), (0, 1))
                    kernel = report["kernels"][0]
                    self.assertEqual(kernel["without_triton"]["runs_in"], ["f8e4m3fn"] * 2)
                    totals = self.totals(name, plugin, xla_flags="--xla_gpu_enable_triton_gemm=false")
                    self.assertEqual(totals["custom_calls"], {"__cublas$lt$matmul$f8": 1})
                    self.assertEqual((totals["undecided"], totals["demoted"]), (0, 0))

    def test_move_says_where_how_often_and_how_much(self):
        code, report = audit(program("move"), "0.10.2")
        self.assertEqual(code, 1)
        demoted = [kernel for kernel in report["kernels"] if kernel["status"] == "demoted"]
        self.assertEqual({kernel["computation"] for kernel in demoted}, {report["computations"][0]["name"]})
        for kernel in demoted:
            self.assertEqual(kernel["runs_in"], ["f32", "f32"])
            self.assertEqual(kernel["asked_for"], ["f8e4m3fn", "f8e4m3fn"])
            self.assertEqual((kernel["source"]["file"], kernel["source"]["line"]), ("programs.py", 17))
            # 2 · 256·6·6·128 outputs · 3·3 window · 128 input channels
            self.assertEqual(kernel["flops"], 2 * 256 * 6 * 6 * 128 * 9 * 128)
        self.assertEqual({kernel["runs"]["count"] for kernel in report["kernels"]}, {1, 16})
        # One pass of 20 layers is lost, 16 passes are not.
        layers = 20 * 2 * 256 * 6 * 6 * 128 * 9 * 128
        totals = report["totals"]
        self.assertEqual(totals["demoted_flops"], layers)
        self.assertEqual(totals["flops_by_type"]["fp8"], 16 * layers)
        self.assertEqual(report["findings"][0]["id"], "EF101")
        self.assertEqual(len(report["findings"][0]["kernels"]), 20)

    def test_everything_is_matched(self):
        for name, plugin, _ in self.expected:
            with self.subTest(name, plugin=plugin):
                report = audit(program(name), plugin)[1]
                self.assertEqual(report["totals"]["unmatched"], 0)
                # XLA merges the two policy heads of `two`, which share their weights, into one matmul.
                merged = 1 if name == "two" else 0
                self.assertEqual(len(report["not_in_compiled"]), merged)

    def test_partitioned_program_has_per_device_shapes(self):
        for name in ("sharded", "sharded.mlir", "sharded_gspmd"):
            for plugin in PLUGINS:
                with self.subTest(name, plugin=plugin):
                    flags = ("--partitions", "8") if name != "sharded.mlir" else ()
                    report = audit(program(name), plugin, "h100", "", flags)[1]
                    self.assertEqual(report["module"]["num_partitions"], 8)
                    self.assertEqual(report["totals"]["demoted"], 0)
                    kernel = report["kernels"][0]
                    self.assertEqual(kernel["asked_for"], ["f8e4m3fn", "f8e4m3fn"])
                    # sharded.py: 64 images of 6×6×128 over 8 devices, a 3×3 window, 128 output channels.
                    self.assertTrue(kernel["output"].endswith("[8,6,6,128]"), kernel["output"])
                    self.assertEqual(kernel["flops"], 2 * 8 * 6 * 6 * 128 * 9 * 128)

    def test_gpu_without_fp8_and_exit_codes(self):
        code, report = audit(program("plain"), "0.10.2", "a100")
        self.assertEqual((code, report["findings"][0]["id"]), (1, "EF100"))
        self.assertEqual(audit(program("plain"), "0.10.2", "a100", "", ("--fail-on", "never"))[0], 0)
        self.assertEqual(audit(program("move_bf16"), "0.10.2")[0], 0)
        self.assertEqual(audit(program("move_bf16"), "0.10.2", "rtx5070", "", ("--fail-on", "any"))[0], 1)


class Reports(unittest.TestCase):
    """Programs behind public reports of lost precision; data/reports/README.md is the table."""

    @classmethod
    def setUpClass(cls):
        cls.expected = rows(DATA / "reports" / "expected.tsv")
        cls.jobs = [(name, target, plugin, expected) for name, target, column, expected in cls.expected
                    for plugin in PLUGINS if column in ("*", plugin)]
        warm([(cls.path(name), plugin, target) for name, target, plugin, _ in cls.jobs])

    @staticmethod
    def path(name):
        return DATA / "reports" / (name + ".pb")

    def kernels(self, path, plugin, target):
        """"1 demoted bf16 loop", as expected.tsv has it."""
        counts = collections.Counter()
        for kernel in audit(path, plugin, target)[1]["kernels"]:
            narrow = all(type.startswith(("f8", "f4")) for type in kernel["runs_in"])
            loop = " loop" if kernel["backend"] == "loop" else ""
            counts[f"{kernel['status']} {'fp8' if narrow else kernel['runs_in'][0]}{loop}"] += 1
        return "; ".join(f"{count} {what}" for what, count in counts.items())

    def test_every_row_comes_out_as_its_table_says(self):
        for name, target, plugin, expected in self.jobs:
            with self.subTest(name, plugin=plugin, target=target):
                self.assertEqual(self.kernels(self.path(name), plugin, target), expected)

    def test_block_scaled_matmul_without_a_known_cudnn_is_dequantized_in_a_loop(self):
        config = subprocess.run([EIGHTFOLD, "targets", "rtx5070", "--config", "0.12.0.1"], capture_output=True,
                                check=True, text=True).stdout
        with tempfile.NamedTemporaryFile("w", suffix=".txtpb") as file:
            file.write("".join(line for line in config.splitlines(True) if "dnn_version" not in line))
            file.flush()
            self.assertEqual(self.kernels(self.path("19_mxfp8_scaled_matmul"), "0.12.0.1", file.name),
                             "1 demoted bf16 loop")

    def test_undecided_kernels_run_in_fp8_without_triton(self):
        for name, target, plugin, expected in self.jobs:
            if "undecided" not in expected:
                continue
            for kernel in audit(self.path(name), plugin, target)[1]["kernels"]:
                with self.subTest(name, plugin=plugin):
                    self.assertTrue(all(t.startswith("f8") for t in kernel["without_triton"]["runs_in"]))

    def test_lost_rounding_is_noted_and_does_not_fail(self):
        for kind in ("e4m3", "e5m2", "f16", "bf16"):
            code, report = audit(self.path("21_narrowing_cast_elided_" + kind), "0.10.2")
            self.assertEqual([finding["id"] for finding in report["findings"]], ["EF601"])
            self.assertEqual(code, 0)
        findings = audit(self.path("32_cures_qdq_barrier"), "0.10.2")[1]["findings"]
        self.assertNotIn("EF601", [finding["id"] for finding in findings])

    def test_matmuls_without_tensor_cores_fail_any(self):
        for name, target in (("09_int8_result_type_s8", "rtx5070"), ("19_mxfp8_scaled_matmul", "h100")):
            self.assertEqual(audit(self.path(name), "0.12.0.1", target, "", ("--fail-on", "any"))[0], 1)


class Inputs(ProgramTest):
    def audit(self, *arguments, exit_code=0, **options):
        return self.run_program("audit", *arguments, "--format", "json", exit_code=exit_code, **options)

    def test_standard_input_and_text_count_like_the_proto(self):
        arguments = ("--target", "rtx5070", "--plugin", "0.10.2", "--fail-on", "never")
        bytes_in = program("repro").read_bytes()
        piped = json.loads(self.audit("-", *arguments, stdin=bytes_in).stdout)
        self.run_program("convert", program("repro"), "repro.hlo")
        text = json.loads(self.audit("repro.hlo", *arguments).stdout)
        for report in (piped, text):
            self.assertEqual(report["totals"], audit(program("repro"), "0.10.2")[1]["totals"])

    def test_dump_directory_from_the_plugin(self):
        self.run_program("compile", program("cond"), "-o", "out.pb", "--target", "rtx5070", "--plugin", "0.10.2",
                         "--dump", "dump")
        report = json.loads(self.audit("dump", exit_code=1).stdout)
        jsonschema.validate(report, SCHEMA)
        self.assertEqual([section["totals"]["demoted"] for section in report["sections"]], [1])
        self.assertFalse(report["sections"][0]["kernels"][0]["asked_inferred"])

    def test_compiled_module_alone_is_inferred_and_with_the_program_it_is_not(self):
        self.run_program("compile", program("move"), "-o", "move.hlo", "--target", "rtx5070", "--plugin", "0.10.2")
        alone = json.loads(self.run_program("census", "move.hlo", "--format", "json", exit_code=0).stdout)
        self.assertTrue(all(kernel["asked_inferred"] for kernel in alone["kernels"]))
        both = json.loads(self.run_program("census", "move.hlo", "--before", program("move"), "--format", "json",
                                           exit_code=1).stdout)
        self.assertEqual(both["totals"]["demoted"], 20)

    def test_no_compile_counts_what_the_program_asks_for(self):
        report = json.loads(self.audit(program("move"), "--no-compile").stdout)
        self.assertFalse(report["module"]["compiled"])
        self.assertEqual({kernel["backend"] for kernel in report["kernels"]}, {"unlowered"})
        # 21 layers, written once in each of two computations.
        self.assertEqual(sum(kernel["family"] == "convolution" for kernel in report["kernels"]), 42)
        table = self.run_program("audit", program("move"), "--no-compile").stdout.decode()
        self.assertIn("as it stands", table)
        # Nothing is lost before anything is compiled, whatever the dots are written in.
        quantized = self.run_program("census", DATA / "reports" / "06_qdq_train_vs_direct_qdq.pb").stdout.decode()
        self.assertIn("3 written in bf16 that ask for FP8", quantized)

    def test_program_before_that_is_not_the_one_is_refused(self):
        self.run_program("compile", program("cond"), "-o", "cond.hlo", "--target", "rtx5070", "--plugin", "0.10.2")
        error = self.run_program("census", "cond.hlo", "--before", DATA / "reports" / "32_cures_after.pb",
                                 exit_code=2).stderr
        self.assertIn("no kernel of cond.hlo is found", error)

    def test_dump_directory_survives_a_bad_file_and_a_pipe(self):
        self.run_program("compile", program("cond"), "-o", "out.pb", "--target", "rtx5070", "--plugin", "0.10.2",
                         "--dump", "dump")
        (self.folder / "dump" / "module_0099.bad.sm_12.0_gpu_after_optimizations.txt").write_text("HloModule bad\n")
        os.mkfifo(self.folder / "dump" / "module_0098.pipe.sm_12.0_gpu_after_optimizations.txt")
        done = self.audit("dump", exit_code=2)
        self.assertEqual(len(json.loads(done.stdout)["sections"]), 1)
        self.assertIn("module_0099.bad", done.stderr)

    def test_sharded_programs_must_say_over_how_many_devices(self):
        error = self.run_program("audit", program("sharded"), "--target", "h100", "--plugin", "0.10.2",
                                 exit_code=2).stderr
        self.assertIn("--partitions 8", error)

    def test_missing_target_lists_them_and_missing_file_suggests_one(self):
        error = self.run_program("audit", program("repro"), "--plugin", "0.10.2", exit_code=2).stderr
        self.assertIn("rtx5070", error)
        (self.folder / "transformer.hlo").write_text("")
        self.assertIn("did you mean transformer.hlo?", self.run_program("audit", "trnsformer.hlo", exit_code=2).stderr)


if __name__ == "__main__":
    unittest.main()
