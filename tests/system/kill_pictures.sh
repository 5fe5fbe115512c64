#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The network of config/examples/pictures-s3.conf (random_crop, flips, shear, zoom, a small CNN) trained on single JPEG objects of
# a real S3 server: fetchd and traind are killed at random points, again and again, and the final weights and figures equal
# those of a run without a kill, bit for bit.
# KILN_KILLS: kills (4). KILN_SIDE: height and width of the network's pictures (64). KILN_EPOCHS: epochs (4). KILN_SEEDS: one
# run per seed ("1").
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/kill_lib.sh"
kills_wanted=${KILN_KILLS:-4} side=${KILN_SIDE:-64} epochs=${KILN_EPOCHS:-4} seeds=${KILN_SEEDS:-1} victims=(traind fetchd)
start_radosgw "objects of pictures, killed"
url=s3://$KILN_S3_BUCKET/pictures classes=(daisy dandelion rose sunflower tulip)

config() { # name
	sed -e "s|epochs = 10;|epochs = $epochs;|; s|128, 128|$side, $side|; s|s3://pictures\"|$url\"|" \
		-e "s|https://minio.example:9000|$KILN_S3_ENDPOINT|; s| credential = \"minio\";||" \
		-e "/^sink: {/,/^};/c sink: { url = \"file://$work/runs/$1\"; };" config/examples/pictures-s3.conf >"$work/kiln.conf"
	echo 'ring: { small_pages = true; }; checkpoint: { every_steps = 2; keep = 2; };' >>"$work/kiln.conf"
}

"$KILN_BUILD/system/make_pictures" "$work/pictures/train" 60 72 80 44 "${classes[@]}"
"$KILN_BUILD/system/make_pictures" "$work/pictures/test" 8 72 80 45 "${classes[@]}"
while read -r file; do
	"$KILN_BUILD/system/store" upload "$url" "$file" "$work/pictures/$file" >/dev/null || ok 1 "upload of $file"
done < <(cd "$work/pictures" && find . -type f -printf '%P\n')

deadline=$((SECONDS + 30 * (kills_wanted + 10)))
run undisturbed ''
is "$gave_up $(state)" "0 finished" "the undisturbed run finishes"
[ $tap_failed = 0 ] || { tail -n 5 "$KILN_ROOT/log"; exit; }
expected=$(weights undisturbed)
like "$expected" '^[0-9a-f]{64}$' "it writes a model"
same=1
for seed in $seeds; do
	run "seed$seed" "$seed"
	[ $kills = "$kills_wanted" ] && [ "${killed[traind]}" -gt 0 ] && [ "${killed[fetchd]}" -gt 0 ]
	ok $? "seed $seed: $kills kills landed in the run (${killed[traind]} traind, ${killed[fetchd]} fetchd), the last behind step $last"
	is "$gave_up $(state)" "0 finished" "seed $seed: the run finishes all the same"
	is "$(weights "seed$seed")" "$expected" "seed $seed: the same weights, bit for bit"
	is "$(epochs "seed$seed")" "$(epochs undisturbed)" "seed $seed: the same losses and accuracies, digit for digit"
done
[ $tap_failed = 0 ] || same=0
echo "{\"name\":\"kill-pictures\",\"case\":\"$kills_wanted kills a run, pictures of $side x $side, seeds $seeds\",\"value\":$same,\"unit\":\"equal\",\"peer\":\"undisturbed run\",\"peer_value\":1,\"ratio\":$same}"
