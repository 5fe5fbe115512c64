/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of events, and the reference that is printed from them. */
#include "core/base/events.h"
#include "core/base/wrap.h"

#include <assert.h>
#include <string.h>
#include <syslog.h>

#define WIDTH 112 /* longest line of the reference, in columns */

enum field {
	FIELD_RUN_ID,
	FIELD_EPOCH,
	FIELD_SPLIT,
	FIELD_STEP,
	FIELD_LOSS,
	FIELD_ACCURACY,
	FIELD_RECORDS,
	FIELD_KEY,
	FIELD_OFFSET,
	FIELD_BYTES,
	FIELD_URL,
	FIELD_COUNT,
	FIELD_RETRIES,
	FIELD_UNIT,
	FIELD_FAILURES,
	FIELD_SECONDS,
	FIELD_EXIT_STATUS,
	FIELD_CLIENT,
	FIELD_WORD,
	FIELD_SENSOR,
	FIELD_CELSIUS,
	FIELD_LIMIT,
	FIELD_SLOT,
	FIELD_DEVICE,
	FIELD_MAX,
};

#define AT(member) offsetof(struct event, member)

const struct event_field event_fields[] = {
	[FIELD_RUN_ID] = { "KILN_RUN_ID", EVENT_TEXT, AT(run_id), "the run, `<run name>-YYYYMMDD-HHMMSS`" },
	[FIELD_EPOCH] = { "KILN_EPOCH", EVENT_COUNT, AT(epoch), "epoch, counted from 1" },
	[FIELD_SPLIT] = { "KILN_SPLIT", EVENT_TEXT, AT(split), "`train`, `validation` or `test`" },
	[FIELD_STEP] = { "KILN_STEP", EVENT_COUNT, AT(step), "training steps of the run so far" },
	[FIELD_LOSS] = { "KILN_LOSS", EVENT_NUMBER, AT(loss), "mean loss over the pass" },
	[FIELD_ACCURACY] = { "KILN_ACCURACY", EVENT_NUMBER, AT(accuracy),
			     "accuracy over the pass, 0 .. 1; left out where the loss has no accuracy" },
	[FIELD_RECORDS] = { "KILN_RECORDS", EVENT_COUNT, AT(records), "number of records" },
	[FIELD_KEY] = { "KILN_KEY", EVENT_TEXT, AT(key),
			"key of an object, below `source.url` or below the run's folder in the store or the "
			"spool" },
	[FIELD_OFFSET] = { "KILN_OFFSET", EVENT_COUNT, AT(offset), "position in the object, in bytes" },
	[FIELD_BYTES] = { "KILN_BYTES", EVENT_COUNT, AT(bytes), "size in bytes" },
	[FIELD_URL] = { "KILN_URL", EVENT_TEXT, AT(url), "address in the store" },
	[FIELD_COUNT] = { "KILN_COUNT", EVENT_COUNT, AT(count),
			  "a number; the meaning of the event says what it counts" },
	[FIELD_RETRIES] = { "KILN_RETRIES", EVENT_COUNT, AT(retries),
			    "number of requests tried again since the start of the service" },
	[FIELD_UNIT] = { "KILN_UNIT", EVENT_TEXT, AT(unit), "the systemd unit" },
	[FIELD_FAILURES] = { "KILN_FAILURES", EVENT_COUNT, AT(failures), "failures in a row" },
	[FIELD_SECONDS] = { "KILN_SECONDS", EVENT_COUNT, AT(seconds),
			    "a duration in seconds; the meaning of the event says which" },
	[FIELD_EXIT_STATUS] = { "KILN_EXIT_STATUS", EVENT_COUNT, AT(exit_status),
				"exit status: 65 bad data, 69 a fault that may end by itself, 77 refused or "
				"not found, 78 wrong configuration" },
	[FIELD_CLIENT] = { "KILN_CLIENT", EVENT_TEXT, AT(client),
			   "a user of this box, or a certificate's name and the address" },
	[FIELD_WORD] = { "KILN_WORD", EVENT_TEXT, AT(word), "the request to kiln-steer" },
	[FIELD_SENSOR] = { "KILN_SENSOR", EVENT_TEXT, AT(sensor), "the sensor, by its chip and label" },
	[FIELD_CELSIUS] = { "KILN_CELSIUS", EVENT_NUMBER, AT(celsius),
			    "the sensor's temperature, in degrees Celsius" },
	[FIELD_LIMIT] = { "KILN_LIMIT", EVENT_NUMBER, AT(limit),
			  "the limit that the temperature exceeds, in degrees Celsius" },
	[FIELD_SLOT] = { "KILN_SLOT", EVENT_TEXT, AT(slot), "the slot, `A` or `B`" },
	[FIELD_DEVICE] = { "KILN_DEVICE", EVENT_TEXT, AT(device), "the GPU, by its PCI address or its name" },
};
static_assert(sizeof(event_fields) / sizeof(event_fields[0]) == FIELD_MAX, "every field has its row");
const size_t event_fields_count = FIELD_MAX;

