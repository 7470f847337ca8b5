"""One FP8 convolution in the entry computation, one in a loop: which of them run in FP8?"""

import jax
import jax.numpy as jnp
from jax import lax

import eightfold

F8 = jnp.float8_e4m3fn


def conv(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    preferred_element_type=jnp.float32)


def f(x, w):
    def body(state):
        i, y = state
        return i + 1, y + conv(y.astype(F8), w)

    return lax.while_loop(lambda state: state[0] < 4, body, (0, conv(x, w)))[1]


x, w = jnp.ones((1, 6, 6, 128), F8), jnp.ones((3, 3, 128, 128), F8)

report = eightfold.audit(jax.jit(f), x, w, target="rtx5070", plugin="0.10.2")
report.print()
for kernel in report.demoted:
    print(kernel.source, "|", kernel.cause)

fixed = eightfold.audit(jax.jit(f), x, w, target="rtx5070", plugin="0.10.2", fix=True)
print(fixed)
print(fixed.totals.graph_convolutions, fixed.totals.legacy_convolutions)
