# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# To be sourced: a real S3 server (radosgw) with shards for the article's network, and its kiln.conf. Uses film reviews from $IMDB
# or ../shared/data/imdb; where there are none, descriptions of Debian's packages. Sets work (a scratch folder; kiln.conf is in
# it) and python; exports KILN_BENCH_CLASSES and the server's environment.
python=$(tests/interop/venv bench)
imdb=${IMDB:-../shared/data/imdb}
work=$(mktemp -d /dev/shm/kiln-article-XXXXXX)
clean_up() {
	local node
	tools/store/radosgw stop "$work/s3"
	for node in "$work"/node*; do
		KILN_ROOT=$node "$KILN_BIN/kiln-oneshot" release >/dev/null 2>&1 || true
	done
	rm -rf "$work"
}
trap clean_up EXIT
tools/store/radosgw start "$work/s3" >/dev/null
. "$work/s3/env"

input=$imdb
export KILN_BENCH_CLASSES=2
if [ ! -e "$imdb" ]; then
	tools/demo-data >"$work/packages.tsv"
	input=$work/packages.tsv KILN_BENCH_CLASSES=10
fi
place="endpoint = \"$KILN_S3_ENDPOINT\"; region = \"us-east-1\";"
cat >"$work/kiln.conf" <<CONF
run: { name = "article"; epochs = 10; seed = 44; batch_rows = 128; };
source: { url = "s3://$KILN_S3_BUCKET/data"; $place };
sink: { url = "s3://$KILN_S3_BUCKET/runs"; $place };
split: { train_glob = "train-*"; test_glob = "test-*"; validation_percent = 0; };
ring: { small_pages = true; };
schema = ( { name = "sentence"; dtype = "float32"; shape = [ 512 ]; }, { name = "label"; dtype = "int64"; shape = [ $KILN_BENCH_CLASSES ]; } );
model: {
  input = "sentence"; label = "label"; loss = "categorical_crossentropy";
  layers = ( { op = "dense"; units = 256; activation = "relu"; }, { op = "dropout"; rate = 0.2; },
             { op = "dense"; units = 16; activation = "relu"; }, { op = "dropout"; rate = 0.2; },
             { op = "dense"; units = $KILN_BENCH_CLASSES; activation = "softmax"; } );
};
CONF
"$KILN_BIN/kiln" prep "$input" --config "$work/kiln.conf" --seed 44 >&2
