/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts picture files: decodes them as the model's configuration says, a batch at a time. */
#include "cli/trained/predict.h"

#include "cli/base/say.h"
#include "cli/prep/picture_small.h"
#include "core/base/paths.h"
#include "core/base/visible.h"
#include "data/picture.h"
#include "trained/location.h"
#include "trained/whole.h"

#include <fts.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX (UINT64_C(256) << 20)
#define TOP      5u

struct picture_files {
	const struct predict *predict;
	struct picture_form form;
	struct picture_decoder *decoder;
	uint32_t rows, most; /* pictures in the batch, and their largest number */
	uint64_t row_bytes;
	uint8_t *pixels; /* most x row_bytes */
	char **name;     /* name of each picture in the batch */
	float *output;
	uint64_t files, wrong;
};

/* ---- What the network reads ---- */

/* Returns the only input of the network; NULL: it has several. */
static const struct config_feature *feature_of(const struct predict *predict)
{
	struct model_input input[MODEL_INPUTS_MAX];

	if (model_inputs(predict->trained.model, input) != 1)
		return NULL;
	return config_feature_named(&predict->trained.saved.config, input[0].name);
}

bool predict_reads_pictures(const struct predict *predict)
{
	const struct config_feature *feature = feature_of(predict);

	return feature &&
	       (feature->dtype == CONFIG_PICTURE || (feature->dtype == CONFIG_UINT8 && feature->rank == 3));
}

/* Pixels of `kiln prep --raw` are made as prep made them, which dataset.json says. */
static int form_of(const struct predict *predict, struct picture_form *ret_form, struct error *err)
{
	const struct config_feature *feature = feature_of(predict);
	const cJSON *made = cJSON_GetObjectItemCaseSensitive(predict->dataset, "pictures"),
		    *fit = cJSON_GetObjectItemCaseSensitive(made, "fit"),
		    *size = cJSON_GetObjectItemCaseSensitive(made, "size");
	const uint64_t side = feature->shape[0];

	if (feature->dtype == CONFIG_PICTURE) {
		*ret_form = picture_form_of(feature);
		return 0;
	}
	if (!cJSON_IsString(fit) || !cJSON_IsNumber(size) || size->valuedouble != (double)side ||
	    feature->shape[1] != side || feature->shape[2] != PICTURES_CHANNELS)
		return error_set(
			err, -EINVAL,
			"the network reads '%s', pixels of [ %" PRIu64 ", %" PRIu64 ", %" PRIu64
			" ], and nothing says how a file becomes these: found no dataset.json beside "
			"the model that `kiln prep --raw --size %" PRIu64
			"` wrote, allowed without it: records, by --split, --data or standard input",
			feature->name, side, feature->shape[1], feature->shape[2], side);
	*ret_form = picture_small_raw_form((uint32_t)side, fit->valuestring);
	return 0;
}

/* ---- Memory ---- */

static int open_pictures(struct picture_files *pictures, struct error *err)
{
	const struct predict *predict = pictures->predict;
	struct picture_form form;
	int r = form_of(predict, &form, err);

	if (r < 0)
		return r;
	pictures->form = form;
	pictures->most = (uint32_t)predict->trained.saved.config.run.batch_rows;
	pictures->row_bytes = (uint64_t)form.height * form.width * form.channels;
	pictures->pixels = calloc(pictures->most, pictures->row_bytes);
	pictures->name = calloc(pictures->most, sizeof(char *));
	pictures->output = calloc(pictures->most, predict->answers.outputs * sizeof(float));
	if (!pictures->pixels || !pictures->name || !pictures->output)
		return error_set(err, -ENOMEM, "no memory for a batch of %u pictures", pictures->most);
	return picture_decoder_new(&pictures->decoder, err);
}

static void forget_batch(struct picture_files *pictures)
{
	while (pictures->rows)
		free(pictures->name[--pictures->rows]);
}

static void files_done(struct picture_files *pictures)
{
	forget_batch(pictures);
	free(pictures->name);
	free(pictures->pixels);
	free(pictures->output);
	picture_decoder_free(pictures->decoder);
}

/* ---- Answers ---- */

