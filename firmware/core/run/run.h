/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/run: the data of a run that several programs share: the run record (run.h), the spool of files for the
 * store (spool.h), the status pages of the daemons (status.h), and the manifest of shards (manifest.h). No
 * threads; all state is in files, so that each program may die at any time.
 *
 * The run record. The files PATH_RUN/{run.json,state,want,config,plan} *are* the run. This module alone reads
 * and writes them. Each slot (core/base/slot.h) has a current run of its own; "the current run" is that of
 * the slot which the thread uses. One lock, the archive and the parked runs belong to all slots.
 *
 * Writers: kiln-oneshot begin makes the record; fetchd adds the plan; traind writes the state and the
 * metrics; kiln-controld writes `want`; kiln-oneshot finished and run-failed note how the run ended. Writers
 * hold a lock, so that two changes of run.json never overwrite each other. Readers need no lock, because
 * every file is replaced whole (core/base/paths.h). A reader of several files checks afterwards that all of
 * them came from the same record, and otherwise reads again.
 *
 * Why a power cut leaves one record. A new record is made in the folder PATH_SLOT/next, and its file `state`
 * is written last. Then the old record is moved to the archive, and then `next` is renamed to `current`.
 * Between the two renames there is no current record: a program that finds no current record locks the
 * records and does the second rename. So after a kill at any time either the old record or the new one is
 * complete. A final record is moved to the archive when its night is over. Then `current` is a link to the
 * archived record, so that for all readers the run stays the current run until the next run begins.
 *
 * The members of run.json, written by kiln-oneshot begin:
 *
 *   version, id, name, started_s, seed, kiln_version
 *   config           text of the frozen configuration
 *   schema           the features with all their keys, as `kiln config show --json` prints them
 *   start_run        run whose newest checkpoint this run starts with; "" = scratch
 *   weights_sha256   of the file that model.weights names, where the run starts with it
 *   plan_sha256      "" until fetchd has made the plan
 *   overrides        {key: value}, where run.start, or the trial of a series, has other values than kiln.conf
 *   series           {id, trial}: the series (core/series/series.h) and the name of the trial
 *   rest_after_epoch the trainer stops with a checkpoint after so many epochs: the end of a rung. Missing =
 *                    it trains to the end
 *   machine          machine-id(5) of the box that works on the run, where the box has one
 *   root             KILN_ROOT of that box, where it has one (core/base/machine.h)
 *   ends_s           where run.ends_at is given
 *   budget_ends_s    of a trial: clock_boot_s() at which series.budget is spent; 0: there is no budget. Every
 *                    begin writes it, also after a reboot
 *   night_s          of a trial: the since_s of its series when it began, or went on last
 *   commits          [id]: of each source, the commit of its lakefs:// repository that the run reads; "":
 *                    the source has none
 *   sink_branch      {name, from}: the branch of the sink's repository that has the files of this trial, and
 *                    the commit where it begins. Missing: the files go where sink.url says
 *   repeats          id of the run that this run repeats (run_repeat())
 *   before           with `repeats`: id of the run that was the current run; "": none
 *
 * by the program that ends the run, or keeps it from going on:
 *   reason           why the run failed or stopped, or why a program of an unfinished run ended for good;
 *                    begin removes it when it goes on with the run
 *   abandoned        true: a person gave the run up, and with it its series
 *
 * by fetchd:
 *   plan_sha256, order_version
 *   manifests        [{bytes, etag, version}], by source: the manifests that the plan was made with
 *   validation_seen  {run, shards, replaced, of}: the run starts from weights that were trained on so many of
 *                    its validation shards, or (replaced) on other objects with the keys of so many of them,
 *                    which may have held the same records. run: the newest such run
 *   test_seen        the same of its test shards
 *   classes          [name]: of a plan of objects, in the order of their numbers; with shards traind notes
 *                    those of dataset.json beside them
 *   changed          [key]: objects that changed after the plan was made, where the run went on with them
 *
 * by kiln-oneshot finished:
 *   left_behind      {at_s, files, bytes, names}: files still in the spool when the wait for uploads ended;
 *                    uploadd removes the member when the store has the files
 *
 * by uploadd:
 *   uploads_refused  why the store refuses the files of the run, where waiting does not help; uploadd removes
 *                    the member when the store has the files
 *
 * by kiln-oneshot promote:
 *   promotion        {outcome, why, at_s, number, champion, test}: whether the model was promoted, and why
 *                    (oneshot/promote/outcome.h)
 *   branches_left    "": the branch of the promotion is still to be deleted (oneshot/promote/outcome.h)
 *
 * by traind:
 *   weights          {from, tensors, of, as_initialized, not_used}: what it read from model.weights
 *   epochs           an object for each epoch: {epoch, step, at_ms, loss, accuracy, validation_loss,
 *                    validation_accuracy}; at_ms: Unix time in ms at which its training ended; of a run of
 *                    more than 4096 epochs not all (traind/history.h), so that run.json stays far below the
 *                    4 MiB that its readers take
 *   metrics          {train, validation, test} of the last passes, each {loss, accuracy, rows}; no accuracy
 *                    where the loss has none
 *   confusion        {split, epoch, classes, rows, matrix}: the confusion matrix of the last test or, where
 *                    the run has no test yet, of the validation of the epoch (counted from 0) whose weights
 *                    are kept; at most 52 KiB. With many classes other members (core/run/run_confusion.h).
 *                    Missing where the network does not choose one class of at most 1000
 *   test_given_up    why the run has no figures of the test: what a record of the test split holds
 *   quarantine       records that fetch.bad_record = "skip" left out, where there were any
 *   memory_tries     how often the device had too little memory for a trial of a series
 *   throttled_s      seconds of pauses to cool down, where there were any
 *   store            {bytes, before, since_us}: bytes: what kiln-fetchd has read from the store for this run;
 *                    before: what earlier processes of it had read; since_us: start of the last one
 *   time             seconds by stage (traind/stages.c)
 *   device           the OpenCL device
 *   kiln_build       the build id of kiln-traind (core/base/build.h), of the process that trained last
 *
 * In the store run.json has the member `state`, too. begin uploads it before the first batch, uploadd after
 * each change, and for the last time when the run is final. With run.json alone another disk can go on with
 * the run.
 *
 * Order: run_begin (kiln-oneshot begin) -> run_load by every program -> run_state_set by traind ->
 * run_archive (kiln-oneshot finished) moves a final record to PATH_ARCHIVE/<id>, which keeps the newest 30.
 * Where run_archive was not called, the next run_begin archives the record. The archive keeps a record longer
 * while the spool has files of its run.
 *
 * The record of a trial that has ended a rung, and waits for its promotion, is parked: PATH_RUNS/parked/<id>
 * has the whole record, and its checkpoints stay in the spool. A parked run is unfinished, but not the
 * current run. It comes back with all its files, so it ends with the same bits as a run that was never
 * parked.
 */
