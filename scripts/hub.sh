# shellcheck shell=bash
# The hub that ./run asks: its own, or the one that another ./run has on the same store. Sourced after common.sh.

# start_hub TELLTALE STORE LOG OPTION...: a hub (TELLTALE is the command) that keeps in STORE. Sets hub_url, and hub to
# its process, or to nothing where the hub is another command's. OPTION...: its addresses; when these are taken, it
# gets ports of its own. Two that start at once must take turns: hold a lock.
start_hub() {
  local telltale=$1 store=$2 log=$3
  shift 3
  mkdir -p "$store"
  if [[ -e $store/LOCK ]] && ! flock --nonblock "$store/LOCK" true; then
    hub=
    if hub_url_of "$log" && "$telltale" store --hub "$hub_url" >/dev/null 2>&1; then return; fi
    fail "the store in $store is open in a process that is no hub of ./run: stop that one"
  fi
  if launch_hub "$telltale" "$store" "$log" "$@"; then return; fi
  grep -q 'the port is in use' "$log" || fail "the hub did not start: $(cat "$log")"
  launch_hub "$telltale" "$store" "$log" --listen 127.0.0.1:0 --grpc 127.0.0.1:0 ||
    fail "the hub did not start: $(cat "$log")"
}

# launch_hub TELLTALE STORE LOG OPTION...: false where it ends before it listens.
launch_hub() {
  local telltale=$1 store=$2 log=$3 i
  shift 3
  "$telltale" serve --store "$store" "$@" >"$log" 2>&1 8>&- &
  hub=$!
  for ((i = 0; i < 400; i++)); do
    if hub_url_of "$log"; then return 0; fi
    kill -0 "$hub" 2>/dev/null || return 1
    sleep 0.05
  done
  fail "the hub said no port within 20 s: $(cat "$log")"
}

# hub_url_of LOG: sets hub_url to where the hub that wrote LOG answers.
hub_url_of() {
  [[ -e $1 && $(cat "$1") =~ 'the hub listens http:'([0-9]+) ]] || return 1
  hub_url=http://127.0.0.1:${BASH_REMATCH[1]}
}

# end_hub: where it is ours.
end_hub() {
  [[ -n ${hub:-} ]] || return 0
  kill "$hub" 2>/dev/null || true
  wait "$hub" 2>/dev/null || true
}
