/* SPDX-License-Identifier: Apache-2.0 */
/* A call whose answer is XML, read as it arrives. */
#pragma once

#include "drivers/store/s3_call.h"

struct s3_document {
	struct s3_xml *xml;
	struct s3_reply reply;
};

/* Makes `document` the reader of the call's answer; it must outlive the call. */
MUST_CHECK int s3_document_open(struct s3_document *document, struct s3_call *call, struct error *err);
void s3_document_done(struct s3_document *document);
