/* SPDX-License-Identifier: Apache-2.0 */
/* Records of images: the image, float[height, width, channels] with values 0 to 1, and the label, int64[1],
 * the number of the class. */
#include "cli/prep/prep.h"
#include "data/order.h"

#include <string.h>

#define PIXEL_MAX 255.0f

static uint64_t pixels(const struct prep *prep)
{
	const struct idx_images *images = &prep->images[TEXTS_TRAIN];

	return (uint64_t)images->height * images->width * images->channels;
}

/* The number of classes: of the training images or, for records that are added to a set, of the set. */
static uint32_t classes_of(const struct prep *prep)
{
	return prep->mode == PREP_APPEND ? prep->classes : prep->images[TEXTS_TRAIN].labels;
}

static int check_labels(const struct prep *prep, struct error *err)
{
	static const char *const names[] = { "training", "test", "validation" };
	const uint32_t classes = classes_of(prep);

	if (classes < 2)
		return error_set(err, -EBADMSG, "%s: found only the label 0, at least 2 labels are needed",
				 prep->input[0]);
	for (int s = 0; s < TEXTS_SPLITS; s++)
		if (prep->images[s].labels > classes)
			return error_set(err, -EBADMSG,
					 "%s: found the label %u among the %s images, the largest %s is %u",
					 prep->input[0], prep->images[s].labels - 1, names[s],
					 prep->mode == PREP_APPEND ? "label of the set" : "training label",
					 classes - 1);
	return 0;
}

static int check(const struct prep *prep, struct error *err)
{
	const struct idx_images *train = &prep->images[TEXTS_TRAIN], *test = &prep->images[TEXTS_TEST];

	if (test->images && (test->height != train->height || test->width != train->width ||
			     test->channels != train->channels))
		return error_set(
			err, -EBADMSG,
			"%s: found test images of %u x %u x %u, the training images are %u x %u x %u",
			prep->input[0], test->height, test->width, test->channels, train->height,
			train->width, train->channels);
	return check_labels(prep, err);
}

/* Chooses the images of a split: the images of `from` are shuffled by the seed, and the split gets numbers
 * `first` .. first + rows - 1 of the shuffled order. */
static int deal(struct prep *prep, enum texts_split split, enum texts_split from, uint32_t first,
		uint32_t rows, struct error *err)
{
	const struct order_key key = { .seed = prep->seed, .source = from };

	prep->rows[split] = rows;
	prep->from[split] = &prep->images[from];
	prep->order[split] = malloc(((size_t)rows + 1) * sizeof(*prep->order[split]));
	if (!prep->order[split])
		return error_set(err, -ENOMEM, "no memory for the order of %u images", rows);
	for (uint32_t i = 0; i < rows; i++)
		prep->order[split][i] = (uint32_t)order_permute(&key, prep->images[from].images, first + i);
	return 0;
}

static int make(struct prep *prep, struct error *err)
{
	const uint32_t images = prep->images[TEXTS_TRAIN].images, given = prep->images[TEXTS_TEST].images,
		       held_out = given ? 0 : (uint32_t)(images * prep->test_percent / 100);
	int r = check(prep, err);

	prep->classes = classes_of(prep);
	if (r == 0)
		r = deal(prep, TEXTS_TRAIN, TEXTS_TRAIN, 0, images - held_out, err);
	if (r < 0)
		return r;
	return given ? deal(prep, TEXTS_TEST, TEXTS_TEST, 0, given, err)
		     : deal(prep, TEXTS_TEST, TEXTS_TRAIN, images - held_out, held_out, err);
}

static void schema(const struct prep *prep, struct example_schema *ret_schema, uint64_t *ret_bytes)
{
	*ret_schema = (struct example_schema){
		.features = 2,
		.feature = { { .name = "image", .dtype = EXAMPLE_FLOAT32, .elements = pixels(prep) },
			     { .name = "label", .dtype = EXAMPLE_INT64, .elements = 1 } },
	};
	*ret_bytes = pixels(prep) * sizeof(float) + 128;
}

static uint64_t scratch_bytes(const struct prep *prep)
{
	return sizeof(int64_t) + pixels(prep) * sizeof(float);
}

static int record(const struct prep *prep, enum texts_split split, uint32_t row, void *scratch,
		  const void *ret_rows[static PREP_COLUMNS_MAX], struct error *err)
{
	const struct idx_images *images = prep->from[split];
	const uint32_t index = prep->order[split][row];
	const uint8_t *pixel = images->pixel + index * pixels(prep);
	int64_t *label = scratch;
	float *image = (float *)(label + 1);

	(void)err;
	*label = images->label[index];
	for (uint64_t i = 0; i < pixels(prep); i++)
		image[i] = (float)pixel[i] / PIXEL_MAX;
	ret_rows[0] = image;
	ret_rows[1] = label;
	return 0;
}

static void class_name(const struct prep *prep, uint32_t class, char ret_name[static TEXTS_LABEL_BYTES])
{
	(void)prep;
	(void)snprintf(ret_name, TEXTS_LABEL_BYTES, "%u", class);
}

static void describe(const struct prep *prep, cJSON *json)
{
	(void)prep;
	(void)json;
}

const struct prep_kind prep_images = {
	.what = "images",
	.feature = "image",
	.make = make,
	.schema = schema,
	.scratch_bytes = scratch_bytes,
	.record = record,
	.class_name = class_name,
	.describe = describe,
};
