"""Reads HLO text with Eightfold, writes it as proto and as text, and compares what jaxlib prints for both with what it
prints for its own reading of the same text: every text case and reader case, and every program and report as jaxlib
prints it.

usage: oracle_test.py HLO_CONVERT_TOOL TESTDATA [FILE.pb|FILE.hlo ...]      (more files to check, e.g. compiled modules)
"""
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile

from jaxlib import _hlo

# Text that jaxlib itself does not get back through its own proto; compared as text only.
CONFIG = "part of the header belongs to the config, which HloModuleProto does not hold"
NO_PROTO = {
    "001_header.hlo": CONFIG,
    "006_shapes.hlo": "a tile dimension * is refused when it comes from a proto",
    "008_literals_int.hlo": "literals of s1 are refused when they come from a proto",
    "009_literals_float.hlo": "writing literals of f6 aborts the process",
    "023_collectives.hlo": CONFIG,
    "024_collectives_async.hlo": CONFIG,
    "042_all_reduce_groups_mesh.hlo": CONFIG,
    "049_groups_forms.hlo": CONFIG,
    "055_layout_full.hlo": "an index type is refused in the layout of a dense array",
}


def options(text):
    """Elided constants mean nothing in particular, so what jaxlib makes of them must not be printed."""
    made = _hlo.HloPrintOptions()
    made.print_large_constants = "{...}" not in text
    return made


def from_proto(data):
    return _hlo.HloModule.from_serialized_hlo_module_proto(data)


def difference(wanted, got):
    lines = difflib.unified_diff(wanted.splitlines(), got.splitlines(), "jaxlib", "eightfold", lineterm="", n=0)
    return "\n".join(line[:200] for line in list(lines)[:20])


def is_fixed_point(module, show):
    try:
        return show(from_proto(module.as_serialized_hlo_module_proto())) == show(module)
    except Exception:  # jaxlib's errors have no class of their own
        return False


def reread(text, show):
    """jaxlib's print of its reading of its own print; nothing where it cannot read that."""
    try:
        return [show(_hlo.hlo_module_from_text(text))]
    except Exception:
        return []


def problems(path, out):
    """Everything that is wrong with what the tool wrote to the files OUT.* for the text at PATH."""
    error = pathlib.Path(f"{out}.error")
    if error.exists():
        return [error.read_text()]
    text = path.read_text()
    show = lambda module: module.to_string(options(text))
    own = _hlo.hlo_module_from_text(text)
    wanted = show(own)
    found = []
    # jaxlib's own text is not always a fixed point: reading it can order computations anew.
    accepted = [wanted]
    for ending in ("txt", "again"):
        accepted += reread(accepted[-1], show)
        got = show(_hlo.hlo_module_from_text(pathlib.Path(f"{out}.{ending}").read_text()))
        if got not in accepted:
            found.append(f"through text ({ending}):\n" + difference(wanted, got))
    if path.name in NO_PROTO:
        # Last, because it may abort.
        if path.name != "009_literals_float.hlo" and is_fixed_point(own, show):
            found.append("jaxlib can do this now: take it out of NO_PROTO")
        return found
    if not is_fixed_point(own, show):
        found.append("jaxlib does not get its own proto back: explain it in NO_PROTO")
    got = show(from_proto(pathlib.Path(f"{out}.pb").read_bytes()))
    if got != wanted:
        found.append("through proto:\n" + difference(wanted, got))
    return found


def check(path, out):
    """In a process of its own: some inputs abort jaxlib. True when nothing is wrong."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            found = problems(path, out)
        except Exception as error:
            found = [f"jaxlib: {error}"]
        for problem in found:
            print(f"{path.name}: {problem}")
        sys.stdout.flush()
        os._exit(1 if found else 0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        print(f"{path.name}: jaxlib died of signal {os.WTERMSIG(status)}")
    return status == 0


def main():
    tool, data = sys.argv[1], pathlib.Path(sys.argv[2])
    paths = sorted((data / "text_cases").glob("*.hlo")) + sorted((data / "reader_cases").glob("*.hlo"))
    protos = sorted((data / "programs").glob("*.pb")) + sorted((data / "reports").glob("*.pb"))
    for extra in map(pathlib.Path, sys.argv[3:]):
        (protos if extra.suffix == ".pb" else paths).append(extra)
    if len(paths) < 56 or len(protos) < 40:
        sys.exit(f"only {len(paths)} texts and {len(protos)} programs under {data}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for proto in protos:
            path = folder / f"{proto.stem}.hlo"
            path.write_text(from_proto(proto.read_bytes()).to_string(options("")))
            paths.append(path)
        if len({path.name for path in paths}) != len(paths):
            sys.exit("two files have one name")
        out = folder / "out"
        out.mkdir()
        subprocess.run([tool, out, *paths], check=True)
        wrong = [path.name for path in paths if not check(path, out / path.name)]
    print(f"{len(paths) - len(wrong)} of {len(paths)} modules are read as jaxlib reads them")
    if wrong:
        sys.exit(f"wrong: {' '.join(wrong)}")


if __name__ == "__main__":
    main()
