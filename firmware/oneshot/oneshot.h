/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs once and ends: verbs of one program, one file each. A verb gets its own name in argv[0] and
 * returns the exit code (core/base/error.h).
 *
 * begin is six files: begin.c decides which run it is, overrides.c what is asked of this one alone,
 * unstarted.c ends one that cannot, bring.c brings what that run needs, weights.c the weights that it was
 * given, stored.c knows the checkpoints in the store.
 */
#pragma once

#include "core/base/json.h"
#include "core/base/paths.h"
#include "core/run/run.h"
#include "core/run/spool.h"
#include "drivers/digest/digest.h"
#include "drivers/store/store.h"

/* begin.c: see core/run/run.h. Prints the run's id. */
int oneshot_begin(int argc, char **argv);

/* begin.c: with the options of a configuration for either of its stores. */
MUST_CHECK int begin_store(const struct config *config, const struct config_store *which,
			   struct store **ret_store, struct error *err);
/* begin.c: the current record as it is now. */
MUST_CHECK int begin_upload_record(struct store *sink, const char *run_id, struct error *err);

/* bring.c: the frozen configuration of a run.json's text. */
MUST_CHECK int bring_config(const char *file, const char *text, uint64_t bytes, struct config *ret_config,
			    struct error *err);

/* repeat.c: a new run that is the one of a run.json once more (core/run/run.h, run_repeat()). */
MUST_CHECK int repeat_begin(const char *file, struct run *ret_run, struct error *err);

/* overrides.c: what run.start asked of one run alone, an object of keys and values; NULL = nothing. Before
 * the run is begun it lies in PATH_RUNS/next.json, then in its run.json, for a run that takes its place. */
MUST_CHECK int overrides_asked(cJSON **ret_list, struct error *err);
/* The run that is to be taken over from another machine, likewise; "" = none. */
MUST_CHECK int overrides_adopt(char ret_id[static RUN_ID_BYTES], struct error *err);
MUST_CHECK int overrides_of_run(cJSON **ret_list, struct error *err);
/* The configuration that `file` is with them, as text. -EBADMSG a key that is none of them. */
MUST_CHECK int overrides_print(const char *file, const cJSON *list, char **ret_text, struct error *err);
/* *ret_file is `file`, or a copy with them in `room`. */
MUST_CHECK int overrides_apply(const char *file, const cJSON *list, char room[static PATH_BYTES],
			       const char **ret_file, struct error *err);
/* The run stands and has them: the next one is kiln.conf's again. Killed before, it is begun once more. */
MUST_CHECK int overrides_done(const cJSON *list, struct error *err);

/* unstarted.c: whether an unfinished run has nothing yet, neither plan nor checkpoint, and kiln.conf is not
 * what it was begun with: what kept it from starting may be put right there, so it is not worth going on
 * with. What run.start asked of it is no change, and holds for the run that takes its place. */
MUST_CHECK bool unstarted_is_superseded(const char *file, const struct run *run);
/* unstarted.c: kiln.conf, with what was asked of the current run besides, is another one than that was frozen
 * with. One that cannot be read is not. */
MUST_CHECK bool unstarted_differs(const char *file);
/* unstarted.c: such a run has failed; record and store get the reason. */
MUST_CHECK int unstarted_give_up(const struct run *run, struct error *err);

/* asked.c: whether the night of the run that was asked for `since` is over, by the configuration it would
 * have: an unfinished one's own, else that of `file`. */
MUST_CHECK bool asked_is_over(const char *file, int64_t since);
/* asked.c: it is not asked for any more, and rests where it had begun before. */
MUST_CHECK int asked_give_up(struct error *err);
/* asked.c: it goes on unless somebody says otherwise. */
bool is_interrupted(const struct run *run);
/* asked.c: run_expire(), and an event. */
MUST_CHECK int expire(const struct run *run, struct error *err);
/* What begin ends with then; nothing has failed, and kiln-run-failed does what follows a night. */
#define EXIT_NIGHT_OVER 79

/* release.c: no run will come back: unmount the ring's folder, give its hugepages back to the system. */
int oneshot_release(int argc, char **argv);

