/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses S3's XML answers (expat) while their bytes arrive, and passes each element to a callback. Answers
 * are not trusted: a document type is refused, as are more than 8 levels and more than S3_XML_TEXT_MAX bytes
 * of text per element.
 *
 * Order: s3_xml_open -> (s3_xml_feed* -> s3_xml_finish | s3_xml_reset)* -> s3_xml_close.
 */
#pragma once

#include "core/base/error.h"

#include <stddef.h>

#define S3_XML_TEXT_MAX 16384u

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
 * well-formed, or exceeds a limit; else what `each` returned. */
MUST_CHECK int s3_xml_feed(struct s3_xml *xml, const char *data, size_t bytes, struct error *err);
MUST_CHECK int s3_xml_finish(struct s3_xml *xml, struct error *err);
