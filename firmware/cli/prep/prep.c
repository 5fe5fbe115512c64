/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/prep.h"
#include "cli/base/say.h"
#include "cli/base/temporary.h"
#include "cli/base/where.h"
#include "cli/prep/parallel.h"
#include "cli/verbs/verbs.h"
#include "core/base/paths.h"

#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] =
	"Usage: kiln prep INPUT... (--output URL | --config FILE) [OPTION...]\n\n"
	"Turns labelled texts into TFRecord shards with features sentence float[512] and label int64[K]\n"
	"(one-hot), or with --tokens into ragged tokens int64; labelled images into image float[28,28,1] (0 "
	"to 1)\n"
	"and label int64[1]. INPUT is a file of label<TAB>text lines (gzip or not), the Large Movie Review\n"
	"Dataset's tar, an IDX file of images whose labels lie beside it, as MNIST's do (gzip or not), or a "
	"folder\n"
	"with aclImdb_v1.tar.gz, with train.tsv[.gz] and test.tsv[.gz], or with train-images-idx3-ubyte[.gz] "
	"and\n"
	"t10k-images-idx3-ubyte[.gz]; a path, or a key below s3:// or file:///.\n\n"
	"  --output URL           where the shards go: s3://bucket/prefix or file:///folder\n"
	"  --config FILE          take url, endpoint, region and credential from this kiln.conf's `source`\n"
	"  --endpoint URL, --region NAME, --credential NAME, --ca-file FILE\n"
	"                         of the store; as in kiln.conf\n"
	"  --test INPUT           the test split; without it --test-percent of the others are held out\n"
	"  --test-percent N       default 10\n"
	"  --encoder E            nblr (default): fitted on the training texts; exec:PROGRAM: gets a JSON\n"
	"                         string a line, answers the vector's numbers a line; or the path of an\n"
	"                         encoder.bin\n"
	"  --dims N               size of the vectors, default 512\n"
	"  --tokens               the numbers of a text's words in vocabulary.txt, made of the training "
	"texts,\n"
	"                         instead of a vector\n"
	"  --vocabulary N         so many tokens at most, default 20000\n"
	"  --ngrams N             tokens are words and up to N in a row, default 1\n"
	"  --tokens-max N         of a text; what is beyond is cut off, default 65536\n"
	"  --records-per-shard N  default 500\n"
	"  --shard-bytes N        instead: about so many bytes a shard before gzip (100-200 MB suit big\n"
	"                         data)\n"
	"  --seed N               of the shuffle, default 44\n"
	"  --threads N            default one a core\n"
	"  --json                 print the summary as JSON\n";

enum option_code {
	OPT_FIRST = 256,
	OPT_OUTPUT = OPT_FIRST,
	OPT_CONFIG,
	OPT_ENDPOINT,
	OPT_REGION,
	OPT_CREDENTIAL,
	OPT_CA_FILE,
	OPT_TEST,
	OPT_TEST_PERCENT,
	OPT_ENCODER,
	OPT_DIMS,
	OPT_TOKENS,
	OPT_VOCABULARY,
	OPT_NGRAMS,
	OPT_TOKENS_MAX,
	OPT_RECORDS,
	OPT_SHARD_BYTES,
	OPT_SEED,
	OPT_THREADS,
	OPT_JSON,
	OPT_HELP,
};

