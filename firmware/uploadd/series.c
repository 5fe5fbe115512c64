/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/series.h"
#include "core/base/log.h"
#include "core/series/series.h"
#include "drivers/versions/versions.h"
#include "uploadd/series_stage.h"
#include "uploadd/upload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NOTE "uploaded" /* beside a record: version_of() the record that the store has */

#define STAGE_ATTEMPTS 3u
#define PAUSE_US       (60 * UINT64_C(1000000))
#define PAUSE_MAX_US   (30 * PAUSE_US)

/* Puts the record of a series into the sink of `config`. */
static int put_text(const struct config *config, const char *id, const char *text,
		    struct alive_worker *worker, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct store_options options = store_options_of(config);
	char key[SERIES_KEY_BYTES];
	int r;

	options.awake = upload_renew_lease;
	options.awake_context = worker;
	if ((r = store_open(&config->sink, &options, &store, err)) < 0)
		return r;
	r = store_put_checked(store, series_key(id, key), text, strlen(text), NULL, err);
	return r < 0 ? r : 1;
}

/* ---- A sink with branches ---- */

/* Says that the sink did not take a record. Returns 1 where a hook refuses it: then nothing is left to do. */
static int say_failed(const char *id, const struct error *why)
{
	if (why->code == -EPERM)
		log_warning("%s; the record of %s stays on this box", why->text, id);
	else
		log_warning("%s; the record of %s is put later, or with the next start", why->text, id);
	return why->code == -EPERM;
}

/* Says that a record is of no use to any reader. It stays on this box until it changes: that is no reason to
 * wait, or to keep other records. */
static void say_unreadable(const char *id, const struct error *why)
{
	log_warning("%s; the record of %s stays on this box", why->text, id);
}

/* Puts the record of a series that has ended. Returns 1 where nothing is left to do, 0 where it waits. */
static int put_staged(struct pause *pause, const struct config *config, const struct series_record *record,
		      struct alive_worker *worker)
{
	CLEANUP(json_free) cJSON *series = NULL;
	struct store_options options = store_options_of(config);
	struct error why;

	if (series_parse(record->id, record->text, strlen(record->text), &series, &why) < 0) {
		say_unreadable(record->id, &why);
		return 1;
	}
	options.attempts_max = STAGE_ATTEMPTS;
	options.patience_ms = 0;
	options.awake = upload_renew_lease;
	options.awake_context = worker;
	if (!series_stage_is_due(config, series))
		return 1;
	if (!pause_is_over(pause, PAUSE_US, PAUSE_MAX_US))
		return 0;
	if (series_stage_put(config, series, &options, &why) < 0)
		return say_failed(record->id, &why);
	*pause = (struct pause){ 0 };
	return 1;
}

/* ---- Any sink ---- */

/* Puts the record of a series where the configuration beside it says (oneshot/series/freeze.h). Returns 1
 * where nothing is left to do, 0 where the record waits, or the series has no configuration yet. */
static int put(struct pause *pause, const struct series_record *record, struct alive_worker *worker,
	       struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	char path[PATH_BYTES];
	int r = config_load(series_file(record->id, SERIES_CONFIG_FILE, path), &config, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return versions_has_branches(&config.sink) ? put_staged(pause, &config, record, worker)
						   : put_text(&config, record->id, record->text, worker, err);
}

/* ---- What the store has ---- */

static bool is_uploaded(const struct series_record *record)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];

	return file_read(series_file(record->id, NOTE, path), sizeof(record->version), &text, NULL, NULL) ==
		       0 &&
	       strcmp(text, record->version) == 0;
}

static int note_uploaded(const struct series_record *record, struct error *err)
{
	char path[PATH_BYTES];

	return file_write_durable(series_file(record->id, NOTE, path), record->version,
				  strlen(record->version), err);
}

/* Writes what tells a record from the one before. Its time alone does not: two changes may come within one
 * tick of the file system's clock. Each change is another file, with a number of its own. */
static void version_of(const char *id, char out[static SERIES_RECORD_VERSION])
{
	char path[PATH_BYTES];
	struct stat st = { 0 };

	(void)stat(series_path(id, path), &st);
	(void)snprintf(out, SERIES_RECORD_VERSION, "%lld.%09ld %llu", (long long)st.st_mtim.tv_sec,
		       st.st_mtim.tv_nsec, (unsigned long long)st.st_ino);
}

static int read_record(const char *id, struct series_record *record, struct error *err)
{
	char path[PATH_BYTES];
	int r;

	*record = (struct series_record){ 0 };
	(void)snprintf(record->id, sizeof(record->id), "%s", id);
	version_of(id, record->version); /* first: a change after it is put by the next pass */
	if (is_uploaded(record))
		return 0;
	r = file_read(series_path(id, path), SERIES_JSON_MAX, &record->text, NULL, err);
	if (r != -E2BIG)
		return r;
	say_unreadable(id, err);
	return note_uploaded(record, err);
}

int series_read(struct series_records *records, struct error *err)
{
	CLEANUP(free_ptr) char(*ids)[RUN_ID_BYTES] = NULL;
	uint32_t count = 0;
	int r = series_list(&ids, &count, err);

	series_forget(records);
	if (r < 0 || count == 0)
		return r;
	records->record = calloc(count, sizeof(*records->record));
	if (!records->record)
		return error_set(err, -ENOMEM, "no memory for the records of %" PRIu32 " series", count);
	/* The newest first: the store of an old one may be gone. */
	for (uint32_t i = count; r == 0 && i > 0; i--) {
		struct series_record *record = &records->record[records->count];

		r = read_record(ids[i - 1], record, err);
		records->count += record->text != NULL;
	}
	return r;
}

int series_upload(struct series_records *records, struct alive_worker *worker, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < records->count; i++) {
		const struct series_record *record = &records->record[i];

		if ((r = put(&records->pause, record, worker, err)) > 0)
			r = note_uploaded(record, err);
	}
	return r;
}

void series_forget(struct series_records *records)
{
	for (uint32_t i = 0; i < records->count; i++)
		free(records->record[i].text);
	free(records->record);
	records->record = NULL;
	records->count = 0;
}
