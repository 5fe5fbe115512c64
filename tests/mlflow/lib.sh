# SPDX-License-Identifier: Apache-2.0
# A real MLflow server from PyPI, in the virtual environment that tests/interop/venv makes. Source tests/system/lib.sh first.
venv=$(tests/interop/venv mlflow) || exit 1

start_server() { # folder of its database, port (0 = a free one)
	server_port=$2
	[ "$2" != 0 ] || server_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	server=http://127.0.0.1:$server_port
	mkdir -p "$1"
	MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false MLFLOW_DISABLE_TELEMETRY=true setsid "${venv%/*}/mlflow" server --workers 1 \
		--backend-store-uri "sqlite:///$1/mlflow.db" --default-artifact-root "$1/artifacts" --host 127.0.0.1 --port "$server_port" \
		>>"$1/log" 2>&1 &
	server_pid=$!
	wait_for 120 curl -sf "$server/health"
}

stop_server() { # signal
	kill "-$1" -- "-$server_pid" 2>/dev/null
	wait "$server_pid" 2>/dev/null
}
