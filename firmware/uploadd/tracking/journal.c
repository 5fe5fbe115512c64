/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/tracking/journal.h"
#include "core/run/tracking.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define JOURNAL_FILE_MAX (2 * JOURNAL_BYTES_MAX)

static const char *const kinds[] = {
	[JOURNAL_STEP] = "step", [JOURNAL_TRAIN] = "train", [JOURNAL_VALIDATION] = "validation",
	[JOURNAL_TEST] = "test", [JOURNAL_TRIAL] = "trial",
};
static_assert(sizeof(kinds) / sizeof(kinds[0]) == JOURNAL_KINDS, "every kind has its name");

struct line {
	enum journal_kind kind;
	uint64_t n;
	int64_t at_ms;
	const cJSON *values;
};

/* ---- Lines ---- */

static int parse_line(const char *text, uint64_t bytes, cJSON **ret_json, struct line *ret, struct error *err)
{
	const char *kind;
	double at_ms = 0;
	int r = json_parse(JOURNAL_NAME, text, bytes, ret_json, err);

	if (r < 0 || (r = json_get_string(JOURNAL_NAME, *ret_json, "kind", &kind, err)) < 0 ||
	    (r = json_get_u64(JOURNAL_NAME, *ret_json, "n", &ret->n, err)) < 0 ||
	    (r = json_get_double(JOURNAL_NAME, *ret_json, "at_ms", &at_ms, err)) < 0)
		return r;
	ret->at_ms = (int64_t)at_ms;
	ret->values = cJSON_GetObjectItemCaseSensitive(*ret_json, "values");
	for (ret->kind = 0; ret->kind < JOURNAL_KINDS; ret->kind++)
		if (strcmp(kinds[ret->kind], kind) == 0)
			return 0;
	return error_set(err, -EBADMSG, JOURNAL_NAME ": found the kind %s", kind);
}

static void note(struct journal *journal, enum journal_kind kind, uint64_t n)
{
	if (kind == JOURNAL_TRIAL && n < JOURNAL_TRIALS)
		journal->trial[n] = true;
	if (n >= journal->next[kind])
		journal->next[kind] = n + 1;
}

/* Goes over the whole lines of a text. Returns how many bytes they have, or what `each` returned: negative an
 * error, positive to stop before the line. */
static int64_t each_line(const char *text, uint64_t bytes,
			 int (*each)(void *context, const struct line *line), void *context,
			 struct error *err)
{
	const char *at = text, *end;
	int r = 0;

	while ((end = memchr(at, '\n', bytes - (uint64_t)(at - text)))) {
		CLEANUP(json_free) cJSON *json = NULL;
		struct line line = { 0 };

		if ((r = parse_line(at, (uint64_t)(end - at), &json, &line, err)) < 0)
			return r;
		if ((r = each(context, &line)) != 0)
			break;
		at = end + 1;
	}
	return r < 0 ? r : at - text;
}

/* ---- Open ---- */

static int note_line(void *context, const struct line *line)
{
	note(context, line->kind, line->n);
	return 0;
}

static int read_old(struct journal *journal, const char *path, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	uint64_t bytes;
	int64_t whole;
	int r = file_read(path, JOURNAL_FILE_MAX, &text, &bytes, err);

	if (r < 0)
		return r;
	whole = each_line(text, bytes, note_line, journal, err);
	if (whole < 0)
		return error_prefix(err, "%s", path);
	journal->bytes = (uint64_t)whole;
	if (journal->bytes < bytes && ftruncate(journal->fd, whole) < 0)
		return error_set(err, -errno, "%s: cannot cut it: %s", path, strerror(errno));
	return 0;
}

int journal_open(const char *id, struct journal *ret_journal, struct error *err)
{
	char path[PATH_BYTES];
	int r = path_make(tracking_path(id, "", path), err);

	if (r < 0)
		return r;
	*ret_journal = (struct journal){ .fd = -1, .next = { [JOURNAL_STEP] = 0 } };
	ret_journal->fd =
		open(tracking_path(id, JOURNAL_NAME, path), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0664);
	r = ret_journal->fd < 0 ? error_set(err, -errno, "%s: %s", path, strerror(errno))
				: read_old(ret_journal, path, err);
	if (r < 0)
		journal_close(ret_journal);
	return r;
}

