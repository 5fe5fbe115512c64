/* SPDX-License-Identifier: Apache-2.0 */
/* For a call whose answer is XML: parses the answer while it arrives. */
#pragma once

#include "drivers/store/s3_call.h"

struct s3_document {
	/* The caller sets these before s3_document_open(). */
	const char *root; /* name of the root element that the answer must have */
	/* NULL, or the root of a server that does not understand the question: -EOPNOTSUPP, not asked again
	 */
	const char *root_refused;
	/* Or NULL: looks at a complete document. After -EBADMSG the document is asked for again. */
	int (*check)(const void *context, const struct s3_reply *reply, struct error *err);
	const void *context;

	struct s3_xml *xml;
	struct s3_reply reply;
};

/* Makes `document` parse the call's answer. `document` must not be freed before the call. */
MUST_CHECK int s3_document_open(struct s3_document *document, struct s3_call *call, struct error *err);
void s3_document_done(struct s3_document *document);
