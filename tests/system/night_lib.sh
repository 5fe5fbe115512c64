# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of what a real night leaves: film reviews, a configuration, a night. Source it after lib.sh. Sets kiln and
# sink. Programs find no bus, so they ask no systemd.
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/no-bus
kiln=$KILN_BIN/kiln sink=$work/store/runs

config() { # name of the run and of the file, optimizer, epochs
	cat >"$work/$1" <<-CONF
		run: { name = "$1"; epochs = $3; batch_rows = 16; };
		optimizer: { name = "$2"; learning_rate = 0.005; };
		source: { url = "file://$work/store/data"; };
		sink: { url = "file://$sink"; };
		ring: { small_pages = true; };
		power: { upload_wait_min = 0; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 64 ]; }, { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 16; }, { op = "relu"; }, { op = "dense"; units = 2; }, { op = "softmax"; } ); };
	CONF
}

prep() { # configuration, reviews, their two labels, records a shard
	awk -v reviews="$2" -v one="$3" -v other="$4" 'BEGIN {
		srand(44); split("grand warm fine lovely", good, " "); split("dull cold grim awful", bad, " ")
		for (i = 0; i < reviews; i++)
			print (i % 2 ? one : other) "\tthe film was " (i % 2 ? good[1 + int(rand() * 4)] : bad[1 + int(rand() * 4)]) \
				" in part " int(rand() * 90)
	}' >"$work/reviews.tsv"
	"$kiln" prep "$work/reviews.tsv" --config "$work/$1" --dims 64 --records-per-shard "$5" >"$work/prep.log" 2>&1
	ok $? "prep" "$(cat "$work/prep.log")"
}

night() { # configuration, name of the test
	timeout 120 tools/night "$KILN_BIN" "$work/$1" >"$work/night.log" 2>&1
	ok $? "$2" "$(cat "$work/night.log" "$KILN_ROOT"/run/kiln/night/*.log)"
}
