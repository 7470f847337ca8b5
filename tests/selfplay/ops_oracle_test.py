"""XLA (jaxlib's CPU client) runs the module that ops_driver builds; jax.numpy and jax.random say
what it should return."""

import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "hlo"))
from builder_oracle_test import load  # noqa: E402

SEED = 123456789012345


def expected_ops(x, n, row, columns, cube, page):
    results = []
    for axis in (-1, 0):
        for f in (jnp.sum, jnp.mean, jnp.max, jnp.min, jnp.cumsum, jax.nn.softmax,
                  jax.nn.log_softmax, jnp.argmax):
            results.append(f(x, axis=axis))
        for f in (jnp.sum, jnp.max, jnp.min, jnp.cumsum, jnp.argmax):
            results.append(f(n, axis=axis))
        results.append(jnp.any(x > 0, axis=axis))
        results.append(jnp.all(x > 0, axis=axis))
    results.append(jax.nn.one_hot(row, 5))
    results.extend(jax.lax.top_k(jnp.where(x == x, x, 0), 4))
    results.append(jnp.clip(x, -0.5, 0.75))
    results.append(jnp.where(row[:, None] > 2, x, 9))
    results.append(jnp.where(x > 0, x, row[:, None].astype(np.float32)))
    results.append(jnp.where(jnp.any(row > 5), x, -x))
    batch = np.arange(4)
    results.append(x[batch, row])
    results.append(cube[batch, row])
    results.append(jnp.take_along_axis(x, columns, axis=-1))
    results.append(jnp.asarray(cube).at[batch, row].set(page))
    return results


def expected_random(key, data):
    dims = (3, 5, 7)
    wrapped = jax.random.wrap_key_data(key, impl="threefry2x32")
    words = jax.random.key_data
    seeded = jax.random.wrap_key_data(
        np.array([SEED >> 32, SEED & 0xFFFFFFFF], np.uint32), impl="threefry2x32")
    return [
        words(jax.random.split(wrapped, 3)),
        words(jax.random.fold_in(wrapped, data)),
        jax.random.bits(wrapped, dims),
        jax.random.bits(wrapped, ()),
        jax.random.uniform(wrapped, dims),
        jax.random.uniform(wrapped, dims, minval=-2, maxval=3),
        jax.random.gumbel(wrapped, dims),
        words(jax.random.fold_in(seeded, 77)),
    ]


def check_samples(samples):
    """Kolmogorov and Smirnov's test of 20,000 samples each, whose keys are always the same."""
    normal, small, large, dirichlet = samples
    distributions = [
        (normal, stats.norm()),
        (np.exp(small), stats.gamma(0.3)),
        (np.exp(large), stats.gamma(2.5)),
        (dirichlet[:, 0], stats.beta(0.3, 4 * 0.3)),
        (dirichlet[:, :2].sum(-1), stats.beta(2 * 0.3, 3 * 0.3)),
    ]
    for values, distribution in distributions:
        result = stats.kstest(values.ravel().astype(np.float64), distribution.cdf)
        assert result.pvalue > 1e-3, (distribution.dist.name, result)
    np.testing.assert_allclose(dirichlet.sum(-1), 1, rtol=1e-5)


def check(run, x, seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(-4, 4, (4, 7)).astype(np.int32)
    row = rng.integers(0, 7, 4).astype(np.int32)
    columns = rng.integers(0, 7, (4, 3)).astype(np.int32)
    cube = rng.normal(size=(4, 7, 2)).astype(np.float32)
    page = rng.normal(size=(4, 2)).astype(np.float32)
    key = rng.integers(0, 2**32, 2, dtype=np.uint32)
    data = np.array(rng.integers(0, 2**31), np.int32)
    got = run([x, n, row, columns, cube, page, key, data])
    want = expected_ops(x, n, row, columns, cube, page)
    first_random = len(want)
    want += expected_random(key, data)
    check_samples(got[len(want):])
    got = got[:len(want)]
    for i, (g, w) in enumerate(zip(got, want)):
        message = f"result {i}, seed {seed}"
        w = np.asarray(w)
        assert g.shape == w.shape and g.dtype == w.dtype, (message, g.dtype, w.dtype, g.shape)
        if i >= first_random or w.dtype != np.float32:
            np.testing.assert_array_equal(g, w, err_msg=message)
        else:
            np.testing.assert_allclose(g, w, rtol=2e-6, atol=1e-6, err_msg=message)


def main():
    proto = subprocess.run([sys.argv[1]], check=True, capture_output=True).stdout
    run = load(proto)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        check(run, rng.normal(size=(4, 7)).astype(np.float32), seed)
    # Ties everywhere, infinities, and a NaN in one row.
    tied = np.random.default_rng(9).integers(-1, 2, (4, 7)).astype(np.float32)
    check(run, tied, 10)
    tied[0, 3] = -np.inf
    check(run, tied, 11)
    tied[2, 4] = np.nan
    check(run, tied, 12)


if __name__ == "__main__":
    main()
