#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# README.md and the manual, rootfs/doc: every link has a target, every named file exists, and the marked commands do what the
# pages say, page by page in a fresh home, as a reader types them. manual.py describes how blocks are marked.
# Usage: manual.sh [PAGE...]   With names of pages (start data) only these pages are run.
. "$(dirname "$0")/lib.sh"
pages=(README.md rootfs/doc/*.md)
clone=$PWD
manual() {
	python3 "$clone/tests/system/manual.py" "$@"
}

# Converts lines "good<TAB>name" and "bad<TAB>name<TAB>detail" (the detail's lines separated by \r) to TAP.
as_tap() {
	local verdict name detail
	while IFS=$'\t' read -r verdict name detail; do
		[ "$verdict" = good ]
		ok $? "$name" "$(tr '\r' '\n' <<<"$detail")"
	done
}

# Runs a page with what a reader has after `make`: the clone and its programs.
read_page() { # page
	local home=$work/homes/$(basename "$1" .md) # a short path, because a socket's path is limited to 107 bytes
	mkdir -p "$home"
	(
		cd "$home" || exit 1
		unset KILN_ROOT KILN_CONFIG
		export HOME=$home KILN=$clone PATH=$KILN_BIN:$PATH
		manual run "$clone/$1"
	)
}
cleanup() { # gives the rings' hugepages back
	local root
	for root in "$work"/homes/*/*/*/; do
		[ ! -e "$root/run/kiln" ] || KILN_ROOT=${root%/} "$KILN_BIN/kiln-oneshot" release
	done
}

if [ $# -gt 0 ]; then
	for page in "$@"; do
		as_tap < <(read_page "rootfs/doc/$page.md")
	done
	exit
fi

mapfile -t documents < <(find . -name '*.md' -not -path './build/*' | sort)
as_tap < <(manual links . "${documents[@]}")

# The installed manual: files that the pages link to are beside them; other files are named without a link.
rootfs/install "$work/installed" /usr >"$work/install.log" 2>&1
ok $? "rootfs/install" "$(cat "$work/install.log")"
as_tap < <(manual links "$work/installed" "$work"/installed/usr/share/doc/kiln/*.md)

for page in "${pages[@]}"; do
	as_tap < <(read_page "$page")
done

# ---- The checks find mistakes ----

mkdir -p "$work/broken/tools" "$work/reader"
echo '#define LAYERS_MAX 256u /* of a network */' >"$work/broken/limits.h"
cat >"$work/broken/page.md" <<-'PAGE'
	# A page

	[there](page.md#a-page), [not there](gone.md), [no such heading](#nowhere), `tools/gone`, [elsewhere](https://example.org)

	| layers | 255 | `LAYERS_MAX` in [limits.h](limits.h) |
	| layers | 256 | `LAYERS_MAX` in [limits.h](limits.h) |

	<!-- from: limits.h -->
	```text
	#define LAYERS_MAX 257u /* of a network */
	```

	<!-- run -->
	<!-- expect: ^four$ -->
	```sh
	echo 3 of 4
	```

	<!-- output -->
	```text
	5 of 6
	```

	<!-- output -->
	```text
	5 off 6
	```

	<!-- run: exit 7 -->
	```sh
	exit 7
	```

	<!-- run -->
	```sh
	false
	echo here
	```

	<!-- run -->
	```sh
	echo not here
	```
PAGE
manual links "$work/broken" "$work/broken/page.md" >"$work/said"
said=$(tr '\r' '\n' <"$work/said")
for wanted in 'gone\.md: no file' '#nowhere: no heading' '`tools/gone`: no such file' 'LAYERS_MAX is 256u, the page says 255' \
	'limits\.h has not, or not here: #define LAYERS_MAX 257u'; do
	like "$said" "$wanted" "a broken page: $wanted"
done
is "$(grep -c 'line' <<<"$said")" 5 "and nothing else"
(cd "$work/reader" && HOME=$PWD manual run "$work/broken/page.md" >"$work/said")
is "$(cut -f1 "$work/said" | xargs)" "good bad good bad good bad bad" "commands that fail, or print something else, are found"
