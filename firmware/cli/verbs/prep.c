/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln prep`: turns tables, labelled texts, images or pictures into shards in a store. */
#include "cli/prep/prep.h"

#include "cli/base/say.h"
#include "cli/base/where.h"
#include "cli/prep/encode_bert.h"
#include "cli/prep/input.h"
#include "cli/prep/output.h"
#include "cli/prep/parallel.h"
#include "cli/prep/set.h"
#include "cli/prep/write.h"
#include "cli/verbs/prep_features.h"
#include "cli/verbs/prep_table.h"
#include "cli/verbs/verbs.h"
#include "trained/location.h"

#include <string.h>

/* ---- The row ---- */

static const struct verb_operand operands[] = {
	{ .name = "INPUT", .value = VERB_LOCATION, .optional = true, .repeated = true },
	{ 0 },
};

static const struct verb_option location_options[] = {
	{ .name = "output",
	  .value = VERB_LOCATION,
	  .argument = "URL",
	  .help = "folder to write the shards to: s3://bucket/prefix or file:///folder; with --features also "
		  "a path" },
	{ .name = "config",
	  .value = VERB_FILE,
	  .argument = "FILE",
	  .help = "read url, endpoint, region and credential from this kiln.conf's `source`" },
	{ 0 },
};

static const struct verb_option options[] = {
	{ .name = "features",
	  .value = VERB_FILE,
	  .argument = "CONF",
	  .help = "in the place of INPUT: run the frozen model.base of this kiln.conf over all its pictures, "
		  "and write its outputs" },
	{ .name = "test",
	  .value = VERB_LOCATION,
	  .argument = "INPUT",
	  .help = "input of the test split; without a test split, --test-percent of the records are held out "
		  "for it" },
	{ .name = "test-percent",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .max = 90,
	  .help = "percent of the records to hold out for the test split, default 10" },
	{ .name = "group",
	  .value = VERB_NUMBER,
	  .argument = "COLUMN",
	  .min = 2,
	  .max = 64,
	  .help = "column of the lines, counted from 1, that names the group of a text, such as its author: "
		  "texts of a group come into one split and one shard, so that none validates the training "
		  "on another; the column is no part of the text" },
	{ .name = "encoder",
	  .value = VERB_LOCATION,
	  .argument = "E",
	  .help = "encoder that turns a text into a vector: nblr (default) = made from the training texts; "
		  "exec:PROGRAM = a program that reads one text per line, as a JSON string, and prints the "
		  "numbers of one vector per line; bert:DIR = a pretrained BERT in a folder of Hugging Face "
		  "or sentence-transformers; otherwise the path of an encoder.bin" },
	{ .name = "dims",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .min = 2,
	  .max = TEXT_DIMS_MAX,
	  .help = "number of values in a vector, default 512; with bert:DIR: the hidden_size of the network, "
		  "and no other one is allowed" },
	{ .name = "tokens",
	  .help = "write tokens instead of vectors: for each word of a text its number in vocabulary.txt, "
		  "which the verb makes from the training texts" },
	{ .name = "tokenizer",
	  .value = VERB_FILE,
	  .argument = "FILE",
	  .help = "with --tokens: tokenizer.json or vocab.txt of a pretrained model; the tokens are the ids "
		  "of its WordPiece or byte-level BPE, with its special tokens" },
	{ .name = "vocabulary",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .min = VOCABULARY_FIRST + 1,
	  .max = VOCABULARY_MAX,
	  .help = "largest number of tokens in vocabulary.txt, default 20000" },
	{ .name = "ngrams",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .min = 1,
	  .max = VOCABULARY_NGRAM_MAX,
	  .help = "longest token in words: tokens are single words and sequences of up to N words, default "
		  "1" },
	{ .name = "tokens-max",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .min = 1,
	  .max = PREP_TOKENS_MAX,
	  .help = "largest number of tokens in a record; further tokens of the text are cut off; default "
		  "65536" },
	{ .name = "size",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .min = 1,
	  .max = CONFIG_PICTURE_SIDE_MAX,
	  .help = "make larger pictures smaller: the shorter side gets N pixels, by the bilinear filter with "
		  "antialias, and the file becomes a JPEG of quality 95; smaller pictures stay as they are" },
	{ .name = "raw",
	  .help = "with --size N: write the pixels, uint8[N,N,3], as image/raw in the place of "
		  "image/encoded" },
	{ .name = "fit",
	  .value = VERB_CHOICE,
	  .argument = "NAME",
	  .choices = "stretch|crop|pad",
	  .help = "with --raw: what happens to a picture that is not square: stretch (default) = its "
		  "proportions change, crop = its edges are cut off, pad = black bars are added" },
	{ .name = "bad-files",
	  .value = VERB_CHOICE,
	  .argument = "NAME",
	  .choices = "stop|skip",
	  .help = "what happens where files in class folders are damaged, or neither JPEG nor PNG: stop "
		  "(default) = nothing is written, skip = they are left out; both print their names" },
	{ .name = "records-per-shard",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .min = 1,
	  .max = 1u << 24,
	  .help = "number of records in a shard, default 500; of pictures fewer, so that at least 20 shards "
		  "train, and at most 64 MiB" },
	{ .name = "shard-bytes",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .min = 1,
	  .max = 1u << 30,
	  .help = "approximate size of a shard before gzip, instead of --records-per-shard; 100 to 200 MB "
		  "suit large data sets; each thread has a shard in memory" },
	{ .name = "seed",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .max = UINT64_MAX,
	  .help = "seed of the shuffle, default 44" },
	{ .name = "threads",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .min = 1,
	  .max = 256,
	  .help = "number of threads, default one per core" },
	{ .name = "replace", .help = "remove the set that kiln prep wrote to the output before" },
	{ .name = "append",
	  .help = "keep the set in the output and add a further set; its classes, and its encoder, "
		  "vocabulary or "
		  "features, are those of the first set; an empty output gets the first set" },
	{ .name = "json", .help = "print the summary as JSON" },
	{ 0 },
};

/* ---- Options ---- */

/* Options that are valid for one kind of records only. */
static const struct {
	const char *name;
	const struct prep_kind *kind;
} kind_options[] = {
	{ "encoder", &prep_vectors },    { "dims", &prep_vectors },  { "tokens", &prep_tokens },
	{ "vocabulary", &prep_tokens },  { "ngrams", &prep_tokens }, { "tokens-max", &prep_tokens },
	{ "size", &prep_pictures },      { "raw", &prep_pictures },  { "fit", &prep_pictures },
	{ "bad-files", &prep_pictures },
};

/* Refuses an option that is not valid for the kind of records. */
static int check_options(const struct arguments *arguments, const struct prep *prep, struct error *err)
{
	if (prep->group && (prep->kind == &prep_images || !prep->texts.lines))
		return error_set(
			err, -EINVAL,
			"%s: found --group, which is an option for lines of texts, but the input has none",
			prep->input[0]);
	for (size_t i = 0; i < sizeof(kind_options) / sizeof(kind_options[0]); i++)
		if (arguments_have(arguments, kind_options[i].name) &&
		    strcmp(kind_options[i].kind->feature, prep->kind->feature) != 0)
			return error_set(err, -EINVAL,
					 "%s: found --%s, which is an option for %s, but the output is %s",
					 prep->input[0], kind_options[i].name, kind_options[i].kind->what,
					 prep->kind->what);
	return 0;
}

static int read_options(struct prep *prep, const struct arguments *arguments)
{
	const char *output = arguments_text(arguments, "output");
	const char *encoder = arguments_text(arguments, "encoder");
	const char *fit = arguments_text(arguments, "fit"),
		   *bad_files = arguments_text(arguments, "bad-files");

	where_read(&prep->where, arguments);
	prep->where.url = output ? output : "";
	prep->config_file = arguments_text(arguments, "config");
	prep->test_input = arguments_text(arguments, "test");
	prep->encoder_name = encoder ? encoder : "nblr";
	prep->encoder_given = encoder != NULL;
	prep->mode = arguments_have(arguments, "append")    ? PREP_APPEND
		     : arguments_have(arguments, "replace") ? PREP_REPLACE
							    : PREP_NEW;
	prep->test_percent = arguments_number(arguments, "test-percent", 10);
	prep->dims = arguments_number(arguments, "dims", 512);
	prep->dims_given = arguments_have(arguments, "dims");
	prep->tokens = arguments_have(arguments, "tokens");
	prep->tokenizer_name = arguments_text(arguments, "tokenizer");
	prep->vocabulary_max = arguments_number(arguments, "vocabulary", 20000);
	prep->ngrams = arguments_number(arguments, "ngrams", 1);
	prep->group = arguments_number(arguments, "group", 0);
	prep->texts.group_column = (uint32_t)prep->group;
	prep->tokens_max = arguments_number(arguments, "tokens-max", PREP_TOKENS_MAX);
	prep->records_per_shard = arguments_number(arguments, "records-per-shard", 0);
	prep->shard_bytes = arguments_number(arguments, "shard-bytes", 0);
	prep->seed = arguments_number(arguments, "seed", PREP_SEED);
	prep->threads = arguments_number(arguments, "threads", 0);
	prep->size = arguments_number(arguments, "size", 0);
	prep->raw = arguments_have(arguments, "raw");
	prep->fit = fit ? fit : "stretch";
	prep->skip_bad = bad_files && strcmp(bad_files, "skip") == 0;
	prep->json = arguments_have(arguments, "json");
	prep->input = arguments->operand;
	prep->inputs = arguments->operands;
	if (arguments_have(arguments, "append") && arguments_have(arguments, "replace"))
		return cli_usage(arguments->name, "expected one of --append and --replace");
	if (prep->tokenizer_name && !prep->tokens)
		return cli_usage(arguments->name, "found --tokenizer, expected also --tokens");
	if (prep->tokenizer_name &&
	    (arguments_have(arguments, "vocabulary") || arguments_have(arguments, "ngrams")))
		return cli_usage(arguments->name,
				 "found --tokenizer, which has its own vocabulary: --vocabulary "
				 "and --ngrams are for one that the verb makes");
	if ((prep->raw && !prep->size) || (fit && !prep->raw))
		return cli_usage(arguments->name, "found %s, expected also %s", prep->raw ? "--raw" : "--fit",
				 prep->raw ? "--size" : "--raw");
	return !*prep->where.url == !prep->config_file
		       ? cli_usage(arguments->name, "expected either --output or --config")
		       : CLI_OK;
}

/* ---- The verb ---- */

/* Makes the records and writes them, where set.h allows it. */
static int make_and_write(struct prep *prep, struct error *err)
{
	struct example_schema schema;
	uint64_t bytes;
	int r;

	if ((r = set_follow(prep, err)) < 0 || (r = prep->kind->make(prep, err)) < 0)
		return r;
	prep->kind->schema(prep, &schema, &bytes);
	r = set_decide(prep, &schema, err);
	return r < 0 ? r : r > 0 ? 0 : prep_write(prep, err);
}

static int prepare(struct prep *prep, const struct arguments *arguments, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	int r = prep->config_file ? config_load(prep->config_file, &config, err) : 0;

	if (r < 0)
		return r;
	if (prep->config_file) {
		prep->configured = &config.source[0];
		location_merge(&prep->where, &config.source[0].store);
	}
	parallel_threads((uint32_t)prep->threads);
	if ((r = prep_table_open(prep, arguments, err)) < 0 || (r = set_look(prep, err)) < 0 ||
	    (!prep->table && (r = prep_read(prep, err)) < 0) ||
	    (r = check_options(arguments, prep, err)) < 0 || (r = prep_check_names(prep, err)) < 0)
		return r;
	return make_and_write(prep, err);
}

static void done(struct prep *prep)
{
	close_fd(&prep->lock);
	set_done(&prep->there);
	prep_table_done(prep);
	texts_done(&prep->texts);
	pictures_done(&prep->pictures);
	text_encoder_free(prep->encoder);
	bert_encoder_closep(&prep->bert);
	vocabulary_free(prep->vocabulary);
	tokenizer_free(prep->tokenizer);
	for (int s = 0; s < TEXTS_SPLITS; s++) {
		idx_done(&prep->images[s]);
		free(prep->order[s]);
		free(prep->vectors[s]);
	}
}

static int prep_verb(const struct arguments *arguments)
{
	CLEANUP(done) struct prep prep = { .lock = -1 };
	struct error err = { 0 };
	int r;

	if (arguments_have(arguments, "features"))
		return prep_features_verb(arguments);
	if (arguments->operands == 0)
		return cli_usage(arguments->name, "expected INPUT or --features");
	r = read_options(&prep, arguments);
	if (r != CLI_OK)
		return r;
	return prepare(&prep, arguments, &err) < 0 ? cli_error(&err) : CLI_OK;
}

const struct verb verb_prep = {
	.name = "prep",
	.summary = "turn tables, texts, images and pictures into shards in a store",
	.synopsis = "prep INPUT... (--output URL | --config FILE) [OPTION...]\n"
		    "prep --features CONF --output FOLDER [OPTION...]",
	.about = "Writes a table as TFRecord shards with a feature a column: numbers as float[1], texts that "
		 "repeat as int64[1], other texts as bytes. Prints the schema for kiln.conf.\n\n"
		 "Writes labelled texts as TFRecord shards with the features sentence, float[512], and "
		 "label, int64[K] (one-hot). With --tokens the feature tokens, int64 and ragged, takes the "
		 "place of sentence. Writes labelled images as the features image, float[28,28,1] (0 to 1), "
		 "and label, int64[1]. Writes pictures (JPEG and PNG) in class folders as image/encoded, the "
		 "file as it is, image/class/label, int64[1], image/class/text, image/filename, image/height "
		 "and image/width, in shards that are not compressed.\n\n"
		 "INPUT is one of: a table, a file of CSV, TSV or JSON lines; - = a table on standard input; "
		 "exec:PROGRAM = a program that prints JSON lines; a file with lines of label<TAB>text; the "
		 "tar of the Large Movie Review "
		 "Dataset, whose reviews are grouped by film; an IDX file of images, such as MNIST's, with "
		 "the IDX file of their labels in the same folder; a folder, tar archive or prefix of a "
		 "store with class folders: the folder of a picture is its class, and a folder train, val or "
		 "test above it its split; a folder with aclImdb_v1.tar.gz, with train.tsv[.gz] and "
		 "test.tsv[.gz], or with train-images-idx3-ubyte[.gz] and t10k-images-idx3-ubyte[.gz]. Files "
		 "may be compressed with gzip, tables also with zstd. INPUT is a path, s3://BUCKET/KEY or "
		 "file:///PATH.\n\n"
		 "With --features the verb runs model.base of CONF over the pictures of each split once, as "
		 "an evaluation sees them. The base must be frozen. Its outputs become float features in the "
		 "folders train, validation and test of the output. features.conf there trains the layers "
		 "after the base alone. The finished model has the base, too, and reads pictures.\n\n"
		 "A `kiln prep --features` that was stopped goes on with the same command after the last "
		 "whole "
		 "shard; pictures or weights that have changed meanwhile are refused. The options for it are "
		 "--records-per-shard (of single objects), --seed, --threads, --replace and --json, and "
		 "those of the store.",
	.operands = operands,
	.options = { location_options, where_options, options, prep_table_options },
	.here = true,
	.run = prep_verb,
};
