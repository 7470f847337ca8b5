import os
import unittest

from program import DATA, ProgramTest

REPRO = DATA / "programs" / "repro.pb"


class ConvertTest(ProgramTest):
    def test_proto_to_text_and_back(self):
        self.run_program("convert", REPRO, "repro.hlo")
        text = (self.folder / "repro.hlo").read_text()
        self.assertTrue(text.startswith("HloModule "))
        self.assertEqual(text.count(" convolution("), 2)
        self.run_program("convert", "repro.hlo", "back.pb")
        self.run_program("convert", "back.pb", "again.hlo")
        self.assertEqual((self.folder / "again.hlo").read_text(), text)

    def test_pipe_to_pipe_gives_the_other_form(self):
        text = self.run_program("convert", "-", "-", stdin=REPRO.read_bytes()).stdout
        self.assertTrue(text.startswith(b"HloModule "))
        proto = self.run_program("convert", "-", "-", stdin=text).stdout
        self.assertEqual(proto[:1], b"\x0a")
        self.assertEqual(self.run_program("convert", "-", "-", stdin=proto).stdout, text)

    def test_option_wins_over_the_name(self):
        self.run_program("convert", REPRO, "out.dat", "--to", "text")
        self.assertTrue((self.folder / "out.dat").read_text().startswith("HloModule "))

    def test_sequential_ids_are_small(self):
        # In wire form HloInstructionProto.id (35) is the tag 0x98 0x02; a 64-bit id needs 5 bytes.
        self.run_program("convert", REPRO, "old.pb", "--ids", "sequential")
        self.run_program("convert", REPRO, "new.pb", "--ids", "local")
        old, new = ((self.folder / name).stat().st_size for name in ("old.pb", "new.pb"))
        self.assertLess(old, new)

    def test_bad_text_is_shown_with_a_caret_and_writes_nothing(self):
        bad = DATA / "bad_cases" / "06_unknown_opcode.hlo"
        error = self.run_program("convert", bad, "out.pb", exit_code=2).stderr
        self.assertRegex(error, r"^error: .*06_unknown_opcode.hlo:\d+:\d+: ")
        self.assertIn("^", error)
        self.assertEqual(os.listdir(self.folder), [])

    def test_missing_file_names_a_near_one(self):
        (self.folder / "transformer.hlo").write_text("HloModule m\n")
        error = self.run_program("convert", "trnsformer.hlo", "x.pb", exit_code=2).stderr
        self.assertEqual(error,
                         "error: no such file: trnsformer.hlo\n  did you mean transformer.hlo?\n")

    def test_stablehlo_and_directories_say_what_to_do(self):
        mlir = DATA / "programs" / "repro.mlir"
        self.assertIn("eightfold compile",
                      self.run_program("convert", mlir, "x.pb", exit_code=2).stderr)
        self.assertIn("is a directory",
                      self.run_program("convert", DATA, "x.pb", exit_code=2).stderr)

    def test_unwritable_output(self):
        error = self.run_program("convert", REPRO, "no/such/folder.pb", exit_code=2).stderr
        self.assertIn("cannot write", error)


if __name__ == "__main__":
    unittest.main()
