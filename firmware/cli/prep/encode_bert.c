/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/encode_bert.h"

#include "cli/prep/encode_bert_folder.h"
#include "cli/prep/parallel.h"
#include "drivers/gpu/gpu.h"
#include "model/bert_files.h"
#include "model/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The tokens of a batch, padding included, on a CPU and on a GPU that have the memory for them. */
#define BATCH_TOKENS_CPU 8192u
#define BATCH_TOKENS_GPU 65536u
#define WIDTH_LEAST      16u
#define SHOWN_BYTES      60u /* how much of a text an error shows */

struct bert_encoder {
	char *name; /* the path of the folder */
	struct bert_folder folder;
	char id[DIGEST_HEX_BYTES];
};

bool bert_encoder_is(const char *name)
{
	return name && strncmp(name, ENCODE_BERT, strlen(ENCODE_BERT)) == 0;
}

/* ---- The encoder ---- */

/* Makes the id of what decides about the vectors. */
static int make_id(struct bert_encoder *encoder, struct error *err)
{
	const struct bert_folder *folder = &encoder->folder;
	CLEANUP(free_ptr) char *text = NULL;
	char keys[BERT_KEYS_BYTES];

	if (asprintf(&text, "bert 1\n%s\nweights %s\ntokenizer %s\ntokens %" PRIu64 "\nnormalize %d\n",
		     bert_keys(&folder->size, keys), folder->weights_sha256, folder->tokenizer_sha256,
		     folder->longest, folder->normalizes) < 0)
		return error_set(err, -ENOMEM, "no memory for an encoder");
	digest_sha256(text, strlen(text), encoder->id);
	return 0;
}

int bert_encoder_open(const char *name, struct bert_encoder **ret_encoder, struct error *err)
{
	CLEANUP(bert_encoder_closep) struct bert_encoder *encoder = calloc(1, sizeof(*encoder));
	int r;

	if (encoder)
		encoder->name = strdup(name + strlen(ENCODE_BERT));
	if (!encoder || !encoder->name)
		return error_set(err, -ENOMEM, "no memory for an encoder");
	for (size_t end = strlen(encoder->name); end > 1 && encoder->name[end - 1] == '/'; end--)
		encoder->name[end - 1] = '\0';
	r = bert_folder_read(encoder->name, &encoder->folder, err);
	if (r == 0)
		r = make_id(encoder, err);
	if (r < 0)
		return error_prefix(err, "encoder \"%s\"", name);
	*ret_encoder = TAKE(encoder);
	return 0;
}

void bert_encoder_closep(struct bert_encoder **encoder)
{
	if (!*encoder)
		return;
	bert_folder_done(&(*encoder)->folder);
	free((*encoder)->name);
	free(*encoder);
}

uint32_t bert_encoder_dims(const struct bert_encoder *encoder)
{
	return (uint32_t)encoder->folder.size.hidden_size;
}

static const char *last_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void bert_encoder_describe(const struct bert_encoder *encoder, cJSON *json)
{
	const struct bert_folder *folder = &encoder->folder;

	cJSON_AddItemToObject(json, "bert", json_string(last_of(encoder->name)));
	cJSON_AddStringToObject(json, "weights_sha256", folder->weights_sha256);
	json_add_u64(json, "tokens_max", folder->longest);
	cJSON_AddBoolToObject(json, "normalizes", folder->normalizes);
	cJSON_AddStringToObject(json, "id", encoder->id);
}

const char *bert_encoder_of(const cJSON *dataset)
{
	return cJSON_GetStringValue(json_member(dataset, "encoder.bert"));
}

int bert_encoder_check(const struct bert_encoder *encoder, const cJSON *dataset, struct error *err)
{
	const char *of_set = bert_encoder_of(dataset), *expected = NULL;
	int r;

	if (!of_set)
		return error_set(err, -EINVAL, "found the encoder bert:%s, but the texts had another one",
				 encoder->name);
	if ((r = json_get_string("encoder", json_member(dataset, "encoder"), "id", &expected, err)) < 0)
		return r;
	if (strcmp(expected, encoder->id) != 0)
		return error_set(
			err, -EINVAL,
			"found the encoder bert:%s with the id %.12s..., expected %.12s... of %.100s: its "
			"weights, tokenizer, size and settings have to be the same",
			encoder->name, encoder->id, expected, of_set);
	return 0;
}

/* ---- Widths: how many tokens the rows of a batch have ---- */

/* Returns the next larger width: 16, 24, 32, 48, 64, 96 ... */
static uint64_t next_width(uint64_t width)
{
	return width & (width - 1) ? width / 3 * 4 : width / 2 * 3;
}

