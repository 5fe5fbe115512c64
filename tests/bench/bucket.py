# SPDX-License-Identifier: Apache-2.0
"""Objects for benchmarks in the S3 server of the environment.

Usage: bucket.py put FOLDER PREFIX [COPIES]   every file of FOLDER, COPIES times under other names
       bucket.py urls PREFIX                  prints a signed URL for each object
"""
import os
import sys

import boto3

s3 = boto3.client("s3", endpoint_url=os.environ["KILN_S3_ENDPOINT"], region_name="us-east-1")
bucket = os.environ["KILN_S3_BUCKET"]


def put(folder, prefix, copies=1):
    for name in sorted(os.listdir(folder)):
        for copy in range(int(copies)):
            key = f"{prefix}/{name}" if copy == 0 else f"{prefix}/{name.split('.')[0]}-{copy:05}.{name.split('.', 1)[1]}"
            s3.upload_file(f"{folder}/{name}", bucket, key)


def urls(prefix):
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix + "/"):
        for entry in page["Contents"]:
            print(s3.generate_presigned_url("get_object", {"Bucket": bucket, "Key": entry["Key"]}, ExpiresIn=86400))


{"put": put, "urls": urls}[sys.argv[1]](*sys.argv[2:])
