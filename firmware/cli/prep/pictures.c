/* SPDX-License-Identifier: Apache-2.0 */
/* Records of pictures, with the names that TensorFlow's scripts use: the file as it is (image/encoded), or
 * its pixels (image/raw), the number and the name of its class, its name, its height and its width. */
#include "cli/prep/picture_small.h"

#include "cli/prep/labelled.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum column { COLUMN_PICTURE, COLUMN_LABEL, COLUMN_TEXT, COLUMN_NAME, COLUMN_HEIGHT, COLUMN_WIDTH, COLUMNS };
static_assert(COLUMNS <= PREP_COLUMNS_MAX, "a record has room for all features of a picture");

#define SHARD_BYTES (UINT64_C(64) << 20)
/* So many shards at least, where there are so many pictures: validation takes whole shards. */
#define SHARDS_LEAST 20u
#define EXTRA_BYTES  256u /* about the size of a record without picture and name */

/* A text as a row of EXAMPLE_BYTES. */
struct text {
	uint32_t bytes;
	char text[PICTURES_NAME_MAX + 1];
};

struct scratch {
	struct picture_decoder *decoder;
	uint8_t *file, *small; /* the last record: its picture, and the smaller one */
	uint64_t pixels_bytes;
	uint8_t *pixels;
	struct example_encoded encoded;
	int64_t label, height, width;
	struct text class, name;
};

static const struct picture_item *item_of(const struct prep *prep, enum texts_split split, uint32_t row)
{
	return &prep->pictures.item[prep->texts.row[split][row].item];
}

/* ---- Before the first record ---- */

/* Adds the pictures to the texts of the splits: a picture is a text that is the name of the file, and equal
 * files are a group. */
static int add_rows(struct prep *prep, struct error *err)
{
	for (uint32_t i = 0; i < prep->pictures.items; i++) {
		const struct picture_item *item = &prep->pictures.item[i];
		struct texts *texts = &prep->texts;
		uint32_t label;
		int r;

		if (item->wrong)
			continue;
		if ((r = texts_label(texts, item->class, item->class_bytes, &label, err)) < 0 ||
		    (r = texts_add(texts, item->split, item->name, strlen(item->name), label, item->sha256,
				   strlen(item->sha256), err)) < 0)
			return r;
		texts->row[item->split][texts->rows[item->split] - 1].item = i;
	}
	return 0;
}

static int make(struct prep *prep, struct error *err)
{
	int r;

	if ((r = pictures_check(&prep->pictures, prep->skip_bad, err)) < 0 ||
	    (r = pictures_split(&prep->pictures, prep->seed, prep->test_percent, err)) < 0 ||
	    (r = add_rows(prep, err)) < 0)
		return r;
	return prep_order_texts(prep, err);
}

/* ---- What a record is ---- */

static uint64_t pixels_bytes(const struct prep *prep)
{
	return prep->size * prep->size * PICTURES_CHANNELS;
}

static void schema(const struct prep *prep, struct example_schema *ret_schema, uint64_t *ret_bytes)
{
	*ret_schema = (struct example_schema){
		.features = COLUMNS,
		.feature = {
			[COLUMN_PICTURE] = { .name = PICTURES_ENCODED, .dtype = EXAMPLE_ENCODED, .elements = 1 },
			[COLUMN_LABEL] = { .name = "image/class/label", .dtype = EXAMPLE_INT64, .elements = 1 },
			[COLUMN_TEXT] = { .name = "image/class/text",
					  .dtype = EXAMPLE_BYTES,
					  .elements = 1,
					  .bytes_max = TEXTS_LABEL_BYTES - 1 },
			[COLUMN_NAME] = { .name = "image/filename",
					  .dtype = EXAMPLE_BYTES,
					  .elements = 1,
					  .bytes_max = PICTURES_NAME_MAX },
			[COLUMN_HEIGHT] = { .name = "image/height", .dtype = EXAMPLE_INT64, .elements = 1 },
			[COLUMN_WIDTH] = { .name = "image/width", .dtype = EXAMPLE_INT64, .elements = 1 },
		},
	};
	if (prep->raw)
		ret_schema->feature[COLUMN_PICTURE] = (struct example_feature){
			.name = PICTURES_RAW, .dtype = EXAMPLE_UINT8, .elements = pixels_bytes(prep)
		};
	*ret_bytes = EXTRA_BYTES + (prep->raw ? pixels_bytes(prep) : 0);
}

static uint64_t row_bytes(const struct prep *prep, enum texts_split split, uint32_t row)
{
	const struct picture_item *item = item_of(prep, split, row);
	const uint64_t extra = EXTRA_BYTES + strlen(item->name);
	uint32_t height, width;

	if (prep->raw)
		return extra + pixels_bytes(prep);
	if (!picture_small_size(item, prep->size, &height, &width))
		return extra + item->bytes;
	return extra + item->bytes * ((uint64_t)height * width) / ((uint64_t)item->height * item->width);
}

