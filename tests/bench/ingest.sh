# SPDX-License-Identifier: Apache-2.0
# Shared by the ingest benchmarks: a scratch folder in memory, servers, rounds of Kiln, rounds of the peers. Source it.
# A round appends "records bytes seconds CPU-seconds" to $work/WHO; bytes are those of the objects. WHO is a peer, kiln, or
# sustained: Kiln from the end of its first epoch to the end of its last but one (without CPU-seconds of its own).
# KILN_BENCH_ROUNDS rounds (7) of each, interleaved. A benchmark defines node_made(), which prepares a new node.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
rounds=${KILN_BENCH_ROUNDS:-7}
work=$(mktemp -d /dev/shm/kiln-ingest-XXXXXX)
TIMEFORMAT='%U %S'

clean_up() {
	local pids
	pids=$(jobs -p)
	[ -z "$pids" ] || kill $pids 2>/dev/null || true
	[ ! -s "$work/nginx.pid" ] || kill "$(cat "$work/nginx.pid")"
	[ ! -e "$work/s3" ] || tools/store/radosgw stop "$work/s3"
	[ ! -e "$work/node" ] || KILN_ROOT=$work/node "$KILN_BIN/kiln-oneshot" release
	rm -rf "$work"
}
trap clean_up EXIT

# ---- Data ----

shards() { # folder, shards, records each, "plain" or "gzip": 512 floats and 2 labels a record
	"$KILN_BUILD/system/make_shards" "$work/$1" train "$2" "$3" "$4" 512
}

stored() { # folder: bytes of its files
	find -L "$work/$1" -type f -printf '%s\n' | awk '{ n += $1 } END { printf "%.0f", n }'
}

# ---- Servers ----

start_radosgw() {
	echo "starting a radosgw" >&2
	KILN_S3_BYTES=$((6 << 30)) tools/store/radosgw start "$work/s3" >/dev/null
	. "$work/s3/env"
	source_url=s3://$KILN_S3_BUCKET endpoint=$KILN_S3_ENDPOINT
	export S3_ENDPOINT=$endpoint AWS_REGION=us-east-1 S3_ENDPOINT_URL=$endpoint # for TensorFlow, for Streaming
}

upload() { # folder, copies of each file; its signed URLs come into $work/urls
	"$python" tests/bench/bucket.py put "$work/$1" "$1" "${2:-1}"
	"$python" tests/bench/bucket.py urls "$1" >"$work/urls"
}

# Serves the files below $work as a bucket "kiln". To an unsigned list request nginx answers with a page of a list that this
# script wrote.
start_nginx() { # folder
	local port
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	mkdir "$work/bucket"
	mv "$work/$1" "$work/bucket/$1"
	ln -s "$work/bucket/$1" "$work/$1"
	python3 - "$work/bucket" "$1" "$work" <<-'PY'
		import os, sys
		bucket, folder, work = sys.argv[1:]
		names = sorted(os.path.relpath(f"{path}/{name}", f"{bucket}/{folder}") for path, _, names in os.walk(f"{bucket}/{folder}") for name in names)
		for first in range(0, max(len(names), 1), 1000):
		    more = first + 1000 < len(names)
		    with open(f"{work}/list-{first}.xml", "w") as page:
		        page.write('<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>kiln</Name>')
		        page.write(f"<IsTruncated>{str(more).lower()}</IsTruncated><EncodingType>url</EncodingType>")
		        if more:
		            page.write(f"<NextContinuationToken>{first + 1000}</NextContinuationToken>")
		        for name in names[first:first + 1000]:
		            st = os.stat(f"{bucket}/{folder}/{name}")  # nginx makes its ETags of time and size
		            page.write(f"<Contents><Key>{folder}/{name}</Key><Size>{st.st_size}</Size>")
		            page.write(f"<ETag>\"{int(st.st_mtime):x}-{st.st_size:x}\"</ETag><LastModified>2020-01-01T00:00:00Z</LastModified></Contents>")
		        page.write("</ListBucketResult>")
	PY
	cat >"$work/nginx.conf" <<-CONF
		user $(id -un) $(id -gn);
		worker_processes auto;
		pid $work/nginx.pid;
		error_log $work/nginx.log;
		events {}
		http {
			access_log off;
			sendfile on;
			tcp_nopush on;
			keepalive_requests 1000000;
			client_body_temp_path $work/tmp; proxy_temp_path $work/tmp; fastcgi_temp_path $work/tmp;
			uwsgi_temp_path $work/tmp; scgi_temp_path $work/tmp;
			default_type application/octet-stream;
			map \$args \$page {
				default 0;
				"~continuation-token=(?<token>[0-9]+)" \$token;
			}
			server {
				listen 127.0.0.1:$port;
				location ~ ^/kiln/?$ { root $work; default_type application/xml; try_files /list-\$page.xml =404; }
				location /kiln/ { alias $work/bucket/; }
			}
		}
	CONF
	/usr/sbin/nginx -c "$work/nginx.conf" -e "$work/nginx.log"
	source_url=s3://kiln endpoint=http://127.0.0.1:$port
	(cd "$work/bucket" && find "$1" -type f -printf "$endpoint/kiln/%p\n" | sort) >"$work/urls"
}

