/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the control protocol. */
#include "core/control/control.h"

#include <assert.h>
#include <string.h>

static const char *const role_names[] = { "nobody", "view", "operate", "admin", "ranks" };
static_assert(sizeof(role_names) / sizeof(role_names[0]) == CONTROL_ROLE_MAX, "every role has its name");

const struct control_error control_errors[] = {
	{ CONTROL_PARSE, "parse", "the line is not JSON, or is JSON that the protocol forbids" },
	{ CONTROL_REQUEST, "request", "the JSON object is not a request" },
	{ CONTROL_METHOD, "method", "the method does not exist" },
	{ CONTROL_PARAMS, "params", "a parameter is unknown, missing or out of bounds" },
	{ CONTROL_INTERNAL, "internal", "the box failed to answer; the message says why" },
	{ CONTROL_REFUSED, "refused", "the caller's role does not allow the method" },
	{ CONTROL_STATE, "state", "the state of the run does not allow the method" },
	{ CONTROL_NOT_FOUND, "not-found", "the run does not exist, or there is nothing to show yet" },
	{ CONTROL_CONFIG, "config", "the configuration has mistakes; the message lists them" },
	{ CONTROL_LIMIT, "limit",
	  "the request is too long, or there are too many connections or requests at a time" },
	{ CONTROL_TIMEOUT, "timeout",
	  "the request took too long to arrive, or kiln-steer took too long to act" },
	{ CONTROL_UNAVAILABLE, "unavailable", "kiln-steer or the journal cannot be reached, or refuses" },
};
const size_t control_errors_count = sizeof(control_errors) / sizeof(control_errors[0]);

#define RUN_ID_PARAM(required, text)                                            \
	{                                                                       \
		"id", CONTROL_NAME, required, 1, CONTROL_RUN_ID_MAX, NULL, text \
	}

#define EVENT_PARAM                                                                                    \
	{                                                                                              \
		"event", CONTROL_TEXT, false, 1, 32, NULL, "only this event, by its name in events.md" \
	}

