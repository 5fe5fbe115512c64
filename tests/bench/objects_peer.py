# SPDX-License-Identifier: Apache-2.0
"""Objects in class folders of the S3 server of the environment.

Usage: objects_peer.py put FOLDER PREFIX     every file below FOLDER
       objects_peer.py urls PREFIX           prints a signed URL for each object
       objects_peer.py get PREFIX THREADS    reads each object with boto3; prints: objects seconds CPU-seconds
"""
import concurrent.futures
import os
import resource
import sys
import time

import boto3
import botocore.config

threads = int(sys.argv[3]) if sys.argv[1] == "get" else 8
s3 = boto3.client("s3", endpoint_url=os.environ["KILN_S3_ENDPOINT"], region_name="us-east-1",
                  config=botocore.config.Config(max_pool_connections=threads))
bucket = os.environ["KILN_S3_BUCKET"]


def each(work, items):
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


def keys(prefix):
    return [entry["Key"] for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix + "/")
            for entry in page["Contents"]]


def put(folder, prefix):
    names = [os.path.relpath(os.path.join(path, name), folder) for path, _, names in os.walk(folder) for name in names]
    each(lambda name: s3.upload_file(f"{folder}/{name}", bucket, f"{prefix}/{name}"), names)


def urls(prefix):
    for key in keys(prefix):
        print(s3.generate_presigned_url("get_object", {"Bucket": bucket, "Key": key}, ExpiresIn=86400))


def get(prefix, _):
    start = time.monotonic()
    sizes = each(lambda key: len(s3.get_object(Bucket=bucket, Key=key)["Body"].read()), keys(prefix))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(sum(size > 0 for size in sizes), time.monotonic() - start, usage.ru_utime + usage.ru_stime)


{"put": put, "urls": urls, "get": get}[sys.argv[1]](*sys.argv[2:])