# ---- Rounds ----

config() { # folder, epochs, more keys; writes the configuration, with $records an epoch
	kiln_folder=$1
	kiln_rows=$(($2 * ${records:?}))
	kiln_bytes=$(($2 * $(stored "$1") * ${copies:-1}))
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "ingest"; epochs = $2; };
		source: { url = "$source_url/$1"; endpoint = "$endpoint"; };
		sink: { url = "file://$work/runs"; };
		split: { test_glob = ""; validation_percent = 0; };
		ring: { small_pages = true; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 512 ]; }, { name = "label"; dtype = "int64"; shape = [ ${labels:-2} ]; } );
		model: { layers = ( { op = "dense"; units = ${labels:-2}; }, { op = "softmax"; } ); };
		${3:-}
	CONF
}

kiln_pass() {
	local reader
	"$KILN_BUILD/system/fetch_reader" --rate &
	reader=$!
	"$KILN_BIN/kiln-fetchd" 2>"$KILN_ROOT/log" || {
		tail -n 3 "$KILN_ROOT/log" >&2
		kill $reader
	}
	wait $reader
}

# Prints the CRC of each row of an epoch, and how often it occurs: as read from the server, or from the files.
kiln_rows_of() { # "server" or "files", copies of each file there
	export KILN_ROOT=$work/node
	rm -rf "$KILN_ROOT" "$work/runs"
	mkdir -p "$KILN_ROOT"
	sed -E "s|epochs = [0-9]+|epochs = 1|" "$work/kiln.conf" >"$work/check.conf"
	[ "$1" = server ] || sed -Ei "s|source: \{[^}]*\}|source: { url = \"file://$work/$kiln_folder\"; ${kiln_format:-} }|" "$work/check.conf"
	"$KILN_BIN/kiln-oneshot" begin --config "$work/check.conf" >/dev/null 2>"$work/begin.log" || cat "$work/begin.log" >&2
	"$KILN_BIN/kiln-fetchd" 2>"$KILN_ROOT/log" &
	"$KILN_BUILD/system/fetch_reader" --rows | awk -v copies="$2" '$1 == "ROW" { n[$4]++ } END { for (crc in n) print crc, n[crc] / copies }' | sort
	wait $!
	"$KILN_BIN/kiln-oneshot" release
}

# Check before timing: the server delivers every record of the files, as often as it occurs there, and no other.
kiln_verify() {
	kiln_rows_of files 1 >"$work/rows.files"
	kiln_rows_of server "${copies:-1}" >"$work/rows.server"
	[ "$(awk '{ n += $2 } END { print n + 0 }' "$work/rows.files")" = "$((records / ${copies:-1}))" ] &&
		cmp -s "$work/rows.files" "$work/rows.server" || {
		echo "what Kiln reads from the server is not what the files hold: $(diff "$work/rows.files" "$work/rows.server" | head -n 3)" >&2
		return 1
	}
}

