/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses S3's XML answers (expat) while their bytes arrive, and passes each element to a callback. Answers
 * are not trusted: a document type is refused, as are more than 8 levels and what exceeds the limits below.
 *
 * Order: s3_xml_open -> (s3_xml_feed* -> s3_xml_finish | s3_xml_reset)* -> s3_xml_close.
 */
#pragma once

#include "core/base/error.h"

#include <stddef.h>

#define S3_XML_TEXT_MAX 16384u /* bytes of an element's text */
/* bytes of a document: a page of 1000 of the longest keys, each of which may be escaped, is half as long */
#define S3_XML_BYTES_MAX (16u << 20)
/* bytes that expat allocates: it holds each tag, comment and name of an element or attribute */
#define S3_XML_MEMORY_MAX (1u << 20)

struct s3_xml;

/* Called at the end of each element, with its path, such as "Root/Child/Name", and its text. A result other
 * than 0 stops the parser, and s3_xml_feed() returns it. */
typedef int (*s3_xml_element)(void *context, const char *path, const char *text, size_t bytes,
			      struct error *err);

MUST_CHECK int s3_xml_open(s3_xml_element each, void *context, struct s3_xml **ret_xml, struct error *err);
void s3_xml_close(struct s3_xml *xml);
void s3_xml_closep(struct s3_xml **xml);
void s3_xml_reset(struct s3_xml *xml);

/* Parse the next bytes; check that the document is complete. Errors: -EBADMSG the document is not
 * well-formed, or exceeds a limit; -ENONET it is a web page; else what `each` returned. */
MUST_CHECK int s3_xml_feed(struct s3_xml *xml, const char *data, size_t bytes, struct error *err);
MUST_CHECK int s3_xml_finish(struct s3_xml *xml, struct error *err);
