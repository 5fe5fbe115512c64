/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the control protocol. */
#include "core/control/control.h"
#include "core/run/run.h"

#include <assert.h>
#include <string.h>

static const char *const role_names[] = { "nobody", "view", "operate", "admin" };
static_assert(sizeof(role_names) / sizeof(role_names[0]) == CONTROL_ROLE_MAX, "every role has its name");

const struct control_error control_errors[] = {
	{ CONTROL_PARSE, "parse", "the line is not JSON as the protocol takes it" },
	{ CONTROL_REQUEST, "request", "the object is no request" },
	{ CONTROL_METHOD, "method", "there is no such method" },
	{ CONTROL_PARAMS, "params", "a parameter is unknown, missing, or out of its bounds" },
	{ CONTROL_INTERNAL, "internal", "the box could not answer; the message says why" },
	{ CONTROL_REFUSED, "refused", "the caller's role does not allow the method" },
	{ CONTROL_STATE, "state", "the run's state does not allow it" },
	{ CONTROL_NOT_FOUND, "not-found", "no such run, or nothing there yet" },
	{ CONTROL_CONFIG, "config", "the configuration has mistakes; the message lists them" },
	{ CONTROL_LIMIT, "limit", "too long, too many connections, or too much at a time" },
	{ CONTROL_TIMEOUT, "timeout", "a request took too long to arrive, or kiln-steer to act" },
	{ CONTROL_UNAVAILABLE, "unavailable", "kiln-steer or the journal cannot be reached, or refused" },
};
const size_t control_errors_count = sizeof(control_errors) / sizeof(control_errors[0]);

#define RUN_ID_PARAM(required, text)                                          \
	{                                                                     \
		"id", CONTROL_NAME, required, 1, RUN_ID_BYTES - 1, NULL, text \
	}

#define EVENT_PARAM                                                                                      \
	{                                                                                                \
		"event", CONTROL_TEXT, false, 1, 32, NULL, "one event's alone, by its name in events.md" \
	}

