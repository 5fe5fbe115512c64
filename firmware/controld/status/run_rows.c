/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/run_rows.h"
#include "core/base/paths.h"
#include "core/run/run_summary.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#define STAMP_BYTES 15 /* an id ends with YYYYMMDD-HHMMSS; the names before it may differ */

/* ---- One row ---- */

cJSON *run_row(const char *id, const char *text, const struct error *why)
{
	CLEANUP(json_free) cJSON *record = NULL;
	bool damaged = !text || json_parse("run.json", text, strlen(text), &record, NULL) < 0;
	cJSON *line = run_summary(record);

	if (!cJSON_HasObjectItem(line, "id"))
		(void)cJSON_AddItemToObject(line, "id", json_string(id));
	if (damaged)
		(void)cJSON_AddItemToObject(line, "error", json_string(why->text));
	return line;
}

/* ---- The archive ---- */

static struct run_row_file look(const char *id, const char *name)
{
	char folder[PATH_BYTES], path[PATH_BYTES + RUN_ID_BYTES];
	struct stat st = { 0 };

	(void)snprintf(path, sizeof(path), "%s/%s", path_of(PATH_ARCHIVE, id, folder), name);
	(void)stat(path, &st);
	return (struct run_row_file){ st.st_ino, st.st_mtim };
}

static bool is_same(const struct run_row_file *a, const struct run_row_file *b)
{
	return a->inode == b->inode && a->time.tv_sec == b->time.tv_sec && a->time.tv_nsec == b->time.tv_nsec;
}

static int newest_first(const void *a, const void *b)
{
	const char *left = ((const struct run_row *)a)->id, *right = ((const struct run_row *)b)->id;
	const char *l = strlen(left) > STAMP_BYTES ? left + strlen(left) - STAMP_BYTES : left;
	const char *r = strlen(right) > STAMP_BYTES ? right + strlen(right) - STAMP_BYTES : right;

	return strcmp(r, l);
}

static void list_archive(struct run_rows *rows)
{
	char path[PATH_BYTES];
	DIR *folder = opendir(path_of(PATH_ARCHIVE, NULL, path));
	const struct dirent *entry;

	while (folder && rows->count < sizeof(rows->of) / sizeof(rows->of[0]) && (entry = readdir(folder))) {
		struct run_row *row = &rows->of[rows->count];

		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof(row->id))
			continue;
		memcpy(row->id, entry->d_name, strlen(entry->d_name) + 1);
		row->state = look(row->id, "state");
		row->record = look(row->id, "run.json");
		rows->count++;
	}
	if (folder)
		(void)closedir(folder);
	qsort(rows->of, rows->count, sizeof(rows->of[0]), newest_first);
}

/* Takes over the row that was made from the same files. A row that says what is wrong is made again. */
static cJSON *known_row(struct run_rows *before, const struct run_row *row)
{
	for (size_t i = 0; i < before->count; i++) {
		struct run_row *old = &before->of[i];

		if (strcmp(old->id, row->id) == 0 && is_same(&old->state, &row->state) &&
		    is_same(&old->record, &row->record) && !cJSON_HasObjectItem(old->row, "error"))
			return TAKE(old->row);
	}
	return NULL;
}

static cJSON *new_row(const char *id)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct error err = { 0 };

	(void)!run_json_archived(id, &text, &err);
	return run_row(id, text, &err);
}

void run_rows_read(struct run_rows *rows)
{
	struct run_rows before = *rows;

	*rows = (struct run_rows){ 0 };
	list_archive(rows);
	for (size_t i = 0; i < rows->count; i++) {
		struct run_row *row = &rows->of[i];

		row->row = known_row(&before, row);
		if (!row->row)
			row->row = new_row(row->id);
	}
	run_rows_done(&before);
}

void run_rows_done(struct run_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		cJSON_Delete(TAKE(rows->of[i].row));
	rows->count = 0;
}
