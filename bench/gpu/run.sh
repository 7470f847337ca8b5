#!/usr/bin/env bash
# Self-play on a GPU: bf16, FP8 as the stock plugin compiles it, FP8 with the fix. First the policy
# move of tests/data/programs, whose answers are compared, too; then the programs that Eightfold
# builds, network alone and move, for 256 and 1024 games; then whole games. Two steps, since the
# machine with the GPU may have nothing but a driver, CUDA 13's libraries and JAX:
#   bench/gpu/run.sh prepare            where Eightfold builds: puts what it needs into bench/gpu/carry
#   bench/gpu/run.sh [TARGET] [RUNS]    on the GPU machine (h200, 20): under 8 minutes; JSON on stdout
#   bench/gpu/run.sh --cpu              the same without a GPU, as far as it goes, with a small network
set -euo pipefail
cd "$(dirname "$0")/../.."
carry=bench/gpu/carry
export TF_CPP_MIN_LOG_LEVEL=3  # the plugin's own chatter

prepare() {
  cmake --preset bench >/dev/null
  cmake --build --preset bench --target device_move --target eightfold -- --quiet
  rm -rf "$carry"
  mkdir -p "$carry"
  cp build-bench/device_move build-bench/eightfold tests/data/programs/move.pb tests/data/programs/move_bf16.pb "$carry"
  # The libraries that a bare machine may lack.
  ldd build-bench/device_move build-bench/eightfold | awk '$3 ~ /libfmt/ { print $3 }' | xargs -I{} cp -L {} "$carry"
  strip "$carry/device_move" "$carry/eightfold"
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

# all PLATFORM PLUGIN TARGET RUNS GAMES BATCHES SELFPLAY_FLAGS…: one JSON object. What fails is null, and says why
# on standard error.
all() {
  local platform=$1 plugin=$2 target=$3 runs=$4 games=$5 batches=$6 what batch flags=("${@:7}") fix=() games_folder
  [[ $platform == cuda ]] && flags+=(--target "$target") fix=(--fix)
  games_folder=$(mktemp -d)
  trap 'rm -rf "$games_folder"' RETURN
  printf '{"policy_move":\n'
  "$carry/device_move" "$platform" "$plugin" "$target" "$carry" "$runs" || echo null
  for what in forward move; do
    for batch in $batches; do
      printf ',"%s_%s":\n' "$what" "$batch"
      "$carry/eightfold" bench "$what" --device "$platform" --batch "$batch" --runs "$runs" \
        --precision bf16,fp8 --format json "${flags[@]}" || echo null
    done
  done
  printf ',"play":\n'
  "$carry/eightfold" play --device "$platform" --games "$games" --batch "${batches%% *}" --format json \
    "${fix[@]}" --out "$games_folder/games" "${flags[@]}" || echo null
  printf '}\n'
}

case "${1:-}" in
  prepare) prepare ;;
  --cpu)
    export LD_LIBRARY_PATH="$PWD/$carry${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    all cpu cpu h200 "${2:-1}" 8 "8" --width 16 --blocks 1
    ;;
  *)
    { read -r plugin; read -r libraries; } < <(find_plugin)
    export LD_LIBRARY_PATH="$PWD/$carry:$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export carry
    export -f all
    timeout 480 bash -c 'all "$@"' all cuda "$plugin" "${1:-h200}" "${2:-20}" 512 "256 1024" --plugin "$plugin"
    ;;
esac
