"""Times XLA's own reading and writing of HLO, as jaxlib exposes it, on one thread: processor time.

usage: peer_xla.py FILE.hlo FILE.pb REPETITIONS       prints {"read_text": [seconds, ...], ...} as JSON
       peer_xla.py --serialize FILE.hlo OUT.pb        writes the text as XLA's proto
"""
import json
import sys
import time

from jaxlib import _hlo


def timed(repetitions, action):
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        result = action()
        times.append(time.process_time() - start)
        del result
    return times


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def serialize(text_path, proto_path):
    with open(proto_path, "wb") as file:
        file.write(_hlo.hlo_module_from_text(read_text(text_path)).as_serialized_hlo_module_proto())


def measure(text_path, proto_path, repetitions):
    text = read_text(text_path)
    with open(proto_path, "rb") as file:
        proto = file.read()
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    module = _hlo.HloModule.from_serialized_hlo_module_proto(proto)
    times = {
        "read_text": timed(repetitions, lambda: _hlo.hlo_module_from_text(text)),
        "read_proto": timed(repetitions, lambda: _hlo.HloModule.from_serialized_hlo_module_proto(proto)),
        "write_text": timed(repetitions, lambda: module.to_string(options)),
        "write_proto": timed(repetitions, module.as_serialized_hlo_module_proto),
    }
    json.dump(times, sys.stdout)


if __name__ == "__main__":
    if sys.argv[1] == "--serialize":
        serialize(sys.argv[2], sys.argv[3])
    else:
        measure(sys.argv[1], sys.argv[2], int(sys.argv[3]))
