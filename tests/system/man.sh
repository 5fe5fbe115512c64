#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Man pages and shell completions: pages made from tables match the tables, all pages are well-formed, and the completions
# work in real shells.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln

for page in kiln.1 kiln.conf.5 kiln-control.7 kiln-events.7; do
	"$kiln" manual "$page" | cmp -s - "rootfs/man/$page"
	ok $? "rootfs/man/$page is what kiln manual $page writes"
done
"$kiln" manual kiln.9 >/dev/null 2>"$work/errors"
is $? 2 "a page that there is not: exit status 2"
like "$(cat "$work/errors")" "kiln-events.7" "and the error names the pages"

for page in rootfs/man/*; do
	found=$(mandoc -T lint -W error "$page" 2>&1)
	is "$found" "" "${page##*/} is good by mandoc"
	missing=
	for other in $(sed -n '/^\.SH SEE ALSO/,$p' "$page" | sed 's/\\//g' | grep -oE 'kiln[a-z.-]*\([1-8]\)' | sort -u); do
		[ -e "rootfs/man/${other%(*}.${other//[!0-9]/}" ] || missing+=" $other"
	done
	is "$missing" "" "${page##*/}: every page of Kiln under SEE ALSO exists"
done

# ---- Pages that are written by hand ----
page=$(mandoc -T ascii rootfs/man/kiln-oneshot.8 | col -bx | tr -s ' \n' ' ')
"$KILN_BIN/kiln-oneshot" --help | sed 1d >"$work/verbs"
while read -r verb summary; do
	grep -qF -- "$verb $(tr -s ' ' <<<"${summary%%  \[*}")" <<<"$page"
	ok $? "kiln-oneshot(8) has the verb $verb as --help has it" "$summary"
done <"$work/verbs"
page=$(mandoc -T ascii rootfs/man/kiln-steer.8 | col -bx)
for word in $(sed -n '/^} words\[\]/,/^};/s/{ "\([a-z.]*\)"/\n\1\n/gp' firmware/steer/main.c | grep -E '^[a-z]+\.[a-z]+$'); do
	like "$page" "^ +$word" "kiln-steer(8) has the word $word"
done

# ---- Completions ----
for shell in bash:kiln zsh:_kiln fish:kiln.fish; do
	"$kiln" completion "${shell%:*}" | cmp -s - "rootfs/completions/${shell#*:}"
	ok $? "rootfs/completions/${shell#*:} is what kiln completion ${shell%:*} writes"
done

complete_bash() { # words of the command line: completes the last one
	bash --norc -c '. rootfs/completions/kiln; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _kiln; printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | sort | xargs
}
is "$(complete_bash kiln sta)" "stalls start status" "bash: verbs"
like "$(complete_bash kiln config "")" "apply check reference show" "bash: sub-verbs"
like "$(complete_bash kiln start --)" "[-]-epochs .*--seed" "bash: options of a verb"
like "$(complete_bash kiln --host box-1=10.0.0.1 sto)" "^stop$" "bash: a verb after --host"
like "$(complete_bash kiln evaluate --split "")" "test" "bash: the words that an option takes"
if command -v zsh >/dev/null; then
	zsh -n rootfs/completions/_kiln
	ok $? "zsh reads its completions"
else
	skip "zsh reads its completions" "no zsh here"
fi
if command -v fish >/dev/null; then
	is "$(fish --no-config -c 'source rootfs/completions/kiln.fish; complete -C "kiln sta"' | cut -f1 | sort | xargs)" \
		"stalls start status" "fish: verbs"
	like "$(fish --no-config -c 'source rootfs/completions/kiln.fish; complete -C "kiln config "' | cut -f1 | sort | xargs)" \
		"apply check reference show" "fish: sub-verbs"
else
	skip "fish: verbs" "no fish here"
fi

# ---- Installed files ----
rootfs/install "$work/root" /usr >"$work/install" 2>&1
ok $? "they are installed" "$(cat "$work/install")"
missing=
for file in man/man1/kiln.1 man/man5/kiln.conf.5 man/man7/kiln-events.7 man/man8/kiln-fetchd.8 \
	bash-completion/completions/kiln zsh/vendor-completions/_kiln fish/vendor_completions.d/kiln.fish; do
	[ -s "$work/root/usr/share/$file" ] || missing+=" $file"
done
is "$missing" "" "where man and the shells look"