static uint64_t width_of(uint64_t tokens, uint64_t longest)
{
	uint64_t width = WIDTH_LEAST;

	while (width < tokens)
		width = next_width(width);
	return width < longest ? width : longest;
}

struct run {
	const struct bert_encoder *encoder;
	struct gpu *gpu;
	struct tokenizer_thread *thread;
	const struct encode_text *texts;
	uint32_t rows, *tokens; /* texts, and how many tokens each one has, at most `longest` */
	uint64_t batch_tokens;  /* padding included; fewer where the device has too little memory */
	uint32_t batches, done; /* all batches, and those that are computed */
	float *vectors;
};

static void run_done(struct run *run)
{
	tokenizer_closep(&run->thread);
	free(run->tokens);
}

static uint32_t batch_rows(const struct run *run, uint64_t width)
{
	return run->batch_tokens > width ? (uint32_t)(run->batch_tokens / width) : 1;
}

static uint32_t texts_of(const struct run *run, uint64_t width)
{
	const uint64_t longest = run->encoder->folder.longest;
	uint32_t count = 0;

	for (uint32_t i = 0; i < run->rows; i++)
		count += width_of(run->tokens[i], longest) == width;
	return count;
}

/* Counts the batches: those that are computed, and those of the texts of the width `from` and above. */
static void count_batches(struct run *run, uint64_t from)
{
	const uint64_t longest = run->encoder->folder.longest;

	run->batches = run->done;
	for (uint64_t width = from;; width = width_of(width + 1, longest)) {
		const uint32_t most = batch_rows(run, width);

		run->batches += (texts_of(run, width) + most - 1) / most;
		if (width == longest)
			return;
	}
}

/* Counts the tokens of each text, and says how many texts are cut. */
static int count_tokens(struct run *run, struct error *err)
{
	const uint64_t longest = run->encoder->folder.longest;
	uint32_t cut = 0;

	for (uint32_t i = 0; i < run->rows; i++) {
		const int64_t tokens =
			tokenizer_encode(run->thread, run->texts[i].text, run->texts[i].bytes, NULL, 0);

		if (tokens < 0)
			return error_set(err, (int)tokens, "no memory for the tokens of text %u", i + 1);
		cut += (uint64_t)tokens > longest;
		run->tokens[i] = (uint32_t)((uint64_t)tokens < longest ? (uint64_t)tokens : longest);
	}
	if (cut)
		fprintf(stderr,
			"%u of %u texts have more than %" PRIu64
			" tokens, the most that the encoder reads: their further tokens are cut off\n",
			cut, run->rows, longest);
	return 0;
}

/* ---- The network ---- */

static int open_model(const struct run *run, uint64_t width, struct config *ret_config,
		      struct model **ret_model, struct error *err)
{
	const struct bert_folder *folder = &run->encoder->folder;
	const struct model_tensor *tensors;
	uint32_t count;
	int r = bert_config_load(&folder->size, width, batch_rows(run, width), ret_config, err);

	if (r < 0 || (r = convert_make(folder->convert, &tensors, &count, err)) < 0 ||
	    (r = model_open_base(run->gpu, ret_config, ret_model, err)) < 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = model_tensor_load(*ret_model, tensors[i].name, tensors[i].data, tensors[i].bytes, err);
	return r;
}

/* Opens the network for half as many texts, again and again, until the device has the memory. Where even one
 * text is too much, or something else is wrong, the last error stays. */
static int open_fitting(struct run *run, uint64_t width, struct config *ret_config, struct model **ret_model,
			struct error *err)
{
	int r = open_model(run, width, ret_config, ret_model, err);

	while (r == -EINVAL && batch_rows(run, width) > 1) {
		config_done(ret_config);
		*ret_config = (struct config){ 0 };
		run->batch_tokens /= 2;
		r = open_model(run, width, ret_config, ret_model, err);
	}
	if (r < 0)
		return error_prefix(err, "encoder bert:%s", run->encoder->name);
	count_batches(run, width);
	return 0;
}

/* Gives a vector the length 1, as torch's normalize(). */
static void normalize(float *vector, uint32_t dims)
{
	double sum = 0;

	for (uint32_t i = 0; i < dims; i++)
		sum += (double)vector[i] * (double)vector[i];
	sum = fmax(sqrt(sum), 1e-12);
	for (uint32_t i = 0; i < dims; i++)
		vector[i] = (float)((double)vector[i] / sum);
}

/* Memory for a batch: the ids, the vectors, and whose they are. */
struct batch {
	int64_t *ids;
	float *vectors;
	uint32_t *text, rows;
};

static void batch_done(struct batch *batch)
{
	free(batch->ids);
	free(batch->vectors);
	free(batch->text);
}

static int make_batch(struct batch *batch, uint32_t rows, uint64_t width, uint32_t dims, struct error *err)
{
	batch->ids = calloc(rows, width * sizeof(*batch->ids));
	batch->vectors = calloc(rows, dims * sizeof(*batch->vectors));
	batch->text = calloc(rows, sizeof(*batch->text));
	if (!batch->ids || !batch->vectors || !batch->text)
		return error_set(err, -ENOMEM, "no memory for a batch of %u texts", rows);
	return 0;
}

static int add_text(const struct run *run, struct batch *batch, uint64_t width, uint32_t text,
		    struct error *err)
{
	int64_t *ids = batch->ids + batch->rows * width;

