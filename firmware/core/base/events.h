/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events: the news of a box that a person reads in the morning, and to which a machine reacts at once. Each
 * event is a row of event_rows[]: a name, a MESSAGE_ID that never changes, a priority, the fields of the
 * event, and a meaning. A sent event is one entry of the journal. People read the sentence of the entry.
 * Machines read the MESSAGE_ID and the KILN_* fields (journalctl -o json, events.subscribe). config/events.md
 * is printed from the table.
 *
 * A program sends an event once, at the place where it makes the decision. For progress between two events it
 * logs plain lines (core/base/log.h).
 *
 *     event_send(&(struct event){ .id = EVENT_RUN_PAUSED, .run_id = run.id, .step = step },
 *                "paused at step %" PRIu64, step);
 *
 * A new event needs a name in enum event_id, a row in events_table.c and a sender. tools/check compares the
 * three.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum event_id {
	EVENT_RUN_BEGUN,
	EVENT_RUN_ADOPTED,
	EVENT_RUN_REPLACED,
	EVENT_RUN_ABANDONED,
	EVENT_RUN_REBOOTED,
	EVENT_RUN_PAUSED,
	EVENT_RUN_RESUMED,
	EVENT_RUN_STOPPED,
	EVENT_RUN_EXPIRED,
	EVENT_RUN_FINISHED,
	EVENT_RUN_FAILED,
	EVENT_RUN_HALTED,
	EVENT_SERIES_BEGUN,
	EVENT_SERIES_BROUGHT,
	EVENT_SERIES_FINISHED,
	EVENT_TRIAL_BEGUN,
	EVENT_TRIAL_PRUNED,
	EVENT_TRIAL_FAILED,
	EVENT_EPOCH_FINISHED,
	EVENT_FIGURES_LATE,
	EVENT_MODEL_WRITTEN,
	EVENT_MODEL_PROMOTED,
	EVENT_MODEL_KEPT,
	EVENT_MODEL_REFUSED,
	EVENT_MODEL_RESTORED,
	EVENT_BRANCH_MERGED,
	EVENT_CHECKPOINT_WRITTEN,
	EVENT_CHECKPOINT_SKIPPED,
	EVENT_CHECKPOINT_FAILED,
	EVENT_CHECKPOINT_LOADED,
	EVENT_CHECKPOINT_BROUGHT,
	EVENT_CHECKPOINT_MISSING,
	EVENT_CHECKPOINT_DAMAGED,
	EVENT_CHECKPOINT_UPLOADED,
	EVENT_LATEST_DAMAGED,
	EVENT_UPLOADS_COMPLETE,
	EVENT_UPLOADS_LEFT,
	EVENT_UPLOADS_REFUSED,
	EVENT_UPLOADS_FAILING,
	EVENT_UPLOADS_BACK,
	EVENT_TRACKING_FAILING,
	EVENT_TRACKING_BACK,
	EVENT_TRACKING_REFUSED,
	EVENT_SOURCE_RETRIED,
	EVENT_SOURCE_FAILED,
	EVENT_OBJECT_CHANGED,
	EVENT_OBJECT_REPINNED,
	EVENT_SHARD_REFETCHED,
	EVENT_RECORDS_SKIPPED,
	EVENT_MANIFEST_DIFFERS,
	EVENT_DATA_UNFIT,
	EVENT_VALIDATION_SEEN,
	EVENT_TEST_SEEN,
	EVENT_TEST_FAILED,
	EVENT_VALIDATION_NONE,
	EVENT_HUGEPAGES_SHORT,
	EVENT_INTERRUPTS_LEFT,
	EVENT_RING_DAMAGED,
	EVENT_BOXES_LOST,
	EVENT_DISK_FULL,
	EVENT_HEAT_THROTTLED,
	EVENT_HEAT_COOLED,
	EVENT_HEAT_STOPPED,
	EVENT_GPU_FAULT,
	EVENT_GPU_MEMORY,
	EVENT_NIGHT_MISSED,
	EVENT_NIGHT_OVER,
	EVENT_CLOCK_UNSET,
	EVENT_CLOCK_LOST,
	EVENT_SERVICE_RESTARTED,
	EVENT_SERVICE_DEGRADED,
	EVENT_SERVICE_RECOVERED,
	EVENT_SERVICE_STUCK,
	EVENT_SERVICE_FAILED,
	EVENT_REPORT_MADE,
	EVENT_REPORT_POSTED,
	EVENT_REPORT_LATE,
	EVENT_POWER_OFF,
	EVENT_POWER_SUSPEND,
	EVENT_POWER_HELD,
	EVENT_CONFIG_APPLIED,
	EVENT_CONFIG_REFUSED,
	EVENT_CLIENT_REFUSED,
	EVENT_CLIENT_DROPPED,
	EVENT_REMOTE_UNAVAILABLE,
	EVENT_UPDATE_STARTED,
	EVENT_UPDATE_INSTALLED,
	EVENT_UPDATE_DOWNGRADE,
	EVENT_UPDATE_RESTARTS,
	EVENT_UPDATE_FAILED,
	EVENT_SLOT_GOOD,
	EVENT_SLOT_BAD,
	EVENT_SLOT_BACK,
	EVENT_STEER_ASKED,
	EVENT_STEER_REFUSED,
	EVENT_MAX,
};

/* The values of an event. event_send() only sends the fields that are listed in the row of `id`. A text that
 * is NULL or "", and a number that is NaN, means not known and is left out. */
struct event {
	enum event_id id;
	const char *run_id, *key, *split, *url, *unit, *client, *word, *sensor, *slot, *device;
	uint64_t epoch, step, records, bytes, offset, count, retries, failures, seconds, exit_status;
	double loss, accuracy, celsius, limit;
};

/* Sends an event. Where standard error is the journal, the event becomes an entry of the journal; elsewhere
 * only its sentence is printed, as log_line() does. Thread-safe. Blocks: until journald accepts the entry, so
 * never call it in the hot path. */
void event_send(const struct event *event, const char *format, ...) PRINTF(2, 3);

/* Sends the error as the event EVENT_SERVICE_FAILED. Returns the exit code for the error, so that main() can
 * end with `return fatal(&err);`. */
int fatal(const struct error *err);

/* ---- The tables ---- */

enum event_type { EVENT_TEXT, EVENT_COUNT, EVENT_NUMBER };

struct event_field {
	const char *name; /* name of the field in the journal, KILN_... */
	enum event_type type;
	size_t offset; /* position in struct event */
	const char *help;
};
extern const struct event_field event_fields[];
extern const size_t event_fields_count;

struct event_row {
	const char *name;
	const char *message_id; /* 32 hexadecimal digits */
	int priority;           /* a level of syslog(3) */
	uint32_t fields;        /* bit i is set: the event has event_fields[i] */
	const char *help;
};
extern const struct event_row event_rows[EVENT_MAX];

/* Return NULL where there is no such event. */
const struct event_row *event_by_name(const char *name);
const struct event_row *event_by_message_id(const char *message_id);

/* Prints the tables as Markdown. config/events.md is this output. */
void event_reference(FILE *out);
