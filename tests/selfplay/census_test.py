"""What becomes of the FP8 convolutions of the programs that selfplay/programs.h builds: the census with a stock
compiler, 0.10.2, for an RTX 5070."""

import collections
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

EIGHTFOLD, DRIVER = sys.argv[1:3]
PLUGIN = "0.10.2"
SHAPE = ["othello6", "fp8", "256", "128", "10", "16"]  # batch, width, blocks, simulations


def audit(folder, program, *options):
    """The report on `program`, words for program_driver: what to build and what goes after SHAPE."""
    name, *more = program
    file = pathlib.Path(folder, "-".join([*program, *options]) + ".pb")
    file.write_bytes(subprocess.run([DRIVER, name, *SHAPE, *more], check=True, capture_output=True).stdout)
    command = [EIGHTFOLD, "audit", file, "--target", "rtx5070", "--plugin", PLUGIN, "--format", "json", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def counts(report):
    """How many convolutions (keep FP8, are demoted from it, keep bf16)."""
    pairs = [(kernel["asked_for"], kernel["runs_in"]) for kernel in report["kernels"] if kernel["family"] == "convolution"]
    fp8, bf16, f32 = (["f8e4m3fn"] * 2, ["bf16"] * 2, ["f32"] * 2)
    known = (pairs.count((fp8, fp8)), pairs.count((fp8, f32)), pairs.count((bf16, bf16)))
    assert sum(known) == len(pairs), pairs
    return known


def by_computation(report):
    """How many convolutions keep FP8 in each computation that has some, fewest runs first."""
    found = collections.Counter(
        (kernel["runs"]["count"], kernel["computation"]) for kernel in report["kernels"]
        if kernel["family"] == "convolution" and kernel["runs_in"] == ["f8e4m3fn"] * 2)
    return [(runs, count) for (runs, _), count in sorted(found.items())]


class Census(unittest.TestCase):
    CASES = {
        ("forward",): (20, 0, 1),
        ("two",): (40, 0, 2),
        ("move",): (20, 20, 2),
        ("move", "--fix"): (40, 0, 2),
        ("three", "--fix"): (60, 0, 3),
        ("move", "root_in_loop"): (20, 0, 1),
    }

    @classmethod
    def setUpClass(cls):
        def run(case):
            options = [word for word in case if word.startswith("--")]
            return audit(cls.folder.name, [word for word in case if word not in options], *options)

        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            cls.reports = dict(zip(cls.CASES, pool.map(run, cls.CASES)))

    def test_precision_of_the_convolutions(self):
        for case, expected in self.CASES.items():
            with self.subTest(case):
                self.assertEqual(counts(self.reports[case]), expected)
                graphs = self.reports[case]["totals"]["custom_calls"].get("__cudnn$convForwardGraph", 0)
                self.assertGreaterEqual(graphs, expected[0])

    def test_only_the_loop_keeps_fp8_without_the_fix(self):
        self.assertEqual(by_computation(self.reports["move",]), [(16, 20)])
        self.assertEqual(by_computation(self.reports["move", "--fix"]), [(1, 20), (16, 20)])

    def test_root_in_loop_needs_no_fix(self):
        self.assertEqual(by_computation(self.reports["move", "root_in_loop"]), [(17, 20)])

    def test_the_first_of_a_block_returns_fp8(self):
        for case in self.CASES:
            with self.subTest(case):
                outputs = collections.Counter(
                    kernel["output"].split("[")[0] for kernel in self.reports[case]["kernels"]
                    if kernel["family"] == "convolution" and kernel["runs_in"] == ["f8e4m3fn"] * 2)
                half = self.CASES[case][0] // 2
                self.assertEqual(outputs, {"f8e4m3fn": half, "f32": half})

    def test_convolutions_have_names(self):
        names = [kernel["op_name"] for kernel in self.reports["forward",]["kernels"] if kernel["family"] == "convolution"]
        layers = [f"network/block{block}/conv{layer}" for block in range(10) for layer in range(2)]
        self.assertEqual(sorted(names), sorted(["network/stem", *layers]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
