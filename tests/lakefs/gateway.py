# SPDX-License-Identifier: Apache-2.0
"""The S3 gateway of the contract server: a bucket is a repository, a key is REF/PATH. Requests are signed with SigV4 by an access key
of lakeFS; the objects are in a real S3 server."""
import bisect
import email.utils
import hashlib
import hmac
import itertools
import re
import time
import urllib.parse
import uuid
from xml.sax.saxutils import escape

from botocore.exceptions import ClientError
from repository import Refused

PAGE = 1000
CODES = {403: (403, "ErrWriteToProtectedBranch"), 404: (404, "NoSuchKey")}  # of what a repository refuses
REDIRECTS = "s3RedirectionSupport"  # in User-Agent: the client follows a redirect to a pre-signed URL


class S3Error(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message

    def answer(self):
        body = f"<?xml version=\"1.0\"?><Error><Code>{self.code}</Code><Message>{escape(self.message)}</Message></Error>"
        return self.status, {"Content-Type": "application/xml"}, body.encode()


def signature(secret, authorization, method, target, headers):
    """The signature that SigV4 gives to a request."""
    fields = dict(re.findall(r"(Credential|SignedHeaders|Signature)=([^,\s]+)", authorization))
    scope = fields["Credential"].split("/")[1:]
    path, _, query = target.partition("?")
    pairs = sorted(p if "=" in p else p + "=" for p in query.split("&") if p)
    signed = fields["SignedHeaders"].split(";")
    canonical = "\n".join([method, path, "&".join(pairs), *(f"{n}:{' '.join(headers[n].split())}" for n in signed), "",
                           ";".join(signed), headers["x-amz-content-sha256"]])
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], "/".join(scope), hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in scope + [text]:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return fields["Credential"].split("/")[0], fields["Signature"], key.hex()


