# shellcheck shell=bash
# What run, test and bench share; sourced, after `set -euo pipefail`. Sets root and jobs.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)
export CCACHE_BASEDIR=$root # the same objects serve every checkout

say() { echo "== $*"; }

fail() { # MESSAGE
  echo "$(basename "$0"): $1" >&2
  exit 1
}

is_part() { [[ $1 =~ ^(core|gpu|hub|cli|prover|cluster|shape)$ && -e $root/$1/CMakeLists.txt ]]; }

# The parts that exist so far, lowest first; a part is a folder with a CMakeLists.txt.
all_parts() {
  local part
  for part in core gpu hub cli prover cluster shape; do
    if is_part "$part"; then echo "$part"; fi
  done
}

join() { # SEPARATOR WORD...
  local IFS=$1
  shift
  echo "$*"
}

# lock BUILD: takes build/BUILD for this process alone until it ends or locks another; waits for its turn.
lock() {
  mkdir -p "$root/build/$1"
  exec 8>"$root/build/$1/.lock"
  if ! flock --nonblock 8; then
    say "build/$1 is in use by another command; waiting for it"
    flock 8
  fi
}

# logged LOG COMMAND...: runs it with its output in LOG. When it fails: the log's end, and one line that names it.
logged() {
  local log=$1 rc=0
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >>"$log" 2>&1 8>&- || rc=$?
  if [[ $rc -ne 0 ]]; then
    tail -n 40 "$log" >&2
    echo "FAILED (exit code $rc): $* -- log: $log" >&2
  fi
  return "$rc"
}

# build PRESET LOG TARGETS CMAKE-OPTION...: configures build/PRESET and builds the targets (a word each).
build() {
  local preset=$1 log=$2 targets=$3
  shift 3
  # shellcheck disable=SC2086 # targets is a list
  logged "$log" cmake --preset "$preset" -S "$root" "$@" &&
    logged "$log" cmake --build "$root/build/$preset" -j "$jobs" --target $targets
}