/* nightly.c: the timer elapsed: start a run if this is a night, and its start not long past unless
 * run.catch_up. [--clock-wait-s SECONDS] */
int oneshot_nightly(int argc, char **argv);
/* nightly.c: boot: start a run that was running or paused, unless its night is over: then it is expired. */
int oneshot_resume(int argc, char **argv);
/* nightly.c: exit 0 while the current run goes on, 1 when there is none or it rests: the ExecCondition= of
 * its services. */
int oneshot_unfinished(int argc, char **argv);
/* nightly.c: exit 0 when the next run is a new one, made from kiln.conf, 1 when an unfinished one goes on. */
int oneshot_new(int argc, char **argv);
/* finished.c: a run has come to rest: wait for the uploads, say what stays behind, archive a final record,
 * then power.when_finished. */
int oneshot_finished(int argc, char **argv);
/* `power`: what power.when_finished says follows, too. */
MUST_CHECK int finished_rest(bool power, struct error *err);
/* report.c: make the reports of the nights that are over, and deliver them and what earlier ones left, until
 * none is left without one: who asks meanwhile has been heard. */
int oneshot_report(int argc, char **argv);
struct tonight;
/* report.c: this night is over, if there is one (NULL): have that done, by its own unit. `wait`: until it is
 * through, by that configuration's bounds. What fails is a warning, and costs the report alone. */
void report_ask(const struct tonight *night, const struct config *wait);
/* report.c: the same where a report is due, or one was not delivered. `at_boot`: nothing goes on, so that the
 * night which began before is over. */
void report_ask_due(bool at_boot);
/* config_kept.c: where `file` cannot be used: the last good one, else the frozen one of the current run. */
MUST_CHECK int config_kept(const char *file, struct config *ret_config, struct error *err);
/* power.c: power.when_finished, after a night that the timer started. What keeps the box on is an event and
 * no error: somebody is logged in, an update is on its way, the next night is near, or nothing would wake it.
 */
MUST_CHECK int power_rest(const struct config *config, const char *run_id, struct error *err);
/* failed.c: OnFailure= of the run's services: say which one and why; with a final record the night is over,
 * and all of the above follows. */
int oneshot_failed(int argc, char **argv);
/* hugepages.c: the pages of the current run's ring. */
int oneshot_hugepages(int argc, char **argv);
/* clock.c: where requests are signed, wait until the clock is set, and say what it is worth where it is not.
 * [--wait-s SECONDS] */
int oneshot_clock(int argc, char **argv);
/* clock.c: clock.ntp_servers for systemd-timesyncd, before it starts. */
int oneshot_clock_servers(int argc, char **argv);
/* hugepages.c: the drop-in by which the ring's folder is mounted with pages of 1 GiB is there, or is not.
 * 1: that is new, and systemd has to read its units again. */
MUST_CHECK int hugepages_mount(bool gib, struct error *err);
/* boot_pages.c: ring.pages = "1GiB": tell the boot loader how many, and the ring's mount of those there are.
 */
int oneshot_boot_pages(int argc, char **argv);
/* interrupts.c: those of the network interface of the current run, on its cores. */
int oneshot_interrupts(int argc, char **argv);
/* provision.c: bind what lies on /data where programs look for it. */
int oneshot_provision(int argc, char **argv);
/* configure.c: check what lies in the ESP's folder config, store it and erase it there. */
int oneshot_configure(int argc, char **argv);
/* preload.c: the objects that the next run reads, and pinned ones, from the store into the cache; how it goes
 * is in the cache's preload.json. [--config FILE] */
int oneshot_preload(int argc, char **argv);
/* update_fetch.c: the bundle of the update that was asked for, to PATH_BUNDLE. [--config FILE] */
int oneshot_update_fetch(int argc, char **argv);
/* update.c: have RAUC install that, beside a run behind a checkpoint; then restart the box. */
int oneshot_update(int argc, char **argv);
/* update.c: OnFailure= of both. */
int oneshot_update_failed(int argc, char **argv);
/* check_store.c: exit 0 when the sink answers, or nobody asks that it does. [--config FILE] */
int oneshot_check_store(int argc, char **argv);
/* slot.c: an event about a slot: good, bad or back, and A or B. */
int oneshot_slot(int argc, char **argv);
/* keep_config.c: copy kiln.conf, as it was checked, for kiln-generator. */
int oneshot_keep_config(int argc, char **argv);
/* keep_config.c: kiln.conf, or where it has mistakes the last good one. Errors: of kiln.conf. */
MUST_CHECK int keep_config_load(struct config *ret_config, struct error *err);

