"""Compiles programs with the CUDA plugin that JAX loaded into this process, for a GPU that is not there."""

import os
import pathlib

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import topologies

F8 = jnp.float8_e4m3fn
X, W = jax.ShapeDtypeStruct((1, 6, 6, 128), F8), jax.ShapeDtypeStruct((3, 3, 128, 128), F8)
TARGET = pathlib.Path(os.environ["DATA"]) / "targets" / "rtx5070.txtpb"


def conv(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    preferred_element_type=jnp.float32)


def repro(x, w):
    """One FP8 convolution in the entry computation, one in a loop."""
    body = lambda c: (c[0] + 1, c[1] + conv(c[1].astype(F8), w))
    return lax.while_loop(lambda c: c[0] < 4, body, (0, conv(x, w)))[1]


def compile_for_cuda(f, *shapes):
    topology = topologies.get_topology_desc("", "cuda", target_config=TARGET.read_text(), topology="1x1x1")
    mesh = jax.sharding.Mesh(topology.devices[:1], "x")
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    shapes = [jax.ShapeDtypeStruct(s.shape, s.dtype, sharding=sharding) for s in shapes]
    return jax.jit(f).trace(*shapes).lower(lowering_platforms=("cuda",)).compile()


def calls(compiled):
    """"GRAPH LEGACY": the cuDNN calls in the compiled program's text."""
    text = compiled.as_text()
    return " ".join(str(text.count(f'custom_call_target="__cudnn$conv{name}"')) for name in ("ForwardGraph", "Forward"))


def fresh_repro():
    """The calls of repro, compiled anew: JAX compiles one function once."""
    return calls(compile_for_cuda(lambda x, w: repro(x, w), X, W))
