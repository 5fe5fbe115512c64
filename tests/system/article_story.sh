#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The story of the article as one test: data imported into lakeFS, a branch for adam and one for sgd, a commit for each,
# compared, the winner merged and tagged. Then the same night killed KILN_KILLS times (5; make test-soak: 20), across series,
# trials, uploads, commits and merges: the same bits, one commit for each trial, no orphan branch. KILN_SEED: seed of the kills
# (11). The report of the night is loaded in a browser; its picture stays as build/results/article-story-*.png. Each trial is
# repeated after the data was overwritten. The server is a contract server over radosgw.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
. tests/system/series_lib.sh
. tests/system/kill_night_lib.sh
. tests/lakefs/lib.sh
. tests/lakefs/series_lib.sh
kills_wanted=${KILN_KILLS:-5}
start_lakefs "the article's story"
data=$work/data
"$make_shards" "$data" train 4 400
"$make_shards" "$data" test 1 400
below upload "$data" s3://kiln/data

story() { # repository: imports the data, and writes the night's configuration
	repository=$1
	"$KILN_BIN/kiln" lakefs init "lakefs://$1/main/data" --storage "s3://kiln/lakefs/$1" --import s3://kiln/data \
		--endpoint "$KILN_LAKEFS" >"$work/said" 2>&1
	is "$? $(seen 'len(b["main"]["commits"])')" "0 2" "$1: the data is imported, and committed" "$(cat "$work/said")"
	source="url = \"lakefs://$1/main/data\"; endpoint = \"$KILN_LAKEFS\";"
	conf "$1" "epochs = $((kills_wanted * 3 / 2)); seed = 7;" '' "$trials checkpoint: { every_steps = 20; }; promote: { against = \"champion\"; };"
}

weights() { # trial: digest of its weights, as its branch has them
	series_json "[x['run'] for x in t if x['name'] == '$1'][0]" >"$work/run"
	get_object "lakefs://$repository/exp-$series-$1/runs" "$(cat "$work/run")/model/model.safetensors" >/dev/null
	weights_of "$work/object"
}

check() { # the end of the story
	series=$(series_json 's["id"]') winner=$(series_json 's["winner"]')
	is "$(series_json 's["state"], s["promotion"]["outcome"], [x["state"] for x in t]')" "('finished', 'promoted', ['finished', 'finished'])" \
		"$repository: the series finishes, and its winner is promoted" "$(tail -n 5 "$KILN_ROOT/log")"
	is "$(seen 'sorted(b)')" "['exp-$series-adam', 'exp-$series-sgd', 'main']" "$repository: no branch but those of the trials"
	is "$(seen 'sorted(c["metadata"]["kiln.trial"] for c in r["commits"] if "kiln.trial" in c["metadata"])')" "['adam', 'sgd']" \
		"$repository: one commit for each trial"
	is "$(seen "[n(b[x]['commits'], 'kiln.trial') for x in ('exp-$series-adam', 'exp-$series-sgd')], [b[x]['uncommitted'] for x in b]")" \
		"([1, 1], [[], [], []])" "$repository: on its branch, and nothing is uncommitted"
	is "$(seen "[c['metadata'].get('kiln.champion') for c in b['main']['commits']][:2], len(b['main']['commits'])")" "(['1', None], 3)" \
		"$repository: main has one merge more than the import"
	is "$(seen "list(r['tags']) == ['nightly-' + '$(date -u +%Y%m%d)'], list(r['tags'].values()) == [b['exp-$series-$winner']['commits'][0]['id']]")" \
		"(True, True)" "$repository: the winner's newest commit has the tag of the night"
	is "$(get_object "lakefs://$repository/main/runs/models/t" champion.json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["trial"], r["number"], r["series"])')" \
		"$winner 1 $series" "$repository: main has the champion"
	is "$(get_object "lakefs://$repository/main/runs" "series/$series/series.json" | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["winner"], r["promotion"]["outcome"])')" \
		"$winner promoted" "$repository: main has the record of the series"
	get_object "lakefs://$repository/main/runs/models/t" kiln/1/model.safetensors >/dev/null
	is "$(weights_of "$work/object")" "$(weights "$winner")" "$repository: with the winner's weights"
	bits=$(weights adam; weights sgd)
}

# ---- Nobody kills it ----
story article
node article
whole_night article
is "$code" 0 "the story ends" "$(tail -n 5 "$KILN_ROOT/log")"
[ "$code" = 0 ] || exit
check
expected=$bits
compared=$("$KILN_BIN/kiln" experiments compare "$(series_json 't[0]["run"]')" "$(series_json 't[1]["run"]')" --store \
	--config "$work/article.conf" --json 2>&1)
