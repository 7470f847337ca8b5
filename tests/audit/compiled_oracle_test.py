"""Every program compiled by the stock plugins 0.10.2 and 0.12.0.1 (which must be in the cache), read and written as proto
and as text, against what jaxlib makes of the same module: the oracle tests of tests/hlo on compiled modules.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

DATA = pathlib.Path(os.environ["DATA"])
ORACLES = pathlib.Path(os.environ["ORACLES"])
EIGHTFOLD = os.environ["EIGHTFOLD"]


def compile_bare(job):
    """Path of the compiled module as a bare HloModuleProto, which is what jaxlib loads."""
    program, plugin, folder = job
    compiled = folder / f"{program.stem}-{plugin}.config.pb"
    bare = folder / f"{program.stem}-{plugin}.pb"
    subprocess.run([EIGHTFOLD, "compile", program, "-o", compiled, "--target", "rtx5070", "--plugin", plugin], check=True)
    subprocess.run([EIGHTFOLD, "convert", compiled, bare, "--message", "module", "--ids", "keep"], check=True)
    return bare


def main():
    programs = [path for path in sorted((DATA / "programs").glob("*.pb")) if not path.stem.startswith("sharded")]
    with tempfile.TemporaryDirectory() as name:
        jobs = [(program, plugin, pathlib.Path(name)) for program in programs for plugin in ("0.10.2", "0.12.0.1")]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            modules = list(pool.map(compile_bare, jobs))
        for script, driver in (("text", "TEXT_DRIVER"), ("proto", "PROTO_DRIVER")):
            oracle = [sys.executable, ORACLES / script / "oracle_test.py", os.environ[driver], DATA, *modules]
            done = subprocess.run(oracle)
            if done.returncode != 0:
                sys.exit(f"the {script} oracle disagrees")


if __name__ == "__main__":
    main()