	memset(ids, 0, width * sizeof(*ids));
	if (tokenizer_encode(run->thread, run->texts[text].text, run->texts[text].bytes, ids, width) < 0)
		return error_set(err, -ENOMEM, "no memory for the tokens of text %u", text + 1);
	batch->text[batch->rows++] = text;
	return 0;
}

/* Refuses a vector with a number that is not finite. */
static int check_vector(const struct run *run, uint32_t text, const float *vector, struct error *err)
{
	const struct encode_text *of = &run->texts[text];
	const int shown = of->bytes < SHOWN_BYTES ? (int)of->bytes : (int)SHOWN_BYTES;

	for (uint32_t i = 0; i < bert_encoder_dims(run->encoder); i++)
		if (!isfinite(vector[i]))
			return error_set(err, -EINVAL,
					 "encoder bert:%s: text %u, which begins with \"%.*s\": number %u of "
					 "its vector: found %g, expected a finite number",
					 run->encoder->name, text + 1, shown, of->text, i + 1,
					 (double)vector[i]);
	return 0;
}

static int run_batch(struct run *run, struct model *model, struct batch *batch, struct error *err)
{
	const uint32_t dims = bert_encoder_dims(run->encoder);
	int r = model_predict(model, (const void *const[]){ batch->ids }, batch->rows, batch->vectors, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < batch->rows; i++) {
		float *vector = run->vectors + (uint64_t)batch->text[i] * dims;

		memcpy(vector, batch->vectors + (uint64_t)i * dims, dims * sizeof(*vector));
		r = check_vector(run, batch->text[i], vector, err);
		if (r < 0)
			return r;
		if (run->encoder->folder.normalizes)
			normalize(vector, dims);
	}
	batch->rows = 0;
	run->done++;
	if (run->batches > 1)
		progress_step("encoding", run->batches);
	return 0;
}

/* Computes the texts of a width. */
static int run_width(struct run *run, uint64_t width, struct error *err)
{
	const uint64_t longest = run->encoder->folder.longest;
	CLEANUP(batch_done) struct batch batch = { 0 };
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(model_closep) struct model *model = NULL;
	int r = open_fitting(run, width, &config, &model, err);
	const uint32_t most = batch_rows(run, width);

	if (r < 0 || (r = make_batch(&batch, most, width, bert_encoder_dims(run->encoder), err)) < 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < run->rows; i++) {
		if (width_of(run->tokens[i], longest) != width)
			continue;
		r = add_text(run, &batch, width, i, err);
		if (r == 0 && batch.rows == most)
			r = run_batch(run, model, &batch, err);
	}
	return r == 0 && batch.rows ? run_batch(run, model, &batch, err) : r;
}

int bert_encoder_run(struct bert_encoder *encoder, struct gpu *gpu, const struct encode_text *texts,
		     uint32_t rows, float *vectors, struct error *err)
{
	const uint64_t longest = encoder->folder.longest;
	CLEANUP(run_done)
	struct run run = { .encoder = encoder,
			   .gpu = gpu,
			   .texts = texts,
			   .rows = rows,
			   .batch_tokens = gpu_is_cpu(gpu) ? BATCH_TOKENS_CPU : BATCH_TOKENS_GPU,
			   .tokens = calloc(rows + 1u, sizeof(*run.tokens)),
			   .vectors = vectors };
	uint64_t width = 0;
	int r;

	if (!run.tokens)
		return error_set(err, -ENOMEM, "no memory for the lengths of %u texts", rows);
	if ((r = tokenizer_open(encoder->folder.tokenizer, &run.thread, err)) < 0 ||
	    (r = count_tokens(&run, err)) < 0)
		return r;
	progress_start();
	for (width = width_of(1, longest); r == 0; width = width_of(width + 1, longest)) {
		if (texts_of(&run, width))
			r = run_width(&run, width, err);
		if (width == longest)
			break;
	}
	return r;
}
