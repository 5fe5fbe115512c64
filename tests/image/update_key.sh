#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Changes the key that signs updates on a box: a bundle signed with the old key brings both certificates, then one signed with
# the new key brings only the new one. Meanwhile the store is down: an updated slot falls back for this reason, unless
# update.offline says that the store need not answer.
. "$(dirname "$0")/lib.sh"
. tests/image/bundle_lib.sh
. tests/image/update_lib.sh

built
old=build/keys new=$work/new
tools/bundle-key "$new" "the new key"
unpacked
with_keyring "$old/cert.pem" "$new/cert.pem"
bundle "$usb/both.raucb" $old
with_keyring "$new/cert.pem"
bundle "$usb/new.raucb" "$new"
usb_disk
box_with_store

on
booted "it boots"
is_good A "slot A is good"
refused file:///mnt/new.raucb '^failed, .*signature verification failed' "the new key's bundle, which the box does not know"
ask file:///mnt/both.raucb
changes_slot "the old key's, whose keyring has both, is installed"
booted "it boots"
is_slot B "the updated slot"
is_good B "it is found good"

# ---- A bundle with the new key, while the store is down ----
tools/store/radosgw stop "$work/rgw"
trial_lasts 150
ask file:///mnt/new.raucb
changes_slot "the new key's is installed"
attempt A 1 "the boot loader takes slot A"
changes_slot "the store is away, and the time over"
booted "it boots"
is_slot B "the old slot"
is_good B "which is good, though the store is away: it was before"
is "$(inside "journalctl -b -1 -q --no-pager -o cat | grep -oE '(Starting|Finished) kiln-check-store' | sort -u")" \
	"Starting kiln-check-store" "it was the store"
like "$(event slot.bad)" 'slot A was not found good in time' "an event says so"

# ---- The store need not answer ----
inside '(cat /data/etc/kiln/kiln.conf; echo "update: { offline = true; };") >/tmp/kiln.conf; kiln config apply /tmp/kiln.conf' >"$work/said"
ok $? "update.offline" "$(cat "$work/said")"
trial_lasts 900
ask file:///mnt/new.raucb
changes_slot "it is installed"
booted "it boots"
is_slot A "the updated slot"
is_good A "it is found good, without the store"
refused file:///mnt/both.raucb '^failed, .*signature verification failed' "the old key's bundle from now on"
