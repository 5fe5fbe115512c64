/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/killed.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "core/run/status.h"
#include "core/series/series.h"

#include <inttypes.h>
#include <string.h>

#define NOTE_BYTES 256u
#define OOM_KILL   "oom-kill" /* $SERVICE_RESULT of systemd.exec(5) */

/* What the file says. */
struct note {
	char run_id[RUN_ID_BYTES];
	uint64_t kills; /* by the kernel, of any process, since the machine started */
	unsigned tries; /* trainers of this run that the kernel has killed in a row */
};

static char *note_path(char out[static PATH_BYTES])
{
	return status_path(STATUS_TRAIND, "working", out);
}

static bool read_note(struct note *ret_note)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];

	return file_read(note_path(path), NOTE_BYTES, &text, NULL, NULL) == 0 &&
	       sscanf(text, "%95s %" SCNu64 " %u", ret_note->run_id, &ret_note->kills, &ret_note->tries) == 3;
}

static void write_note(const struct note *note)
{
	char path[PATH_BYTES], text[NOTE_BYTES];
	int bytes =
		snprintf(text, sizeof(text), "%s %" PRIu64 " %u\n", note->run_id, note->kills, note->tries);
	struct error err = { 0 };

	if (file_write_durable(note_path(path), text, (uint64_t)bytes, &err) < 0)
		log_warning("%s; a lack of memory is not noticed", err.text);
}

/* Returns how many processes the kernel has killed for lack of memory; 0 where it does not say. */
static uint64_t kernel_kills(void)
{
	char path[PATH_BYTES], line[128];
	CLEANUP(close_file) FILE *file = fopen(path_of(PATH_VMSTAT, NULL, path), "re");
	uint64_t kills = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "oom_kill %" SCNu64, &kills) == 1)
			return kills;
	return 0;
}

/* Tells whether the kernel has killed the trainer before this one. systemd knows that of its unit; without
 * systemd any process of the machine may have been the one. */
static bool was_killed(const struct note *before, const struct note *now)
{
	CLEANUP(free_ptr) char *result = NULL;
	char path[PATH_BYTES];

	if (file_read(status_path(STATUS_TRAIND, "ended", path), NOTE_BYTES, &result, NULL, NULL) == 0)
		return strncmp(result, OOM_KILL, strlen(OOM_KILL)) == 0;
	return now->kills > before->kills;
}

static bool is_trial(void)
{
	CLEANUP(json_free) cJSON *record = NULL;

	return run_record(&record, NULL) == 0 && json_member(record, "series.id");
}

/* Tells whether trials of other slots use the memory of the machine, too. */
static bool works_beside(void)
{
	CLEANUP(json_free) cJSON *series = NULL;

	return series_load_unfinished(&series, NULL) == 0 && series_runs_elsewhere(series, slot_now());
}

int killed_look(const char *run_id, struct error *err)
{
	struct note before = { 0 }, note = { .kills = kernel_kills() };
	const bool beside = works_beside();

	(void)snprintf(note.run_id, sizeof(note.run_id), "%s", run_id);
	if (read_note(&before) && strcmp(before.run_id, run_id) == 0)
		note.tries = before.tries + (was_killed(&before, &note) && (!beside || slot_now() > 0));
	if (note.tries >= KILLED_TRIES && is_trial() && beside && slot_now() > 0)
		return error_set(err, -EUSERS,
				 "the kernel has killed the trainer %u times for lack of memory beside the "
				 "trials of other slots",
				 note.tries);
	if (note.tries >= KILLED_TRIES && is_trial())
		return error_set(err, -EBADMSG,
				 "the trial is too large: the kernel has killed its trainer %u times for "
				 "lack of memory",
				 note.tries);
	write_note(&note);
	return 0;
}

void killed_forget(void)
{
	char path[PATH_BYTES];

	(void)unlink(note_path(path));
}
