#!/usr/bin/env bash
# One policy move on a GPU: bf16, FP8 as the stock plugin compiles it, FP8 with the fix. Two steps,
# since the machine with the GPU may have nothing but a driver, CUDA 13's libraries and JAX:
#   bench/gpu/run.sh prepare            where Eightfold builds: puts what it needs into bench/gpu/carry
#   bench/gpu/run.sh [TARGET] [RUNS]    on the GPU machine (h200, 20): under 8 minutes; JSON on stdout
#   bench/gpu/run.sh --cpu              the same without a GPU, as far as it goes
set -euo pipefail
cd "$(dirname "$0")/../.."
carry=bench/gpu/carry
export TF_CPP_MIN_LOG_LEVEL=3  # the plugin's own chatter

prepare() {
  cmake --preset bench >/dev/null
  cmake --build --preset bench --target device_move -- --quiet
  rm -rf "$carry"
  mkdir -p "$carry"
  cp build-bench/device_move tests/data/programs/move.pb tests/data/programs/move_bf16.pb "$carry"
  # The libraries that a bare machine may lack.
  ldd build-bench/device_move | awk '$3 ~ /libfmt/ { print $3 }' | xargs -I{} cp -L {} "$carry"
  strip "$carry/device_move"
  du -sh "$carry"
}

# The plugin that pip installed beside JAX, and the CUDA libraries that came with it.
find_plugin() {
  python3 - <<'PY'
import glob, os, site, sysconfig
places = [sysconfig.get_paths()["purelib"], *site.getsitepackages()]
for place in places:
    for plugin in sorted(glob.glob(os.path.join(place, "jax_plugins/xla_cuda1*/xla_cuda_plugin.so"))):
        print(plugin)
        print(":".join(sorted(glob.glob(os.path.join(place, "nvidia/*/lib")))))
        raise SystemExit
raise SystemExit("no jax_plugins/xla_cuda*/xla_cuda_plugin.so is installed")
PY
}

case "${1:-}" in
  prepare) prepare ;;
  --cpu) "$carry/device_move" cpu cpu h200 "$carry" "${2:-1}" ;;
  *)
    { read -r plugin; read -r libraries; } < <(find_plugin)
    export LD_LIBRARY_PATH="$PWD/$carry:$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    timeout 480 "$carry/device_move" cuda "$plugin" "${1:-h200}" "$carry" "${2:-20}"
    ;;
esac
