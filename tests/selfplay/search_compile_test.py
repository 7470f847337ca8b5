"""Stock CUDA plugins compile the searches of search_driver for a GPU that is not there: some of what
HLO allows (a select with a scalar predicate, for one) their code generators fail on."""

import pathlib
import subprocess
import sys
import tempfile

SEARCHES = [
    ["batch=256", "actions=36", "root_in_loop=1"],
    ["batch=256", "actions=36", "puct=1", "root_in_loop=1", "max_depth=4"],
    ["batch=64", "actions=9", "puct=1", "wide_embedding=1"],
    ["batch=1", "actions=1", "simulations=1", "invalid=0"],
]


def main():
    eightfold, driver = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "search.pb")
        for search in SEARCHES:
            program.write_bytes(subprocess.run([driver, *search], check=True, capture_output=True).stdout)
            for plugin in ("0.10.2", "0.12.0.1"):
                command = [eightfold, "compile", program, "-o", program.with_suffix(".txt")]
                command += ["--target", "rtx5070", "--plugin", plugin]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
