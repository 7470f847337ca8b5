"""The partitioned programs: an FP8 convolution whose batch is sharded over 8 devices, once with Shardy's shardings
(JAX's default) as HLO and as StableHLO, once with GSPMD's.

    JAX_PLATFORMS=cpu JAX_HLO_SOURCE_FILE_CANONICALIZATION_REGEX='.*/' \\
        XLA_FLAGS=--xla_force_host_platform_device_count=8 python sharded.py

needs jax 0.10.2.
"""
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P

F8 = jnp.float8_e4m3fn
mesh = jax.make_mesh((8,), ("d",))

def convolution(x, w):
    y = jax.lax.conv_general_dilated(x.astype(jnp.bfloat16).astype(F8), w, (1, 1), "SAME",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"), preferred_element_type=jnp.float32)
    return jax.nn.relu(y).astype(jnp.bfloat16)

def lower():
    x = jax.ShapeDtypeStruct((64, 6, 6, 128), jnp.float32, sharding=NamedSharding(mesh, P("d")))
    w = jax.ShapeDtypeStruct((3, 3, 128, 128), F8, sharding=NamedSharding(mesh, P()))
    return jax.jit(convolution).trace(x, w).lower(lowering_platforms=("cuda",))

def write_hlo(name): open(name, "wb").write(lower().compiler_ir("hlo").as_serialized_hlo_module_proto())

write_hlo("sharded.pb")
open("sharded.mlir", "w").write(lower().as_text())
jax.config.update("jax_use_shardy_partitioner", False)
jax.clear_caches()
write_hlo("sharded_gspmd.pb")