const struct control_method control_methods[] = {
	{ "status",
	  CONTROL_VIEW,
	  false,
	  { { 0 } },
	  "schema (1), time_s, host, version, machine, slot, build, state, why, clock_set, clock, run, "
	  "progress, rates, loss, "
	  "accuracy, "
	  "validation_loss, validation_accuracy, checkpoint, order, cache, fetch_retries, upload_retries, "
	  "skipped_records, throttled_s, fetch as stalls gives it, disk, temperatures, update, report of the "
	  "last night {id outcome text pending}, daemons, errors; null = not known",
	  "which run, how far, how fast, how good, what is wrong" },
	{ "run.list",
	  CONTROL_VIEW,
	  false,
	  { { "limit", CONTROL_INTEGER, false, 1, 100, NULL, "newest runs, default 31" } },
	  "runs: [{id, state, started_s, epochs, loss, accuracy, current}], newest first",
	  "the current run and the archived ones" },
	{ "run.show",
	  CONTROL_VIEW,
	  false,
	  { RUN_ID_PARAM(false, "default: the current run") },
	  "run: the run record, its frozen configuration included",
	  "one run's record" },
	{ "run.start",
	  CONTROL_OPERATE,
	  true,
	  { { "epochs", CONTROL_INTEGER, false, 1, 1000000, NULL, "instead of run.epochs, for this run" },
	    { "seed", CONTROL_INTEGER, false, 0, 9007199254740992, NULL,
	      "instead of run.seed, for this run" },
	    { "start_from", CONTROL_WORD, false, 0, 0, "scratch|latest",
	      "instead of run.start_from, for this run" },
	    { "adopt", CONTROL_NAME, false, 1, RUN_ID_BYTES - 1, NULL,
	      "take this unfinished run over from another machine, which must not work on it any more" } },
	  "started: true, run: the unfinished run that goes on, null = a new one",
	  "start a run, or go on with the unfinished one" },
	{ "run.stop",
	  CONTROL_OPERATE,
	  true,
	  { { "now", CONTROL_BOOLEAN, false, 0, 0, NULL,
	      "stop the services, too, where the trainer does not answer" } },
	  "wanted: \"stopped\", seq",
	  "finish the step, write a checkpoint, stop" },
	{ "run.pause",
	  CONTROL_OPERATE,
	  true,
	  { { 0 } },
	  "wanted: \"paused\", seq",
	  "hold the run after this step" },
	{ "run.resume",
	  CONTROL_OPERATE,
	  true,
	  { { 0 } },
	  "wanted: \"running\", seq",
	  "let a paused run go on" },
	{ "checkpoint.list",
	  CONTROL_VIEW,
	  false,
	  { { 0 } },
	  "run, latest_step, uploaded_step, checkpoints: [{step, bytes, time_s, uploaded}]",
	  "the current run's checkpoints on this disk" },
	{ "checkpoint.now",
	  CONTROL_OPERATE,
	  true,
	  { { 0 } },
	  "checkpoint_seq",
	  "write a checkpoint after this step" },
	{ "config.show",
	  CONTROL_VIEW,
	  false,
	  { { "text", CONTROL_BOOLEAN, false, 0, 0, NULL, "the file itself besides" } },
	  "file, config: {key: {value, default}}, text",
	  "the box's configuration in effect" },
	{ "config.check",
	  CONTROL_VIEW,
	  false,
	  { { "text", CONTROL_TEXT, false, 0, 131072, NULL, "a kiln.conf; default: the box's own" } },
	  "good: true; mistakes are the error `config`",
	  "is a configuration good" },
	{ "config.apply",
	  CONTROL_ADMIN,
	  true,
	  { { "text", CONTROL_TEXT, true, 1, 131072, NULL, "the new kiln.conf" } },
	  "changed: [{key, applies}], previous: where the old file is kept, reloaded",
	  "check a configuration, keep the old one, put the new one in its place" },
	{ "cache.status",
	  CONTROL_VIEW,
	  false,
	  { { 0 } },
	  "time_s, objects, bytes, pinned_objects, pinned_bytes, budget_bytes, spare_bytes, free_bytes; "
	  "pins: [{url, "
	  "objects, bytes}]; run: {hits, hit_bytes, misses, kept}, null = without a cache; preload: how the "
	  "last "
	  "one "
	  "goes: {state, text, started_us, updated_s, objects, bytes, objects_done, bytes_done, "
	  "objects_fetched, "
	  "bytes_fetched, left_out, failed}, null = there was none",
	  "what the cache of shards holds" },
	{ "cache.preload",
	  CONTROL_OPERATE,
	  true,
	  { { 0 } },
	  "started: true; cache.status tells how it goes",
	  "fill the cache with what the next run reads" },
	{ "cache.pin",
	  CONTROL_OPERATE,
	  true,
	  { { "prefix", CONTROL_TEXT, true, 6, 1300, NULL, "s3://bucket/prefix, in a source's bucket" },
	    { "remove", CONTROL_BOOLEAN, false, 0, 0, NULL, "evict them again like any other" } },
	  "changed, pins: how many there are",
	  "never evict the objects below a prefix" },
	{ "cache.drop",
	  CONTROL_OPERATE,
	  true,
	  { { "prefix", CONTROL_TEXT, false, 6, 1300, NULL, "s3://bucket/prefix: what lies below it" },
	    { "all", CONTROL_BOOLEAN, false, 0, 0, NULL, "everything" } },
	  "objects, bytes: what was removed",
	  "remove objects from the cache, and their pins" },
	{ "update.install",
	  CONTROL_ADMIN,
	  true,
	  { { "url", CONTROL_TEXT, true, 1, 1200, NULL,
	      "the bundle: s3://BUCKET/KEY in a store of kiln.conf, or file:///PATH on the box" },
	    { "restart", CONTROL_BOOLEAN, false, 0, 0, NULL,
	      "at once when it is installed; a run that goes on then is resumed" } },
	  "started: true; status.update tells how it goes: {state (asked, fetching, waiting, installing, "
	  "installed, restarting, failed), version, text, percent, url, started_s}",
	  "install a signed bundle into the other slot, and restart when no run goes on" },
	{ "factory.reset",
	  CONTROL_ADMIN,
	  true,
	  { { 0 } },
	  "started: true",
	  "begin anew: all that this box holds is erased" },
	{ "power.off",
	  CONTROL_ADMIN,
	  true,
	  { { 0 } },
	  "started: true",
	  "stop everything, the run with a checkpoint, and switch the box off" },
	{ "log.tail",
	  CONTROL_VIEW,
	  false,
	  { { "lines", CONTROL_INTEGER, false, 1, 1000, NULL, "default 50" },
	    { "unit", CONTROL_WORD, false, 0, 0, CONTROL_UNITS, "one program's alone" },
	    { "priority", CONTROL_INTEGER, false, 0, 7, NULL, "this and graver ones alone; 3 = errors" },
	    { "events", CONTROL_BOOLEAN, false, 0, 0, NULL, "events alone, with their fields" },
	    EVENT_PARAM },
	  "entries: [{time_us, unit, priority, event, message, cursor}], oldest first; event: its name, null "
	  "= no event; of events alone message_id and fields besides",
	  "the journal's newest lines" },
	{ "events.subscribe",
	  CONTROL_VIEW,
	  false,
	  { { "since", CONTROL_TEXT, false, 1, 512, NULL, "a cursor; default: from now on" }, EVENT_PARAM },
	  "subscribed: true; then a line an event: method \"event\" {time_us, unit, priority, event, "
	  "message, cursor, message_id, fields}; and \"events.lost\" with the last cursor where the journal "
	  "does not "
	  "hold what came behind it any more",
	  "this connection gets the box's events as they come" },
	{ "node.info",
	  CONTROL_VIEW,
	  false,
	  { { 0 } },
	  "host, version, machine, slot, build (the image's commit), kernel, system, cores, memory, "
	  "hugepages, gpu, nics, watchdog, disk, temperatures",
	  "the machine" },
	{ "stalls",
	  CONTROL_VIEW,
	  false,
	  { { 0 } },
	  "run, null and alone where nothing fetched since the box started; observed_s, device_waited_s, "
	  "stages: "
	  "[{stage, waited_s, means}], in a shard's order; ring_full_s, now: {stage, key} or null; tuning: "
	  "what fetching chose and why",
	  "why the device waits for data, by stage" },
	{ "metrics", CONTROL_VIEW, false, { { 0 } }, "content_type, text", "figures as OpenMetrics text" },
};
const size_t control_methods_count = sizeof(control_methods) / sizeof(control_methods[0]);

const struct control_method *control_method_find(const char *name)
{
	for (size_t i = 0; i < control_methods_count; i++)
		if (strcmp(control_methods[i].name, name) == 0)
			return &control_methods[i];
	return NULL;
}

const char *control_role_name(enum control_role role)
{
	return role_names[role];
}

const char *control_code_name(enum control_code code)
{
	for (size_t i = 0; i < control_errors_count; i++)
		if (control_errors[i].code == code)
			return control_errors[i].name;
	return "internal";
}