# Measures from the start of fetchd to END_RUN; CPU-seconds include both processes.
kiln_round() { # WHO, kiln if not given
	local rows first wall epochs seconds user system
	[ -e "$work/rows.server" ] || kiln_verify
	export KILN_ROOT=$work/node
	rm -rf "$KILN_ROOT" "$work/runs"
	mkdir -p "$KILN_ROOT"
	! declare -F node_made >/dev/null || node_made
	"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >/dev/null 2>"$work/begin.log" || cat "$work/begin.log" >&2
	python3 tests/bench/peer.py # give Kiln memory as warm as the peers' memory
	{ time kiln_pass >"$work/rate" 2>"$work/pass.log"; } 2>"$work/time"
	cat "$work/pass.log" >&2
	read -r rows _ first wall epochs seconds <"$work/rate"
	read -r user system <"$work/time"
	"$KILN_BIN/kiln-oneshot" release
	[ "$rows" = "$kiln_rows" ] || {
		echo "Kiln read $rows rows, there are $kiln_rows" >&2
		return 1
	}
	echo "$rows $kiln_bytes $wall $(awk "BEGIN { print $user + $system }")" >>"$work/${1:-kiln}"
	echo "$first" >>"$work/first"
	[ "$epochs" = 0 ] || echo "$((epochs * records)) $((epochs * kiln_bytes / (kiln_rows / records))) $seconds 0" >>"$work/sustained"
}

curl_round() { # times each object
	local user system start end bytes url
	for ((epoch = 0; epoch < $1; epoch++)); do
		while read -r url; do printf 'url = "%s"\noutput = "/dev/null"\n' "$url"; done <"$work/urls"
	done >"$work/curl.conf"
	start=$(date +%s%N)
	{ time curl -f -Z --parallel-max ${curl_parallel:-8} --no-progress-meter -w '%{size_download}\n' -K "$work/curl.conf" >"$work/sizes" 2>"$work/curl.log"; } 2>"$work/time"
	end=$(date +%s%N)
	read -r user system <"$work/time"
	bytes=$(awk '{ n += $1 } END { printf "%.0f", n }' "$work/sizes")
	[ "$bytes" = "$kiln_bytes" ] || {
		echo "curl read $bytes bytes, there are $kiln_bytes; $(tail -n 3 "$work/curl.log")" >&2
		return 1
	}
	awk "BEGIN { print $kiln_rows, $bytes, ($end - $start) / 1e9, $user + $system }" >>"$work/curl"
}

# Upper bounds: curl reads from this server as fast as any client can; libdeflate inflates as fast as any loader can.
limit_rounds() { # folder
	local rows cpu
	curl_round "${epochs:-1}"
	read -r rows cpu <<<"$("$KILN_BUILD/bench/inflate" alone "$work/$1"/*)"
	echo "$rows 0 $cpu $cpu" >>"$work/libdeflate"
}

limit_figures() { # name
	figures "$1" kiln curl records/s
	figures "$1" kiln libdeflate records/CPU-s
}

python_round() { # peer, records it has to read, program and arguments
	local rows wall cpu peer=$1 expected=$2
	shift 2
	read -r rows wall cpu <<<"$("$python" "$@" 2>"$work/$peer.log" || tail -n 3 "$work/$peer.log" >&2)"
	[ "$rows" = "$expected" ] || {
		echo "$peer read ${rows:-no} records of $expected" >&2
		return 1
	}
	echo "$rows 0 $wall $cpu" >>"$work/$peer"
}

figures() { # name, kiln or sustained, peer, units
	local name=$1 kiln=$2 peer=$3
	shift 3
	python3 tests/bench/figures.py "$name" "$peer" "$work/$kiln" "$work/$peer" "$@"
}
