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
is "$(wc -w <<<"$programs")" 8 "eight programs"
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
asks 64 'argument is missing' "an argument too few" "$KILN_BIN/kiln-generator" "$work"
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
