#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The arguments of all programs: --help and --version are answered, anything else that a program does not know is refused, and
# in both cases the program does nothing else.
. "$(dirname "$0")/lib.sh"
node one
asks() { # expected exit code, what both outputs have to match, name, command...
	local expected=$1 text=$2 name=$3
	shift 3
	said=$(timeout 20 "$@" 2>&1 </dev/null)
	is $? "$expected" "$name: exit status $expected" "$said"
	like "$said" "$text" "$name: what it says"
}
version=$(sed -n 's/^#define KILN_VERSION "\(.*\)"/\1/p' firmware/core/base/version.h)
programs=$(sed -n 's/^\$(eval \$(call program,\([a-z-]*\),.*/\1/p' Makefile)
is "$(wc -w <<<"$programs")" 9 "nine programs"
for program in $programs; do
	usage=64
	[ "$program" = kiln ] && usage=2
	asks 0 '^Usage:' "$program --help" "$KILN_BIN/$program" --help
	asks 0 '^Usage:' "$program -h" "$KILN_BIN/$program" -h
	asks 0 "^$program ${version//./\\.}\$" "$program --version" "$KILN_BIN/$program" --version
	asks $usage '[-]-no-such-option' "$program --no-such-option" "$KILN_BIN/$program" --no-such-option
done
for verb in $("$KILN_BIN/kiln-oneshot" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
	asks 0 "^Usage: kiln-oneshot $verb" "kiln-oneshot $verb --help" "$KILN_BIN/kiln-oneshot" "$verb" --help
	asks 64 'found --no-such-option' "kiln-oneshot $verb --no-such-option" "$KILN_BIN/kiln-oneshot" "$verb" --no-such-option
done
asks 64 'found extra' "an argument too many" "$KILN_BIN/kiln-controld" extra
asks 64 'there is no verb extra' "a verb that there is not" "$KILN_BIN/kiln-oneshot" extra
asks 64 'slot: found worse, expected one of good.bad.back' "a slot that is neither" "$KILN_BIN/kiln-oneshot" slot worse A
asks 64 'floor: found lower, expected one of check.raise' "a floor that goes down" "$KILN_BIN/kiln-oneshot" floor lower
asks 64 'floor: expected the VERSION of a bundle after check' "a floor of no version" "$KILN_BIN/kiln-oneshot" floor check
asks 64 'floor: found a VERSION after raise' "a floor that somebody names" "$KILN_BIN/kiln-oneshot" floor raise 1.0.0
asks 64 'clock: --wait-s: found "soon", expected a whole number' "a wait that is no number" "$KILN_BIN/kiln-oneshot" clock --wait-s soon
for verb in nightly resume; do
	asks 64 "$verb: --clock-wait-s: found \"-1\", expected a whole number" "$verb: a wait below zero" "$KILN_BIN/kiln-oneshot" "$verb" --clock-wait-s -1
done
asks 64 'begin: found --adopt without --from' "an adoption of nothing" "$KILN_BIN/kiln-oneshot" begin --adopt
said=$(echo run.stopp | "$KILN_BIN/kiln-steer" 2>&1)
is "$?" 69 "a word that kiln-steer does not have" "$said"
like "$said" '^error found the word "run.stopp", expected one of run.start, run.stop, ' "is named, with those that it has"
asks 64 'argument is missing' "an argument too few" "$KILN_BIN/kiln-generator" "$work"
asks 64 'argument is missing' "a file without a folder" "$KILN_BIN/kiln-import" model.keras
asks 64 'expected a whole number' "a rank that is none" "$KILN_BIN/kiln-fetchd" --rank one --world 2
asks 64 'expected a whole number' "a rank beyond the world" "$KILN_BIN/kiln-fetchd" --rank 2 --world 2
is "$(find "$KILN_ROOT" -mindepth 1)" "" "no program made a file"

# ---- The scripts in tools ----
before=$(find . -path ./build -prune -o -path ./.git -prune -o -newer "$work" -print)
for script in $(find tools -type f -executable | sort); do
	for option in --help -h; do
		asks 0 '^[A-Z].*[.:]' "$script $option" "$script" $option
	done
	asks 0 "^${script##*/} ${version//./\\.}\$" "$script --version" "$script" --version
done
is "$(find . -path ./build -prune -o -path ./.git -prune -o -newer "$work" -print)" "$before" "no script made a file"
