/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep.h"
#include "cli/cli.h"
#include "cli/encode.h"
#include "cli/parallel.h"
#include "core/paths.h"
#include "drivers/digest/digest.h"

#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] =
	"Usage: kiln prep INPUT... (--output URL | --config FILE) [OPTION...]\n\n"
	"Turns labelled texts into TFRecord shards with features sentence float[512] and label int64[K]\n"
	"(one-hot). INPUT is a file of label<TAB>text lines (gzip or not), the Large Movie Review Dataset's\n"
	"tar, or a folder with aclImdb_v1.tar.gz or with train.tsv[.gz] and test.tsv[.gz]; a path, or a key\n"
	"below s3:// or file:///.\n\n"
	"  --output URL           where the shards go: s3://bucket/prefix or file:///folder\n"
	"  --config FILE          take url, endpoint, region and credential from this kiln.conf's `source`\n"
	"  --endpoint URL, --region NAME, --credential NAME, --ca-file FILE\n"
	"                         of the store; as in kiln.conf\n"
	"  --test INPUT           texts of the test split; without it --test-percent of the others are\n"
	"                         held out\n"
	"  --test-percent N       default 10\n"
	"  --encoder E            nblr (default): fitted on the training texts; exec:PROGRAM: gets a JSON\n"
	"                         string a line, answers the vector's numbers a line; or the path of an\n"
	"                         encoder.bin\n"
	"  --dims N               size of the vectors, default 512\n"
	"  --records-per-shard N  default 500\n"
	"  --shard-bytes N        instead: about so many bytes a shard before gzip (100-200 MB suit big\n"
	"                         data)\n"
	"  --seed N               of the shuffle, default 44\n"
	"  --threads N            default one a core\n"
	"  --json                 print the summary as JSON\n";

enum option_code {
	OPT_OUTPUT = 256,
	OPT_CONFIG,
	OPT_ENDPOINT,
	OPT_REGION,
	OPT_CREDENTIAL,
	OPT_CA_FILE,
	OPT_TEST,
	OPT_TEST_PERCENT,
	OPT_ENCODER,
	OPT_DIMS,
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

/* 0, or the exit code to end with; *ret_done says that help was asked for. */
static int parse(struct prep *prep, int argc, char **argv, bool *ret_done)
{
	int code, index = 0;

	optind = 1;
	opterr = 0;
	while ((code = getopt_long(argc, argv, "", options, &index)) != -1) {
		const struct number *number = find_number(code);

		switch (code) {
		case OPT_HELP:
			fputs(usage, stdout);
			*ret_done = true;
			return CLI_OK;
		case OPT_JSON:
			prep->json = true;
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

/* An object is read from a temporary copy: archives and gzip want files. */
static int read_object(struct prep *prep, const char *url, enum texts_split split, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct config_store where = prep->where;
	struct store_options store_options = { 0 };
	char base[STORE_KEY_MAX], path[] = "/tmp/kiln-prep-XXXXXX";
	const char *rest = strstr(url, "://") + strlen("://"), *slash = strrchr(url, '/');
	int fd, r;

	if (slash < rest || !slash[1])
		return error_set(err, -EINVAL,
				 "%s: names no object, expected s3://BUCKET/KEY or file:///FOLDER/FILE", url);
	(void)snprintf(base, sizeof(base), "%.*s", (int)(slash + 1 - url), url);
	where.url = base;
	fd = mkstemp(path);
	if (fd < 0)
		return error_set(err, -errno, "%s: cannot make it: %s", path, strerror(errno));
	(void)close(fd);
	if ((r = store_open(&where, &store_options, &store, err)) == 0 &&
	    (r = store_get_file(store, slash + 1, path, err)) == 0)
		r = texts_read(&prep->texts, path, url, split, err);
	(void)unlink(path);
	return r;
}

/* The names that a folder may hold. */
static int read_folder(struct prep *prep, const char *folder, struct error *err)
{
	static const struct {
		const char *name;
		enum texts_split split;
	} names[] = {
		{ "aclImdb_v1.tar.gz", TEXTS_TRAIN }, { "train.tsv.gz", TEXTS_TRAIN },
		{ "train.tsv", TEXTS_TRAIN },         { "test.tsv.gz", TEXTS_TEST },
		{ "test.tsv", TEXTS_TEST },
	};
	bool found = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[PATH_BYTES];
		int r;

		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i].name);
		if (access(path, R_OK) < 0)
			continue;
		r = texts_read(&prep->texts, path, path, names[i].split, err);
		if (r < 0)
			return r;
		found = true;
	}
	return found ? 0
		     : error_set(err, -ENOENT,
				 "%s: found neither aclImdb_v1.tar.gz nor train.tsv[.gz] in this folder",
				 folder);
}

static int read_input(struct prep *prep, const char *name, enum texts_split split, struct error *err)
{
	struct stat st;

	if (is_url(name))
		return read_object(prep, name, split, err);
	if (stat(name, &st) == 0 && S_ISDIR(st.st_mode))
		return read_folder(prep, name, err);
	return texts_read(&prep->texts, name, name, split, err);
}

static int read_all(struct prep *prep, struct error *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < prep->inputs; i++)
		r = read_input(prep, prep->input[i], TEXTS_TRAIN, err);
	if (r == 0 && prep->test_input)
		r = read_input(prep, prep->test_input, TEXTS_TEST, err);
	if (r < 0)
		return r;
	if (prep->texts.rows[TEXTS_TRAIN] == 0)
		return error_set(err, -EBADMSG,
				 "%s: found no training split, expected aclImdb_v1.tar.gz or train.tsv[.gz]",
				 prep->input[0]);
	if (prep->texts.labels < 2)
		return error_set(err, -EBADMSG, "%s: found no label but \"%s\", at least 2 are needed",
				 prep->input[0], prep->texts.label[0]);
	texts_sort_labels(&prep->texts);
	return texts_shuffle(&prep->texts, prep->seed,
			     prep->texts.rows[TEXTS_TEST] ? 0 : (uint32_t)prep->test_percent, err);
}

