"""Reads and writes protos with Eightfold and compares what jaxlib prints for the result with what it prints for the
original: every program under tests/data as it is, as a module with config, and every text case as jaxlib serializes
it; each id scheme, each message kind.

usage: oracle_test.py DRIVER TESTDATA [FILE.pb ...]      (more files to check, e.g. compiled modules)
"""
import pathlib
import subprocess
import sys
import tempfile

from jaxlib import _hlo

# (scheme, kind); a version stands for the scheme and the fields of that target.
VARIANTS = [("local", "module"), ("sequential", "module"), ("keep", "module"), ("0.10.2", "module"),
            ("local", "hlo"), ("local", "config")]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, payload) of the length-delimited fields of a message that has only such and varints."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 2:
            size, at = varint(data, at)
            yield tag >> 3, data[at:at + size]
            at += size
        elif tag & 7 == 0:
            _, at = varint(data, at)
        else:
            at += 4 if tag & 7 == 5 else 8


def load(data):
    """The module in a bare HloModuleProto, or in field 1 of the messages around one."""
    first = next(payload for number, payload in fields(data) if number == 1)
    try:
        if any(number == 3 for number, _ in fields(first)):
            data = first
    except IndexError:
        pass  # a module's name, which is no message
    return _hlo.HloModule.from_serialized_hlo_module_proto(data)


def printed(data):
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    return load(data).to_string(options)


def inputs(testdata, more, folder):
    for path in sorted(testdata.glob("programs/*.pb")) + sorted(testdata.glob("reports/*.pb")):
        yield path
    for path in sorted(testdata.glob("text_cases/*.hlo")):
        # jaxlib parses f6 literals but aborts when it serializes them.
        text = "".join(line for line in path.open() if not ("f6e" in line and "constant" in line))
        made = folder / (path.name + ".pb")
        made.write_bytes(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
        try:
            printed(made.read_bytes())
        except Exception as error:  # XLA does not take back what it wrote itself
            print(f"{path.name} left out, jaxlib: {str(error).splitlines()[0]}")
            continue
        yield made
    yield from more


def check(driver, path, folder):
    """The variants of one file that jaxlib does not print as it prints the original."""
    expected = printed(path.read_bytes())
    for scheme, kind in VARIANTS:
        out = folder / "out.pb"
        run = subprocess.run([driver, path, out, scheme, kind], stderr=subprocess.PIPE, text=True)
        if run.returncode != 0:
            yield scheme, kind, run.stderr.strip()
            continue
        try:
            actual = printed(out.read_bytes())
        except Exception as error:  # jaxlib refuses the proto: its message is the finding
            yield scheme, kind, f"jaxlib: {error}"
            continue
        if actual != expected:
            differing = [f"{a!r} became {b!r}" for a, b in zip(expected.split("\n"), actual.split("\n")) if a != b]
            yield scheme, kind, differing[0] if differing else "lines were lost"


def main(driver, testdata, more):
    count = failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path in inputs(pathlib.Path(testdata), map(pathlib.Path, more), folder):
            count += 1
            for scheme, kind, why in check(driver, path, folder):
                failures += 1
                print(f"{path.name} {scheme} {kind}: {why}")
    print(f"{count} files, {failures} failures")
    return 1 if failures or count < 110 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