#define RUN_ID      (1u << FIELD_RUN_ID)
#define EPOCH       (1u << FIELD_EPOCH)
#define SPLIT       (1u << FIELD_SPLIT)
#define STEP        (1u << FIELD_STEP)
#define LOSS        (1u << FIELD_LOSS)
#define ACCURACY    (1u << FIELD_ACCURACY)
#define RECORDS     (1u << FIELD_RECORDS)
#define KEY         (1u << FIELD_KEY)
#define OFFSET      (1u << FIELD_OFFSET)
#define BYTES       (1u << FIELD_BYTES)
#define URL         (1u << FIELD_URL)
#define COUNT       (1u << FIELD_COUNT)
#define RETRIES     (1u << FIELD_RETRIES)
#define UNIT        (1u << FIELD_UNIT)
#define FAILURES    (1u << FIELD_FAILURES)
#define SECONDS     (1u << FIELD_SECONDS)
#define EXIT_STATUS (1u << FIELD_EXIT_STATUS)
#define CLIENT      (1u << FIELD_CLIENT)
#define WORD        (1u << FIELD_WORD)
#define SENSOR      (1u << FIELD_SENSOR)
#define CELSIUS     (1u << FIELD_CELSIUS)
#define LIMIT       (1u << FIELD_LIMIT)
#define SLOT        (1u << FIELD_SLOT)
#define DEVICE      (1u << FIELD_DEVICE)