#pragma once

#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/config/config.h"

#include <stdbool.h>
#include <stdint.h>

struct cJSON;

#define RUN_VERSION      1u
#define RUN_ID_BYTES     96u
#define RUN_ARCHIVES_MAX 30u
#define RUN_JSON_MAX     (4u << 20) /* bytes of run.json: no reader takes more, on the disk or in the store */
/* In PATH_RUN: the initial weights of a run with start_from = latest or model.weights. kiln-oneshot begin
 * downloads the file, traind reads it while the run has no checkpoint of its own and, with model.features_of,
 * when it writes the finished model; the file is removed when the record is moved to the archive. */
#define RUN_START_FILE "start.safetensors"
/* In PATH_RUN: exists after the run has stopped or ended, and its trainer has done its last step.
 * kiln-finished.path waits for this file; kiln-oneshot begin and kiln-oneshot finished remove it. */
#define RUN_REST_FILE "finished"
/* In PATH_SLOT: the reason why the last `kiln-oneshot begin` failed, as text. A `kiln-oneshot begin` that
 * succeeds removes the file. While the file exists, `kiln-oneshot unfinished` keeps the daemons from working
 * on the current run. */
#define RUN_UNBEGUN_FILE "unbegun"
/* In PATH_SLOT: what of the data does not fit kiln.conf, as the JSON of `kiln check --json`; of meaning only
 * while RUN_UNBEGUN_FILE exists. kiln-oneshot begin writes the file, and removes it when it tries
 * again; the report of the night has a copy. */
#define RUN_UNFIT_FILE "unfit.json"
/* In PATH_SLOT: exists from the first attempt of `kiln-oneshot begin` until the run has begun, or no attempt
 * follows. Only `kiln-oneshot begin` writes the file; a program that requests a run again, or stops the run,
 * removes it. */
#define RUN_ASKED_FILE "asked"

