"""XLA (jaxlib's CPU client) loads and runs the module that builder_driver builds; numpy says what
it should return."""

import subprocess
import sys

import jaxlib._hlo as hlo
import jaxlib._jax as _jax
import numpy as np
from jaxlib import xla_client


def load(proto):
    """A function from the arguments to the results of the module, compiled once."""
    module = _jax.mlir.xla_computation_to_mlir_module(hlo.XlaComputation(proto))
    client = xla_client.make_cpu_client()
    device = client.local_devices()[0]
    executable = client.compile_and_load(module, [device], xla_client.CompileOptions())

    def run(arguments):
        buffers = [
            _jax.dlpack_managed_tensor_to_buffer(a.__dlpack__(), device, None) for a in arguments
        ]
        results = executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
        return [np.from_dlpack(r[0]) for r in results]

    return run


def expected(x, selector):
    looped = x
    for i in range(3):
        looped = looped * 2 + np.float32(i)
    product = x @ looped.T
    counted = np.broadcast_to(np.arange(3, dtype=np.float32), x.shape)
    selected = np.where(x > counted, x, np.clip(x - counted, -1, 1))
    choice = [np.negative, np.abs, np.sign][selector](x)
    convolved = x - np.pad(x, ((0, 0), (0, 1)))[:, 1:]
    moved = x.copy()
    moved[0, 1:] = x[1, 1:]
    return [looped, product, product.sum(0) + 0.5, selected, choice, convolved, moved.T] + data(x)


def data(x):
    wide = np.array([[1, -2, 2**62], [-(2**62), 0, 5]], np.int64)
    return [
        np.array([[0.5, -1, 2], [1e30, 0, -3]], np.float32),
        np.array([[1, 0, 0], [1, 1, 0]], bool),
        np.array([[1, 0, 200], [1, 255, 0]], np.uint8),
        wide,
        wide.view(np.uint64),
        x[:, ::-1],
        x.view(np.uint8).reshape(2, 3, 4),
        x,
        wide >> 3,
        (wide.view(np.uint64) >> np.uint64(3)).view(np.int64),
        np.fmod(wide, 3),
        np.bitwise_count(wide.view(np.uint64)).astype(np.int64),
        ~(wide ^ 6),
        np.sort(x, 1),
        np.argsort(x, 1, kind="stable").astype(np.int32),
        x.sum(1),
        np.maximum(x.max(1), 0),
        np.minimum(x.min(1), 0),
    ]


def main():
    proto = subprocess.run([sys.argv[1]], check=True, capture_output=True).stdout
    run = load(proto)
    x = np.array([[1.5, -2.0, 3.25], [0.5, 4.0, -1.0]], np.float32)
    for selector in range(3):
        got = run([x, np.array(selector, np.int32)])
        want = expected(x, selector)
        assert len(got) == len(want), (len(got), len(want))
        for i, (g, w) in enumerate(zip(got, want)):
            assert g.dtype == w.dtype, f"result {i}: {g.dtype}, not {w.dtype}"
            np.testing.assert_allclose(g, w, rtol=1e-6, err_msg=f"result {i}, selector {selector}")


if __name__ == "__main__":
    main()
