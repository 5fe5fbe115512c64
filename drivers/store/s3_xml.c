/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3_xml.h"

#include <stdbool.h>
#include <string.h>

#include <expat.h>

#define DEPTH_MAX  8u
#define PATH_BYTES 256u

struct s3_xml {
	XML_Parser parser;
	s3_xml_element each;
	void *context;
	size_t depth, ends[DEPTH_MAX]; /* length of `path` at each level */
	char path[PATH_BYTES];
	size_t text_bytes;
	int result;
	struct error err;
	char text[S3_XML_TEXT_MAX + 1];
};

static void stop(struct s3_xml *xml, int result)
{
	if (!xml->result)
		xml->result = result;
	(void)XML_StopParser(xml->parser, XML_FALSE);
}

static void XMLCALL on_start(void *context, const XML_Char *name, const XML_Char **attributes)
{
	struct s3_xml *xml = context;
	size_t used = xml->depth ? xml->ends[xml->depth - 1] : 0, bytes = strlen(name);

	(void)attributes;
	if (xml->depth == DEPTH_MAX || used + bytes + 2 > sizeof(xml->path)) {
		stop(xml, error_set(&xml->err, -EBADMSG, "the answer's XML is nested too deep"));
		return;
	}
	if (used)
		xml->path[used++] = '/';
	memcpy(xml->path + used, name, bytes + 1);
	xml->ends[xml->depth++] = used + bytes;
	xml->text_bytes = 0;
}

static void XMLCALL on_end(void *context, const XML_Char *name)
{
	struct s3_xml *xml = context;
	int r;

	(void)name;
	/* expat calls on_end() for an empty element even after on_start() has stopped the parser */
	if (xml->result)
		return;
	xml->text[xml->text_bytes] = 0;
	r = xml->each(xml->context, xml->path, xml->text, xml->text_bytes, &xml->err);
	xml->depth--;
	xml->path[xml->depth ? xml->ends[xml->depth - 1] : 0] = 0;
	xml->text_bytes = 0;
	if (r)
		stop(xml, r);
}

static void XMLCALL on_text(void *context, const XML_Char *text, int bytes)
{
	struct s3_xml *xml = context;

	if ((size_t)bytes > S3_XML_TEXT_MAX - xml->text_bytes) {
		stop(xml,
		     error_set(&xml->err, -EBADMSG, "the answer's XML element %s is longer than %u bytes",
			       xml->path, S3_XML_TEXT_MAX));
		return;
	}
	memcpy(xml->text + xml->text_bytes, text, (size_t)bytes);
	xml->text_bytes += (size_t)bytes;
}

/* Refuses a document type: S3 sends none, and entities that it defines could expand without limit. */
static void XMLCALL on_doctype(void *context, const XML_Char *name, const XML_Char *system,
			       const XML_Char *public, int internal)
{
	struct s3_xml *xml = context;

	(void)name, (void)system, (void)public, (void)internal;
	stop(xml, error_set(&xml->err, -EBADMSG, "the answer's XML has a document type"));
}

void s3_xml_reset(struct s3_xml *xml)
{
	(void)XML_ParserReset(xml->parser, NULL);
	XML_SetUserData(xml->parser, xml);
	XML_SetElementHandler(xml->parser, on_start, on_end);
	XML_SetCharacterDataHandler(xml->parser, on_text);
	XML_SetStartDoctypeDeclHandler(xml->parser, on_doctype);
	xml->depth = 0;
	xml->text_bytes = 0;
	xml->result = 0;
	xml->err = (struct error){ 0 };
}

int s3_xml_open(s3_xml_element each, void *context, struct s3_xml **ret_xml, struct error *err)
{
	CLEANUP(s3_xml_closep) struct s3_xml *xml = calloc(1, sizeof(*xml));

	if (xml)
		xml->parser = XML_ParserCreate(NULL);
	if (!xml || !xml->parser)
		return error_set(err, -ENOMEM, "no memory for an XML parser");
	xml->each = each;
	xml->context = context;
	s3_xml_reset(xml);
	*ret_xml = TAKE(xml);
	return 0;
}

void s3_xml_close(struct s3_xml *xml)
{
	if (!xml)
		return;
	if (xml->parser)
		XML_ParserFree(xml->parser);
	free(xml);
}

void s3_xml_closep(struct s3_xml **xml)
{
	s3_xml_close(*xml);
}

static int parse(struct s3_xml *xml, const char *data, size_t bytes, bool final, struct error *err)
{
	if (xml->result == 0 && XML_Parse(xml->parser, data, (int)bytes, final) != XML_STATUS_OK &&
	    xml->result == 0)
		xml->result = error_set(&xml->err, -EBADMSG, "the answer's XML, line %lu: %s",
					XML_GetCurrentLineNumber(xml->parser),
					XML_ErrorString(XML_GetErrorCode(xml->parser)));
	if (xml->result && err)
		*err = xml->err;
	return xml->result;
}

int s3_xml_feed(struct s3_xml *xml, const char *data, size_t bytes, struct error *err)
{
	return parse(xml, data, bytes, false, err);
}

int s3_xml_finish(struct s3_xml *xml, struct error *err)
{
	return parse(xml, "", 0, true, err);
}