static const struct option options[] = {
	{ "output", 1, NULL, OPT_OUTPUT },
	{ "config", 1, NULL, OPT_CONFIG },
	{ "endpoint", 1, NULL, OPT_ENDPOINT },
	{ "region", 1, NULL, OPT_REGION },
	{ "credential", 1, NULL, OPT_CREDENTIAL },
	{ "ca-file", 1, NULL, OPT_CA_FILE },
	{ "test", 1, NULL, OPT_TEST },
	{ "test-percent", 1, NULL, OPT_TEST_PERCENT },
	{ "encoder", 1, NULL, OPT_ENCODER },
	{ "dims", 1, NULL, OPT_DIMS },
	{ "tokens", 0, NULL, OPT_TOKENS },
	{ "vocabulary", 1, NULL, OPT_VOCABULARY },
	{ "ngrams", 1, NULL, OPT_NGRAMS },
	{ "tokens-max", 1, NULL, OPT_TOKENS_MAX },
	{ "records-per-shard", 1, NULL, OPT_RECORDS },
	{ "shard-bytes", 1, NULL, OPT_SHARD_BYTES },
	{ "seed", 1, NULL, OPT_SEED },
	{ "threads", 1, NULL, OPT_THREADS },
	{ "json", 0, NULL, OPT_JSON },
	{ "help", 0, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static const struct number {
	int code;
	uint64_t min, max;
	size_t at; /* in struct prep */
} numbers[] = {
	{ OPT_TEST_PERCENT, 0, 90, offsetof(struct prep, test_percent) },
	{ OPT_DIMS, 2, TEXT_DIMS_MAX, offsetof(struct prep, dims) },
	{ OPT_VOCABULARY, VOCABULARY_FIRST + 1, VOCABULARY_MAX, offsetof(struct prep, vocabulary_max) },
	{ OPT_NGRAMS, 1, VOCABULARY_NGRAM_MAX, offsetof(struct prep, ngrams) },
	{ OPT_TOKENS_MAX, 1, PREP_TOKENS_MAX, offsetof(struct prep, tokens_max) },
	{ OPT_RECORDS, 1, 1u << 24, offsetof(struct prep, records_per_shard) },
	{ OPT_SHARD_BYTES, 1, 1u << 30, offsetof(struct prep, shard_bytes) },
	{ OPT_SEED, 0, UINT64_MAX, offsetof(struct prep, seed) },
	{ OPT_THREADS, 1, 256, offsetof(struct prep, threads) },
};

/* NULL: the option takes text. */
static const struct number *find_number(int code)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].code == code)
			return &numbers[i];
	return NULL;
}

static bool take_number(struct prep *prep, const struct number *number, const char *text)
{
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < number->min || value > number->max)
		return false;
	memcpy((char *)prep + number->at, &value, sizeof(value));
	return true;
}

static void take_text(struct prep *prep, int code, const char *text)
{
	const char **target = code == OPT_OUTPUT       ? &prep->where.url
			      : code == OPT_CONFIG     ? &prep->config_file
			      : code == OPT_ENDPOINT   ? &prep->where.endpoint
			      : code == OPT_REGION     ? &prep->where.region
			      : code == OPT_CREDENTIAL ? &prep->where.credential
			      : code == OPT_CA_FILE    ? &prep->where.ca_file
			      : code == OPT_TEST       ? &prep->test_input
						       : &prep->encoder_name;

	*target = text;
}

static uint32_t given_bit(int code)
{
	return 1u << (code - OPT_FIRST);
}

/* 0, or the exit code to end with; *ret_done says that help was asked for. */
static int parse(struct prep *prep, int argc, char **argv, bool *ret_done)
{
	int code, index = 0;

	optind = 1;
	opterr = 0;
	while ((code = getopt_long(argc, argv, "", options, &index)) != -1) {
		const struct number *number = find_number(code);

		if (code >= OPT_FIRST)
			prep->given |= given_bit(code);
		switch (code) {
		case OPT_HELP:
			fputs(usage, stdout);
			*ret_done = true;
			return CLI_OK;
		case OPT_JSON:
			prep->json = true;
			break;
		case OPT_TOKENS:
			prep->tokens = true;
			break;
		case '?':
			return cli_usage("prep", "\"%s\": no such option, or its value is missing",
					 argv[optind - 1]);
		default:
			if (!number)
				take_text(prep, code, optarg);
			else if (!take_number(prep, number, optarg))
				return cli_usage("prep",
						 "--%s: found \"%s\", expected a whole number of %" PRIu64
						 " .. %" PRIu64,
						 options[index].name, optarg, number->min, number->max);
			break;
		}
	}
	prep->input = argv + optind;
	prep->inputs = argc - optind;
	if (prep->inputs == 0)
		return cli_usage("prep", "no INPUT");
	if (!*prep->where.url == !prep->config_file)
		return cli_usage("prep", "one of --output and --config is needed");
	return 0;
}

