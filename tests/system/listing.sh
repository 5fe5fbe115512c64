#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A plan of a million shards, and of a million objects of a thousand classes, from a store that lists a thousand at a time:
# fetchd's memory does not grow with their number, except for the mapped file of the plan, the hashes of the keys and the sizes
# that it sorts once.
. "$(dirname "$0")/lib.sh"
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY AWS_SESSION_TOKEN
export AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret

# A fake server, because filling a real one would take hours. /N/...: a bucket of N shards, /N/objects/...: of
# N pictures; none of them can be read.
coproc SERVER { exec /usr/bin/python3 - <<-'PY'; }
	import http.server, urllib.parse
	class Handler(http.server.BaseHTTPRequestHandler):
	    protocol_version = "HTTP/1.1"
	    disable_nagle_algorithm = True
	    def log_message(self, *_):
	        pass
	    def do_GET(self):
	        path, _, query = self.path.partition("?")
	        asked = dict(urllib.parse.parse_qsl(query))
	        if "list-type" not in asked:
	            return self.answer(404)
	        total = int(asked["prefix"].split("/")[0])
	        first = int(asked.get("continuation-token", 0))
	        last = min(first + 1000, total)
	        more = f"<NextContinuationToken>{last}</NextContinuationToken>" if last < total else ""
	        pictures = "/objects" in asked["prefix"]
	        key = "objects/as/long/as/they/come/n{1:08}/picture_{0:07}.JPEG" if pictures else "a/prefix/as/long/as/they/come/train-{0:07}.tfrecord.gz"
	        self.answer(200, (f"<ListBucketResult><IsTruncated>{'true' if more else 'false'}</IsTruncated>{more}" + "".join(
	            f"<Contents><Key>{total}/{key.format(i, i // 1000)}</Key><Size>{1000 + i % 1000}</Size>"
	            f'<ETag>"{i:032x}"</ETag></Contents>' for i in range(first, last)) + "</ListBucketResult>").encode())
	    def do_HEAD(self):
	        self.answer(404)
	    def answer(self, status, body=b""):
	        self.send_response(status)
	        self.send_header("Content-Length", str(len(body)))
	        self.end_headers()
	        self.wfile.write(body)
	server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
	server.daemon_threads = True
	print(server.server_port, flush=True)
	server.serve_forever()
PY
read -r port <&"${SERVER[0]}"

peak_kib() { # count, folder, keys of source, of split, features: puts the peak memory into $peak, the plan file's size into $file
	node "$1${2%%/*}"
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; };
		source: { url = "s3://kiln/$1/$2"; endpoint = "http://127.0.0.1:$port"; $3 };
		sink: { url = "file://$work/runs"; };
		split: { test_glob = ""; $4 };
		ring: { small_pages = true; };
		schema = ( $5 );
		model: { input = "${input:-sentence}"; layers = ( { op = "flatten"; }, { op = "dense"; units = 1000; }, { op = "softmax"; } ); };
	CONF
	"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >/dev/null 2>"$KILN_ROOT/log"
	"$KILN_BIN/kiln-fetchd" 2>>"$KILN_ROOT/log" &
	fetchd=$!
	# fetchd opens the network last: it requests nothing before a reader attaches.
	set_up() { grep -q 'network threads' "$KILN_ROOT/log" || [ ! -d /proc/$fetchd ]; }
	wait_for 300 set_up
	peak=$(awk '/VmHWM/ { print $2 }' /proc/$fetchd/status)
	kill $fetchd
	wait $fetchd
	file=$(($(stat -c %s "$KILN_ROOT/data/kiln/run/current/plan") / 1024))
}
shards_kib() { # shards
	peak_kib "$1" a/prefix/as/long/as/they/come '' '' '{ name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		{ name = "label"; dtype = "int64"; shape = [ 1000 ]; }'
}
objects_kib() { # objects
	input=image peak_kib "$1" objects 'format = "objects";' 'train_glob = "*/*.JPEG";' '{ name = "image"; dtype = "picture"; shape = [ 8, 8, 3 ]; },
		{ name = "label"; dtype = "int64"; shape = [ 1000 ]; }'
}

shards_kib 1000
like "$(grep -o 'plan: .* shards' "$KILN_ROOT/log")" '^plan: 900 train, 100 validation, 0 test shards$' "a plan of a thousand shards"
small=$peak
shards_kib 1000000
like "$(grep -o 'plan: .* shards' "$KILN_ROOT/log")" '^plan: 900000 train, 100000 validation, 0 test shards$' \
	"a plan of a million" "$(cat "$KILN_ROOT/log")"
[ "$file" -gt 80000 ] && [ "$peak" -lt $((small + file + 32768)) ]
ok $? "fetchd held its file and 32 MiB more at most" "$small KiB with a thousand, $peak KiB with a million, a file of $file KiB"
objects_kib 1000000
like "$(grep -o 'plan: .* shards' "$KILN_ROOT/log")" '^plan: (899|900)[0-9]{3} train, (99|100)[0-9]{3} validation, 0 test shards$' \
	"a plan of a million objects" "$(cat "$KILN_ROOT/log")"
[ "$file" -gt 80000 ] && [ "$peak" -lt $((small + file + 32768)) ]
ok $? "fetchd held its file and 32 MiB more at most" "$small KiB with a thousand shards, $peak KiB with a million objects, a file of $file KiB"
echo "# a million objects: $peak KiB, of which the plan's file is $file, and $small are those of a thousand shards"
exec {SERVER[1]}>&-
kill "$SERVER_PID"
