# SPDX-License-Identifier: Apache-2.0
# Shared by the benchmarks of single pictures in a bucket, beside ingest.sh: the 4 317 pictures of the tar flowers5-128 in the
# folder PICTURES, or pictures that are made here, of five classes.
. "$(dirname "${BASH_SOURCE[0]}")/ingest.sh"

make_pictures() {
	if [ -e "${PICTURES:-}/flowers5-128.tar.gz" ]; then
		tar xzf "$PICTURES/flowers5-128.tar.gz" -C "$work"
		mv "$work/flowers5-128" "$work/pictures"
	else
		echo "no tar flowers5-128 in the folder PICTURES: pictures are made" >&2
		"$KILN_BUILD/system/make_pictures" "$work/pictures" 863 128 128 44 daisy dandelion rose sunflower tulip
	fi
	records=$(find "$work/pictures" -type f | wc -l)
}

# Writes the configuration of one pass over all pictures. `side`: of the square that each becomes.
config_pictures() { # side
	kiln_folder=pictures kiln_rows=$records kiln_bytes=$(stored pictures) kiln_format='format = "objects";'
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "objects"; epochs = 1; };
		source: { url = "$source_url/pictures"; endpoint = "$endpoint"; format = "objects"; };
		sink: { url = "file://$work/runs"; };
		split: { train_glob = "*/*"; test_glob = ""; validation_percent = 0; };
		ring: { small_pages = true; };
		schema = ( { name = "image"; dtype = "picture"; shape = [ $1, $1, 3 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 1 ]; } );
		model: { input = "image"; loss = "sparse_categorical_crossentropy";
		         layers = ( { op = "flatten"; }, { op = "dense"; units = 5; }, { op = "softmax"; } ); };
	CONF
}