enum run_state {
	RUN_RUNNING,
	RUN_PAUSED,
	RUN_STOPPING,
	RUN_STOPPED,
	RUN_EXPIRED,  /* the states up to this one are unfinished: kiln-oneshot begin continues the run */
	RUN_FINISHED, /* the states from this one on are final: kiln-oneshot begin makes a new run */
	RUN_FAILED,
	RUN_PRUNED, /* a trial of a series that stopped early, because others are better */
	RUN_STATE_MAX,
};

struct run {
	char id[RUN_ID_BYTES]; /* run_id_name(), then -YYYYMMDD-HHMMSS, UTC */
	enum run_state state;
	int64_t started_s;              /* Unix time */
	int64_t ends_s;                 /* Unix time at which an unfinished run stops; 0 = never */
	int64_t budget_ends_s;          /* clock_boot_s() at which it stops for the budget; 0 = never */
	uint64_t rest_after_epoch;      /* the trainer stops after so many epochs; 0 = at the end */
	char machine[MACHINE_ID_BYTES]; /* the machine that works on the run; "" = not known */
	char root[PATH_BYTES];          /* that box's KILN_ROOT, as machine_root() writes it */
	/* the run that this run repeats, and the run that was the current run before; "" = none */
	char repeats[RUN_ID_BYTES], before[RUN_ID_BYTES];
	char plan_sha256[65];         /* "" until fetchd has made the plan */
	char start_run[RUN_ID_BYTES]; /* the run whose newest checkpoint this run starts with; "" = none */
	char weights_sha256[65]; /* SHA-256 of the file of model.weights that the run starts with; "" = none
				  */
	/* the commit where the run's own branch, config.sink.at, begins; "" = the run has no such branch */
	char branch_from[CONFIG_REF_MAX + 1];
	struct config config; /* the frozen configuration */
};

/* What a new run starts with. */
struct run_start {
	const char *run_id; /* the run that the checkpoint belongs to; "" = the weights are those of
			       model.weights, or there is no file */
	const char *sha256; /* SHA-256 of the file of model.weights; NULL for a checkpoint */
	const char *file;   /* path of the file, which is moved into the new record and so must be on the same
			       file system; NULL = scratch */
	const struct cJSON *members; /* more members of run.json; NULL = none */
};

const char *run_state_name(enum run_state state);
bool run_state_is_final(enum run_state state);
/* Returns whether a text has the form of a run's id: it is no path, and has fewer than RUN_ID_BYTES bytes. */
bool run_is_id(const char *text);

#define RUN_ID_MARK 8 /* characters of the machine's id */

/* Writes what a new run's id has before the time: run.name and, where the sink is a lakeFS repository, "-"
 * and the first RUN_ID_MARK characters of this machine's id. Branches of a repository are those of all its
 * boxes, but a claim (oneshot/begin/claim.h) holds below one prefix alone. So the ids of two boxes have to
 * differ by themselves. Returns `out`. */
char *run_id_name(const struct config *config, char out[static RUN_ID_BYTES]);

/* Returns 1 where this box works on the run: the record names this machine and this root; 0 where not, where
 * the record names no machine, or where this machine has no identity. Errors: those of machine_id_read(). */
MUST_CHECK int run_is_ours(const struct run *run, struct error *err);

/* Begins a run. Where the current run is unfinished, continues it: the state becomes running, `config_file`
 * is not read, and *ret_adopted is true. Where the current run is final, archives its record and makes a new
 * run with a frozen copy of `config_file`. `last_id`: the last run of this box in the store, for a disk
 * without a record; "" = none. `start`: what a new run starts with; NULL = scratch. Errors:
 * -EINVAL the configuration is wrong; -EBADMSG the record is damaged. */
MUST_CHECK int run_begin(const char *config_file, const char *last_id, const struct run_start *start,
			 struct run *ret_run, bool *ret_adopted, struct error *err);

/* Makes a new run that repeats an earlier run. `json_text`: the run.json of the earlier run, with the frozen
 * configuration and the seed. `plan` and `start`: files with its plan and its initial weights, which are
 * moved into the new record; `start` NULL = scratch. Errors: -EBUSY the current run is unfinished; -EBADMSG
 * the record is damaged. */
MUST_CHECK int run_repeat(const char *json_text, uint64_t bytes, const char *plan, const char *start,
			  struct run *ret_run, struct error *err);

/* Ends a run that run_repeat() made and that did not finish. Its state becomes failed, with `reason` where
 * the record has none, and its record moves to the archive. The run before it is the current run again; where
 * there was none, there is no current run. Does nothing where the current run is no repeat, or has
 * finished. */