void journal_close(struct journal *journal)
{
	close_fd(&journal->fd);
	*journal = (struct journal){ .fd = -1 };
}

/* ---- Add ---- */

bool journal_wants(const struct journal *journal, enum journal_kind kind, uint64_t n)
{
	if (kind == JOURNAL_TRIAL)
		return n < JOURNAL_TRIALS && !journal->trial[n];
	return n >= journal->next[kind] && (kind != JOURNAL_STEP || journal->bytes < JOURNAL_BYTES_MAX);
}

int journal_add(struct journal *journal, enum journal_kind kind, uint64_t n, int64_t at_ms, cJSON *values,
		struct error *err)
{
	CLEANUP(json_free) cJSON *line = cJSON_CreateObject();
	CLEANUP(json_free) cJSON *owned = values;
	CLEANUP(free_ptr) char *text = NULL;
	int r;

	if (!owned || !owned->child || !journal_wants(journal, kind, n))
		return 0;
	cJSON_AddStringToObject(line, "kind", kinds[kind]);
	(void)json_add_u64(line, "n", n);
	cJSON_AddNumberToObject(line, "at_ms", (double)at_ms);
	if (!cJSON_AddItemToObject(line, "values", TAKE(owned)))
		return error_set(err, -ENOMEM, JOURNAL_NAME ": no memory");
	if ((r = json_print_line(line, &text, err)) < 0)
		return r;
	r = file_write_all(journal->fd, text, strlen(text));
	if (r < 0) {
		(void)!ftruncate(journal->fd, (off_t)journal->bytes);
		return error_set(err, r, JOURNAL_NAME ": cannot write: %s", strerror(-r));
	}
	journal->bytes += strlen(text);
	journal->added = true;
	note(journal, kind, n);
	return 0;
}

int journal_sync(struct journal *journal, struct error *err)
{
	if (journal->added && fdatasync(journal->fd) < 0)
		return error_set(err, -errno, JOURNAL_NAME ": cannot write: %s", strerror(errno));
	journal->added = false;
	return 0;
}

/* ---- Read ---- */

/* The values that JSON has no number for are strings. */
static double value_of(const cJSON *item)
{
	if (!cJSON_IsString(item))
		return cJSON_IsNumber(item) ? item->valuedouble : NAN;
	return strtod(item->valuestring, NULL);
}

static int add_metrics(void *context, const struct line *line)
{
	struct journal_batch *batch = context;
	const cJSON *item;

	if (batch->count + (uint32_t)cJSON_GetArraySize(line->values) > MLFLOW_METRICS_MAX)
		return 1;
	cJSON_ArrayForEach(item, line->values) {
		char *key = batch->key[batch->count];

		(void)snprintf(key, JOURNAL_KEY_BYTES, "%s", item->string);
		batch->metric[batch->count++] =
			(struct mlflow_metric){ key, value_of(item), line->at_ms, (int64_t)line->n };
	}
	return 0;
}

int journal_read(const char *id, uint64_t offset, struct journal_batch *batch, struct error *err)
{
	static const size_t most = MLFLOW_METRICS_MAX * 256u;
	CLEANUP(close_fd) int fd = -1;
	CLEANUP(free_ptr) char *text = malloc(most);
	char path[PATH_BYTES];
	ssize_t bytes;
	int64_t whole;

	batch->count = 0;
	batch->next = offset;
	if (!text)
		return error_set(err, -ENOMEM, JOURNAL_NAME ": no memory");
	fd = open(tracking_path(id, JOURNAL_NAME, path), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : error_set(err, -errno, "%s: %s", path, strerror(errno));
	bytes = pread(fd, text, most, (off_t)offset);
	if (bytes < 0)
		return error_set(err, -errno, "%s: cannot read: %s", path, strerror(errno));
	whole = each_line(text, (uint64_t)bytes, add_metrics, batch, err);
	if (whole < 0)
		return error_prefix(err, "%s", path);
	batch->next = offset + (uint64_t)whole;
	return 0;
}