const struct control_method control_methods[] = {
	{ "status",
	  CONTROL_VIEW,
	  false,
	  { { 0 } },
	  "schema (1), time_s, host, version, machine, slot, build, state, why, clock_set, clock, network, "
	  "boxes, run, progress, rates, ranks (as in stalls over the last seconds), loss, accuracy, "
	  "validation_loss, validation_accuracy, checkpoint, order, cache, "
	  "series (a row of experiments.list with the trial of the run and its number and beside {slot trial "
	  "run "
	  "alive phase text epoch epochs step percent loss validation_loss}: the trials of other slots), "
	  "fetch_retries, upload_retries, tracking {sent waiting problem}, skipped_records, throttled_s, "
	  "fetch (the result of stalls), disk, "
	  "temperatures, update, report of the last night {id outcome text pending}, daemons, errors; "
	  "null = not known",
	  "show the box and its current run: progress, speed, quality and errors" },
	{ "run.list",
	  CONTROL_VIEW,
	  false,
	  { { "limit", CONTROL_INTEGER, false, 1, 100, NULL, "number of runs, newest first; default 31" } },
	  "runs: [{id, state, started_s, took_s, epochs, loss, accuracy, validation_loss, "
	  "validation_accuracy, "
	  "test_loss, test_accuracy, current}], newest first; took_s: time of the trainer; a member that is "
	  "not "
	  "known is missing",
	  "list the current run and the archived runs" },
	{ "run.show",
	  CONTROL_VIEW,
	  false,
	  { RUN_ID_PARAM(false, "id of the run; default: the current run") },
	  "run: the run record with its frozen configuration",
	  "show the record of a run" },
	{ "run.start",
	  CONTROL_OPERATE,
	  true,
	  { { "epochs", CONTROL_INTEGER, false, 1, 1000000, NULL,
	      "epochs of this run, instead of run.epochs" },
	    { "seed", CONTROL_INTEGER, false, 0, 9007199254740992, NULL,
	      "seed of this run, instead of run.seed" },
	    { "start_from", CONTROL_WORD, false, 0, 0, "scratch|latest",
	      "first weights of this run, instead of run.start_from" },
	    { "adopt", CONTROL_NAME, false, 1, CONTROL_RUN_ID_MAX, NULL,
	      "id of an unfinished run to take over from another machine, which must have stopped working on "
	      "it" } },
	  "started: true, run: the unfinished run that continues, null = a new run",
	  "start a new run, or continue the unfinished run" },
	{ "run.stop",
	  CONTROL_OPERATE,
	  true,
	  { { "now", CONTROL_BOOLEAN, false, 0, 0, NULL,
	      "if the trainer does not answer, stop the services of the run" } },
	  "wanted: \"stopped\", seq",
	  "stop the run after this step, with a checkpoint" },
	{ "run.pause",
	  CONTROL_OPERATE,
	  true,
	  { { 0 } },
	  "wanted: \"paused\", seq",
	  "pause the run after this step" },
	{ "run.resume",
	  CONTROL_OPERATE,
	  true,
	  { { 0 } },
	  "wanted: \"running\", seq",
	  "continue a paused run" },
	{ "run.abandon",
	  CONTROL_OPERATE,
	  true,
	  { { 0 } },
	  "run: id of the run, which has failed now; null = its record could not be read, and was set aside",
	  "give the unfinished run up, so that the next start begins a new run" },
	{ "checkpoint.list",
	  CONTROL_VIEW,
	  false,
	  { { 0 } },
	  "run, latest_step, uploaded_step, checkpoints: [{step, bytes, time_s, on_disk, uploaded}], the "
	  "newest "
	  "last; null = not known",
	  "list the checkpoints of the current run on this disk, and the newest one in the store" },
	{ "checkpoint.now",
	  CONTROL_OPERATE,
	  true,
	  { { 0 } },
	  "checkpoint_seq",
	  "write a checkpoint after this step" },
	{ "config.show",
	  CONTROL_VIEW,
	  false,
	  { { "text", CONTROL_BOOLEAN, false, 0, 0, NULL, "also return the text of the file" } },
	  "file, config: {key: {value, default}}, text",
	  "show the configuration in effect" },
	{ "config.check",
	  CONTROL_VIEW,
	  false,
	  { { "text", CONTROL_TEXT, false, 0, 131072, NULL,
	      "text of a kiln.conf; default: the box's own kiln.conf" } },
	  "good: true; where the text has mistakes, the error `config` lists them",
	  "check a configuration" },
	{ "config.apply",
	  CONTROL_ADMIN,
	  true,
	  { { "text", CONTROL_TEXT, true, 1, 131072, NULL, "text of the new kiln.conf" } },
	  "changed: [{key, applies}], previous: path of the saved old file, reloaded",
	  "check a new configuration, save a copy of the old file, and replace the file" },
	{ "cache.status",
	  CONTROL_VIEW,
	  false,
	  { { 0 } },
	  "time_s, objects, bytes, pinned_objects, pinned_bytes, budget_bytes, spare_bytes, free_bytes; "
	  "pins: [{url, objects, bytes}]; run: {hits, hit_bytes, misses, kept, next_objects, next_bytes}, "
	  "null = no cache; preload: "
	  "{state, text, started_us, updated_s, objects, bytes, objects_done, bytes_done, objects_fetched, "
	  "bytes_fetched, left_out, failed}, the progress of the last preload, null = there was none",
	  "show what the cache of shards holds" },
	{ "cache.preload",
	  CONTROL_OPERATE,
	  true,
	  { { 0 } },
	  "started: true; cache.status shows the progress",
	  "fill the cache with the shards that the next run reads" },
	{ "cache.pin",
	  CONTROL_OPERATE,
	  true,
	  { { "prefix", CONTROL_TEXT, true, 6, 1300, NULL, "s3://bucket/prefix in the bucket of a source" },
	    { "remove", CONTROL_BOOLEAN, false, 0, 0, NULL,
	      "remove the pin, so that the objects can be evicted again" } },
	  "changed, pins: number of pins",
	  "pin the objects below a prefix, so that the cache never evicts them" },
	{ "cache.drop",
	  CONTROL_OPERATE,
	  true,
	  { { "prefix", CONTROL_TEXT, false, 6, 1300, NULL, "s3://bucket/prefix of the objects to remove" },
	    { "all", CONTROL_BOOLEAN, false, 0, 0, NULL, "remove all objects" } },
	  "objects, bytes: removed from the cache",
	  "remove objects and their pins from the cache" },
	{ "experiments.list",
	  CONTROL_VIEW,
	  false,
	  { { 0 } },
	  "series: [{id, name, state, method, objective, direction, started_s, ended_s, ends_s, trials, "
	  "waiting, "
	  "running, parked, finished, pruned, failed, now, best, best_value, winner}], newest first; trials: "
	  "how "
	  "many; waiting ... failed: how many of them are in this state; now: the trial that runs",
	  "list the series of trials" },
	{ "experiments.show",
	  CONTROL_VIEW,
	  false,
	  { RUN_ID_PARAM(false, "id of the series; default: the newest") },
	  "series: its record, series.json, with its frozen configuration and all trials",
	  "show a series of trials" },
	{ "experiments.promote",
	  CONTROL_OPERATE,
	  true,
	  { { "series", CONTROL_NAME, false, 1, CONTROL_RUN_ID_MAX, NULL,
	      "id of the series, or of a run of its own; default: the current one" },
	    { "trial", CONTROL_NAME, false, 1, 64, NULL, "trial of the series; default: its winner" },
	    { "force", CONTROL_BOOLEAN, false, 0, 0, NULL,
	      "promote the model without a test against the champion" } },
	  "started: true; the event model.promoted, model.kept or model.refused follows, and run.show has "
	  "the outcome in run.promotion",
	  "judge a model against the champion, and promote it if it is better" },
	{ "experiments.rollback",
	  CONTROL_OPERATE,
	  true,
	  { { 0 } },
	  "started: true; the event model.restored or model.refused follows",
	  "make the former champion the champion again" },
	{ "update.install",
	  CONTROL_ADMIN,
	  true,
	  { { "url", CONTROL_TEXT, true, 1, 1200, NULL,
	      "address of the bundle: s3://BUCKET/KEY in a store of kiln.conf, or file:///PATH on the box" },
	    { "restart", CONTROL_BOOLEAN, false, 0, 0, NULL,
	      "restart as soon as the bundle is installed; an unfinished run goes on after the restart" },
	    { "allow_downgrade", CONTROL_BOOLEAN, false, 0, 0, NULL,
	      "install the bundle even if it is older than a version that was found good on the box" } },
	  "started: true; status.update shows the progress: {state (asked, fetching, waiting, installing, "
	  "installed, restarting, failed), version, text, percent, url, started_s}",
	  "install a signed bundle into the other slot, and restart as soon as no run is in progress" },
	{ "factory.reset",
	  CONTROL_ADMIN,
	  true,
	  { { 0 } },
	  "started: true",
	  "erase all data on the box and start from the beginning" },
	{ "power.off",
	  CONTROL_ADMIN,
	  true,
	  { { 0 } },
	  "started: true",
	  "stop the run with a checkpoint, stop all services and switch the box off" },
	{ "log.tail",
	  CONTROL_VIEW,
	  false,
	  { { "lines", CONTROL_INTEGER, false, 1, 1000, NULL, "number of lines, default 50" },
	    { "unit", CONTROL_WORD, false, 0, 0, CONTROL_UNITS, "only lines of this program" },
	    { "priority", CONTROL_INTEGER, false, 0, 7, NULL,
	      "only lines of this priority or a more severe one; 3 = errors" },
	    { "events", CONTROL_BOOLEAN, false, 0, 0, NULL, "only events, with their fields" },
	    EVENT_PARAM },
	  "entries: [{time_us, unit, priority, event, message, cursor}], oldest first; event: name of the "
	  "event, null = a plain line; events have message_id and fields, too",
	  "show the newest lines of the journal" },
	{ "events.subscribe",
	  CONTROL_VIEW,
	  false,
	  { { "since", CONTROL_TEXT, false, 1, 512, NULL,
	      "cursor of the last event seen; default: only new events" },
	    EVENT_PARAM },
	  "subscribed: true; then one line per event: method \"event\" {time_us, unit, priority, event, "
	  "message, cursor, message_id, fields}; where the journal has lost events, a line with the method "
	  "\"events.lost\" and the cursor after which events are missing",
	  "send the events of the box over this connection as they come" },
	{ "node.info",
	  CONTROL_VIEW,
	  false,
	  { { 0 } },
	  "host, version, machine, slot, build (the image's commit), kernel, system, cores, memory, "
	  "hugepages, gpu, devices, nics, network, watchdog, disk, temperatures; devices: the OpenCL devices "
	  "that the last run found, GPUs first, null = no run yet: [{platform, name, driver, type (\"gpu\" "
	  "or "
	  "\"cpu\"), memory_bytes, pci, uuid, link, numa_node, index (by which device.id may name it, null = "
	  "device.platform or device.type is for another), taken, why (it was passed over)}]; network: what "
	  "was found and set before the last run, null = nothing: {interface, devices, link_mbit_per_s (of "
	  "all devices, null = "
	  "not known), network_threads (of each source), network_threads_why, cores_known, cores, "
	  "decode_cores, interrupts, interrupts_moved, queues_before, queues, send_queues, spread, refused, "
	  "text}",
	  "show the machine" },
	{ "stalls",
	  CONTROL_VIEW,
	  false,
	  { { 0 } },
	  "run (null, and no other members, if nothing was fetched since the box started); observed_s, "
	  "device_waited_s, stages: [{stage, waited_s, means}], in the order in which a shard passes them; "
	  "ring_full_s; at_work: false = kiln-fetchd has ended, and these are its last figures; now: {stage, "
	  "key} "
	  "or null; tuning: what the fetcher chose, and why; ranks: since kiln-traind began, {rank: [{rank, "
	  "box, device, rows, records_per_s, feed_s, others_s, "
	  "exchange_s, device_s}], slowest: {rank, box, stage (feed, device, wire), cost_s, means} or null}, "
	  "null where one rank trains",
	  "show why the device waits for data, by stage" },
	{ "metrics",
	  CONTROL_VIEW,
	  false,
	  { { 0 } },
	  "content_type, text",
	  "show metrics as OpenMetrics text" },
	{ "rank.check",
	  CONTROL_RANKS,
	  false,
	  { { 0 } },
	  "build: the build id of kiln-traind, device: platform and name of the device that trains, \"\" = "
	  "not "
	  "known yet, time_us, busy: what the box does that keeps it from taking part, \"\" = nothing",
	  "show what boxes that train together must have in common" },
	{ "rank.start",
	  CONTROL_RANKS,
	  false, /* the job belongs to the connection, so a key of an earlier connection would be of no use */
	  { { "job", CONTROL_NAME, true, 1, RANKS_JOB_MAX, NULL, "name of the job" },
	    { "run", CONTROL_NAME, true, 1, CONTROL_RUN_ID_MAX, NULL, "id of the run, which the sink has" },
	    { "plan", CONTROL_NAME, true, 64, 64, NULL,
	      "SHA-256 of the run's plan, which the sink has, in hex" },
	    { "arguments", CONTROL_LIST, true, 1, 24, NULL,
	      "arguments of orted, the daemon of Open MPI; only those that mpirun gives it are allowed" } },
	  "started: true; when the daemon ends, a line with the method \"rank.ended\" follows: {job, unit, "
	  "result (\"success\", \"exit-code\", \"signal\" ...), code}, where unit is the systemd unit of the "
	  "job that failed; when the connection ends, the box stops the job",
	  "start this box's part of a job that another box leads" },
	{ "rank.stop",
	  CONTROL_RANKS,
	  true,
	  { { "job", CONTROL_NAME, true, 1, RANKS_JOB_MAX, NULL, "name of the job" } },
	  "stopped: true",
	  "stop this box's part of a job" },
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

bool control_role_may(enum control_role role, enum control_role needed)
{
	return role == CONTROL_RANKS || needed == CONTROL_RANKS ? role == needed : role >= needed;
}

const char *control_code_name(enum control_code code)
{
	for (size_t i = 0; i < control_errors_count; i++)
		if (control_errors[i].code == code)
			return control_errors[i].name;
	return "internal";
}
