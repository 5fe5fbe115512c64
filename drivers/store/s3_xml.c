/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3_xml.h"

#include <malloc.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

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
	size_t bytes, memory; /* bytes of the document so far; bytes that expat holds */
	bool exhausted;       /* expat asked for more than S3_XML_MEMORY_MAX */
	int result;
	struct error err;
	char text[S3_XML_TEXT_MAX + 1];
};

/* The parser that calls expat on this thread: expat's memory functions have no argument for it. */
static _Thread_local struct s3_xml *working;

static void *resize(void *memory, size_t bytes)
{
	size_t before = memory ? malloc_usable_size(memory) : 0;
	void *resized = NULL;

	if (working->memory - before + bytes <= S3_XML_MEMORY_MAX)
		resized = realloc(memory, bytes);
	else
		working->exhausted = true;
	if (resized)
		working->memory += malloc_usable_size(resized) - before;
	return resized;
}

static void *allocate(size_t bytes)
{
	return resize(NULL, bytes);
}

static void release(void *memory)
{
	working->memory -= memory ? malloc_usable_size(memory) : 0;
	free(memory);
}

static void stop(struct s3_xml *xml, int result)
{
	if (!xml->result)
		xml->result = result;
	(void)XML_StopParser(xml->parser, XML_FALSE);
}

/* Returns whether the root or document type is that of HTML, and then stops the parser. */
static bool is_web_page(struct s3_xml *xml, const char *name)
{
	bool is = strcasecmp(name, "html") == 0;

	if (is)
		stop(xml,
		     error_set(&xml->err, -ENONET, "the network answers for the store: found a web page"));
	return is;
}

static void XMLCALL on_start(void *context, const XML_Char *name, const XML_Char **attributes)
{
	struct s3_xml *xml = context;
	size_t used = xml->depth ? xml->ends[xml->depth - 1] : 0, bytes = strlen(name);

	(void)attributes;
	if (!xml->depth && is_web_page(xml, name))
		return;
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

	(void)system, (void)public, (void)internal;
	if (!is_web_page(xml, name))
		stop(xml, error_set(&xml->err, -EBADMSG, "the answer's XML has a document type"));
}

void s3_xml_reset(struct s3_xml *xml)
{
	working = xml;
	(void)XML_ParserReset(xml->parser, NULL);
	XML_SetUserData(xml->parser, xml);
	XML_SetElementHandler(xml->parser, on_start, on_end);
	XML_SetCharacterDataHandler(xml->parser, on_text);
	XML_SetStartDoctypeDeclHandler(xml->parser, on_doctype);
	xml->depth = 0;
	xml->text_bytes = xml->bytes = 0;
	xml->exhausted = false;
	xml->result = 0;
	xml->err = (struct error){ 0 };
}

int s3_xml_open(s3_xml_element each, void *context, struct s3_xml **ret_xml, struct error *err)
{
	static const XML_Memory_Handling_Suite counted = { allocate, resize, release };
	CLEANUP(s3_xml_closep) struct s3_xml *xml = calloc(1, sizeof(*xml));

	working = xml;
	if (xml)
		xml->parser = XML_ParserCreate_MM(NULL, &counted, NULL);
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
	working = xml;
	if (xml->parser)
		XML_ParserFree(xml->parser);
	free(xml);
}

void s3_xml_closep(struct s3_xml **xml)
{
	s3_xml_close(*xml);
}

static int malformed(struct s3_xml *xml)
{
	const char *why = XML_ErrorString(XML_GetErrorCode(xml->parser));

	if (xml->exhausted)
		return error_set(&xml->err, -EBADMSG,
				 "the answer's XML takes more than %u bytes of memory in its first %zu bytes",
				 S3_XML_MEMORY_MAX, xml->bytes);
	return error_set(&xml->err, -EBADMSG, "the answer's XML, in its first %zu bytes: %s", xml->bytes,
			 why);
}

static int parse(struct s3_xml *xml, const char *data, size_t bytes, bool final, struct error *err)
{
	working = xml;
	if (xml->result == 0 && bytes > S3_XML_BYTES_MAX - xml->bytes)
		xml->result = error_set(&xml->err, -EBADMSG, "the answer's XML has more than %u bytes",
					S3_XML_BYTES_MAX);
	if (xml->result == 0) {
		xml->bytes += bytes;
		if (XML_Parse(xml->parser, data, (int)bytes, final) != XML_STATUS_OK && xml->result == 0)
			xml->result = malformed(xml);
	}
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
