import re
import unittest

from program import DATA, ProgramTest


class UsageTest(ProgramTest):
    def verbs(self):
        help_text = self.run_program("--help").stdout.decode()
        listed = help_text.split("Subcommands:")[1]
        return re.findall(r"^  (\w+) ", listed, re.MULTILINE)

    def test_help_of_every_verb_has_two_examples_and_exit_codes(self):
        verbs = self.verbs()
        self.assertIn("compile", verbs)
        for verb in verbs:
            text = self.run_program(verb, "--help").stdout.decode()
            examples = text.split("Examples:")[1].split("Exit codes:")[0]
            self.assertEqual(len(re.findall(r"^  .*eightfold ", examples, re.MULTILINE)), 2, verb)
            self.assertRegex(text, r"Exit codes: 0 .*2 ")

    def test_examples_in_help_name_options_that_exist(self):
        for verb in self.verbs():
            text = self.run_program(verb, "--help").stdout.decode()
            for example in text.split("Examples:")[1].splitlines():
                for option in re.findall(r"(--[a-z-]+)", example):
                    known = text
                    if " fetch " in example:
                        known = self.run_program(verb, "fetch", "--help").stdout.decode()
                    self.assertIn(option, known.split("Examples:")[0])

    def test_no_line_of_help_is_wider_than_100_columns(self):
        for verb in self.verbs():
            for line in self.run_program(verb, "--help").stdout.decode().splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_version(self):
        self.assertRegex(self.run_program("--version").stdout.decode(), r"^eightfold \d+\.\d+\.\d+\n$")

    def test_misspelled_verb(self):
        error = self.run_program("convrt", "a", "b", exit_code=2).stderr
        self.assertEqual(error, "error: no such command: convrt\n  did you mean convert?\n")

    def test_unknown_verb_lists_all(self):
        error = self.run_program("xyzzy", exit_code=2).stderr
        for verb in self.verbs():
            self.assertIn(verb, error)

    def test_misspelled_option(self):
        error = self.run_program("compile", "--tagret", "h100", "x.pb", exit_code=2).stderr
        self.assertEqual(error, "error: no such option: --tagret\n  did you mean --target?\n")
        error = self.run_program("compile", "x.pb", "--tagret=h100", exit_code=2).stderr
        self.assertIn("did you mean --target?", error)

    def test_misspelled_choice(self):
        error = self.run_program("targets", "--color=alwys", exit_code=2).stderr
        self.assertIn("--color cannot be alwys", error)
        self.assertIn("did you mean always?", error)

    def test_missing_and_surplus_arguments(self):
        self.assertIn("a command is missing", self.run_program(exit_code=2).stderr)
        self.assertIn("OUT is required", self.run_program("convert", "a.pb", exit_code=2).stderr)
        self.assertIn("unexpected argument: c",
                      self.run_program("convert", "a.pb", "b.hlo", "c", exit_code=2).stderr)

    def test_empty_names_of_files(self):
        for arguments in (("fix", "a.pb", ""), ("compile", "a.pb", "-o", ""),
                          ("convert", DATA / "programs" / "repro.pb", ""),
                          ("convert", DATA / "programs" / "repro.pb", "", "--to", "text")):
            error = self.run_program(*arguments, exit_code=2).stderr
            self.assertTrue(error.startswith("error: the name of the file to write is empty\n"), error)
        error = self.run_program("convert", "", "a.pb", exit_code=2).stderr
        self.assertEqual(error, "error: the name of the file to read is empty\n")

    def test_targets_lists_the_catalogue(self):
        table = self.run_program("targets").stdout.decode()
        for name in ("a100", "l40s", "rtx4090", "h100", "h200", "gh200", "b200", "rtx5070",
                     "rtx5090", "rtxpro6000"):
            self.assertRegex(table, rf"(?m)^{name} +\S")
        self.assertRegex(table, r"(?m)^rtx5070 .*sm_120 +48 +12 +672 ")

    def test_target_config_follows_the_plugin_version(self):
        old = self.run_program("targets", "h100", "--config", "0.9.2").stdout.decode()
        self.assertIn("dnn_version_info", old)
        new = self.run_program("targets", "h100", "--config", "0.12.0.1").stdout.decode()
        self.assertIn('dnn_version: "', new)
        self.assertNotIn("dnn_version_info", new)

    def test_printed_target_config_is_taken_as_target(self):
        config = self.run_program("targets", "rtx5070", "--config", "0.10.2").stdout
        (self.folder / "mine.txtpb").write_bytes(config)
        shown = self.run_program("targets", "./mine.txtpb").stdout.decode()
        self.assertIn("sm_120", shown)
        self.assertRegex(shown, r"multiprocessors +48")

    def test_unknown_target_lists_the_known(self):
        error = self.run_program("targets", "rtx5071", exit_code=2).stderr
        self.assertIn("did you mean rtx5070?", error)
        self.assertIn("h100", error)

    def test_plugins_of_an_empty_cache_say_how_to_get_one(self):
        env = {"EIGHTFOLD_CACHE": str(self.folder / "cache")}
        self.assertIn(b"eightfold plugins fetch", self.run_program("plugins", env=env).stdout)
        self.assertIn(b"eightfold plugins fetch",
                      self.run_program("plugins", "list", env=env).stdout)

    def test_fetch_of_a_wrong_cuda_is_a_usage_error(self):
        self.run_program("plugins", "fetch", "0.10.2", "--cuda", "11", exit_code=2)


if __name__ == "__main__":
    unittest.main()
