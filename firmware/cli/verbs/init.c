/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln init`: looks at data, and writes a first kiln.conf. */
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/base/where.h"
#include "cli/init/conf.h"
#include "cli/look/place.h"
#include "cli/table/blocks.h"
#include "cli/verbs/verbs.h"
#include "core/base/visible.h"
#include "drivers/store/dataset.h"
#include "trained/location.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define RECORDS 1000u
#define CONF    "kiln.conf"
#define TRAIN   "*train*tfrecord*"

static const struct verb_operand operands[] = {
	{ .name = "WHERE", .value = VERB_LOCATION, .optional = true },
	{ 0 },
};

static const struct verb_option options[] = {
	{ .name = "output",
	  .value = VERB_FILE,
	  .argument = "FILE",
	  .help = "file to write, default kiln.conf; - = print it. A file that is there is not changed" },
	{ .name = "label",
	  .value = VERB_TEXT,
	  .argument = "FEATURE",
	  .help = "the label; default: what dataset.json says, or the feature with a usual name, such as "
		  "label" },
	{ 0 },
};

/* ---- What is not shards yet ---- */

/* Says which `kiln prep` makes shards of the data. `label`: of a table, one of its columns; NULL: no table.
 */
static int say_prep(const char *name, const char *label)
{
	printf("%s: no shards yet. Make them, then call kiln init for them:\n  kiln prep '%s'", name, name);
	if (label)
		printf(" --label '%s'", label);
	puts(" --output file://$PWD/shards\n  kiln init shards");
	return CLI_OK;
}

/* Reads the head of a table, and prints its columns. The last one is often the label. */
static int say_table(const char *name, struct error *err)
{
	struct table *table = calloc(1, sizeof(*table));
	struct blocks *blocks = NULL;
	char *input = (char *)(uintptr_t)name;
	int r = table ? 0 : error_set(err, -ENOMEM, "no memory for a table");

	if (r < 0)
		return r;
	table->input = &input;
	table->inputs = table->train_inputs = 1;
	r = table_choose_format(table, NULL, err);
	if (r == 0)
		r = blocks_open(table, &blocks, err);
	if (r == 0) {
		printf("%s: %u columns:", name, table->columns);
		for (uint32_t c = 0; c < table->columns; c++) {
			putchar(' ');
			visible_print(table->column[c].name, stdout);
		}
		puts("\nThe last column may be the label, or another one.");
		(void)say_prep(name, table->column[table->columns - 1].name);
	}
	blocks_close(blocks);
	table_done(table);
	free(table);
	return r;
}

/* Tells whether the name is that of a file on this machine that is no shard. */
static bool is_raw_file(const char *name)
{
	struct stat st;

	return !location_is_url(name) && stat(name, &st) == 0 && S_ISREG(st.st_mode) &&
	       !strstr(name, "tfrecord");
}

/* ---- Shards ---- */

static int count_record(void *context, const void *data, uint64_t bytes, struct error *err)
{
	return facts_add(context, data, bytes, err);
}

static int look_at_records(const struct look_place *place, const char *label, struct seen *seen,
			   struct error *err)
{
	CLEANUP(facts_done) struct facts facts = { 0 };
	int r = look_records(place, RECORDS, count_record, &facts, err);

	return r < 0 ? r : seen_in_records(&facts, label, seen, err);
}

/* Returns 0 where there are neither shards nor a dataset.json. */
static int look(const struct look_place *place, const char *label, struct seen *seen, struct error *err)
{
	CLEANUP(json_free) cJSON *dataset = NULL;
	int r = store_get_dataset(place->store, &dataset, err);

	if (r == 0)
		r = seen_in_dataset(dataset, label, seen, err);
	else if (r == -ENOENT)
		r = place->keys ? look_at_records(place, label, seen, err) : -ENODATA;
	return r == -ENODATA ? 0 : r < 0 ? r : 1;
}

/* ---- The file ---- */

static int write_file(const char *path, const struct seen *seen, const struct config_store *where,
		      struct error *err)
{
	const bool print = strcmp(path, "-") == 0;
	FILE *out = print ? stdout : fopen(path, "wx");
	int r;

	if (!out)
		return error_set(err, -errno, "%s: cannot write it: %s%s", path, strerror(errno),
				 errno == EEXIST ? "; --output says another name" : "");
	r = conf_write(seen, where, out, err);
	if (r == 0 && (fflush(out) != 0 || ferror(out)))
		r = error_set(err, -EIO, "%s: cannot write it", path);
	if (!print) {
		(void)fclose(out);
		if (r < 0)
			(void)unlink(path);
	}
	return r;
}

static void say_next(const char *path)
{
	if (strcmp(path, "-") == 0)
		return;
	printf("wrote %s. Next:\n"
	       "  kiln check %s          # does everything fit?\n"
	       "  kiln run --config %s   # train\n"
	       "  kiln report\n"
	       "  kiln predict RUN --config %s --split test\n",
	       path, path, path, path);
}

static int init_at(const char *name, const struct arguments *arguments, struct error *err)
{
	CLEANUP(look_place_done) struct look_place place = { 0 };
	const char *path = arguments_text(arguments, "output");
	struct config_store where;
	struct seen *seen = calloc(1, sizeof(*seen));
	int r = seen ? 0 : error_set(err, -ENOMEM, "no memory for a schema");

	path = path ? path : CONF;
	where_read(&where, arguments);
	if (r == 0)
		r = look_place_open(&where, name, TRAIN, &place, err);
	if (r == 0)
		r = look(&place, arguments_text(arguments, "label"), seen, err);
	if (r > 0) {
		where.url = place.url;
		r = write_file(path, seen, &where, err);
		if (r == 0)
			say_next(path);
	} else if (r == 0) {
		r = say_prep(name, NULL);
	}
	free(seen);
	return r;
}

static int init_verb(const struct arguments *arguments)
{
	const char *name = arguments->operands ? arguments_operand(arguments, 0) : ".";
	struct error err = { 0 };

	if (is_raw_file(name) && table_is(name, NULL))
		return say_table(name, &err) < 0 ? cli_error(&err) : CLI_OK;
	if (is_raw_file(name))
		return say_prep(name, NULL);
	return init_at(name, arguments, &err) < 0 ? cli_error(&err) : CLI_OK;
}

const struct verb verb_init = {
	.name = "init",
	.summary = "look at data, and write a first kiln.conf",
	.about = "Looks at WHERE, a folder of shards as a path or a URL, default the current folder: at "
		 "dataset.json, which kiln prep writes, or at the first 1000 training records. Writes a "
		 "commented "
		 "configuration with the schema, a first network that fits (for a table, texts, images or "
		 "pictures) and the loss, and prints what to run next. For data that are not shards yet it "
		 "prints "
		 "the kiln prep that makes them.",
	.operands = operands,
	.options = { options, where_options },
	.here = true,
	.run = init_verb,
};
