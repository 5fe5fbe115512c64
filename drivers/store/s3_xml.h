/* SPDX-License-Identifier: Apache-2.0 */
/*
 * S3's XML answers, element by element as bytes arrive (expat). No document type, at most 8 levels, text of
 * at most S3_XML_TEXT_MAX bytes an element: a server's answer is untrusted.
 *
 * Order: s3_xml_open -> (s3_xml_feed* -> s3_xml_finish | s3_xml_reset)* -> s3_xml_close.
 */
#pragma once

#include "core/base/error.h"

#include <stddef.h>

#define S3_XML_TEXT_MAX 16384u

struct s3_xml;

/* Called at the end of each element: `path` is "Root/Child/Name"; non-zero stops and is returned. */
typedef int (*s3_xml_element)(void *context, const char *path, const char *text, size_t bytes,
			      struct error *err);

MUST_CHECK int s3_xml_open(s3_xml_element each, void *context, struct s3_xml **ret_xml, struct error *err);
void s3_xml_close(struct s3_xml *xml);
void s3_xml_closep(struct s3_xml **xml);
void s3_xml_reset(struct s3_xml *xml);

/* Errors: -EBADMSG not well-formed, or over a limit; what `each` returned. */
MUST_CHECK int s3_xml_feed(struct s3_xml *xml, const char *data, size_t bytes, struct error *err);
MUST_CHECK int s3_xml_finish(struct s3_xml *xml, struct error *err);
