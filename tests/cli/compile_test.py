"""Compiles with the stock plugins 0.6.2, 0.10.2 and 0.12.0.1, which must be in the cache."""

import os
import pathlib
import signal
import subprocess
import time
import unittest

from program import DATA, EIGHTFOLD, ProgramTest

PROGRAMS = DATA / "programs"


def workers_of(parent):
    """Process ids of the eightfold-worker processes that descend from `parent` or lost it."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            name = (entry / "cmdline").read_bytes().split(b"\0")[0]
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        if name.endswith(b"eightfold-worker") and parent.encode() in environment:
            found.append(int(entry.name))
    return found


class CompileTest(ProgramTest):
    def compiled(self, program, plugin, *options, out="out.hlo"):
        self.run_program("compile", PROGRAMS / program, "-o", out, "--target", "rtx5070",
                         "--plugin", plugin, *options)
        return (self.folder / out).read_bytes()

    def convolutions(self, text):
        return (text.count(b'custom_call_target="__cudnn$convForwardGraph"'),
                text.count(b'custom_call_target="__cudnn$convForward"'))

    def test_repro_from_proto_and_stablehlo(self):
        for program in ("repro.pb", "repro.mlir"):
            self.assertEqual(self.convolutions(self.compiled(program, "0.10.2")), (1, 1))
            self.assertEqual(self.convolutions(self.compiled(program, "0.12.0.1")), (2, 0))

    def test_hlo_text_compiles_like_its_proto(self):
        self.run_program("convert", PROGRAMS / "repro.pb", "repro.hlo")
        self.run_program("compile", "repro.hlo", "-o", "out.hlo", "--target", "rtx5070",
                         "--plugin", "0.10.2")
        self.assertEqual(self.convolutions((self.folder / "out.hlo").read_bytes()), (1, 1))

    def test_proto_output_holds_what_text_output_says(self):
        text = self.compiled("repro.pb", "0.10.2")
        self.compiled("repro.pb", "0.10.2", out="out.pb")
        self.assertEqual(self.run_program("convert", "out.pb", "-").stdout, text)

    def test_partitioned_programs_have_per_device_shapes(self):
        # A batch of 64 over 8 devices. StableHLO says so itself, a HloModuleProto cannot.
        for program, options in (("sharded.mlir", ()), ("sharded.pb", ("--partitions", "8"))):
            text = self.compiled(program, "0.10.2", *options)
            self.assertIn(b"num_partitions=8", text.split(b"\n")[0])
            self.assertRegex(text, rb"ENTRY [^\n]*f32\[8,6,6,128\]")
        whole = self.compiled("sharded.pb", "0.10.2", "--partitions", "1")
        self.assertRegex(whole, rb"ENTRY [^\n]*f32\[64,6,6,128\]")

    def test_dump_folder_holds_the_passes(self):
        self.compiled("repro.pb", "0.10.2", "--dump", "passes")
        names = os.listdir(self.folder / "passes")
        self.assertTrue(any("before_optimizations" in name for name in names), names)
        self.assertGreater(len(names), 10)

    def test_defaults_come_from_flag_then_environment_then_file(self):
        (self.folder / "eightfold.toml").write_text('target = "rtx5070"\nplugin = "0.12.0.1"\n')
        repro = PROGRAMS / "repro.pb"
        text = self.run_program("compile", repro, "-o", "-").stdout
        self.assertEqual(self.convolutions(text), (2, 0))
        env = {"EIGHTFOLD_PLUGIN": "0.10.2"}
        text = self.run_program("compile", repro, "-o", "-", env=env).stdout
        self.assertEqual(self.convolutions(text), (1, 1))
        text = self.run_program("compile", repro, "-o", "-", "--plugin", "0.12.0.1", env=env).stdout
        self.assertEqual(self.convolutions(text), (2, 0))

    def test_without_target_the_choices_are_listed(self):
        error = self.run_program("compile", PROGRAMS / "repro.pb", "-o", "x.pb", exit_code=2).stderr
        self.assertIn("rtx5070", error)
        self.assertIn("h100", error)

    def test_an_uncached_plugin_lists_what_is_cached(self):
        error = self.run_program("compile", PROGRAMS / "repro.pb", "-o", "x.pb", "--target", "h100",
                                 "--plugin", "0.0.7", exit_code=2).stderr
        self.assertIn("jax-cuda12-pjrt 0.10.2", error)
        self.assertIn("eightfold plugins fetch 0.0.7", error)

    def test_raw_64_bit_ids_abort_an_old_plugin_and_renumbered_ones_do_not(self):
        error = self.run_program("compile", PROGRAMS / "repro.pb", "-o", "x.hlo", "--raw",
                                 "--target", "rtx5070", "--plugin", "0.6.2", exit_code=3).stderr
        self.assertIn("jax-cuda12-pjrt 0.6.2 aborted", error)
        self.assertIn("unique_id_", error)
        self.assertIn("0.9.2", error)
        self.assertFalse((self.folder / "x.hlo").exists())

    def test_raw_text_is_refused(self):
        (self.folder / "m.hlo").write_text("HloModule m\n\nENTRY e { ROOT c = f32[] constant(1) }\n")
        self.run_program("compile", "m.hlo", "-o", "x.hlo", "--raw", "--target", "h100", "--plugin",
                         "0.10.2", exit_code=2)

    def test_time_and_memory_limits(self):
        move = (PROGRAMS / "move.pb", "-o", "x.hlo", "--target", "rtx5070", "--plugin", "0.10.2")
        started = time.monotonic()
        error = self.run_program("compile", *move, "--timeout", "1", exit_code=3).stderr
        self.assertIn("longer than 1 s", error)
        self.assertLess(time.monotonic() - started, 3.5)
        error = self.run_program("compile", *move, "--memory", "0.1", exit_code=3).stderr
        self.assertIn("more than 0.1 GiB", error)
        self.assertFalse((self.folder / "x.hlo").exists())

    def test_verbose_prints_the_log_of_a_crash(self):
        error = self.run_program("compile", PROGRAMS / "repro.pb", "-o", "x.hlo", "--raw", "-v",
                                 "--target", "rtx5070", "--plugin", "0.6.2", exit_code=3).stderr
        log, message = error.split("error: plugin")
        self.assertIn("Check failed: unique_id_", log)
        self.assertIn("aborted", message)

    def test_interrupt_leaves_no_worker(self):
        mark = f"EIGHTFOLD_TEST_MARK={self.id()}-{os.getpid()}"
        name, value = mark.split("=")
        process = subprocess.Popen(
            [EIGHTFOLD, "compile", PROGRAMS / "move.pb", "-o", "x.hlo", "--target", "rtx5070",
             "--plugin", "0.10.2"], cwd=self.folder, env={**os.environ, name: value},
            stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while not workers_of(mark) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.5)
        self.assertTrue(workers_of(mark), "the worker never ran")
        process.send_signal(signal.SIGINT)
        # A shell reports a process that SIGINT ended as 130.
        self.assertEqual(process.wait(timeout=10), -signal.SIGINT)
        deadline = time.monotonic() + 5
        while workers_of(mark) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(workers_of(mark), [])
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
