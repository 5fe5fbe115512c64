# SPDX-License-Identifier: Apache-2.0
"""Pictures in TFRecord shards with TensorFlow's names (image/encoded, image/class/label), and tf.data over them.

Usage: pictures_tf.py shards PICTURES FOLDER    writes 8 shards of the JPEG files in class folders; prints how many pictures
       pictures_tf.py read URL EPOCHS SIDE      records, seconds and CPU-seconds of batches uint8 [128, SIDE, SIDE, 3], made by
                                                TensorFlow's defaults; s3: through TensorFlow's S3 file system
"""
import os
import random
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
from peer import measure

SHARDS = 8


def shards(pictures, folder):
    classes = sorted(name for name in os.listdir(pictures) if os.path.isdir(f"{pictures}/{name}"))
    files = [(f"{pictures}/{name}/{file}", label) for label, name in enumerate(classes)
             for file in sorted(os.listdir(f"{pictures}/{name}")) if file.endswith(".jpg")]
    random.Random(44).shuffle(files)
    os.makedirs(folder)
    for shard in range(SHARDS):
        with tf.io.TFRecordWriter(f"{folder}/train-{shard:05}-of-{SHARDS:05}.tfrecord") as writer:
            for path, label in files[shard::SHARDS]:
                with open(path, "rb") as file:
                    features = {"image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[file.read()])),
                                "image/class/label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))}
                writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    print(len(files))


def read(url, epochs, side):
    if url.startswith("s3:"):
        import tensorflow_io  # registers the file system
    auto = tf.data.AUTOTUNE
    names = tf.io.gfile.glob(url + "/train-*")
    schema = {"image/encoded": tf.io.FixedLenFeature([], tf.string), "image/class/label": tf.io.FixedLenFeature([1], tf.int64)}

    def make(record):
        example = tf.io.parse_single_example(record, schema)
        picture = tf.image.resize(tf.io.decode_jpeg(example["image/encoded"], channels=3), [side, side])
        return tf.cast(picture, tf.uint8), example["image/class/label"]

    def pass_over_shards():
        files = tf.data.Dataset.from_tensor_slices(names).shuffle(len(names))
        records = files.interleave(tf.data.TFRecordDataset, num_parallel_calls=auto, deterministic=False)
        return records.shuffle(2000).map(make, num_parallel_calls=auto).batch(128).prefetch(auto)

    for _ in pass_over_shards().take(1):  # graphs are traced before the clock starts
        pass
    measure(label.shape[0] for _ in range(epochs) for _, label in pass_over_shards())
    os._exit(0)  # the S3 file system aborts where it is destroyed


if sys.argv[1] == "shards":
    shards(sys.argv[2], sys.argv[3])
else:
    read(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
