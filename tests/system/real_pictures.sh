#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# JPEG files of other projects, where they are installed: known-bad and unusual ones. Each decodes to the pixels of djpeg, and to
# those of the PNG beside it, or is refused.
. "$(dirname "$0")/lib.sh"
archive=${KILN_SHARED:-../shared}/data/images/jpeg-edge.tar.gz
[ -e "$archive" ] || { skip "JPEG files of other projects" "no $archive; KILN_SHARED names another folder"; exit; }
tar -C "$work" -xzf "$archive"
decode() { # file, result: 0, or 1 with the reason in $work/errors
	"$KILN_BUILD/system/decode_picture" "$1" >"$2" 2>"$work/errors"
}

# Refused though djpeg makes a picture of it: the pixels at its end never came, and djpeg fills them with gray.
cut=' dc-predictor-overflow subtract-with-overflow partial_progressive '
files=0
while read -r file; do
	name=$(basename "$file" .jpg)
	files=$((files + 1))
	djpeg -ppm -rgb "$file" >"$work/theirs" 2>"$work/said"
	code=$?
	decode "$file" "$work/ours"
	ours=$?
	if [ -e "${file%.jpg}.png" ]; then
		decode "${file%.jpg}.png" "$work/png"
		cmp -s "$work/ours" "$work/png"
		ok $? "$name: its PNG" "$(cat "$work/errors")"
	fi
	if [[ $cut = *" $name "* ]]; then
		like "$ours $(cat "$work/errors")" '^1 JPEG of [0-9]+ bytes, at byte [0-9]+: .*premature end' "$name: cut off, refused"
	elif head -c 8 "$file" | grep -q PNG; then
		is $ours 0 "$name: a PNG with another name"
	elif grep -q 'Unsupported color conversion' "$work/said"; then
		is $ours 0 "$name: CMYK, which djpeg does not convert"
	elif [ $code = 1 ]; then
		like "$ours $(cat "$work/errors")" '^1 (JPEG of [0-9]+ bytes, at byte [0-9]+|found 0 bytes)' "$name: refused, as by djpeg"
	else
		cmp -s "$work/ours" "$work/theirs"
		is "$? $([ $code = 2 ] && cat "$work/errors")" "0 $([ $code = 2 ] && echo with a warning)" "$name: djpeg's pixels"
	fi
done < <(find "$work/jpeg-edge" -name '*.jpg' | sort)
is $files 51 "so many files"
