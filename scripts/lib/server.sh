# SPDX-License-Identifier: BSD-3-Clause
# Starts one rpcrdma-nfsd, waits until it is ready, ends it by its process id. Needs ui.sh.
server_pid=''
server_address=''
server_fabric=''

# start_server BIN LOG OPTION... sets server_pid, and sets server_address and server_fabric from the ready line.
start_server() {
  local bin=$1 log=$2 ready tries
  shift 2
  "$bin" "$@" >"$log.ready" 2>"$log" &
  server_pid=$!
  for ((tries = 0; tries < 200; ++tries)); do
    ready=$(grep -m1 '^ready ' "$log.ready" || true)
    [[ -n $ready ]] && break
    if ! kill -0 "$server_pid" 2>/dev/null; then
      cat "$log" >&2
      die "the server exited before it was ready"
    fi
    sleep 0.05
  done
  [[ -n $ready ]] || die "the server printed no ready line within 10 s"
  server_address=$(sed -n 's/.*rdma=\([^ ,]*\).*/\1/p' <<<"$ready")
  server_fabric=$(sed -n 's/.*fabric=\([^ ,]*\).*/\1/p' <<<"$ready")
}

# stop_server drains the server and returns its exit status. Kills a server that has not ended after 15 s.
stop_server() {
  local pid=$server_pid tries status=0
  [[ -n $pid ]] || return 0
  server_pid=''
  kill -TERM "$pid" 2>/dev/null || true
  for ((tries = 0; tries < 150; ++tries)); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  if ((tries == 150)); then kill -KILL "$pid" 2>/dev/null || true; fi
  wait "$pid" 2>/dev/null || status=$?
  return "$status"
}