/* update_fetch.c: it failed: note and event; gives the exit code. */
struct update;
MUST_CHECK int update_failed(struct update *update, struct error *err);

/* ---- ssh_keys.c ---- */

/* A text is an authorized_keys of sshd(8): keys and comments, no options. -EINVAL: the line and what is wrong
 * with it. */
MUST_CHECK int ssh_keys_check(const char *text, struct error *err);

/* ---- claim.c ---- */

/* A record gets this machine as the one that works on it, before it goes to the sink. One that has none yet
 * is new: its id is a second, in which another box may have begun one of this name, and one of both takes a
 * later id. `goes_on`: the sink may have it already, of an attempt that was cut. */
MUST_CHECK int claim_run(struct store *sink, struct run *run, bool goes_on, struct error *err);

/* ---- bring.c ---- */

/* What the run.json of a run in the store says, and its text, which the caller frees. */
MUST_CHECK int bring_record(struct store *sink, const char *id, struct run *ret_run, char **ret_text,
			    uint64_t *ret_bytes, struct error *err);
/* As its record says; a box without an identity has no other one's. */
bool bring_is_anothers(const struct run *run);

/* A disk without a record: look at the newest run of this run.name in the store. An unfinished one comes back
 * whole, newest checkpoint and plan first, the record last; but another machine's is left alone, and the one
 * before it looked at. A final one stays there, and *ret_run is what its run.json says, without a
 * configuration. Neither: ret_run->id stays empty. */
MUST_CHECK int bring_last_run(struct store *sink, const char *name, struct run *ret_run, struct error *err);
/* This run comes back whole, whosever it is. -EPERM: it is over. */
MUST_CHECK int bring_run(struct store *sink, const char *id, struct run *ret_run, struct error *err);

/* A run that goes on has its newest good checkpoint in the spool when this returns, from the store if the
 * spool has none. *ret_any: false when neither has any; it goes on from its beginning, and the log says so.
 */
MUST_CHECK int bring_checkpoint(struct store *sink, const char *run_id, bool *ret_any, struct error *err);

/* The newest good checkpoint of a run, from the spool or the store, for another run to start with: a file
 * beside the records, as run_begin() and run_restore() take it. "" = it has none. */
MUST_CHECK int bring_start(struct store *sink, const char *run_id, char ret_path[static PATH_BYTES],
			   struct error *err);

/* What turned texts into vectors goes with the model, so that it alone is enough to predict: encoder.bin and
 * dataset.json from beside the shards, where there are any, into the spool's model folder. Free when they are
 * there already. */
MUST_CHECK int bring_encoder(struct store *source, const char *run_id, struct error *err);

/* ---- weights.c ---- */

/* What config.model.weights names, beside the records, as run_begin() takes it; `expected`: its SHA-256, NULL
 * = any. Errors: -ENOENT and the like; -EBADMSG it has another SHA-256, both are named. */
MUST_CHECK int weights_bring(const struct config *config, const char *expected,
			     char ret_path[static PATH_BYTES], char ret_sha256[static DIGEST_HEX_BYTES],
			     struct error *err);

/* ---- stored.c ---- */

/* The newest good checkpoint of a run in the store into the file `path`, and its name ("" = the store has
 * none). The one that latest.json names is tried first, then the others, newest first; each that is damaged
 * or missing is warned of.
 * Errors: -EBADMSG it has some, none of them good. */
MUST_CHECK int stored_fetch(struct store *sink, const char *run_id, const char *path,
			    char ret_name[static SPOOL_NAME_BYTES], struct error *err);

/* Whether the store has any of a run, good or not. */
MUST_CHECK int stored_any(struct store *sink, const char *run_id, bool *ret_any, struct error *err);
