/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/preflight.h"

#include "core/base/clock.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>
#include <sysexits.h>

static const char *const result_names[] = { "ok", "warning", "failed", "not seen" };
static_assert(sizeof(result_names) / sizeof(result_names[0]) == PREFLIGHT_RESULTS,
	      "every result has its name");

const char *preflight_result_name(enum preflight_result result)
{
	return result_names[result];
}

void preflight_open(const struct config *config, struct preflight *ret_preflight)
{
	*ret_preflight = (struct preflight){ .config = config };
}

void preflight_done(struct preflight *preflight)
{
	for (uint32_t i = 0; i < preflight->rows; i++)
		free(preflight->row[i].text);
	free(preflight->row);
	*preflight = (struct preflight){ 0 };
}

uint32_t preflight_count(const struct preflight *preflight, enum preflight_result result)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < preflight->rows; i++)
		count += preflight->row[i].result == result;
	return count;
}

const struct preflight_row *preflight_unfit(const struct preflight *preflight)
{
	for (uint32_t i = 0; i < preflight->rows; i++)
		if (preflight->row[i].certain)
			return &preflight->row[i];
	return NULL;
}

/* A row that finds no memory is lost: the program that prints the table then fails anyway. */
static struct preflight_row *new_row(struct preflight *preflight)
{
	if (preflight->rows == preflight->capacity) {
		const uint32_t capacity = preflight->capacity ? 2 * preflight->capacity : 32;
		struct preflight_row *grown = realloc(preflight->row, capacity * sizeof(*grown));

		if (!grown)
			return NULL;
		preflight->row = grown;
		preflight->capacity = capacity;
	}
	preflight->row[preflight->rows] = (struct preflight_row){ 0 };
	return &preflight->row[preflight->rows];
}

static void add(struct preflight *preflight, const struct preflight_row *like, const char *format,
		va_list list)
{
	struct preflight_row *row = new_row(preflight);

	if (!row)
		return;
	*row = *like;
	if (vasprintf(&row->text, format, list) < 0)
		row->text = NULL;
	else
		preflight->rows++;
}

void preflight_add(struct preflight *preflight, const char *part, enum preflight_result result,
		   const char *todo, const char *format, ...)
{
	struct preflight_row like = { .result = result, .todo = todo };
	va_list list;

	(void)snprintf(like.part, sizeof(like.part), "%s", part);
	va_start(list, format);
	add(preflight, &like, format, list);
	va_end(list);
}

void preflight_add_misfit(struct preflight *preflight, bool certain, const char *part, const char *todo,
			  const char *format, ...)
{
	struct preflight_row like = { .result = PREFLIGHT_FAILED, .todo = todo, .certain = certain };
	va_list list;

	(void)snprintf(like.part, sizeof(like.part), "%s", part);
	va_start(list, format);
	add(preflight, &like, format, list);
	va_end(list);
}

static const char *todo_of(const struct error *err)
{
	switch (err->code) {
	case -EKEYREJECTED:
		return "put the credential into the folder of credentials, or name another one in the key "
		       "`credential`";
	case -EACCES:
	case -EPERM:
		return "allow this credential to list, read and, in the sink, write and delete below the url";
	case -ENOKEY:
		return "write the authority of the server's certificate into the file that `ca_file` names, "
		       "or "
		       "log in to the network";
	case -ETIME:
		return "set the clock";
	case -ENOENT:
		return "compare the url with the names of the bucket and the folder";
	case -EINVAL:
		return "correct the configuration";
	case -ENOTDIR:
	case -EISDIR:
	case -EROFS:
	case -ELOOP:
	case -ENAMETOOLONG:
		return "name a folder that can be written to";
	default:
		return error_exit_code(err) == EX_UNAVAILABLE
			       ? "try again with a network that reaches the server"
			       : "";
	}
}

/* Errors of a folder that stay, whatever the network does. */
static bool is_of_folder(const struct error *err)
{
	return err->code == -ENOTDIR || err->code == -EISDIR || err->code == -EROFS || err->code == -ELOOP ||
	       err->code == -ENAMETOOLONG;
}

void preflight_add_error(struct preflight *preflight, const char *part, const struct error *err)
{
	const bool passing = error_exit_code(err) == EX_UNAVAILABLE && !is_of_folder(err);

	if (preflight->deadline_us && clock_us() >= preflight->deadline_us)
		preflight_add(preflight, part, PREFLIGHT_WARNING, "", "could not look, because %s",
			      err->text);
	else
		preflight_add(preflight, part, passing ? PREFLIGHT_NOT_SEEN : PREFLIGHT_FAILED, todo_of(err),
			      "%s", err->text);
}

/* ---- The table as JSON ---- */

static bool add_row(cJSON *rows, const struct preflight_row *row)
{
	cJSON *item = cJSON_CreateObject();

	return cJSON_AddItemToArray(rows, item) && cJSON_AddStringToObject(item, "part", row->part) &&
	       cJSON_AddStringToObject(item, "result", preflight_result_name(row->result)) &&
	       cJSON_AddItemToObject(item, "text", json_string(row->text)) &&
	       cJSON_AddStringToObject(item, "todo", row->todo);
}

cJSON *preflight_json(const struct preflight *preflight)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	bool done = cJSON_AddItemToObject(object, "file", json_string(preflight->config->file));
	cJSON *rows = cJSON_AddArrayToObject(object, "rows");

	for (uint32_t i = 0; done && i < preflight->rows; i++)
		done = add_row(rows, &preflight->row[i]);
	return done && rows ? TAKE(object) : NULL;
}
