/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3_document.h"
#include "drivers/store/s3_error.h"

#include <string.h>

static void begin_document(struct s3_call *call)
{
	struct s3_document *document = call->context;

	s3_xml_reset(document->xml);
	s3_reply_begin(&document->reply);
}

static int add_document(struct s3_call *call, const char *data, size_t bytes, struct error *err)
{
	return s3_xml_feed(((struct s3_document *)call->context)->xml, data, bytes, err);
}

static int check_document(struct s3_call *call, enum retry_class *retry, struct error *err)
{
	struct s3_document *document = call->context;
	int r = s3_xml_finish(document->xml, err);

	if (r == 0 && document->reply.error.code[0])
		return s3_error_late(call, &document->reply.error, retry, err);
	if (r == 0 && document->root_refused && strcmp(document->reply.root, document->root_refused) == 0)
		return error_set(err, -EOPNOTSUPP, "the server answers with <%s>, not with <%s>",
				 document->reply.root, document->root);
	if (r == 0 && strcmp(document->reply.root, document->root) != 0)
		return error_set(err, -EBADMSG, "the answer's XML is <%s>, expected <%s>",
				 document->reply.root, document->root);
	return r == 0 && document->check ? document->check(document->context, &document->reply, err) : r;
}

int s3_document_open(struct s3_document *document, struct s3_call *call, struct error *err)
{
	call->begin = begin_document;
	call->data = add_document;
	call->check = check_document;
	call->context = document;
	return s3_xml_open(s3_reply_element, &document->reply, &document->xml, err);
}

void s3_document_done(struct s3_document *document)
{
	s3_xml_close(document->xml);
	s3_reply_done(&document->reply);
}
