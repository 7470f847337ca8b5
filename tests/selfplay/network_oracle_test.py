"""XLA (jaxlib's CPU client) runs the network that program_driver builds; jax.numpy says what it should return.

In one precision both must agree up to the order of sums, which can move a value across a rounding boundary of bf16 or
FP8 (here they are equal). Between precisions the same network may differ as BOUNDS says: the root mean square of the
difference over that of the f32 logits, at scales that make the largest input of every convolution 448 (FP8), for random networks.
"""

import subprocess
import sys

import jax
import jax.numpy as jnp
import jaxlib._hlo as hlo
import jaxlib._jax as _jax
import numpy as np
from jax import lax
from jaxlib import xla_client

DRIVER = sys.argv[1]
F8, BF16, F32 = jnp.float8_e4m3fn, jnp.bfloat16, jnp.float32
BATCH, ROWS, ACTIONS = 4, 6, 37
AGREE = {"f32": 1e-5, "bf16": 5e-4, "fp8": 1e-3}  # with jax.numpy in this precision
BOUNDS = {"bf16": 0.01, "fp8": 0.03}  # with f32


def load(width, blocks, precision, program="forward", *more):
    command = [DRIVER, program, "othello6", precision, str(BATCH), str(width), str(blocks), "1", *more]
    proto = subprocess.run(command, check=True, capture_output=True).stdout
    module = _jax.mlir.xla_computation_to_mlir_module(hlo.XlaComputation(proto))
    device = jax.devices("cpu")[0]
    executable = device.client.compile_and_load(module, [device], xla_client.CompileOptions())

    def run(arguments):
        arrays = [jax.device_put(a, device) for a in arguments]
        results = executable.execute_sharded(arrays).disassemble_into_single_device_arrays()
        return [np.asarray(r[0]) for r in results]

    return run


def conv(x, w, out):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    preferred_element_type=out, precision="highest").astype(F32)


def layer(p, x, precision):
    """weight * x + bias."""
    if precision == "fp8":
        q = jnp.clip(x / p["input_scale"], -448, 448).astype(F8)
        y = conv(q, p["weight"], F32) * (p["input_scale"] * p["weight_scale"])
    else:
        dtype = {"f32": F32, "bf16": BF16}[precision]
        y = conv(x.astype(dtype), p["weight"].astype(dtype), dtype)
    return y + p["bias"]


def network(p, observation, precision, seen=None):
    """Logits and value; appends the largest input of every convolution to `seen`."""
    stem = F32 if precision == "f32" else BF16
    x = jax.nn.relu(conv(observation.astype(stem), p["stem"].astype(stem), stem))
    for first, second in p["blocks"]:
        if seen is not None:
            seen.append(jnp.abs(x).max())
        y = jax.nn.relu(layer(first, x, precision))
        if seen is not None:
            seen.append(jnp.abs(y).max())
        x = jax.nn.relu(layer(second, y, precision) + x)
    h = x.mean((1, 2))
    return h @ p["policy"], jnp.tanh(h @ p["value"])[:, 0]


# Compiled as a whole, as the program is: XLA leaves out some roundings to bf16.
jitted = jax.jit(network, static_argnums=2)


def random_network(rng, width, blocks, observation):
    """Parameters whose weights are numbers of f8e4m3fn times a scale: every precision has the same network."""

    def normal(*dims, fan):
        return jnp.asarray(rng.normal(size=dims) * np.sqrt(2 / fan), F32)

    def convolution():
        weight = normal(3, 3, width, width, fan=9 * width)
        scale = jnp.abs(weight).max() / 448
        return {"quantized": (weight / scale).astype(F8), "weight_scale": scale,
                "weight": (weight / scale).astype(F8).astype(F32) * scale, "bias": normal(width, fan=20)}

    p = {"stem": normal(3, 3, 3, width, fan=27).astype(BF16).astype(F32),
         "blocks": [(convolution(), convolution()) for _ in range(blocks)],
         "policy": normal(width, ACTIONS, fan=width), "value": normal(width, 1, fan=16 * width)}
    seen = []
    network(p, observation, "f32", seen)
    for i, amax in enumerate(seen):
        p["blocks"][i // 2][i % 2]["input_scale"] = amax / 448
    return p


def in_precision(p, precision):
    """What the oracle and the program are given."""
    def convert(c):
        weight = {"fp8": c["quantized"], "bf16": c["weight"].astype(BF16), "f32": c["weight"]}[precision]
        return {**c, "weight": weight}
    return {**p, "blocks": [tuple(map(convert, pair)) for pair in p["blocks"]]}


def arguments(p, precision):
    """In the order of NetworkParameters."""
    plain = F32 if precision == "f32" else BF16
    flat = [p["stem"].astype(plain)]
    for c in (c for pair in p["blocks"] for c in pair):
        if precision == "fp8":
            flat += [c["weight"], c["weight_scale"], c["input_scale"], c["bias"]]
        else:
            flat += [c["weight"], c["bias"]]
    return [*flat, p["policy"], p["value"]]


def distance(a, b):
    """Of the logits: root mean square of the difference, relative to `b`."""
    return float(np.sqrt(np.mean((a - b) ** 2) / np.mean(b**2)))


def main():
    for seed, (width, blocks) in enumerate([(16, 1), (32, 3), (64, 10), (48, 0)]):
        rng = np.random.default_rng(seed)
        observation = jnp.asarray(rng.integers(0, 2, (BATCH, ROWS, ROWS, 3)), F32)
        p = random_network(rng, width, blocks, observation)
        seen = []
        exact = [np.asarray(r) for r in network(p, observation, "f32", seen)]
        calibration = load(width, blocks, "f32", "calibration")
        *_, largest = calibration([*arguments(in_precision(p, "f32"), "f32"), observation])
        assert largest.shape == (2 * blocks,)
        np.testing.assert_allclose(largest, np.asarray(seen, np.float32), rtol=1e-5)
        assert exact[0].shape == (BATCH, ACTIONS) and exact[0].std() > 0.1
        for precision in ("f32", "bf16", "fp8"):
            given = in_precision(p, precision)
            want = [np.asarray(r) for r in jitted(given, observation, precision)]
            got = load(width, blocks, precision)([*arguments(given, precision), observation])
            for more in (["in_pieces"], ["fp8_in_f32"], ["fp8_in_f32", "in_pieces"]):  # the same network
                other = load(width, blocks, precision, "forward", *more)([*arguments(given, precision), observation])
                assert distance(other[0], got[0]) <= AGREE[precision], more
                assert np.abs(other[1] - got[1]).max() <= AGREE[precision], more
            assert [r.shape for r in got] == [r.shape for r in want]
            agree, lost = distance(got[0], want[0]), distance(got[0], exact[0])
            print(f"width {width}, {blocks} blocks, {precision}: {agree:.2g} from jax.numpy, {lost:.2g} from f32")
            assert agree <= AGREE[precision]
            assert np.abs(got[1] - want[1]).max() <= AGREE[precision]
            assert lost <= BOUNDS.get(precision, AGREE["f32"])
            assert np.abs(got[1] - exact[1]).max() <= BOUNDS.get(precision, AGREE["f32"])


if __name__ == "__main__":
    main()