MUST_CHECK int run_give_back(const char *reason, struct error *err);

/* Gives the current run a new id, because another box has a run with the same id. Call it before another
 * program can have read the old id. */
MUST_CHECK int run_rename(struct run *run, struct error *err);

/* Parses a run.json from the store; ret_run->config stays empty. `what`: the name of the text in errors.
 * Errors: -EBADMSG. */
MUST_CHECK int run_parse(const char *what, const char *json_text, uint64_t bytes, struct run *ret_run,
			 struct error *err);

/* Checks that run_restore() takes a run.json from the store: it is JSON, and it leaves room for what the
 * programs add to a record. Errors: -EBADMSG. */
MUST_CHECK int run_check_room(const char *what, const char *json_text, uint64_t bytes, struct error *err);

/* Makes the record of a run from its run.json in the store, on a disk without a record. The file `plan` is
 * moved into the record; NULL = the run had no plan yet. The file `start` becomes RUN_START_FILE; NULL = the
 * run needs none. Restore everything else before this call, because kiln-oneshot begin continues a run as
 * soon as its record exists. Errors: -EBADMSG the record is damaged, or too large to become a record of this
 * disk. */
MUST_CHECK int run_restore(const char *json_text, uint64_t bytes, const char *plan, const char *start,
			   struct run *ret_run, struct error *err);

/* Loads the current run. Errors: -ENOENT there is no current run; -EBADMSG a damaged record. */
MUST_CHECK int run_load(struct run *ret_run, struct error *err);
void run_done(struct run *run);
/* Loads a run from the archive. Errors: -ENOENT the archive has no run with this id. */
MUST_CHECK int run_load_archived(const char *id, struct run *ret_run, struct error *err);

/* Moves the record of the current run to PATH_RUNS/damaged-record-YYYYMMDD-HHMMSS where its run.json is no
 * JSON or larger than a reader takes: no program can load such a record, so there is no current run then, and
 * nothing of the record is lost. Leaves other damage alone: a record of a later version is whole for that
 * version. Returns 1 where it moved the record, with its new path; 0 where run.json can be read, or there is
 * none. */
MUST_CHECK int run_set_aside(char ret_path[static PATH_BYTES], struct error *err);

MUST_CHECK int run_state_get(enum run_state *ret_state, struct error *err);
/* Sets the state of the current run. Errors: -EPERM the run already has another, final state. */
MUST_CHECK int run_state_set(enum run_state state, struct error *err);

/* Sets the state of the current run to expired, because its night is over. Does nothing where another program
 * has resumed or ended the run after the caller loaded `seen`. *ret_expired: the state was set. */
MUST_CHECK int run_expire(const struct run *seen, bool *ret_expired, struct error *err);

/* Moves the record of the current run to the archive; the run stays the current run. Does nothing where the
 * record is already archived. Errors: -EPERM the run is unfinished. */
MUST_CHECK int run_archive(struct error *err);
bool run_is_archived(void);
/* Makes an archived run the current one, for all who look, until the next run begins. Errors: -ENOENT the
 * archive has no such run; -EBUSY the current run is not in the archive. */
MUST_CHECK int run_show(const char *id, struct error *err);
/* Makes an archived record the newest one, so that the archive removes all others before it. Errors: -ENOENT
 * the archive has no such run. */
MUST_CHECK int run_keep(const char *id, struct error *err);

/* Parks the current run, which must be unfinished: afterwards there is no current run. Does nothing where the
 * run `id` is parked already. Errors: -ENOENT neither the current run nor a parked one has this id; -EPERM
 * the run is final. */
MUST_CHECK int run_park(const char *id, struct error *err);
/* Makes a parked run the current run again, in the state in which it was parked, and sets its
 * rest_after_epoch. Does nothing but the latter where it is the current run already. Errors: -ENOENT; -EBUSY
 * another run is unfinished, or its record is not in the archive. */
MUST_CHECK int run_unpark(const char *id, uint64_t rest_after_epoch, struct error *err);
/* Ends a run, parked or current, as RUN_PRUNED with this reason, and moves its record to the archive. Does
 * nothing where the archive has it. The record of a parked run that cannot be read is set aside, as
 * run_set_aside() does. Errors: -ENOENT; -EPERM the run has another final state. */
MUST_CHECK int run_prune(const char *id, const char *reason, struct error *err);
bool run_is_parked(const char *id);

/* Makes the file RUN_REST_FILE. The trainer calls it as its last step, when the state will not change until
 * the next kiln-oneshot begin. */