const struct event_row event_rows[EVENT_MAX] = {
	[EVENT_RUN_BEGUN] = { "run.begun", "24138e2114734cd49ed976f83706af70", LOG_NOTICE, RUN_ID,
			      "a new run was made" },
	[EVENT_RUN_ADOPTED] = { "run.adopted", "4bceafd84afc4383a9fea37dbf53d5bf", LOG_NOTICE, RUN_ID,
				"an unfinished run continues with its frozen configuration" },
	[EVENT_RUN_REPLACED] = { "run.replaced", "a04940d096b54a96b065e1fd831e8e1f", LOG_NOTICE, RUN_ID,
				 "kiln.conf changed before the run's first step, so a new run replaced it" },
	[EVENT_RUN_ABANDONED] = { "run.abandoned", "b816e0ab80604a52b641b7cf827acc0b", LOG_NOTICE, RUN_ID,
				  "a person gave an unfinished run up; the next start begins a new run" },
	[EVENT_RUN_REBOOTED] = { "run.rebooted", "30f88a18a4814e66a47f3a0bc16eea3e", LOG_NOTICE, RUN_ID,
				 "the box booted in the middle of a run, and continues the run" },
	[EVENT_RUN_PAUSED] = { "run.paused", "bbf0b9ad1081491396ccd7969f2d7008", LOG_NOTICE, RUN_ID | STEP,
			       "a person paused the run; all results are on the disk" },
	[EVENT_RUN_RESUMED] = { "run.resumed", "e9d10940de2c49c98b1a3d82e94c25fe", LOG_NOTICE, RUN_ID | STEP,
				"the run goes on after a pause" },
	[EVENT_RUN_STOPPED] = { "run.stopped", "89c81464389d4396881399f2a8b6a755", LOG_NOTICE, RUN_ID | STEP,
				"a person stopped the run; the next start continues the run" },
	[EVENT_RUN_EXPIRED] = { "run.expired", "a8c6c9d0f7744b498833515ef5edd3bf", LOG_NOTICE, RUN_ID,
				"the night ended before the run did; the next night continues the run" },
	[EVENT_RUN_FINISHED] = { "run.finished", "dd25fec6a7234f8cba6898454cda13d7", LOG_NOTICE,
				 RUN_ID | STEP, "all epochs are trained, and the model is in the spool" },
	[EVENT_RUN_FAILED] = { "run.failed", "6bae5a664f2740ae9bab7332ec66f49f", LOG_ERR, RUN_ID | STEP,
			       "the run ended for good: its data cannot be used, or a number became NaN or "
			       "infinite" },
	[EVENT_RUN_HALTED] = { "run.halted", "359038b6245c4791b6faa8d24cc12351", LOG_ERR, UNIT | EXIT_STATUS,
			       "a service of the run ended for good; `kiln start` tries again" },
	[EVENT_SERIES_BEGUN] = { "series.begun", "b95382c8f4b14032a8ddb5c391037188", LOG_NOTICE, COUNT,
				 "a night of several trials was made from kiln.conf; COUNT: trials" },
	[EVENT_SERIES_BROUGHT] = { "series.brought", "61e9d4aa801048b0a508b56812d9158e", LOG_NOTICE, COUNT,
				   "the unfinished series came from the store to a disk that had none; "
				   "COUNT: trials" },
	[EVENT_SERIES_FINISHED] = { "series.finished", "c682e8df241d439795efec599053a602", LOG_NOTICE,
				    RUN_ID | COUNT,
				    "no trial of the series follows; RUN_ID: the winner's run; COUNT: "
				    "trials" },
	[EVENT_TRIAL_BEGUN] = { "trial.begun", "8b94f19937ca40daaadf06bee09e9f3b", LOG_NOTICE, RUN_ID | COUNT,
				"a trial of the series begins or goes on; COUNT: its place among the "
				"trials" },
	[EVENT_TRIAL_PRUNED] = { "trial.pruned", "950c159acc0c458db49be8544d108357", LOG_NOTICE, RUN_ID,
				 "a trial stopped early, because other trials are better or the budget is "
				 "spent" },
	[EVENT_TRIAL_FAILED] = { "trial.failed", "5567254d8c2e424684bf947aee5c8d75", LOG_ERR, RUN_ID,
				 "a trial cannot begin or go on; the other trials of the series go on" },
	[EVENT_EPOCH_FINISHED] = { "epoch.finished", "f8e830ff226a4e9b88ae36eb51d65ee7", LOG_INFO,
				   RUN_ID | EPOCH | SPLIT | STEP | LOSS | ACCURACY | RECORDS,
				   "a pass over a split is complete" },
	[EVENT_FIGURES_LATE] = { "figures.late", "80331b288a5a4b3a8a9eb858820f8527", LOG_WARNING,
				 RUN_ID | STEP,
				 "metrics and curves could not be written to the disk yet and wait in "
				 "memory" },
	[EVENT_MODEL_WRITTEN] = { "model.written", "489ded655a57432ab6b891f44d6316b2", LOG_INFO,
				  RUN_ID | STEP | KEY, "the finished model is in the spool" },
	[EVENT_MODEL_PROMOTED] = { "model.promoted", "59e729416ff14d6abeb7d0b24318ac4a", LOG_NOTICE,
				   RUN_ID | URL | COUNT,
				   "a model is the champion now; URL = the sink; COUNT = its number" },
	[EVENT_MODEL_KEPT] = { "model.kept", "4b3586944e2743d3b7859bb6529c9222", LOG_NOTICE, RUN_ID,
			       "a model was judged against the champion, and the champion stays" },
	[EVENT_MODEL_REFUSED] = { "model.refused", "9667d07fe29a40c2ae54dd9a9dbfcd14", LOG_WARNING, RUN_ID,
				  "a model could not be judged, or there is no former champion to come "
				  "back" },
	[EVENT_MODEL_RESTORED] = { "model.restored", "40c9d681e21f47ffbe4969db478e57d3", LOG_NOTICE,
				   RUN_ID | URL | COUNT,
				   "the former champion is the champion again; URL = its folder of "
				   "models; "
				   "COUNT = its number" },
	[EVENT_BRANCH_MERGED] = { "branch.merged", "674dabec9e7141398dcceea2429a533b", LOG_NOTICE,
				  RUN_ID | URL,
				  "the branch of a promoted model is merged and has its tag; URL = the "
				  "sink" },
	[EVENT_CHECKPOINT_WRITTEN] = { "checkpoint.written", "8b822d660ca54bf09cb67137dd4a2706", LOG_INFO,
				       RUN_ID | STEP | KEY, "a checkpoint is in the spool" },
	[EVENT_CHECKPOINT_SKIPPED] = { "checkpoint.skipped", "fb1e786850de4b97b09b7dc79801610c", LOG_NOTICE,
				       RUN_ID | STEP | COUNT,
				       "a checkpoint was left out because the previous one is still being "
				       "written; COUNT = checkpoints left out so far" },
	[EVENT_CHECKPOINT_FAILED] = { "checkpoint.failed", "fd4ffe624608465da86ed58fcbe5cd59", LOG_WARNING,
				      RUN_ID | STEP, "a checkpoint could not be written; training goes on" },
	[EVENT_CHECKPOINT_LOADED] = { "checkpoint.loaded", "3a0dbc0b9dc44f07be5b4cbb3ee811b9", LOG_INFO,
				      RUN_ID | STEP | KEY, "the trainer continues from a checkpoint" },
	[EVENT_CHECKPOINT_BROUGHT] = { "checkpoint.brought", "795262c124c448c08cb8c9164430e0f5", LOG_NOTICE,
				       RUN_ID | KEY,
				       "this disk had no good checkpoint, so one was downloaded from the "
				       "store" },
	[EVENT_CHECKPOINT_MISSING] = { "checkpoint.missing", "626a9b9d757345ff81db4a4468a0a4ed", LOG_WARNING,
				       RUN_ID,
				       "a run has no checkpoint on this disk or in the store: it begins at "
				       "its first step, and a new run that was to start with its weights "
				       "starts from scratch" },
	[EVENT_CHECKPOINT_DAMAGED] = { "checkpoint.damaged", "6ab878cb45e94679ab6c823eb33561b1", LOG_WARNING,
				       RUN_ID | KEY,
				       "a checkpoint is damaged, so the trainer loads an older one" },
	[EVENT_CHECKPOINT_UPLOADED] = { "checkpoint.uploaded", "b8143dbc8a3649ac9410dde62fa721b8", LOG_INFO,
					RUN_ID | STEP | KEY | BYTES,
					"a checkpoint is in the store, and its digest is verified" },
	[EVENT_LATEST_DAMAGED] = { "latest.damaged", "8069ffda2c704d948a53944c765b9d7c", LOG_WARNING, RUN_ID,
				   "checkpoints/latest.json in the store cannot be read" },
	[EVENT_UPLOADS_COMPLETE] = { "uploads.complete", "663c9b73532c42dca89d2949f67813df", LOG_NOTICE,
				     RUN_ID | URL, "a run has ended, and all its files are in the store" },
	[EVENT_UPLOADS_LEFT] = { "uploads.left", "2d4d4566d23344a2879d65b5eaa40fb7", LOG_WARNING,
				 RUN_ID | COUNT | BYTES,
				 "the wait for uploads is over, and files of an ended run are still in the "
				 "spool" },
	[EVENT_UPLOADS_REFUSED] = { "uploads.refused", "f65a7bd9555047cd8e0e8f9c10526b62", LOG_WARNING,
				    RUN_ID,
				    "files of an earlier night's run cannot be uploaded; a person has to "
				    "find out why" },
	[EVENT_UPLOADS_FAILING] = { "uploads.failing", "6c4e4548159b40c9a196cf82c641c94b", LOG_WARNING,
				    RUN_ID, "uploads fail and are tried again; training goes on" },
	[EVENT_UPLOADS_BACK] = { "uploads.back", "0209a92558194b1fa673743955ca3cb0", LOG_NOTICE, RUN_ID,
				 "uploads work again" },
	[EVENT_TRACKING_FAILING] = { "tracking.failing", "de8724d0933346769329559224b2c729", LOG_WARNING,
				     RUN_ID,
				     "the tracking server (tracking.url) cannot be told of the runs; this is "
				     "tried again, and training goes on" },
	[EVENT_TRACKING_BACK] = { "tracking.back", "3c11a4d556ad4d30913aade663f9f6de", LOG_NOTICE, RUN_ID,
				  "the tracking server can be told of the runs again" },
	[EVENT_TRACKING_REFUSED] = { "tracking.refused", "1e3e786fc5fd40d18c3ed04f5adf89f0", LOG_WARNING,
				     RUN_ID,
				     "the tracking server refuses something of a run, which is left out" },
	[EVENT_SOURCE_RETRIED] = { "source.retried", "aebc8939ab3d4befb299bcf2690728a3", LOG_NOTICE,
				   RUN_ID | URL | RETRIES,
				   "requests to the source were tried again; reported once per window" },
	[EVENT_SOURCE_FAILED] = { "source.failed", "5453e203286747acab09b74edc5904e2", LOG_ERR,
				  RUN_ID | KEY | OFFSET,
				  "the source's data cannot be used, so the trainer ends" },
	[EVENT_OBJECT_CHANGED] = { "object.changed", "f8390e7979fa45f0a0b15102fad67dfe", LOG_ERR,
				   RUN_ID | KEY | OFFSET,
				   "an object changed after the plan was made, so the trainer ends" },
	[EVENT_OBJECT_REPINNED] = { "object.repinned", "12696684addf4fa898c0daf8ec293b23", LOG_WARNING,
				    RUN_ID | KEY,
				    "an object changed after the plan was made, and the run goes on: the "
				    "bytes are those of manifest.jsonl, or fetch.changed_object allows it" },
	[EVENT_SHARD_REFETCHED] = { "shard.refetched", "79d9f6ca652c473b8a7ab838c7a0b33f", LOG_WARNING,
				    RUN_ID | KEY, "the bytes of a shard are bad and are downloaded again" },
	[EVENT_RECORDS_SKIPPED] = { "records.skipped", "5b3da352405e4a7c8214709db942a5a0", LOG_WARNING,
				    RUN_ID | KEY | RECORDS,
				    "bad records were left out; RECORDS = 0: the rest of the shard, an "
				    "unknown number of records" },
	[EVENT_MANIFEST_DIFFERS] = { "manifest.differs", "71863b7083f541df819eef00810fba68", LOG_WARNING,
				     COUNT,
				     "manifest.jsonl differs from the listing of the store, which Kiln "
				     "follows; COUNT = objects with another size or ETag, 0 = the manifest "
				     "cannot be read or lacks objects" },
	[EVENT_DATA_UNFIT] = { "data.unfit", "3ce8cdd5dfac4da59ee2f4b0d1b5130a", LOG_WARNING, 0,
			       "before a new run: the configuration does not fit the data, or they could "
			       "not be looked at; the text is a row of `kiln check`" },
	[EVENT_VALIDATION_SEEN] = { "validation.seen", "4d0ce1217e204dacaf674e80e1a5cce3", LOG_WARNING,
				    RUN_ID | COUNT,
				    "the run starts from weights that were trained on COUNT of its "
				    "validation shards, or on objects that these replace, so the figures of "
				    "the validation are too good, or may be" },
	[EVENT_TEST_SEEN] = { "test.seen", "0c9e4b7d5f2a4c8e9b61d3a7f8054e2d", LOG_WARNING, RUN_ID | COUNT,
			      "the run starts from weights that were trained on COUNT of its test shards, or "
			      "on objects that these replace, so the figures of the test are too good, or "
			      "may be" },
	[EVENT_TEST_FAILED] = { "test.failed", "c0fbf1f2f808469580529e4397a5578b", LOG_WARNING, RUN_ID | STEP,
				"a record of the test split makes no number, so the run finishes without "
				"figures of the test" },
	[EVENT_VALIDATION_NONE] = { "validation.none", "1af6857d19f84921a1483ebdfe7b4297", LOG_WARNING,
				    RUN_ID,
				    "no source has two training shards, so none is held out and the run has "
				    "no validation" },
	[EVENT_HUGEPAGES_SHORT] = { "hugepages.short", "faa350e620774c01b217477b5d3ac51c", LOG_WARNING,
				    RUN_ID, "there are too few hugepages, so the ring uses normal pages" },
	[EVENT_INTERRUPTS_LEFT] = { "interrupts.left", "f75aad1c12fd4c84b0a8e264762314dd", LOG_WARNING,
				    RUN_ID | COUNT,
				    "the kernel refused to move interrupts of the network interface, or to "
				    "change its queues; COUNT = number of interrupts that stay" },
	[EVENT_RING_DAMAGED] = { "ring.damaged", "bbc64aeb8742427d82c71547dc7ec8ed", LOG_WARNING, RUN_ID,
				 "the ring cannot be used; the trainer waits for a new one" },
	[EVENT_BOXES_LOST] = { "boxes.lost", "f2baa5dd62f54a71be03dcfe32a03069", LOG_WARNING, RUN_ID | COUNT,
			       "boxes of ranks.boxes are not there, do not fit or fail each time, and the "
			       "run goes on without them; COUNT = their number" },
	[EVENT_DISK_FULL] = { "disk.full", "50ce23d542eb479f875ce8eae63530c4", LOG_WARNING, RUN_ID | STEP,
			      "the finished weights wait for free space on the disk" },
	[EVENT_HEAT_THROTTLED] = { "heat.throttled", "7ab949df7ca34105bd4f0343104c898d", LOG_WARNING,
				   RUN_ID | STEP | SENSOR | CELSIUS | LIMIT,
				   "the device is too hot, so the trainer pauses between steps; reported at "
				   "most every ten minutes" },
	[EVENT_HEAT_COOLED] = { "heat.cooled", "9e4b6d1570c64dedbd8fb7ce0139c51a", LOG_NOTICE,
				RUN_ID | STEP | SECONDS,
				"the trainer runs at full speed again; SECONDS = sum of its pauses" },
	[EVENT_HEAT_STOPPED] = { "heat.stopped", "fe75e72d5ea541bd959598785ca14d0e", LOG_ERR,
				 RUN_ID | STEP | SENSOR | CELSIUS | LIMIT,
				 "the temperature is critical: the trainer writes a checkpoint and the run "
				 "stops; the next start continues the run" },
	[EVENT_GPU_FAULT] = { "gpu.fault", "b9435ffc2ba14b1c82d6bde70caecb28", LOG_WARNING, DEVICE | COUNT,
			      "the driver of a GPU wrote into the kernel's log that something is wrong; the "
			      "text "
			      "says what to do; COUNT = NVIDIA's number of the message (Xid), 0 = AMD's "
			      "driver; "
			      "the same message is reported at most every ten minutes" },
	[EVENT_GPU_MEMORY] = { "gpu.memory", "f3cee90676d34959a09a1d57c2983c40", LOG_WARNING, DEVICE | COUNT,
			       "a GPU found errors in its memory that it could not correct, within the last "
			       "ten seconds: the numbers of the run may be wrong; COUNT = errors" },
	[EVENT_NIGHT_MISSED] = { "night.missed", "2b6d021f65bc4fae8fd74641e8960354", LOG_NOTICE, SECONDS,
				 "the box was off at run.at, and run.catch_up is off; SECONDS = time since "
				 "run.at" },
	[EVENT_NIGHT_OVER] = { "night.over", "97b30d35559244efb355ab98c61a212f", LOG_NOTICE, 0,
			       "run.ends_at came before a run could begin" },
	[EVENT_CLOCK_UNSET] = { "clock.unset", "8f0765a2e58a4879b348726d70a700fe", LOG_WARNING, SECONDS,
				"no time service set the clock within SECONDS; Kiln goes on with the time "
				"that the clock shows" },
	[EVENT_CLOCK_LOST] = { "clock.lost", "027afddd758c45a4bef627cd1830dcaa", LOG_WARNING, 0,
			       "the box has no clock that kept the time while it was off (RTC), and no time "
			       "service has set the clock yet" },
	[EVENT_SERVICE_RESTARTED] = { "service.restarted", "2e27b1259943465b94b085f7925dc20b", LOG_WARNING,
				      FAILURES | SECONDS, "a service failed; it starts again after SECONDS" },
	[EVENT_SERVICE_DEGRADED] = { "service.degraded", "7736b3013fe24eb2a02e8425dc83f261", LOG_WARNING,
				     FAILURES | SECONDS,
				     "a service failed at least five times in a row; it starts again after "
				     "SECONDS" },
	[EVENT_SERVICE_RECOVERED] = { "service.recovered", "dc443b330b7e41d8bdb59fe87c3a9e57", LOG_NOTICE,
				      FAILURES, "a service has worked for five minutes after failures" },
	[EVENT_SERVICE_STUCK] = { "service.stuck", "08c1ee7816fb4b89944a033341b3c037", LOG_ERR, 0,
				  "a thread makes no progress, so the watchdog ends the service" },
	[EVENT_SERVICE_FAILED] = { "service.failed", "bb8130ad4f5f4823a332e137aa38df59", LOG_ERR, EXIT_STATUS,
				   "a program ended with an error" },
	[EVENT_REPORT_MADE] = { "report.made", "c07a559956c6421c8c8d0a4a6c8609a8", LOG_NOTICE, RUN_ID,
				"a night is over; the message is the sentence of its report" },
	[EVENT_REPORT_POSTED] = { "report.posted", "f98023672e074dec94b7d3a5f5a69ed7", LOG_INFO, RUN_ID,
				  "a night's report was posted or mailed to the people of `notify`" },
	[EVENT_REPORT_LATE] = { "report.late", "097ff649d1db4163ad8ea1fd4e17a362", LOG_WARNING, RUN_ID,
				"a night's report could not be posted, mailed or uploaded; it is tried "
				"again with the next report" },
	[EVENT_POWER_OFF] = { "power.off", "b0709ef4a3e34160aba61aad75c79ca8", LOG_NOTICE, RUN_ID,
			      "the box switches itself off after a run" },
	[EVENT_POWER_SUSPEND] = { "power.suspend", "3efece6a09804af0a969e6abb306e8f7", LOG_NOTICE, RUN_ID,
				  "the box suspends until the next night" },
	[EVENT_POWER_HELD] = { "power.held", "2e1e3913d668411eaf5a880df5576951", LOG_WARNING, RUN_ID,
			       "the box should switch off or suspend, but stays on; the message says why" },
	[EVENT_CONFIG_APPLIED] = { "config.applied", "ec8a7460ff19433b8f8d9bce4e333667", LOG_NOTICE, COUNT,
				   "kiln.conf was replaced; COUNT = keys that changed" },
	[EVENT_CONFIG_REFUSED] = { "config.refused", "ec081183fefc49fabc6b2de26311f1e2", LOG_WARNING, 0,
				   "a new kiln.conf has mistakes, so the old one stays" },
	[EVENT_CLIENT_REFUSED] = { "client.refused", "715d05d63ae24b449271b5d0aa0b80fa", LOG_WARNING,
				   CLIENT | COUNT,
				   "a client got no connection, or asked for a method that its role does not "
				   "allow; COUNT = how often: equal events of a minute become one" },
	[EVENT_CLIENT_DROPPED] = { "client.dropped", "1b11d94e90ac43b1953e466efdd0c1a8", LOG_WARNING,
				   CLIENT | COUNT,
				   "a client was disconnected: it was too slow, or used too much memory; "
				   "COUNT "
				   "= how often: equal events of a minute become one" },
	[EVENT_REMOTE_UNAVAILABLE] = { "remote.unavailable", "147c05947371462f88c4840663a8369a", LOG_ERR, 0,
				       "control.remote is on, but the box cannot answer other machines" },
	[EVENT_UPDATE_STARTED] = { "update.started", "29ea5f447c5c4c729d5936532e97ef7b", LOG_NOTICE, URL,
				   "a person asked for an update, and the bundle is downloaded" },
	[EVENT_UPDATE_INSTALLED] = { "update.installed", "059f59624ff6477d8673746f35f0603b", LOG_NOTICE, URL,
				     "the update is in the other slot, which boots next" },
	[EVENT_UPDATE_DOWNGRADE] = { "update.downgrade", "7cfd45c2498c42238e5f20eef7ef8946", LOG_WARNING, URL,
				     "an update to an older version is installed, because --allow-downgrade "
				     "was given" },
	[EVENT_UPDATE_RESTARTS] = { "update.restarts", "642f413863d54d449af8d460fcd48a9f", LOG_NOTICE, URL,
				    "the box restarts into the other slot" },
	[EVENT_UPDATE_FAILED] = { "update.failed", "9ae8363878aa4aae86b2d1f86e4f3616", LOG_ERR, URL,
				  "the update was not installed, and the box stays as it is" },
	[EVENT_SLOT_GOOD] = { "slot.good", "10fda8d33d644dd9a992d46ebe155692", LOG_NOTICE, SLOT,
			      "the updated slot passed its trial and stays in use" },
	[EVENT_SLOT_BAD] = { "slot.bad", "5f75767f48b74348be2daeb6ec48420e", LOG_ERR, SLOT,
			     "the updated slot failed its trial, so the box restarts into the other slot" },
	[EVENT_SLOT_BACK] = { "slot.back", "b690ec5528b748af8efdf0d114e9f84f", LOG_ERR, SLOT,
			      "the other slot did not boot, or failed its trial, so the box runs this slot" },
	[EVENT_STEER_ASKED] = { "steer.asked", "3ede7f1c79c349ab84c0beadb74fac09", LOG_NOTICE, WORD,
				"kiln-steer was asked to act on systemd" },
	[EVENT_STEER_REFUSED] = { "steer.refused", "bc7164627a134a4a83374fc76acf326a", LOG_WARNING, 0,
				  "kiln-steer refused a request, or failed" },
};

