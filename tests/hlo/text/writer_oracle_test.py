"""Compares the text writer with jaxlib 0.10.2, byte for byte: for every program (proto), every text case and snippet (as
text and as the proto that jaxlib makes of it), and constants of every bit pattern. What we print is read back by jaxlib
and by us, and both must print the same again. That second print may list computations and number stack frames in
another order than the first, since XLA's order depends on the order in which a module was made; after one more round
nothing may change any more.

The one difference: we print -0.0 where XLA prints -0, which its own parser reads as +0.

usage: writer_oracle_test.py DRIVER TESTDATA
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from jaxlib import _hlo

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from writer_snippets import EXHAUSTIVE, SNIPPETS, exhaustive

OPTIONS = _hlo.HloPrintOptions()
OPTIONS.print_large_constants = True
# jaxlib parses these but cannot load the protos it makes of them: tile `*`, s1, and sparse layout attributes.
PROTO_FAILS = {"006_shapes.hlo", "008_literals_int.hlo", "055_layout_full.hlo"}
# An elided constant stays elided here; jaxlib makes a counting pattern of it, another one every time.
ELIDED = {"010_literals_misc.hlo"}
# Values below the smallest normal float, which jaxlib's parser rounds wrongly.
MISREAD = {"all f8e8m0fnu"}


def fields(message, number):
    """Payloads of the length-delimited fields `number` (None: any), in order."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            varint()
            continue
        length = {1: 8, 5: 4}.get(tag & 7) or varint()
        if tag & 7 == 2 and number in (None, tag >> 3):
            yield message[at:at + length]
        at += length


def field(message, number):
    return next(fields(message, number))


def load(proto):
    return _hlo.HloModule.from_serialized_hlo_module_proto(proto)


def jax_print(module):
    return module.to_string(OPTIONS)


def without_sign_of_zero(text):
    return re.sub(r"(?<![\w.-])-0\.0(?=[,)} ])", "-0", text)


def first_difference(got, want):
    for number, (ours, theirs) in enumerate(zip(got.split("\n"), want.split("\n")), 1):
        if ours != theirs:
            at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
            cut = slice(max(0, at - 60), at + 120)
            return f"line {number}, column {at + 1}:\n  ours {ours[cut]}\n  XLA  {theirs[cut]}"
    return f"{len(got)} bytes, XLA {len(want)}"


class Run:
    def __init__(self, driver, folder):
        self.driver = driver
        self.folder = pathlib.Path(folder)
        self.failures = 0
        self.count = 0

    def write_all(self, inputs):
        """Our text of every input file; None (and a failure) where there is none."""
        outputs = [self.folder / f"{i}.out" for i in range(len(inputs))]
        lines = "".join(f"{source}\t{target}\n" for source, target in zip(inputs, outputs))
        done = subprocess.run([self.driver], input=lines, stdout=subprocess.PIPE, text=True)
        messages = done.stdout.splitlines()
        if done.returncode != 0 or len(messages) != len(inputs):
            sys.exit(f"driver ended with {done.returncode} at {inputs[len(messages) - 1]}")
        return [target.read_text() if message == "ok" else self.fail(source, message)
                for source, target, message in zip(inputs, outputs, messages)]

    def fail(self, name, why):
        self.failures += 1
        print(f"FAIL {name}: {why}")

    def expect(self, name, got, want):
        self.count += 1
        if got is not None and without_sign_of_zero(got) != want:
            self.fail(name, first_difference(without_sign_of_zero(got), want))

    def expect_same(self, name, got, want):
        self.count += 1
        if got != want:
            join = lambda text: text if isinstance(text, str) else "\n".join(text)
            self.fail(name, first_difference(join(got), join(want)))

    def put(self, name, data):
        path = self.folder / name
        path.write_bytes(data) if isinstance(data, bytes) else path.write_text(data)
        return path


def programs(data):
    """(name, proto file, module) of the programs that come as protos."""
    for path in sorted([*(data / "programs").glob("*.pb"), *(data / "reports").glob("*.pb")]):
        yield path.name, path, load(path.read_bytes())
    for path in sorted((data.parent.parent / "bench").glob("*.pb")):
        yield path.name, path, load(field(path.read_bytes(), 1))  # HloModuleProtoWithConfig


def text_modules(run, data):
    """(name, text file, module) of the text cases and snippets."""
    for path in sorted((data / "text_cases").glob("*.hlo")):
        if path.name not in ELIDED:
            yield path.name, path, _hlo.hlo_module_from_text(path.read_text())
    for name, text in SNIPPETS.items():
        yield name, run.put(f"{name}.hlo", text), _hlo.hlo_module_from_text(text)


def as_protos(run, modules):
    for name, path, module in modules:
        if name in PROTO_FAILS:
            continue
        text = path.read_text()
        if re.search(r"= f6e.* constant", text):  # serializing these ends the process
            module = _hlo.hlo_module_from_text(re.sub(r"\w+ = f6e.* constant.*", "", text))
        proto = module.as_serialized_hlo_module_proto()
        yield f"{name} as proto", run.put(f"{name}.pb", proto), load(proto)


def exhaustive_protos(run):
    for name in EXHAUSTIVE:
        text, width = exhaustive(name)
        proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
        count = EXHAUSTIVE[name]
        constant = next(message for message in fields(field(proto, 3), 2) if b"constant" in message)
        literal = field(constant, 8)  # its elements come last
        patterns = b"".join(i.to_bytes(width, "little") for i in range(count))
        proto = proto.replace(literal, literal[:-len(patterns)] + patterns)
        yield f"all {name}", run.put(f"all_{name}.pb", proto), load(proto)


def content(text):
    """The lines of a module, without what depends on order."""
    lines = [re.sub(r" ?stack_frame_id=\d+", "", line) for line in text.split("\n")]
    return sorted(line for line in lines if not re.match(r"\d+ [{\"]", line))


def read_back(run, names, texts):
    """What we printed, read by jaxlib and by us."""
    kept = [(name, text) for name, text in zip(names, texts) if text is not None]
    inputs = [run.put(f"again{i}.hlo", text) for i, (_, text) in enumerate(kept)]
    second = run.write_all(inputs)
    third = run.write_all([run.put(f"third{i}.hlo", text or "") for i, text in enumerate(second)])
    fourth = run.write_all([run.put(f"fourth{i}.hlo", text or "") for i, text in enumerate(third)])
    for (name, text), again, settled, last in zip(kept, second, third, fourth):
        if again is None:
            continue
        run.expect_same(f"{name}, read by us", content(again), content(text))
        run.expect_same(f"{name}, settled", last, settled)
        if name in MISREAD:
            continue
        try:
            run.expect(f"{name}, read by XLA", again, jax_print(_hlo.hlo_module_from_text(text)))
        except RuntimeError as error:
            run.fail(f"{name}, read by XLA", str(error)[:300])


def main(driver, data):
    data = pathlib.Path(data)
    with tempfile.TemporaryDirectory() as folder:
        run = Run(driver, folder)
        texts = list(text_modules(run, data))
        cases = [*programs(data), *texts, *as_protos(run, texts), *exhaustive_protos(run)]
        names = [name for name, _, _ in cases]
        wanted = [jax_print(module) for _, _, module in cases]
        ours = run.write_all([path for _, path, _ in cases])
        for name, got, want in zip(names, ours, wanted):
            run.expect(name, got, want)
        read_back(run, names, ours)
        print(f"{run.count} comparisons of {len(cases)} modules, {run.failures} failures")
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
