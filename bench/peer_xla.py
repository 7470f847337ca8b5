"""Times XLA's own reading and writing of HLO, as jaxlib exposes it, on one thread: processor time.

usage: peer_xla.py FILE.hlo FILE.pb REPETITIONS     prints {"read_text": [seconds, ...], ...} as JSON
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


def main(text_path, proto_path, repetitions):
    with open(text_path, encoding="utf-8") as file:
        text = file.read()
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
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