const struct event_row *event_by_name(const char *name)
{
	for (size_t i = 0; i < EVENT_MAX; i++)
		if (strcmp(event_rows[i].name, name) == 0)
			return &event_rows[i];
	return NULL;
}

const struct event_row *event_by_message_id(const char *message_id)
{
	for (size_t i = 0; i < EVENT_MAX; i++)
		if (strcmp(event_rows[i].message_id, message_id) == 0)
			return &event_rows[i];
	return NULL;
}

/* ---- The reference ---- */

static void reference_event(const struct event_row *row, FILE *out)
{
	static const char *const priorities[] = { "emerg",   "alert",  "crit", "err",
						  "warning", "notice", "info", "debug" };
	const char *between = " Fields: ";
	char text[1024];
	size_t used = (size_t)snprintf(text, sizeof(text), "- `%s` (%s): %s.", row->name,
				       priorities[row->priority], row->help);

	for (size_t i = 0; i < event_fields_count && used < sizeof(text); i++) {
		if (!(row->fields & 1u << i))
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", between,
					 event_fields[i].name + strlen("KILN_"));
		between = ", ";
	}
	if (row->fields && used < sizeof(text))
		(void)snprintf(text + used, sizeof(text) - used, ".");
	wrap_print(text, 0, "  ", WIDTH, out);
}