class Gateway:
    def __init__(self, server):
        self.server, self.uploads, self.lost = server, {}, 0

    def check(self, method, target, headers):
        who, given, right = signature(self.server.secret, headers["authorization"], method, target, headers)
        if who != self.server.key:
            raise S3Error(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
        if given != right:
            raise S3Error(403, "SignatureDoesNotMatch", "The request signature we calculated does not match.")

    def check_permission(self, method, ref):
        wanted = {"PUT": "fs:WriteObject", "POST": "fs:WriteObject", "DELETE": "fs:DeleteObject"}
        action = wanted.get(method, "fs:ReadObject") if ref else "fs:ListObjects"
        if action in self.server.denied:
            raise S3Error(403, "AccessDenied", "Access Denied.")

    def handle(self, method, target, headers, body):
        try:
            self.check(method, target, headers)
            parts = urllib.parse.urlsplit(target)
            query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
            bucket, _, key = parts.path[1:].partition("/")
            repository = self.server.repositories.get(urllib.parse.unquote(bucket))
            if not repository:
                raise S3Error(404, "NoSuchBucket", "The specified bucket does not exist")
            ref, _, path = urllib.parse.unquote(key).partition("/")
            self.check_permission(method, ref)
            with repository.lock:
                return self.dispatch(method, repository, ref, path, query, headers, body)
        except S3Error as e:
            return e.answer()
        except Refused as e:
            status, code = CODES.get(e.status, (400, "BadRequest"))
            return S3Error(status, code, e.message).answer()
        except ClientError as e:
            return S3Error(500, "InternalError", str(e)).answer()

    def dispatch(self, method, repository, ref, path, query, headers, body):
        if not ref:
            if "uploads" in query:
                if any(query.get(name) for name in ("prefix", "delimiter", "encoding-type")):
                    raise S3Error(501, "NotImplemented", "a list of uploads has no prefix here")
                return 200, {"Content-Type": "application/xml"}, b"<ListMultipartUploadsResult></ListMultipartUploadsResult>"
            if "versions" in query:
                raise S3Error(405, "ERRLakeFSNotSupported", "This operation is not supported in LakeFS")
            return self.list(repository, query)
        if method == "POST" or "uploadId" in query:
            return self.multipart(method, repository, ref, path, query, body)
        if method == "PUT":
            return self.put(repository, ref, path, headers, body)
        if method == "DELETE":
            repository.put(ref, path, None)
            return 204, {}, b""
        return self.get(method, repository, ref, path, headers)

    # ---- Reading ----

    def list(self, repository, query):
        ref, _, prefix = query.get("prefix", "").partition("/")
        after = query.get("continuation-token", "").partition("/")[2]
        try:
            tree, paths = repository.tree(ref), repository.paths(ref)
        except Refused:
            tree, paths = {}, []  # lakeFS lists nothing for a branch that does not exist
        page = int(query.get("max-keys", PAGE))
        first = bisect.bisect_left(paths, prefix.encode(), key=str.encode)
        if after.encode() >= prefix.encode():
            first = bisect.bisect_right(paths, after.encode(), key=str.encode)
        found = list(itertools.takewhile(lambda p: p.startswith(prefix), itertools.islice(paths, first, first + page + 1)))
        shown = found[:page]
        encode = (lambda t: urllib.parse.quote(t, safe="/")) if query.get("encoding-type") == "url" else escape
        entries = "".join(
            f"<Contents><Key>{encode(ref + '/' + p)}</Key><ETag>\"{tree[p]['etag']}\"</ETag><Size>{tree[p]['size']}</Size>"
            f"<LastModified>{time.strftime('%Y-%m-%dT%H:%M:%S.000Z', time.gmtime(tree[p]['mtime']))}</LastModified></Contents>"
            for p in shown)
        more = len(found) > page
        token = f"<NextContinuationToken>{escape(ref + '/' + shown[-1])}</NextContinuationToken>" if more else ""
        kind = f"<EncodingType>{query['encoding-type']}</EncodingType>" if "encoding-type" in query else ""
        body = (f"<?xml version=\"1.0\"?><ListBucketResult><Name>{repository.id}</Name><IsTruncated>{str(more).lower()}</IsTruncated>"
                f"{kind}{token}{entries}</ListBucketResult>")
        return 200, {"Content-Type": "application/xml"}, body.encode()

    def get(self, method, repository, ref, path, headers):
        entry = repository.tree(ref).get(path)
        if entry is None:
            raise S3Error(404, "NoSuchKey", "The specified key does not exist.")
        where = {"Bucket": entry["bucket"], "Key": entry["key"]}
        answer = {"ETag": f"\"{entry['etag']}\"", "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream",
                  "Last-Modified": email.utils.formatdate(entry["mtime"], usegmt=True)}
        if method == "HEAD":
            return 200, {**answer, "Content-Length": str(entry["size"])}, b""
        if REDIRECTS in headers.get("user-agent", ""):
            self.server.redirects += 1
            return 307, {"Location": self.server.s3.generate_presigned_url("get_object", Params=where, ExpiresIn=900)}, b""
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))
        if not span:
            return 200, answer, self.server.s3.get_object(**where)["Body"].read()
        first, last = int(span[1]), min(int(span[2] or entry["size"]), entry["size"] - 1)
        if first > last:
            raise S3Error(416, "InvalidRange", "The requested range is not satisfiable")
        answer["Content-Range"] = f"bytes {first}-{last}/{entry['size']}"
        return 206, answer, self.server.s3.get_object(**where, Range=f"bytes={first}-{last}")["Body"].read()

    # ---- Writing ----

    def store(self, repository, ref, path, body):
        repository.branch_head(ref)
        bucket, _, prefix = repository.storage[len("s3://"):].partition("/")
        key = f"{prefix.rstrip('/')}/data/{uuid.uuid4().hex}"
        self.server.s3.put_object(Bucket=bucket, Key=key, Body=body)
        etag = hashlib.md5(body).hexdigest()
        repository.put(ref, path, {"bucket": bucket, "key": key, "etag": etag, "size": len(body), "mtime": int(time.time())})
        return etag

    def put(self, repository, ref, path, headers, body):
        if headers.get("if-none-match") == "*" and path in repository.tree(ref):
            raise S3Error(412, "PreconditionFailed", "At least one of the preconditions you specified did not hold")
        return 200, {"ETag": f"\"{self.store(repository, ref, path, body)}\""}, b""

    def multipart(self, method, repository, ref, path, query, body):
        xml = {"Content-Type": "application/xml"}
        if method == "POST" and "uploads" in query:
            upload = uuid.uuid4().hex
            self.uploads[upload] = {}
            return 200, xml, f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>".encode()
        parts = self.uploads.get(query["uploadId"])
        if parts is None:
            # the store below says NoSuchUpload, and lakeFS answers 500
            raise S3Error(500, "InternalError", "We encountered an internal error, please try again.")
        if method == "PUT":
            parts[int(query["partNumber"])] = body
            return 200, {"ETag": f"\"{hashlib.md5(body).hexdigest()}\""}, b""
        del self.uploads[query["uploadId"]]
        if method == "DELETE":
            return 204, {}, b""
        etag = self.store(repository, ref, path, b"".join(parts[n] for n in sorted(parts)))
        if self.lost > 0:
            self.lost -= 1
            raise S3Error(500, "InternalError", "We encountered an internal error, please try again.")
        return 200, xml, f"<CompleteMultipartUploadResult><ETag>\"{etag}\"</ETag></CompleteMultipartUploadResult>".encode()