/* ---- Encoding ---- */

static int encode_by_program(struct prep *prep, struct error *err)
{
	const char *command = prep->encoder_name + strlen(ENCODE_EXEC);

	for (int s = 0; s < TEXTS_SPLITS; s++) {
		uint32_t rows = prep->texts.rows[s];
		CLEANUP(free_ptr) struct encode_text *texts = calloc((size_t)rows + 1, sizeof(*texts));
		int r;

		prep->vectors[s] = malloc(((uint64_t)rows * prep->dims + 1) * sizeof(float));
		if (!texts || !prep->vectors[s])
			return error_set(err, -ENOMEM, "no memory for %u vectors", rows);
		for (uint32_t i = 0; i < rows; i++)
			texts[i] = (struct encode_text){ prep->texts.row[s][i].text,
							 prep->texts.row[s][i].bytes };
		r = rows ? encode_exec(command, texts, rows, (uint32_t)prep->dims, prep->vectors[s], err) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int load_encoder(struct prep *prep, struct error *err)
{
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes;
	int r = file_read(prep->encoder_name, UINT32_MAX, &data, &bytes, err);

	if (r == 0)
		r = text_encoder_load(data, bytes, &prep->encoder, err);
	if (r < 0)
		return error_prefix(err, "encoder \"%s\"", prep->encoder_name);
	prep->dims = text_encoder_dims(prep->encoder);
	return 0;
}

static int fit(struct prep *prep, struct error *err)
{
	uint32_t rows = prep->texts.rows[TEXTS_TRAIN];
	CLEANUP(free_ptr) const char **text = calloc((size_t)rows + 1, sizeof(*text));
	CLEANUP(free_ptr) uint64_t *bytes = calloc((size_t)rows + 1, sizeof(*bytes));
	CLEANUP(free_ptr) uint32_t *label = calloc((size_t)rows + 1, sizeof(*label));
	const char *names[TEXTS_LABELS_MAX];
	struct text_corpus corpus = { rows, prep->texts.labels, text, bytes, label, names };
	struct text_fit_report report;
	int r;

	if (!text || !bytes || !label)
		return error_set(err, -ENOMEM, "no memory for %u texts", rows);
	for (uint32_t i = 0; i < rows; i++) {
		text[i] = prep->texts.row[TEXTS_TRAIN][i].text;
		bytes[i] = prep->texts.row[TEXTS_TRAIN][i].bytes;
		label[i] = prep->texts.row[TEXTS_TRAIN][i].label;
	}
	for (uint32_t c = 0; c < prep->texts.labels; c++)
		names[c] = prep->texts.label[c];
	fprintf(stderr, "fitting the encoder on %u texts of %u classes\n", rows, prep->texts.labels);
	r = text_fit(&corpus, (uint32_t)prep->dims, parallel_run, &prep->encoder, &prep->vectors[TEXTS_TRAIN],
		     &report, err);
	if (r == 0)
		fprintf(stderr,
			"fitted: %u features; out of fold %.2f %% of the training texts are scored right\n",
			report.features, 100 * report.fold_accuracy);
	return r;
}

static int make_vectors(struct prep *prep, struct error *err)
{
	if (strncmp(prep->encoder_name, ENCODE_EXEC, strlen(ENCODE_EXEC)) == 0)
		return encode_by_program(prep, err);
	return strcmp(prep->encoder_name, "nblr") == 0 ? fit(prep, err) : load_encoder(prep, err);
}

static int prepare(struct prep *prep, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	int r = prep->config_file ? config_load(prep->config_file, &config, err) : 0;

	if (r < 0)
		return r;
	if (prep->config_file)
		cli_store_merge(&prep->where, &config.source[0].store);
	parallel_threads((uint32_t)prep->threads);
	if ((r = prep_check_output(&prep->where, err)) < 0 || (r = read_all(prep, err)) < 0 ||
	    (r = make_vectors(prep, err)) < 0)
		return r;
	return prep_write(prep, err);
}

static void done(struct prep *prep)
{
	texts_done(&prep->texts);
	text_encoder_free(prep->encoder);
	free(prep->vectors[TEXTS_TRAIN]);
	free(prep->vectors[TEXTS_TEST]);
}

int cli_prep(int argc, char **argv)
{
	CLEANUP(done)
	struct prep prep = {
		.where = { .url = "", .endpoint = "", .region = "", .credential = "", .ca_file = "" },
		.encoder_name = "nblr",
		.test_percent = 10,
		.dims = 512,
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