static uint64_t scratch_bytes(const struct prep *prep)
{
	(void)prep;
	return sizeof(struct scratch);
}

static void scratch_done(void *memory)
{
	struct scratch *scratch = memory;

	picture_decoder_free(scratch->decoder);
	free(scratch->file);
	free(scratch->small);
	free(scratch->pixels);
}

/* ---- A record ---- */

static void put_text(struct text *out, const char *text, uint64_t bytes)
{
	out->bytes = (uint32_t)bytes;
	memcpy(out->text, text, bytes);
}

static int open_scratch(const struct prep *prep, struct scratch *scratch, struct error *err)
{
	free(TAKE(scratch->file));
	free(TAKE(scratch->small));
	if (prep->raw && !scratch->pixels) {
		scratch->pixels = malloc(pixels_bytes(prep));
		if (!scratch->pixels)
			return error_set(err, -ENOMEM, "no memory for a picture");
	}
	return scratch->decoder ? 0 : picture_decoder_new(&scratch->decoder, err);
}

/* Makes the picture of a record, and its height and width. */
static int make_picture(const struct prep *prep, const struct picture_item *item, struct scratch *scratch,
			struct error *err)
{
	uint32_t height = item->height, width = item->width;
	uint64_t bytes = item->bytes;
	int r = 0;

	if (prep->raw)
		r = picture_small_raw(scratch->decoder, item, scratch->file, (uint32_t)prep->size, prep->fit,
				      scratch->pixels, err);
	else if (picture_small_size(item, prep->size, &height, &width))
		r = picture_small_jpeg(scratch->decoder, item, scratch->file, height, width, &scratch->small,
				       &bytes, err);
	scratch->encoded = (struct example_encoded){ scratch->small ? scratch->small : scratch->file, bytes };
	scratch->height = prep->raw ? (int64_t)prep->size : height;
	scratch->width = prep->raw ? (int64_t)prep->size : width;
	return r < 0 ? error_prefix(err, "%s", item->path) : 0;
}

static int record(const struct prep *prep, enum texts_split split, uint32_t row, void *memory,
		  const void *ret_rows[static PREP_COLUMNS_MAX], struct error *err)
{
	const struct picture_item *item = item_of(prep, split, row);
	const uint32_t label = prep->texts.row[split][row].label;
	struct scratch *scratch = memory;
	int r;

	if ((r = open_scratch(prep, scratch, err)) < 0 ||
	    (r = pictures_load(&prep->pictures, item, &scratch->file, err)) < 0 ||
	    (r = make_picture(prep, item, scratch, err)) < 0)
		return r;
	scratch->label = label;
	put_text(&scratch->class, prep->texts.label[label], strlen(prep->texts.label[label]));
	put_text(&scratch->name, item->name, strlen(item->name));
	ret_rows[COLUMN_PICTURE] = prep->raw ? (const void *)scratch->pixels : &scratch->encoded;
	ret_rows[COLUMN_LABEL] = &scratch->label;
	ret_rows[COLUMN_TEXT] = &scratch->class;
	ret_rows[COLUMN_NAME] = &scratch->name;
	ret_rows[COLUMN_HEIGHT] = &scratch->height;
	ret_rows[COLUMN_WIDTH] = &scratch->width;
	return 0;
}

/* ---- dataset.json ---- */

static void add_range(cJSON *json, const char *name, const struct prep *prep, bool height)
{
	cJSON *range = cJSON_AddArrayToObject(json, name);
	uint32_t least = UINT32_MAX, most = 0;

	for (uint32_t i = 0; i < prep->pictures.items; i++) {
		const struct picture_item *item = &prep->pictures.item[i];
		const uint32_t size = height ? item->height : item->width;

		if (item->wrong)
			continue;
		least = size < least ? size : least;
		most = size > most ? size : most;
	}
	cJSON_AddItemToArray(range, cJSON_CreateNumber(least));
	cJSON_AddItemToArray(range, cJSON_CreateNumber(most));
}

/* The sizes are those of the files that were read. */
static void describe(const struct prep *prep, cJSON *json)
{
	cJSON *pictures = cJSON_AddObjectToObject(json, "pictures");

	add_range(pictures, "height", prep, true);
	add_range(pictures, "width", prep, false);
	json_add_u64(pictures, "size", prep->size);
	cJSON_AddBoolToObject(pictures, "raw", prep->raw);
	if (prep->raw)
		cJSON_AddStringToObject(pictures, "fit", prep->fit);
}

const struct prep_kind prep_pictures = {
	.what = "pictures",
	.feature = PICTURES_ENCODED,
	.make = make,
	.schema = schema,
	.scratch_bytes = scratch_bytes,
	.scratch_done = scratch_done,
	.row_bytes = row_bytes,
	.record = record,
	.class_name = prep_label_name,
	.describe = describe,
	.plain = true,
	.shard_bytes = SHARD_BYTES,
	.shards_least = SHARDS_LEAST,
};
