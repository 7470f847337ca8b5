"""What people see: the table of compiled modules in data/golden, against the .txt beside each.

`make golden` rewrites the .txt files; review the diff.
"""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, os.environ["PROGRAM_MODULE"])
from program import DATA, ProgramTest

GOLDEN = DATA / "golden"
CASES = {
    "repro": ("repro.compiled.hlo", "--before", DATA / "programs" / "repro.pb"),
    "repro_inferred": ("repro.compiled.hlo",),
    "cond": ("cond.compiled.hlo", "--before", DATA / "programs" / "cond.pb"),
    "qdq": ("qdq.compiled.hlo", "--before", DATA / "reports" / "06_qdq_train_vs_direct_qdq.pb", "--top", "1"),
    "headline": ("repro.compiled.hlo", "--before", DATA / "programs" / "repro.pb", "-q"),
    "color": ("repro.compiled.hlo", "--before", DATA / "programs" / "repro.pb", "--color", "always"),
    "program_as_it_stands": (DATA / "programs" / "repro.pb",),
}


class Golden(ProgramTest):
    def test_tables(self):
        for name, (module, *options) in CASES.items():
            text = self.run_program("census", GOLDEN / module, *options, "--fail-on", "never").stdout.decode()
            path = GOLDEN / (name + ".txt")
            if os.environ.get("EIGHTFOLD_UPDATE_GOLDEN"):
                path.write_text(text)
            with self.subTest(name):
                self.assertEqual(text, path.read_text())


if __name__ == "__main__":
    unittest.main()
