/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a TFRecord file as the reader sees it: dump_records FILE [NAME:DTYPE:ELEMENTS[:FILL]...]
 * The first line of JSON is about the file, {"compression":..}. Then follows a line a record:
 * {"bytes":N,"values":{NAME:[..]}}, with the named features (FILL makes one optional), or all features of
 * the record, each of its own kind, null without values; {"error":..} instead of values if the record is
 * refused. Floats are written as their bits, byte strings in hex. Exit status 1 if the file itself is
 * refused; the last line then says why.
 */
#include "core/base/json.h"
#include "core/base/paths.h"
#include "data/example.h"
#include "data/inflated.h"
#include "data/tfrecord.h"

#include <inttypes.h>
#include <string.h>

#define FILE_MAX ((uint64_t)1 << 30)

struct dump {
	struct example_schema schema;
	char name[EXAMPLE_FEATURES_MAX][256];
	bool unset[EXAMPLE_FEATURES_MAX];
};

static void print_text(const char *text)
{
	CLEANUP(json_free) cJSON *string = cJSON_CreateString(text);
	CLEANUP(free_ptr) char *json = cJSON_PrintUnformatted(string);

	fputs(json ? json : "\"\"", stdout);
}

static void print_value(const struct example_feature *feature, const uint8_t *row, uint64_t index)
{
	uint64_t stride = example_row_bytes(feature) / feature->elements;
	const uint8_t *at = row + index * stride;
	uint32_t bits;
	int64_t whole;

	if (feature->dtype == EXAMPLE_INT64) {
		memcpy(&whole, at, sizeof(whole));
		printf("%" PRId64, whole);
		return;
	}
	memcpy(&bits, at, sizeof(bits));
	if (feature->dtype == EXAMPLE_FLOAT32) {
		printf("%" PRIu32, bits);
		return;
	}
	putchar('"');
	for (uint32_t i = 0; i < bits; i++)
		printf("%02x", at[sizeof(bits) + i]);
	putchar('"');
}

static void print_rows(const struct dump *dump, void *const *rows)
{
	printf("\"values\":{");
	for (uint32_t i = 0; i < dump->schema.features; i++) {
		const struct example_feature *feature = &dump->schema.feature[i];

		fputs(i ? "," : "", stdout);
		print_text(feature->name);
		fputs(dump->unset[i] ? ":null" : ":[", stdout);
		for (uint64_t v = 0; v < feature->elements && !dump->unset[i]; v++) {
			fputs(v ? "," : "", stdout);
			print_value(feature, rows[i], v);
		}
		fputs(dump->unset[i] ? "" : "]", stdout);
	}
	printf("}}\n");
}

/* ---- The schema: the caller's, or the record's own ---- */

static int note_feature(void *context, const char *name, uint64_t bytes, uint32_t dtype, uint64_t count)
{
	struct dump *dump = context;
	struct example_schema *schema = &dump->schema;
	uint32_t at = 0;

	if (bytes >= sizeof(dump->name[0]) || schema->features == EXAMPLE_FEATURES_MAX)
		return -E2BIG;
	while (at < schema->features &&
	       (strlen(dump->name[at]) != bytes || memcmp(dump->name[at], name, bytes) != 0))
		at++;
	memcpy(dump->name[at], name, bytes);
	dump->name[at][bytes] = '\0';
	dump->unset[at] = dtype == 0;
	schema->feature[at] = (struct example_feature){ .name = dump->name[at],
							.dtype = dtype ? dtype : EXAMPLE_INT64,
							.elements = count,
							.optional = dtype == 0,
							.bytes_max = UINT16_MAX };
	schema->features += at == schema->features;
	return 0;
}

static bool take_feature(struct dump *dump, const char *text)
{
	static const char *const dtypes[] = { "", "float32", "int64", "bytes" };
	struct example_feature *feature = &dump->schema.feature[dump->schema.features];
	char dtype[16] = "";
	int fields;

	*feature = (struct example_feature){ .name = dump->name[dump->schema.features],
					     .bytes_max = UINT16_MAX };
	fields = sscanf(text, "%255[^:]:%15[^:]:%" SCNu64 ":%lf", dump->name[dump->schema.features], dtype,
			&feature->elements, &feature->fill);
	feature->optional = fields == 4;
	for (uint32_t d = 1; d < 4; d++)
		if (strcmp(dtype, dtypes[d]) == 0)
			feature->dtype = d;
	dump->schema.features++;
	return fields >= 3 && feature->dtype && dump->schema.features < EXAMPLE_FEATURES_MAX;
}

/* ---- Records ---- */

static int parse(struct dump *dump, const struct tfrecord *record, void **rows, struct error *err)
{
	int r = 0;

	if (dump->schema.features == 0)
		r = example_describe(record->data, record->bytes, note_feature, dump, err);
	for (uint32_t i = 0; r == 0 && i < dump->schema.features; i++)
		if (!(rows[i] = malloc(example_row_bytes(&dump->schema.feature[i]) + 1)))
			r = error_set(err, -ENOMEM, "no memory");
	return r < 0 ? r : example_parse(&dump->schema, record->data, record->bytes, rows, err);
}

static void dump_record(const struct dump *wanted, const struct tfrecord *record)
{
	struct dump dump = *wanted;
	void *rows[EXAMPLE_FEATURES_MAX] = { NULL };
	struct error err = { 0 };

	for (uint32_t i = 0; i < dump.schema.features; i++)
		dump.schema.feature[i].name = dump.name[i];
	printf("{\"bytes\":%" PRIu64 ",", record->bytes);
	if (parse(&dump, record, rows, &err) < 0) {
		printf("\"error\":");
		print_text(err.text);
		puts("}");
	} else {
		print_rows(&dump, rows);
	}
	for (uint32_t i = 0; i < EXAMPLE_FEATURES_MAX; i++)
		free(rows[i]);
}

static int dump_file(const struct dump *dump, const char *path, struct error *err)
{
	static const char *const names[] = {
		[COMPRESSION_NONE] = "none", [COMPRESSION_GZIP] = "gzip", [COMPRESSION_ZLIB] = "zlib"
	};
	CLEANUP(free_ptr) char *data = NULL;
	CLEANUP(inflated_done) struct inflated shard = { 0 };
	uint64_t bytes, offset = 0;
	struct tfrecord record;
	int r = file_read(path, FILE_MAX, &data, &bytes, err);

	if (r < 0)
		return r;
	printf("{\"compression\":\"%s\"}\n", names[compression_of(data, bytes)]);
	r = inflated_set(&shard, data, bytes, FILE_MAX, err);
	while (r == 0 &&
	       (r = tfrecord_next(shard.data, shard.bytes, offset, UINT64_MAX, &record, err)) == 0) {
		dump_record(dump, &record);
		offset = record.next;
	}
	return r == -ENODATA ? 0 : r;
}

int main(int argc, char **argv)
{
	struct dump dump = { 0 };
	struct error err = { 0 };

	for (int i = 2; i < argc; i++)
		if (!take_feature(&dump, argv[i]))
			return 2;
	if (argc < 2)
		return 2;
	if (dump_file(&dump, argv[1], &err) == 0)
		return 0;
	printf("{\"error\":");
	print_text(err.text);
	puts("}");
	return 1;
}