MUST_CHECK int run_rest(struct error *err);

/* The operator's request for the current run, which traind reads between two steps. kiln-controld writes the
 * file, each time by rename, and kiln-oneshot begin that of a trial whose series was stopped while the trial
 * began; a new record has no such file. `seq` counts the requests. `checkpoint_seq`
 * counts the requests for a checkpoint: traind writes a checkpoint whenever this number has changed since it
 * last read the file. */
struct run_want {
	uint64_t seq, checkpoint_seq;
	enum run_state state; /* RUN_RUNNING, RUN_PAUSED or RUN_STOPPED */
};

/* Loads the operator's request. Where there is none: RUN_RUNNING, and 0 for the counters. Errors: -EBADMSG a
 * damaged file. */
MUST_CHECK int run_want_get(struct run_want *ret_want, struct error *err);
MUST_CHECK int run_want_set(const struct run_want *want, struct error *err);

/* Tells whether the operator asks the run to stop. False where the request cannot be read. */
bool run_want_is_stop(void);
/* Removes a request to stop, because it was meant for the last night only. A request to pause is not removed:
 * it is valid until the operator resumes the run. */
void run_want_forget_stop(void);
/* The same for the runs of all slots. */
void run_want_forget_stops(void);

/* Read, write and remove RUN_ASKED_FILE. Its content is the Unix time of the request for a run, from which
 * the end of the night is computed. run_asked_get() returns -ENOENT where no run is requested.
 * run_asked_over() removes the file and, with `forgotten`, also RUN_UNBEGUN_FILE. */
MUST_CHECK int run_asked_get(int64_t *ret_since_s, struct error *err);
MUST_CHECK int run_asked_set(int64_t since_s, struct error *err);
void run_asked_over(bool forgotten);

/* Adds the members of the JSON object in `json_object` to run.json, or replaces them; a member that is null
 * is removed. Errors: -E2BIG run.json would become larger than a reader takes, so it stays as it is. */
MUST_CHECK int run_note(const char *json_object, struct error *err);
MUST_CHECK int run_note_members(const struct cJSON *object, struct error *err);
MUST_CHECK int run_note_archived(const char *id, const char *json_object, struct error *err);

/* Adds the member "commits", from the commits of the sources (config_store.at), to the members of a record.
 */
MUST_CHECK int run_commits_add(const struct config *config, struct cJSON *members, struct error *err);
/* Puts the commit that a run.json names for a source into its store. run_load() does so for every source.
 * `what`: the name of the record in errors. Errors: -EBADMSG. */
MUST_CHECK int run_commits_use(const char *what, const struct cJSON *record, uint32_t source,
			       struct config_store *store, struct error *err);

/* Adds the member "sink_branch" to the members of a record. False: no memory. */
bool run_branch_add(struct cJSON *members, const char *name, const char *from);
/* Puts the branch that a run.json names into the store of its sink, and the commit where the branch begins
 * into `from`; `sink` stays, and `from` is "", where it names none. run_load() does so. `what`: the name of
 * the record in errors. Errors: -EBADMSG. */
MUST_CHECK int run_branch_use(const char *what, const struct cJSON *record, struct config_store *sink,
			      char from[static CONFIG_REF_MAX + 1], struct error *err);

/* Locks the records for a writer that reads a file of its own in them and then replaces the file. Closing the
 * descriptor unlocks. Meanwhile the caller calls no function of this header that writes: that one would wait
 * for ever. Errors: those of file_lock(). */
MUST_CHECK int run_lock(int *ret_fd, struct error *err);

/* Writes a file that lies beside the records, durably and under their lock, such as series.json
 * (core/series/series.h). Its folder must exist. */
MUST_CHECK int run_write_locked(const char *path, const char *text, struct error *err);

/* Sets the member "reason" of run.json. */
MUST_CHECK int run_reason_set(const char *reason, struct error *err);
/* Gives the current run a final state, after its reason. */
MUST_CHECK int run_end(enum run_state state, const char *reason, struct error *err);

/* Return the text of run.json, with the current state added as the member "state". The store gets this text.
 * The caller frees it. */
MUST_CHECK int run_json(char **ret_text, struct error *err);
/* Does what run_json() does, and parses the text. Owns: the caller deletes *ret_record. */
MUST_CHECK int run_record(struct cJSON **ret_record, struct error *err);
MUST_CHECK int run_json_archived(const char *id, char **ret_text, struct error *err);