static int print_json(const struct predict *predict, const char *name, const float *output, struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	int r;

	cJSON_AddItemToObject(object, "file", json_string(name));
	r = answer_json(&predict->answers, output, object, err);
	if (r < 0)
		return r;
	answer_top_json(&predict->answers, output, TOP, object);
	(void)cli_print_json_line(object);
	return 0;
}

static int print_batch(struct picture_files *pictures, struct error *err)
{
	const struct predict *predict = pictures->predict;

	for (uint32_t i = 0; i < pictures->rows; i++) {
		const float *output = pictures->output + i * predict->answers.outputs;
		int r = predict->json
				? print_json(predict, pictures->name[i], output, err)
				: answer_print_top(&predict->answers, output, TOP, pictures->name[i], err);

		if (r < 0)
			return error_prefix(err, "%s", pictures->name[i]);
	}
	return 0;
}

static int predict_batch(struct picture_files *pictures, struct error *err)
{
	const void *const input[] = { pictures->pixels };
	int r;

	if (pictures->rows == 0)
		return 0;
	r = model_predict(pictures->predict->trained.model, input, pictures->rows, pictures->output, err);
	if (r == 0)
		r = print_batch(pictures, err);
	forget_batch(pictures);
	return r;
}

/* ---- Files ---- */

static int read_file(const struct predict *predict, const char *name, char **ret_data, uint64_t *ret_bytes,
		     struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	const char *key;
	int r;

	if (!location_is_url(name))
		return file_read(name, FILE_MAX, ret_data, ret_bytes, err);
	r = location_open(&predict->trained.where, name, &store, &key, err);
	return r < 0 ? r : whole_get(store, key, FILE_MAX, ret_data, ret_bytes, err);
}

/* A file that cannot be read or decoded is named at once, and the others are predicted. */
static int add_file(struct picture_files *pictures, const char *name, struct error *err)
{
	CLEANUP(free_ptr) char *data = NULL;
	uint8_t *row = pictures->pixels + pictures->rows * pictures->row_bytes;
	struct error why = { 0 };
	uint64_t bytes = 0;
	int r = read_file(pictures->predict, name, &data, &bytes, &why);

	pictures->files++;
	if (r == 0) {
		r = picture_decode(pictures->decoder, &pictures->form, (struct picture_place){ 0 }, data,
				   bytes, row, &why);
		if (r < 0)
			(void)error_prefix(&why, "%s", name);
	}
	if (r < 0) {
		pictures->wrong++;
		(void)cli_error(&why);
		return 0;
	}
	pictures->name[pictures->rows] = strdup(name);
	if (!pictures->name[pictures->rows])
		return error_set(err, -ENOMEM, "no memory for a name");
	pictures->rows++;
	return pictures->rows == pictures->most ? predict_batch(pictures, err) : 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Adds the files below a folder, without hidden ones. */
static int add_folder(struct picture_files *pictures, char *folder, struct error *err)
{
	char *const roots[] = { folder, NULL };
	FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
	FTSENT *entry;
	int r = 0;

	if (!walk)
		return error_set(err, -errno, "%s: cannot read it: %s", folder, strerror(errno));
	while (r == 0 && (entry = fts_read(walk)))
		if (entry->fts_level > 0 && entry->fts_name[0] == '.')
			(void)fts_set(walk, entry, FTS_SKIP);
		else if (entry->fts_info != FTS_D && entry->fts_info != FTS_DP)
			r = add_file(pictures, entry->fts_path, err);
	(void)fts_close(walk);
	return r;
}

int predict_pictures(const struct predict *predict, int names, char **name, struct error *err)
{
	CLEANUP(files_done) struct picture_files pictures = { .predict = predict };
	struct stat st;
	int r = open_pictures(&pictures, err);

	for (int i = 0; r == 0 && i < names; i++)
		if (!location_is_url(name[i]) && stat(name[i], &st) == 0 && S_ISDIR(st.st_mode))
			r = add_folder(&pictures, name[i], err);
		else
			r = add_file(&pictures, name[i], err);
	if (r == 0)
		r = predict_batch(&pictures, err);
	if (r == 0 && pictures.files == 0)
		return error_set(err, -ENOENT, "%s: found no file in it", name[0]);
	if (r == 0 && pictures.wrong)
		return error_set(err, -EBADMSG, "%" PRIu64 " of %" PRIu64 " files were not predicted",
				 pictures.wrong, pictures.files);
	return r;
}
