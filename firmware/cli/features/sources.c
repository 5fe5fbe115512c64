/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/features/sources.h"

#include "cli/base/cache.h"
#include "core/base/temporary.h"
#include "drivers/gpu/gpu.h"
#include "drivers/store/weights.h"
#include "model/checkpoint.h"
#include "model/formats/names.h"
#include "preflight/plan_list.h"
#include "trained/trained.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

/* Opens a temporary file, and takes its name away: the path is that of the open file. */
static int make_nameless(struct nameless *file, const char *path, struct error *err)
{
	file->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0)
		return error_set(err, -errno, "%s: cannot read it: %s", path, strerror(errno));
	(void)unlink(path);
	(void)snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
	return 0;
}

/* Calls `write` with the path of a temporary file, and opens what it wrote. */
static int write_nameless(struct job *job, const char *name, struct nameless *file,
			  int (*write)(struct job *job, const char *path, struct error *err),
			  struct error *err)
{
	char path[PATH_BYTES];
	int r = temporary_file(name, path, err);

	if (r < 0)
		return r;
	r = write(job, path, err);
	if (r == 0)
		r = make_nameless(file, path, err);
	if (r < 0)
		(void)unlink(path);
	return r;
}

/* ---- The pictures ---- */

static void print_feature(const struct config_feature *feature, FILE *out)
{
	fprintf(out, "feature %s %d", feature->name, feature->dtype);
	for (uint32_t i = 0; i < feature->rank; i++)
		fprintf(out, " %" PRIu64, feature->shape[i]);
	if (feature->dtype == CONFIG_PICTURE)
		fprintf(out, " %d %d %d %d %d %" PRIu64, feature->interpolation, feature->antialias,
			feature->fit, feature->orientation, feature->scaled_decode, feature->pixels_max);
	fputc('\n', out);
}

/* Prints all that decides which pictures become which rows. */
static void print_pictures(const struct job *job, FILE *out)
{
	const struct config *config = &job->config;

	fprintf(out, "kiln features 1\nfilter %s\nbad records %d\n", config->order.filter,
		config->fetch.bad_record);
	for (uint32_t i = 0; i < config->features; i++)
		print_feature(&config->feature[i], out);
	fprintf(out, "label %s\nweight %s\n", config->model.label, config->model.sample_weight);
	for (enum split split = 0; split < SPLIT_MAX; split++)
		for (uint64_t i = 0; i < plan_shards(job->plan, split); i++) {
			const struct plan_shard shard = plan_shard(job->plan, 0, split, i);

			fprintf(out, "%s %s %s %s %" PRIu64 " %" PRIu64 "\n", split_name(split), shard.key,
				shard.etag, shard.version, shard.bytes, shard.label);
		}
}

static ssize_t add_text(void *digest, const char *text, size_t bytes)
{
	digest_add(digest, text, bytes);
	return (ssize_t)bytes;
}

static int digest_pictures(struct job *job, struct error *err)
{
	struct digest *digest = digest_begin();
	FILE *out = digest ? fopencookie(digest, "w", (cookie_io_functions_t){ .write = add_text }) : NULL;
	bool whole = false;

	if (out) {
		print_pictures(job, out);
		whole = fclose(out) == 0;
	}
	if (digest)
		digest_end(digest, job->pictures_sha256);
	return whole ? 0 : error_set(err, -ENOMEM, "no memory for the digest of the pictures");
}

static int write_plan(struct job *job, const char *path, struct error *err)
{
	return plan_list(&job->config, NULL, path, err);
}

int sources_plan(struct job *job, struct error *err)
{
	int r = write_nameless(job, "plan", &job->plan_file, write_plan, err);

	if (r < 0 || (r = plan_open(job->plan_file.path, &job->plan, err)) < 0 ||
	    (r = plan_list_check(&job->config, job->plan, err)) < 0)
		return r;
	return digest_pictures(job, err);
}

/* ---- The base ---- */

static int fetch_weights(struct job *job, const char *path, struct error *err)
{
	const struct store_options options = store_options_of(&job->config);

	return store_get_weights(&job->config, &options, path, err);
}

static int write_base(struct job *job, const char *path, struct error *err)
{
	const char *what = job->config.model.weights;
	CLEANUP(weights_done) struct weights weights = { 0 };
	char text[WEIGHTS_TEXT_BYTES];
	int r;

	if (!*what) {
		fprintf(stderr, "model.weights is empty: %s has initial numbers, drawn from run.seed\n",
			job->config.model.base);
		return features_write_base(&job->config, NULL, "", path, err);
	}
	if ((r = write_nameless(job, "weights", &job->weights_file, fetch_weights, err)) < 0 ||
	    (r = safetensors_open(job->weights_file.path, &job->weights, err)) < 0 ||
	    (r = weights_match(&job->graph, what, job->weights, &weights, err)) < 0)
		return r;
	fprintf(stderr, "%s: %s\n", what, weights_text(&weights, text));
	return features_write_base(&job->config, &weights, what, path, err);
}

/* Computes the digest of the base: layers and numbers, not those of the head. */
static int digest_base(struct job *job, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	size_t bytes = 0;
	uint32_t count;
	const struct model_tensor *tensor = safetensors_tensors(job->base, &count);
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return error_set(err, -ENOMEM, "no memory for the digest of the base");
	fprintf(out, "kiln base 1\nlayers %s\n", safetensors_value(job->base, "layers_hash"));
	for (uint32_t i = 0; i < job->graph.base_tensors; i++) {
		const struct model_tensor *of_file = name_find(tensor, count, graph_at(&job->graph, i)->name);
		char sha256[DIGEST_HEX_BYTES];

		if (!of_file)
			continue;
		digest_sha256(of_file->data, of_file->bytes, sha256);
		fprintf(out, "%s %s\n", of_file->name, sha256);
	}
	if (fclose(out) != 0)
		return error_set(err, -ENOMEM, "no memory for the digest of the base");
	digest_sha256(text, bytes, job->base_sha256);
	return 0;
}

int sources_base(struct job *job, struct error *err)
{
	int r = write_nameless(job, "base", &job->base_file, write_base, err);

	if (r < 0 || (r = safetensors_open(job->base_file.path, &job->base, err)) < 0)
		return r;
	return digest_base(job, err);
}

/* ---- The device ---- */

int sources_device(struct job *job, struct error *err)
{
	cache_find();
	return trained_open_device(&job->config, "the configuration names", &job->gpu, err);
}

int sources_open(struct job *job, struct error *err)
{
	int r;

	/* As every finished model computes. */
	job->config.model.precision = PRECISION_FLOAT32;
	job->config.model.tensor_float_32 = false;
	if ((r = model_open_base(job->gpu, &job->config, &job->model, err)) < 0)
		return r;
	job->outputs = model_classes(job->model);
	return checkpoint_load(job->model, FEATURES_BASE_FILE, job->base, true, err);
}
