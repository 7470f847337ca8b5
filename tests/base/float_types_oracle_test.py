"""Compares base/float_types with ml_dtypes: every bit pattern decoded; every bf16 value, every midpoint between
neighbouring values and the floats just beside it encoded. ml_dtypes goes from double through float, so the doubles
just beside a midpoint are checked against the neighbours themselves.

usage: float_types_oracle_test.py DRIVER
"""
import subprocess
import sys

import ml_dtypes
import numpy as np

FORMATS = {
    "f8e5m2": ml_dtypes.float8_e5m2, "f8e4m3": ml_dtypes.float8_e4m3, "f8e3m4": ml_dtypes.float8_e3m4,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e8m0fnu": ml_dtypes.float8_e8m0fnu, "f6e3m2fn": ml_dtypes.float6_e3m2fn,
    "f6e2m3fn": ml_dtypes.float6_e2m3fn, "f4e2m1fn": ml_dtypes.float4_e2m1fn,
    "bf16": ml_dtypes.bfloat16, "f16": np.float16,
}
BITS = {"bf16": 16, "f16": 16, "f6e3m2fn": 6, "f6e2m3fn": 6, "f4e2m1fn": 4}


def run(driver, mode, name, dtype, data=b""):
    out = subprocess.run([driver, mode, name], input=data, stdout=subprocess.PIPE, check=True).stdout
    return np.frombuffer(out, dtype)


def midpoints(values):
    """(lower neighbour, midpoint, upper neighbour) of all adjacent finite values."""
    finite = np.unique(values[np.isfinite(values)])
    return finite[:-1], (finite[1:] + finite[:-1]) / 2, finite[1:]


def inputs(name, values):
    finite = np.unique(values[np.isfinite(values)])
    step = finite[-1] - finite[-2]
    edge = finite[-1] + step * np.array([0.25, 0.5, 0.75, 1.0, 2.0])
    around = np.concatenate([midpoints(values)[1], edge, -edge]).astype(np.float32)
    beside = [np.nextafter(around, np.float32(np.inf)), np.nextafter(around, np.float32(-np.inf))]
    bf16 = np.arange(65536, dtype=np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
    result = np.concatenate([bf16, around, *beside]).astype(np.float64)
    if name == "f8e8m0fnu":  # ml_dtypes does not round subnormal floats to the nearest value here
        result = result[~((np.abs(result) < 2.0**-126) & (result > 0))]
    if name == "f16":  # numpy keeps NaN payloads
        result = result[~np.isnan(result)]
    return result


def main(driver):
    bad = 0
    for name, dtype in FORMATS.items():
        bits = BITS.get(name, 8)
        unsigned = np.uint16 if bits == 16 else np.uint8
        patterns = np.arange(1 << bits, dtype=unsigned)
        with np.errstate(all="ignore"):
            want = patterns.view(dtype).astype(np.float64)
            got = run(driver, "decode", name, np.float64)
            same = (np.isnan(want) & np.isnan(got)) | (want.view(np.uint64) == got.view(np.uint64))
            values = inputs(name, want)
            want_bits = values.astype(dtype).view(unsigned)
            got_bits = run(driver, "encode", name, np.uint32, values.tobytes())
            low, middle, high = midpoints(want)
            beside = np.concatenate([np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf)])
            beside_bits = run(driver, "encode", name, np.uint32, beside.tobytes())
            beside_got = beside_bits.astype(unsigned).view(dtype).astype(np.float64)
        not_nearest = int((beside_got != np.concatenate([low, high])).sum())
        wrong = np.flatnonzero(want_bits != got_bits)
        for i in np.flatnonzero(~same)[:5]:
            print(f"{name}: decode {i:#x}: {got[i]!r}, ml_dtypes {want[i]!r}")
        for i in wrong[:5]:
            print(f"{name}: encode {values[i]!r}: {got_bits[i]:#x}, ml_dtypes {want_bits[i]:#x}")
        print(f"{name}: {len(patterns)} decoded, {len(values)} encoded, {len(wrong) + (~same).sum()} differ, "
              f"{not_nearest} of {len(beside)} doubles beside a midpoint not rounded to the nearest")
        bad += len(wrong) + int((~same).sum()) + not_nearest
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
