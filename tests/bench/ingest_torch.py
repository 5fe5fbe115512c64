# SPDX-License-Identifier: Apache-2.0
"""PyTorch's loaders over a bucket, two workers: records, seconds and CPU-seconds.

Usage: ingest_torch.py s3torchconnector URL            TFRecords, split here, Examples by the package tfrecord
       ingest_torch.py streaming URL FOLDER            MosaicML Streaming, whose shards lie at URL; FOLDER: its cache
       ingest_torch.py write FOLDER RECORDS            such shards of 128 MiB
"""
import os
import struct
import sys

import numpy
import torch
from torch.utils.data import DataLoader, IterableDataset

from peer import measure

DESCRIPTION = {"sentence": "float", "label": "int"}
TYPES = {"byte": "bytes_list", "float": "float_list", "int": "int64_list"}


class Records(IterableDataset):
    def __init__(self, url):
        self.url = url

    def __iter__(self):
        import s3torchconnector
        from tfrecord import example_pb2, reader

        config = s3torchconnector.S3ClientConfig(force_path_style=True)
        shards = s3torchconnector.S3IterableDataset.from_prefix(
            self.url, region="us-east-1", endpoint=os.environ["KILN_S3_ENDPOINT"], enable_sharding=True, s3client_config=config
        )
        for shard in shards:
            data, at = shard.read(), 0
            while at < len(data):
                (length,) = struct.unpack_from("<Q", data, at)
                example = example_pb2.Example()
                example.ParseFromString(data[at + 12 : at + 12 + length])
                yield reader.extract_feature_dict(example.features, DESCRIPTION, TYPES)
                at += length + 16


def write(folder, records):
    from streaming import MDSWriter

    columns = {"sentence": "ndarray:float32:512", "label": "ndarray:int64:2"}
    random = numpy.random.default_rng(44)
    with MDSWriter(out=folder, columns=columns, size_limit=128 << 20) as out:
        for _ in range(records):
            label = random.integers(2)
            out.write(
                {"sentence": random.random(512, numpy.float32) - 0.5, "label": numpy.array([label, 1 - label], numpy.int64)}
            )


def dataset():
    if sys.argv[1] == "s3torchconnector":
        return Records(sys.argv[2])
    from streaming import StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()  # remove the shared memory that an earlier round left
    return StreamingDataset(remote=sys.argv[2], local=sys.argv[3], shuffle=True, batch_size=128)


if sys.argv[1] == "write":
    write(sys.argv[2], int(sys.argv[3]))
else:
    torch.set_num_threads(1)
    loader = DataLoader(dataset(), batch_size=128, num_workers=2)
    measure(batch["label"].shape[0] for batch in loader)
