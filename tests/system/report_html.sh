#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# report.html: the page that a real night leaves beside report.json, and pages of other records, as kiln report --html writes them.
# Each page is read by a strict parser, and loaded by a real browser without a network, as a telephone, a desk and a printer show
# it. tests/unit/report_html.c tests what a page shows; KILN_KEEP_PAGES=FOLDER keeps the pages and their pictures.
. "$(dirname "$0")/lib.sh"
. tests/system/night_lib.sh
pages=${KILN_KEEP_PAGES:-$work/pages}
mkdir -p "$pages"

# ---- A real night ----
config night adam 4
prep night 400 '<script>good' 'bad & "worse"' 40
node one
night night "a night ends by itself"
run=$(cat "$KILN_ROOT/run/kiln/night/run-id")

"$kiln" report --html "$pages/early.html" >"$work/said" 2>&1
is "$? $(cat "$work/said")" "0 $pages/early.html: $(stat -c %s "$pages/early.html") bytes" "kiln report --html before the night has a report"
"$KILN_BIN/kiln-oneshot" finished 2>/dev/null # the box has no kiln.conf, and no systemd
"$KILN_BIN/kiln-oneshot" report 2>"$work/said"
ok $? "the night is reported" "$(cat "$work/said")"
made=$(echo "$KILN_ROOT"/data/kiln/run/reports/*.html)
test -s "$made"
ok $? "the box has the page"
cmp "$made" "$sink/$run/report.html"
ok $? "the store has it beside report.json" "$(ls "$sink/$run")"
cp "$made" "$pages/night.html"
for command in "report --night" "report" "report $run --config $work/night"; do
	"$kiln" $command --html "$work/again.html" >"$work/said" 2>&1
	is "$? $(cmp "$made" "$work/again.html" && echo same)" "0 same" "kiln $command --html writes the same page" "$(cat "$work/said")"
done
mv "$made" "$work/made.html"
"$kiln" report --night --html "$work/again.html" >"$work/said" 2>&1
like "$? $(cat "$work/said")" "^1 kiln: $made: not there: Kiln 0.1.0 made this report.*kiln report --html FILE" "a report of Kiln 0.1.0 has no page"
mv "$work/made.html" "$made"
"$kiln" report --html "$work/again.html" --json >"$work/said" 2>&1
like "$? $(head -n 1 "$work/said")" '^2 kiln report: --json and --html: only one of them' "with --json it is wrong usage"
"$kiln" report --html "$work/absent/page.html" >"$work/said" 2>&1
like "$? $(cat "$work/said")" "^1 kiln: $work/absent/page.html.*No such file" "a folder that is not there"
"$kiln" report absent-1 --config "$work/night" --html "$work/absent.html" >"$work/said" 2>&1
like "$? $(cat "$work/said") $(ls "$work/absent.html" 2>&1)" '^1 kiln: .*run.json.*No such file' "a run that is not there leaves no page"

# ---- Records of other runs ----
python3 - "$sink" <<'PY'
import json, math, pathlib, sys

def run(name, record, report=None):
    folder = pathlib.Path(sys.argv[1]) / name
    folder.mkdir(parents=True)
    record = {"id": name, "name": name, "state": "finished", "kiln_version": "0.1.0", **record}
    (folder / "run.json").write_text(json.dumps(record))
    if report:
        of = {"id": name, "name": name, "epochs": 9, "state": record["state"], "epochs_done": len(record["epochs"])}
        (folder / "report.json").write_text(json.dumps({**report, "run": {**of, **report.get("run", {})}}))

def epoch(i):
    wave = math.sin(i * 12.9898) % 0.1
    return {"epoch": i, "loss": 1 / (1 + i / 300) + wave, "accuracy": 1 - 0.5 / (1 + i / 300) - wave / 4,
            "validation_loss": 0.4 + 1 / (1 + i / 200) + wave, "validation_accuracy": 0.9 - 0.5 / (1 + i / 300) - wave / 4}

run("many", {"epochs": [epoch(i) for i in range(4096)]})
run("one", {"epochs": [epoch(0)]})
run("holes", {"epochs": [{**epoch(i), **({} if i % 2 else {"loss": None, "validation_loss": None})} for i in range(4096)]})
run("flat", {"epochs": [{"epoch": i, "loss": 0.69314 + i % 3 / 1e5, "accuracy": 0.5} for i in range(9)]})
run("long", {"epochs": [{"epoch": 123456, "loss": 1.23e-12, "accuracy": 1, "validation_loss": 1.23e-12, "validation_accuracy": 1}]})
run("gaps", {"epochs": [{"epoch": i, "loss": 100 / (1 + i) ** 3, **({} if i % 4 == 2 else {"validation_loss": 120 / (1 + i) ** 3})}
                        for i in range(20)]})
def confused(k, each=50):
    return {"split": "test", "classes": k, "rows": k * each, "matrix": [[each - 9 if i == j else 9 if j == (i * 3 + 1) % k else 0 for j in range(k)]
                                                                        for i in range(k)]}
for k in 2, 10, 64:
    run(f"classes-{k}", {"epochs": [epoch(0)], "classes": [f"class {i} " + "x" * (i % 9 * 5) for i in range(k)], "confusion": confused(k)})
run("classes-900", {"epochs": [epoch(0)], "confusion": {
    "split": "validation", "epoch": 4, "classes": 900, "rows": 9e5, "pairs": [{"label": i, "prediction": i + 9, "rows": 99 - i} for i in range(64)],
    "weakest": [{"class": i * 2, "rows": 1000, "precision": 0.9, "recall": i / 64} for i in range(64)]}})
nasty = '"><script>console.error(1)</script><img src=http://example.com/x>&\u202e\x01</style><!-- ' + "w" * 300
run("hostile", {"epochs": [epoch(0)], "classes": [nasty] * 60, "confusion": confused(12), "reason": nasty, "machine": nasty, "device": nasty},
    {"outcome": nasty, "host": nasty, "version": nasty, "slot": nasty, "build": nasty, "reason": nasty, "test_given_up": nasty,
     "degraded": [{"daemon": nasty, "why": nasty}], "changed": [nasty] * 30,
     "unfit": {"file": nasty, "rows": [{"result": nasty, "part": nasty, "text": nasty, "todo": nasty}]},
     "faults": [{"event": nasty, "level": nasty, "count": 1e300, "last_s": -1e300, "message": nasty}],
     "quarantine": {"records": [{"key": nasty, "offset": 1, "rest": True}] * 30, "more": 3},
     "left_behind": {"files": 2, "bytes": 1, "names": [nasty]}, "test_seen": {"run": nasty, "replaced": 1, "of": 2}})
folder = pathlib.Path(sys.argv[1]) / "series"
def curve(i, epochs):
    return [[e, 0.55 + (i * 13 % 17 / 60 + 0.05) * (1 - math.exp(-e / (3 + i % 4))) + math.sin(e * 12.9898 + i) % 0.1 / 8] for e in range(1, epochs)]
def series(id, keys, count, **more):
    def value(key, i):
        return {"optimizer.name": ["adam", "sgd", "rmsprop"][i % 3], "optimizer.learning_rate": round(10 ** (-4 + i * 7 % 12 / 4), 6),
                "run.seed": i, "model.layers.dense_1.units": [64, 128, 256][i * 5 % 3]}.get(key, nasty if more else i * 3 % 11 / 10)
    trials = [{"name": f"random-{i + 1:02}", "overrides": {key: value(key, i) for key in keys}, "state": "finished" if i else "failed",
               "value": 0.6 + i * 13 % 17 / 60 if i else None, "best_epoch": i % 5 + 1, "summary": {"test_accuracy": 0.7},
               "took_s": 61 + i, "rows_per_s": 12345.6, "bytes": 1234567 * i, "reason": "a NaN",
               "curve": curve(i, 4 if i % 3 == 1 else 21), **more} for i in range(count)]
    (folder / id).mkdir(parents=True)
    (folder / id / "series.json").write_text(json.dumps({
        "version": 1, "id": id, "state": "finished", "objective": "validation.accuracy", "direction": "max", "winner": "random-05",
        "method": "random", "promotion": {"outcome": "promoted", "why": "2.1 points better than night-20260101-000000, p = 0.01"},
        "trials": trials}))
    run("trial-of-" + id, {"epochs": [epoch(i) for i in range(9)], "series": {"id": id, "trial": "random-05"}})
series("few", ["optimizer.name", "optimizer.learning_rate", "model.layers.dense_1.units"], 9)
series("wide", ["optimizer.name", "optimizer.learning_rate", "run.seed", "model.layers.dense_1.units"] + [f"group.key_{i}" for i in range(9)], 240)
series("nasty", ["optimizer.name", nasty], 5, name=nasty, state=nasty, reason=nasty)
run("went_on", {"state": "running", "epochs": [epoch(i) for i in range(7)]},
    {"outcome": "halted", "reason": "a night before", "run": {"state": "stopped", "epochs_done": 3}})
run("failed", {"state": "failed", "epochs": []}, {"outcome": "failed", "reason": "a NaN", "faults": [], "time": None})
PY
for name in many holes flat one long gaps hostile classes-2 classes-10 classes-64 classes-900 trial-of-few trial-of-wide trial-of-nasty failed went_on; do
	"$kiln" report $name --config "$work/night" --html "$pages/$name.html" >"$work/said" 2>&1
	ok $? "a page: $name" "$(cat "$work/said")"
done
is "$(grep -c 'a NaN' "$pages/failed.html") $(grep -cE 'halted|a night before' "$pages/went_on.html") $(grep -c running "$pages/went_on.html")" '1 0 1' \
	"a report counts, but not the one of a night after which the run went on"
mv "$pages/went_on.html" "$work"
for name in many holes; do
	[ "$(stat -c %s "$pages/$name.html")" -lt 30720 ]
	ok $? "a page of 4096 epochs is small: $name" "$(stat -c %s "$pages/$name.html") bytes"
done

# ---- A strict parser, and a real browser ----
good=(early night many holes flat one long gaps hostile classes-2 classes-10 classes-64 classes-900 trial-of-few trial-of-wide trial-of-nasty failed)
# Mistakes of each kind, which the checks must notice.
cat >"$pages/wrong.html" <<-'PAGE'
	<!DOCTYPE html><html><head><title>x</title></head><body><p>a</b><div style="width:2000px">wide</div>
	<img src="http://192.0.2.1/x.png" alt=""><script>console.error("told"); nothing();</script></body></html>
PAGE
strict() { # page
	/usr/bin/python3 - "$1" 2>&1 <<-'PY' # Debian's, which has Debian's packages
		import sys, html5lib
		html5lib.HTMLParser(strict=True).parse(open(sys.argv[1], "rb"), transport_encoding="utf-8")
		print("good")
	PY
}
of() { # expression over `r`, what the browser found
	python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$work/found" "$1" 2>&1
}
if ! /usr/bin/python3 -c 'import html5lib' 2>/dev/null; then
	skip "pages are good HTML" "no html5lib here: tools/deps/install test"
else
	like "$(strict "$pages/wrong.html" | tail -n 1)" 'ParseError' "the parser notices a mistake"
	for page in "${good[@]}"; do
		is "$(strict "$pages/$page.html" | tail -n 1)" good "$page.html is good HTML"
	done
fi
if ! command -v chromium >/dev/null || ! unshare --net true 2>/dev/null; then
	skip "pages in a browser" "no chromium here, or no network namespaces: tools/deps/install test"
	exit
fi
for page in wrong "${good[@]}"; do arguments+=("$pages/$page.html" "$pages/$page"); done
tests/system/browser.py "${arguments[@]}" >"$work/all" 2>"$work/said"
ok $? "a browser" "$(tail -n 5 "$work/said")"
head -n 1 "$work/all" >"$work/found"
is "$(of 'len(r["requests"]), len(r["errors"]) >= 3, r["phone"]["document"] > 2000')" "(2, True, True)" \
	"the browser notices a request, complaints, and a page that is too wide" "$(cat "$work/found" "$work/said")"
for ((i = 0; i < ${#good[@]}; i++)); do
	page=${good[i]}
	sed -n "$((i + 2))p" "$work/all" >"$work/found"
	test -s "$work/found"
	ok $? "it loads $page.html"
	is "$(of 'r["requests"]')" "['file://$pages/$page.html']" "it asks for nothing else"
	is "$(of 'r["errors"]')" "[]" "and complains of nothing"
	is "$(of '[r[view]["document"] - r[view]["view"] for view in ("phone", "desk")]')" "[0, 0]" "the page is as wide as a telephone, and as a desk"
	[ -s "$pages/$page/phone.png" ] && [ -s "$pages/$page/desk.png" ] && [ -s "$pages/$page/print.pdf" ]
	ok $? "pictures of it, and paper"
done