like "$compared" "optimizer.name" "both trials are compared, one on main and one on its branch"
like "$("$KILN_BIN/kiln" experiments list --store --config "$work/article.conf" 2>&1)" "$series" "the store lists the series that was merged"

# ---- The report of the night ----
runs=$KILN_ROOT/data/kiln/run now=$(date +%s)
printf '{"from_s": %s, "over_s": %s, "by": "timer", "run": "%s", "reason": "finished"}\n' "$now" "$now" \
	"$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$runs/current/run.json")" >"$runs/tonight.json"
"$KILN_BIN/kiln-oneshot" report 2>>"$KILN_ROOT/log"
is "$? $(grep -o -e "<svg" -e "$series" "$runs"/reports/*.html | sort -u | tr '\n' ' ')" "0 <svg $series " \
	"the night has its report, with its series" "$(tail -n 3 "$KILN_ROOT/log")"
if ! command -v chromium >/dev/null; then
	skip "a browser shows the report" "no chromium here: tools/deps/install test"
else
	mkdir -p "$work/pictures" build/results
	python3 tests/system/browser.py "$(echo "$runs"/reports/*.html)" "$work/pictures" >"$work/found" 2>"$work/said"
	is "$(python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(r["errors"], [x for x in r["requests"] if x != "file://" + sys.argv[2]], r["phone"]["document"] <= r["phone"]["view"])' \
		"$work/found" "$(echo "$runs"/reports/*.html)" 2>&1)" "[] [] True" "a browser shows it: no complaint, no request to anywhere, as wide as a telephone" "$(cat "$work/said")"
	for picture in desk phone; do
		cp "$work/pictures/$picture.png" "build/results/article-story-$picture.png"
	done
fi

# ---- Each trial again, after its data was overwritten ----
"$make_shards" "$work/other" train 4 500
"$make_shards" "$work/other" test 1 500
upload "$work/other" lakefs://article/main/data
like "$(url=lakefs://article/main change commit main "other data")" "^0 [0-9a-f]{64}$" "the branch's data is overwritten"
for trial in adam sgd; do
	run=$(series_json "[x['run'] for x in t if x['name'] == '$trial'][0]")
	get_object "lakefs://article/exp-$series-$trial/runs" "$run/run.json" >"$work/run.json"
	root=$KILN_ROOT before=$(seen "b['exp-$series-$trial']['commits'][0]['id']")
	node "again-$trial"
	mkdir -p "$KILN_ROOT/data/kiln"
	timeout 120 "$KILN_BIN/kiln" run --from "$work/run.json" --config "$work/article.conf" >"$KILN_ROOT/out" 2>"$KILN_ROOT/log"
	code=$? again=$(cat "$KILN_ROOT/out") log=$KILN_ROOT/log
	export KILN_ROOT=$root
	get_object lakefs://article/main/runs "$again/model/model.safetensors" >/dev/null
	is "$code $(weights_of "$work/object")" "0 $(weights "$trial")" "$trial is repeated from its branch: the same bits" "$(tail -n 5 "$log")"
	is "$(seen "b['exp-$series-$trial']['commits'][0]['id'], b['exp-$series-$trial']['uncommitted'], [x for x in b if '$again' in x]")" \
		"('$before', [], [])" "as a run of its own, on the branch of sink.url"
done

# ---- Killed ----
# One program at a time; and all of them, whenever the API got a request that is new: a branch, a commit, a merge, a tag.
await_kill() {
	local posts end=$(($(date +%s%N) + (RANDOM % 900 + 100) * 1000000))
	posted=
	while [ "$(date +%s%N)" -lt $end ] && [ -z "$posted" ]; do
		posts=$(lakefs_test posts)
		[ "$posts" = "$known" ] || posted=1
		known=$posts
	done
}
may_kill() { # the last kills are for the end of the night
	[ -n "$posted" ] || [ $kills -lt $((kills_wanted * 3 / 4)) ] || is_over
}
choose_victims() {
	victims=("${pids[RANDOM % ${#pids[@]}]}")
	[ -z "$posted" ] || victims=("${pids[@]}") posts_killed=$((posts_killed + 1))
}
story killed
the_rest() {
	"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log" && "$KILN_BIN/kiln-oneshot" promote 2>>"$KILN_ROOT/log"
}
finish_night() {
	code=1
	while [ $code != 0 ] && [ $SECONDS -lt $until ]; do
		the_rest &
		kill_while $!
	done
}
known=$(lakefs_test posts) posts_killed=0
killed_night killed killed "${KILN_SEED:-11}" article
is "$code $((kills >= kills_wanted / 2))" "0 1" "killed $kills times, $posts_killed of them at a request of the API, the same story ends" "$(tail -n 5 "$KILN_ROOT/log")"
check
is "$bits" "$expected" "with the same bits of both trials"
no_violations