/* ---- Input ---- */

static bool is_url(const char *name)
{
	return strncmp(name, "s3://", 5) == 0 || strncmp(name, "file://", 7) == 0;
}

/* A file by its path: archives, gzip and IDX want files, so an object is read from a temporary copy. */
struct local {
	char path[PATH_BYTES];
	bool temporary;
};

static void local_done(struct local *local)
{
	if (local->temporary)
		(void)unlink(local->path);
}

static int download(const struct prep *prep, const char *url, const char *path, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct config_store where = prep->where;
	struct store_options store_options = { 0 };
	char base[STORE_KEY_MAX];
	const char *rest = strstr(url, "://") + strlen("://"), *slash = strrchr(url, '/');
	int r;

	if (slash < rest || !slash[1])
		return error_set(err, -EINVAL,
				 "%s: names no object, expected s3://BUCKET/KEY or file:///FOLDER/FILE", url);
	(void)snprintf(base, sizeof(base), "%.*s", (int)(slash + 1 - url), url);
	where.url = base;
	r = store_open(&where, &store_options, &store, err);
	return r < 0 ? r : store_get_file(store, slash + 1, path, err);
}

static int make_local(const struct prep *prep, const char *name, struct local *local, struct error *err)
{
	int r;

	if (!is_url(name)) {
		(void)snprintf(local->path, sizeof(local->path), "%s", name);
		return 0;
	}
	r = temporary_file("prep", local->path, err);
	local->temporary = r == 0;
	return r < 0 ? r : download(prep, name, local->path, err);
}

static int read_images(struct prep *prep, const char *path, const char *name, enum texts_split split,
		       struct error *err)
{
	CLEANUP(local_done) struct local labels = { 0 };
	char labels_name[PATH_BYTES];
	int r;

	if (!idx_labels_name(name, labels_name, sizeof(labels_name)))
		return error_set(
			err, -EINVAL,
			"%s: an IDX file; expected \"images\" and \"idx3\" or \"idx4\" in its name, as its "
			"labels are called after it",
			name);
	r = make_local(prep, labels_name, &labels, err);
	return r < 0 ? r : idx_read(&prep->images[split], path, name, labels.path, labels_name, err);
}

static int read_file(struct prep *prep, const char *name, enum texts_split split, struct error *err)
{
	CLEANUP(local_done) struct local local = { 0 };
	int r = make_local(prep, name, &local, err);

	if (r < 0)
		return r;
	return idx_is(local.path) ? read_images(prep, local.path, name, split, err)
				  : texts_read(&prep->texts, local.path, name, split, err);
}

/* The names that a folder may hold, the compressed one where the other is not there. */
static int read_folder(struct prep *prep, const char *folder, struct error *err)
{
	static const struct {
		const char *name;
		enum texts_split split;
	} names[] = {
		{ "aclImdb_v1.tar", TEXTS_TRAIN },
		{ "train.tsv", TEXTS_TRAIN },
		{ "test.tsv", TEXTS_TEST },
		{ "train-images-idx3-ubyte", TEXTS_TRAIN },
		{ "t10k-images-idx3-ubyte", TEXTS_TEST },
	};
	bool found = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[PATH_BYTES];
		int r;

		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i].name);
		if (access(path, R_OK) < 0)
			(void)snprintf(path, sizeof(path), "%s/%s.gz", folder, names[i].name);
		if (access(path, R_OK) < 0)
			continue;
		r = read_file(prep, path, names[i].split, err);
		if (r < 0)
			return r;
		found = true;
	}
	return found ? 0
		     : error_set(err, -ENOENT,
				 "%s: found neither aclImdb_v1.tar.gz nor train.tsv[.gz] nor "
				 "train-images-idx3-ubyte[.gz] in this folder",
				 folder);
}

static int read_input(struct prep *prep, const char *name, enum texts_split split, struct error *err)
{
	struct stat st;

	if (!is_url(name) && stat(name, &st) == 0 && S_ISDIR(st.st_mode))
		return read_folder(prep, name, err);
	return read_file(prep, name, split, err);
}

