# SPDX-License-Identifier: Apache-2.0
"""Validates requests and answers against lakeFS's OpenAPI document, with openapi-core."""
import os
import urllib.parse

from openapi_core import OpenAPI
from openapi_core.datatypes import RequestParameters
from werkzeug.datastructures import Headers, ImmutableMultiDict

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "openapi.yml")


class Request:
    def __init__(self, host, method, target, headers, body):
        parts = urllib.parse.urlsplit(target)
        self.host_url, self.path, self.method = f"http://{host}", parts.path, method.lower()
        self.parameters = RequestParameters(
            query=ImmutableMultiDict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True)),
            header=Headers(list(headers.items())))
        self.body, self.content_type = body or None, headers.get("Content-Type", "")


class Response:
    def __init__(self, status, content_type, body):
        self.status_code, self.content_type, self.data, self.headers = status, content_type, body, Headers()


class Contract:
    def __init__(self):
        self.document = OpenAPI.from_file_path(DOCUMENT)

    def request_fault(self, request):
        """What of a request the document does not allow; None: nothing."""
        errors = self.document.iter_request_errors if hasattr(self.document, "iter_request_errors") else None
        if errors:
            return "; ".join(f"{e} {e.__cause__ or ''}" for e in errors(request)) or None
        try:
            self.document.validate_request(request)
        except Exception as e:  # each kind of mistake is a class of its own
            return f"{type(e).__name__}: {e} {e.__cause__ or ''} {getattr(e.__cause__, 'schema_errors', '')}"
        return None

    def response_fault(self, request, response):
        try:
            self.document.validate_response(request, response)
        except Exception as e:
            return f"{type(e).__name__}: {e} {e.__cause__ or ''} {getattr(e.__cause__, 'schema_errors', '')}"
        return None
