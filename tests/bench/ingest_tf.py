# SPDX-License-Identifier: Apache-2.0
"""tf.data over shards in a folder or below an s3:// URL: records, seconds and CPU-seconds.

Usage: ingest_tf.py URL EPOCHS LABELS    (s3: through TensorFlow's S3 file system, S3_ENDPOINT in the environment)
"""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
from peer import measure

url, epochs, labels = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if url.startswith("s3:"):
    import tensorflow_io  # registers the file system
schema = {"sentence": tf.io.FixedLenFeature([512], tf.float32), "label": tf.io.FixedLenFeature([labels], tf.int64)}
auto = tf.data.AUTOTUNE
names = tf.io.gfile.glob(url + "/train-*")
compression = "GZIP" if names[0].endswith(".gz") else ""


def pass_over_shards():
    files = tf.data.Dataset.from_tensor_slices(names).shuffle(len(names))
    records = files.interleave(
        lambda name: tf.data.TFRecordDataset(name, compression_type=compression),
        num_parallel_calls=auto,
        deterministic=False,
    )
    return (
        records.shuffle(2000)
        .batch(128)
        .map(lambda batch: tf.io.parse_example(batch, schema), num_parallel_calls=auto)
        .prefetch(auto)
    )


for _ in pass_over_shards().take(1):  # graphs are traced before the clock starts
    pass
measure(batch["label"].shape[0] for _ in range(epochs) for batch in pass_over_shards())
os._exit(0)  # the S3 file system aborts where it is destroyed