/* Options that only one kind reads. */
static const struct {
	int code;
	const struct prep_kind *kind;
} kind_options[] = {
	{ OPT_ENCODER, &prep_vectors },   { OPT_DIMS, &prep_vectors },  { OPT_TOKENS, &prep_tokens },
	{ OPT_VOCABULARY, &prep_tokens }, { OPT_NGRAMS, &prep_tokens }, { OPT_TOKENS_MAX, &prep_tokens },
};

static const char *option_name(int code)
{
	const struct option *option = options;

	while (option->val != code)
		option++;
	return option->name;
}

/* What was asked for and nobody would heed is a mistake. */
static int check_options(const struct prep *prep, struct error *err)
{
	for (size_t i = 0; i < sizeof(kind_options) / sizeof(kind_options[0]); i++)
		if ((prep->given & given_bit(kind_options[i].code)) && kind_options[i].kind != prep->kind)
			return error_set(err, -EINVAL,
					 "%s: found --%s, which is for %s, and the output is %s",
					 prep->input[0], option_name(kind_options[i].code),
					 kind_options[i].kind->what, prep->kind->what);
	return 0;
}

/* What the input turned out to be. */
static int choose_kind(struct prep *prep, struct error *err)
{
	const uint32_t texts = prep->texts.rows[TEXTS_TRAIN], images = prep->images[TEXTS_TRAIN].images;

	if (!texts && !images)
		return error_set(err, -EBADMSG,
				 "%s: found no training split, expected aclImdb_v1.tar.gz, train.tsv[.gz] or "
				 "train-images-idx3-ubyte[.gz]",
				 prep->input[0]);
	if ((texts || prep->texts.rows[TEXTS_TEST]) && (images || prep->images[TEXTS_TEST].images))
		return error_set(err, -EINVAL, "%s: found texts and images, expected one of them",
				 prep->input[0]);
	prep->kind = images ? &prep_images : prep->tokens ? &prep_tokens : &prep_vectors;
	return check_options(prep, err);
}

static int read_all(struct prep *prep, struct error *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < prep->inputs; i++)
		r = read_input(prep, prep->input[i], TEXTS_TRAIN, err);
	if (r == 0 && prep->test_input)
		r = read_input(prep, prep->test_input, TEXTS_TEST, err);
	return r < 0 ? r : choose_kind(prep, err);
}

static int prepare(struct prep *prep, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	int r = prep->config_file ? config_load(prep->config_file, &config, err) : 0;

	if (r < 0)
		return r;
	if (prep->config_file)
		where_merge(&prep->where, &config.source[0].store);
	parallel_threads((uint32_t)prep->threads);
	if ((r = prep_check_output(&prep->where, err)) < 0 || (r = read_all(prep, err)) < 0 ||
	    (r = prep->kind->make(prep, err)) < 0)
		return r;
	return prep_write(prep, err);
}

static void done(struct prep *prep)
{
	texts_done(&prep->texts);
	text_encoder_free(prep->encoder);
	vocabulary_free(prep->vocabulary);
	for (int s = 0; s < TEXTS_SPLITS; s++) {
		idx_done(&prep->images[s]);
		free(prep->order[s]);
		free(prep->vectors[s]);
	}
}

int cli_prep(int argc, char **argv)
{
	CLEANUP(done)
	struct prep prep = {
		.where = { .url = "", .endpoint = "", .region = "", .credential = "", .ca_file = "" },
		.encoder_name = "nblr",
		.test_percent = 10,
		.dims = 512,
		.vocabulary_max = 20000,
		.ngrams = 1,
		.tokens_max = PREP_TOKENS_MAX,
		.records_per_shard = 500,
		.seed = 44
	};
	struct error err = { 0 };
	bool finished = false;
	int code = parse(&prep, argc, argv, &finished);

	if (code || finished)
		return code;
	return prepare(&prep, &err) < 0 ? cli_error(&err) : CLI_OK;
}