static void reference_field(const struct event_field *field, FILE *out)
{
	static const char *const types[] = {
		[EVENT_TEXT] = "text", [EVENT_COUNT] = "whole number", [EVENT_NUMBER] = "number"
	};
	char text[512];

	(void)snprintf(text, sizeof(text), "- `%s` (%s): %s.", field->name, types[field->type], field->help);
	wrap_print(text, 0, "  ", WIDTH, out);
}

void event_reference(FILE *out)
{
	fputs("# Events\n\n"
	      "Printed by `kiln log reference` from the tables in firmware/core/base/events_table.c.\n\n",
	      out);
	wrap_print("An event is what a person wants to know in the morning: an entry of the systemd journal, "
		   "with a sentence for people, and a `MESSAGE_ID` and fields for machines. `kiln log "
		   "--events` lists the events, `kiln log --follow` prints new events as they come (the "
		   "method `events.subscribe`, [control.md](control.md)), and journalctl finds them without "
		   "Kiln:",
		   0, "", WIDTH, out);
	fprintf(out, "\n    journalctl -o json MESSAGE_ID=%s    # %s\n",
		event_rows[EVENT_CHECKPOINT_WRITTEN].message_id, event_rows[EVENT_CHECKPOINT_WRITTEN].name);
	fputs("\n## What happened\n\nThe word in brackets is the priority. Each field has `KILN_` before its "
	      "name.\n\n",
	      out);
	for (size_t i = 0; i < EVENT_MAX; i++)
		reference_event(&event_rows[i], out);
	fputs("\n## Fields\n\nA field whose value is not known is left out.\n\n", out);
	for (size_t i = 0; i < event_fields_count; i++)
		reference_field(&event_fields[i], out);
	fputs("\n## MESSAGE_ID\n\n| event | `MESSAGE_ID` |\n| --- | --- |\n", out);
	for (size_t i = 0; i < EVENT_MAX; i++)
		fprintf(out, "| `%s` | `%s` |\n", event_rows[i].name, event_rows[i].message_id);
}
