/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/pictures.h"

#include "core/base/log.h"
#include "data/png_write.h"
#include "model/view.h"
#include "traind/train.h"

#include <string.h>

/* The PNG files of some rows. */
struct files {
	struct tfevents_image *image;
	uint32_t count;
};

static void files_done(struct files *files)
{
	for (uint32_t i = 0; i < files->count; i++)
		free((void *)(uintptr_t)files->image[i].png);
	free(files->image);
}

/* Returns the pixels of a feature in a batch; NULL: the network does not read it. */
static const uint8_t *pixels_of(const struct train *train, const struct model_batch *batch, uint32_t feature)
{
	struct model_input input[MODEL_INPUTS_MAX];
	const uint32_t inputs = model_inputs(train->model, input);

	for (uint32_t i = 0; i < inputs; i++)
		if (strcmp(input[i].name, train->run.config.feature[feature].name) == 0)
			return batch->input[i];
	return NULL;
}

static int make_files(const struct model_batch *batch, struct view_shape shape, const uint8_t *seen,
		      uint32_t rows, struct files *ret_files, struct error *err)
{
	const uint64_t pixels = (uint64_t)shape.height * shape.width * shape.channels;

	ret_files->image = calloc(rows, sizeof(*ret_files->image));
	if (!ret_files->image)
		return error_set(err, -ENOMEM, "no memory for %u pictures", rows);
	for (uint32_t row = 0; row < rows; row++) {
		struct tfevents_image *image = &ret_files->image[ret_files->count];
		void *png;
		int r;

		if (batch->empty && batch->empty[row])
			continue;
		r = png_make(seen + row * pixels, shape.height, shape.width, shape.channels, &png,
			     &image->bytes, err);
		if (r < 0)
			return r;
		image->png = png;
		ret_files->count++;
	}
	return 0;
}

static int write_seen(struct train *train, const struct model_batch *batch, struct view_shape shape,
		      const uint8_t *seen, uint32_t rows, struct error *err)
{
	CLEANUP(files_done) struct files files = { 0 };
	int r = make_files(batch, shape, seen, rows, &files, err);

	if (r < 0 || files.count == 0)
		return r;
	return curves_images(train, shape.width, shape.height, files.image, files.count, err);
}

static int draw(struct train *train, const struct model_batch *batch, uint32_t feature, uint32_t rows,
		struct error *err)
{
	CLEANUP(view_freep) struct view *view = NULL;
	CLEANUP(free_ptr) uint8_t *seen = NULL;
	struct view_shape shape;
	int r = view_new(&train->run.config, feature, rows, &view, err);

	if (r < 0 || (r = view_start(view, train->gpu, err)) < 0)
		return r;
	shape = view_shape(view);
	seen = calloc(rows, (uint64_t)shape.height * shape.width * shape.channels);
	if (!seen)
		return error_set(err, -ENOMEM, "no memory for %u pictures", rows);
	r = view_draw(view, pixels_of(train, batch, feature), rows, 0, batch->first_row, seen, err);
	return r < 0 ? r : write_seen(train, batch, shape, seen, rows, err);
}

void pictures_write(struct train *train, const struct model_batch *batch)
{
	const struct config *config = &train->run.config;
	const uint64_t most = config->tensorboard.images;
	const uint32_t feature = most ? view_feature(config) : UINT32_MAX;
	struct error err = { 0 };

	if (feature == UINT32_MAX || !pixels_of(train, batch, feature))
		return;
	if (draw(train, batch, feature, most < batch->rows ? (uint32_t)most : batch->rows, &err) < 0)
		log_warning("%s; going on, TensorBoard gets no pictures", err.text);
}
