# SPDX-License-Identifier: Apache-2.0
# Makes update bundles that differ from the image's own. Source it after lib.sh.
content=$work/content # what the next bundle holds

for program in rauc mksquashfs unsquashfs; do
	command -v $program >/dev/null || { skip "updates" "no $program here: tools/deps/install image"; exit; }
done

# Takes the image's own bundle apart: into $content, and its root without the hashes of dm-verity.
unpacked() {
	tools/mkbundle "$image" "$work/own.raucb" >"$work/said" 2>&1
	ok $? "make bundle" "$(cat "$work/said")"
	unsquashfs -no-progress -d "$content" "$work/own.raucb" >/dev/null
	rm "$work/own.raucb"
	compatible=$(sed -n 's/^compatible=//p' "$content/manifest.raucm")
	head -c "$(sed -n 's/.*kiln.hashoffset=\([0-9]*\).*/\1/p' "$content/slot.cfg")" "$content/root.img" >"$work/squashfs"
}

rooted() { # squashfs: makes it the root of $content, with hashes
	local bytes=$((($(stat -c %s "$1") + 4095) / 4096 * 4096))
	cp "$1" "$content/root.img"
	truncate -s $bytes "$content/root.img"
	veritysetup format --hash-offset=$bytes --root-hash-file="$work/roothash" "$content/root.img" "$content/root.img" >/dev/null
	echo "set slot_args=\"kiln.roothash=$(cat "$work/roothash") kiln.hashoffset=$bytes\"" >"$content/slot.cfg"
}

with_keyring() { # certificates: makes a root that accepts bundles signed with them
	[ -d "$work/root" ] || unsquashfs -no-progress -d "$work/root" "$work/squashfs" >/dev/null
	cat "$@" >"$work/root/etc/rauc/keyring.pem"
	rm -f "$work/squashfs.new"
	mksquashfs "$work/root" "$work/squashfs.new" -quiet -no-progress -comp zstd -Xcompression-level 1 >/dev/null
	rooted "$work/squashfs.new"
}

bundle() { # out, folder of keys, compatible string if not the image's
	sed -i "s/^compatible=.*/compatible=${3:-$compatible}/" "$content/manifest.raucm"
	rm -f "$1"
	rauc --cert="$2/cert.pem" --key="$2/key.pem" --keyring="$2/cert.pem" --mksquashfs-args="-comp zstd -Xcompression-level 1" \
		bundle "$content" "$1" >"$work/said" 2>&1 || ok 1 "${1##*/} is made" "$(cat "$work/said")"
}
