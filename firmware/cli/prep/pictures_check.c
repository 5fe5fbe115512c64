/* SPDX-License-Identifier: Apache-2.0 */
/* Reads each file once: its SHA-256, the size of the picture, and whether it can be decoded. */
#include "cli/prep/parallel.h"
#include "cli/prep/pictures_list.h"
#include "core/base/paths.h"
#include "core/base/visible.h"
#include "data/picture.h"
#include "trained/whole.h"

#include <inttypes.h>
#include <string.h>

#define PIXELS_MAX     64000000u /* default of the schema's pixels_max */
#define SAID_MAX       20u
#define OBJECT_THREADS 32u

struct checking {
	struct pictures *pictures;
	pthread_mutex_t lock;
	struct error err; /* the error of the first file that could not be read */
};

/* ---- One file ---- */

static int wrong(struct picture_item *item, const struct error *why, struct error *err)
{
	item->wrong = strdup(why->text);
	return item->wrong ? 0 : error_set(err, -ENOMEM, "no memory");
}

/* Decodes all of the file, to one pixel at an eighth of its size: the library then unpacks everything, and
 * saves the rest of the work. */
static int decode(const void *data, uint64_t bytes, struct picture_item *item, struct error *err)
{
	static const struct picture_form form = { .height = 1,
						  .width = 1,
						  .channels = 1,
						  .interpolation = INTERPOLATE_NEAREST,
						  .fit = FIT_STRETCH,
						  .scaled_decode = true,
						  .pixels_max = PIXELS_MAX };
	CLEANUP(picture_decoder_freep) struct picture_decoder *decoder = NULL;
	struct picture_head head = { 0 };
	uint8_t pixel;
	int r;

	if ((r = picture_head(data, bytes, &head, err)) < 0 || (r = picture_decoder_new(&decoder, err)) < 0 ||
	    (r = picture_decode(decoder, &form, (struct picture_place){ 0 }, data, bytes, &pixel, err)) < 0)
		return r;
	item->height = head.height;
	item->width = head.width;
	item->channels = head.channels;
	item->turned = head.orientation >= 5;
	return 0;
}

static int inspect(struct picture_item *item, const void *data, uint64_t bytes, struct error *err)
{
	struct error why = { 0 };
	int r;

	item->bytes = bytes;
	digest_sha256(data, bytes, item->sha256);
	r = decode(data, bytes, item, &why);
	if (r < 0 && r != -EBADMSG) {
		*err = why;
		return error_prefix(err, "%s", item->path);
	}
	return r < 0 ? wrong(item, &why, err) : 0;
}

/* Gets an object, and keeps its bytes where it is a picture. */
static int fetch(struct pictures *pictures, struct picture_item *item, struct error *err)
{
	struct stores *stores = &pictures->store[item->store];
	struct store *store = stores_borrow(stores, err);
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes = 0;
	int r;

	if (!store)
		return err->code;
	r = store_get_all(store, item->name, PICTURES_FILE_MAX, &data, &bytes, err);
	stores_give_back(stores, store);
	if (r == -EFBIG)
		return wrong(item, err, err);
	if (r < 0 || (r = inspect(item, data, bytes, err)) < 0 || item->wrong)
		return r;
	return pictures_keep(pictures, item, data, bytes, err);
}

/* Reads a file of a folder, or a copy. */
static int read_file(struct pictures *pictures, struct picture_item *item, struct error *err)
{
	CLEANUP(free_ptr) uint8_t *copy = NULL;
	CLEANUP(free_ptr) char *data = NULL;
	struct error why = { 0 };
	uint64_t bytes = 0;
	int r;

	if (item->from == PICTURE_POOL) {
		r = pictures_load(pictures, item, &copy, err);
		return r < 0 ? error_prefix(err, "%s", item->path) : inspect(item, copy, item->bytes, err);
	}
	r = file_read(item->path, PICTURES_FILE_MAX, &data, &bytes, &why);
	if (r == -E2BIG)
		return wrong(item, &why, err);
	if (r < 0) {
		*err = why;
		return r;
	}
	return inspect(item, data, bytes, err);
}

static void check_job(void *context, uint32_t index)
{
	struct checking *checking = context;
	struct picture_item *item = &checking->pictures->item[index];
	struct error err = { 0 };
	int r;

	if (__atomic_load_n(&checking->err.code, __ATOMIC_RELAXED))
		return;
	r = item->from == PICTURE_OBJECT ? fetch(checking->pictures, item, &err)
					 : read_file(checking->pictures, item, &err);
	if (r < 0) {
		(void)pthread_mutex_lock(&checking->lock);
		if (!checking->err.code)
			checking->err = err;
		(void)pthread_mutex_unlock(&checking->lock);
		return;
	}
	progress_step("pictures", checking->pictures->items);
}

/* ---- All of them ---- */

/* Prints a line for each of the first files that are no pictures. Returns the first one. */
static const struct picture_item *say_wrong(struct pictures *pictures)
{
	const struct picture_item *first = NULL;

	for (uint32_t i = 0; i < pictures->items; i++) {
		const struct picture_item *item = &pictures->item[i];

		if (!item->wrong)
			continue;
		first = first ? first : item;
		if (pictures->left_out++ >= SAID_MAX)
			continue;
		visible_print(item->path, stderr);
		fputs(": ", stderr);
		visible_print(item->wrong, stderr);
		fputc('\n', stderr);
	}
	if (pictures->left_out > SAID_MAX)
		fprintf(stderr, "and %u more files\n", pictures->left_out - SAID_MAX);
	return first;
}

int pictures_check(struct pictures *pictures, bool skip, struct error *err)
{
	struct checking checking = { .pictures = pictures, .lock = PTHREAD_MUTEX_INITIALIZER };
	const struct picture_item *first;

	progress_start();
	parallel_run_wide(check_job, &checking, pictures->items, pictures->stores ? OBJECT_THREADS : 0);
	if (checking.err.code) {
		*err = checking.err;
		return err->code;
	}
	if (pictures->outside)
		fprintf(stderr, "%" PRIu64 " files are in no class folder and do not count\n",
			pictures->outside);
	first = say_wrong(pictures);
	if (!first || skip)
		return 0;
	return error_set(
		err, -EBADMSG,
		"%s: %s; %u of %u files are no pictures that Kiln reads; --bad-files skip leaves them "
		"out",
		first->path, first->wrong, pictures->left_out, pictures->items);
}
