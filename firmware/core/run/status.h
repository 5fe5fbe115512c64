/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status pages: what each daemon tells other programs about itself. PATH_SLOT_STATUS/<daemon>/page, and
 * PATH_STATUS/uploadd/page, have one writer and any number of readers. The page of rank 1 is
 * PATH_SLOT_STATUS/<daemon>/rank-1/page: systemd makes the folder of a daemon, and the daemon may write
 * nowhere else.
 *
 * The file holds two copies of `struct status`, each with a sequence number and a CRC, which are written in
 * turn. A writer that is killed while it writes leaves the other copy whole. Readers use pread(2), never a
 * mapping, so that neither side can stop or crash the other. The file is on a tmpfs, and is valid only while
 * the process that writes it exists: a reader checks `pid`.
 *
 * Counters never decrease while the process `pid` exists. A reader computes rates from two reads and
 * `updated_us`.
 */
#pragma once

#include "core/run/run.h"

#define STATUS_VERSION   14u
#define STATUS_RANKS_MAX 32u /* as many as lanes: each rank has one of its own */

enum status_daemon { STATUS_FETCHD, STATUS_TRAIND, STATUS_UPLOADD, STATUS_DAEMONS };

/* The stages for which a trainer with an empty ring can wait, in the order in which a shard passes through
 * them. */
enum stall_stage {
	STALL_LIST,       /* making the plan: listing the keys of the source */
	STALL_CACHE,      /* reading the shard from the disk cache */
	STALL_QUEUE,      /* waiting until one of the concurrent requests is free */
	STALL_RETRY,      /* failed attempts, and the waits between them */
	STALL_CONNECT,    /* name resolution, TCP and TLS; 0 where a connection is used again */
	STALL_FIRST_BYTE, /* waiting for the server's answer */
	STALL_TRANSFER,   /* receiving the bytes */
	STALL_WORKER,     /* all bytes have arrived, but every decode worker is busy with other shards */
	STALL_INFLATE,    /* inflating the bytes */
	STALL_PARSE,      /* checksums, and the offset of each record */
	STALL_GATHER,     /* copying records into the slot */
	STALL_DECODE,     /* instead of gathering, in a run with pictures: decoding them into the slot */
	STALL_STAGES
};

struct status_fetchd {
	uint64_t segment, batch;   /* position of the batch that was committed last */
	uint64_t records, skipped; /* records: in committed batches; skipped: left out by fetch.bad_record */
	uint64_t bytes, retries; /* bytes: received from the store; retries: repeated requests of all kinds */
	uint64_t cached;         /* 1: there is a cache; 0: there is none */
	/* Shards read from the cache, and their bytes; shards that were not in the cache; shards written to
	 * the cache. */
	uint64_t cache_hits, cache_bytes, cache_misses, cache_written;
	/* Objects that came from the store for the next trial of the series, and their bytes, which `bytes`
	 * contains. */
	uint64_t next_objects, next_bytes;
	uint64_t fast; /* 1: records are used in the order of arrival (order.mode = "fast") */
	/* Time in which the reader waited for a slot, by stage; time in which the writer waited for a free
	 * slot. */
	uint64_t stalled_us[STALL_STAGES], full_us;
	uint32_t stalled;      /* the reader waits for stage stalled - 1 now; 0 = it does not wait */
	char stalled_key[128]; /* key of the shard for which the reader waits, cut if long; "" = none */
	/* Values that fetchd chooses while it runs: at_once: concurrent requests; workers: decode workers in
	 * use; ahead: windows that are read in advance for each stream. Each has its upper bound here, and
	 * its reason below. part_bytes: size of a request; memory_bytes and spilled_bytes: size of windows in
	 * memory and on disk. */
	uint32_t at_once, at_once_max, workers, workers_max, ahead, ahead_max;
	uint64_t part_bytes, memory_bytes, spilled_bytes;
	uint64_t hedged, hedges_won; /* ranges that were requested a second time; those where the second
					request was faster */
	/* With several sources pace_reason belongs to the source with the fewest allowed concurrent requests,
	 * and begins with its number: "source 2: ..." */
	char pace_reason[96], workers_reason[96], ahead_reason[96];
};

/* How a rank spends the time from one batch to the next. The four times are disjoint. Their sum leaves out
 * the time between two phases. */
struct status_rank_times {
	uint64_t rows;        /* rows trained on */
	uint64_t feed_us;     /* the kiln-fetchd of the rank had no batch ready */
	uint64_t others_us;   /* the other ranks were not ready to begin a batch */
	uint64_t exchange_us; /* waiting for gradients and weights of the other ranks: on the wire, or not
				 sent yet. What travels while the device works does not count */
	uint64_t device_us;   /* the rest: the device works or cools down, or the trainer prepares its work */
};

struct status_rank {
	struct status_rank_times times;
	char host[64], device[64]; /* cut when too long */
};

struct status_traind {
	uint64_t epoch, epochs;      /* the current epoch, counted from 0; the value of run.epochs */
	uint64_t step, epoch_step;   /* steps of the run; steps of the epoch */
	uint64_t epoch_steps;        /* steps of a whole epoch; 0 = not known yet */
	uint64_t rows;               /* rows of all ranks, trained on since the process began */
	uint64_t busy_us, waited_us; /* time in which the device worked; waited for a batch, or for other
					ranks outside of the exchange of gradients */
	uint64_t throttled_us;       /* time in which the run was paused to cool down */
	uint64_t checkpoint_step, checkpoint_us;     /* newest checkpoint on the disk; its Unix time */
	double loss, accuracy;                       /* means over the epoch so far */
	double validation_loss, validation_accuracy; /* means of the last validation; NaN = none */
	char device[128];
	/* Each rank; rank 0 alone has them. 0 ranks: one rank trains, and there is nothing to compare. */
	uint32_t ranks;
	struct status_rank rank[STATUS_RANKS_MAX];
};

struct status_uploadd {
	uint64_t checkpoint_step; /* the checkpoint that latest.json refers to */
	uint64_t checkpoint_us;   /* Unix time at which this process set it; 0 = an earlier process did */
	uint64_t bytes, retries;  /* bytes: sent to the store; retries: repeated requests of all kinds */
	uint64_t busy_us;         /* time of upload passes that sent a file of the current run */
	uint64_t tracks;          /* 1: there is something to tell the tracking server */
	uint64_t tracked;         /* metrics that it has taken from this process */
	uint64_t track_waiting;   /* runs and series that wait for it, while something fails */
	uint64_t track_passes;    /* passes of this process over what there is to tell */
	uint64_t track_behind;    /* runs, series and champions that the last pass could not tell */
	char tracking[256];       /* what fails; "" = nothing */
};

struct status {
	uint32_t version, daemon; /* set by status_write */
	int32_t pid;              /* set by status_write */
	uint32_t reserved;
	uint64_t started_us;       /* Unix time; set by status_open */
	uint64_t updated_us;       /* Unix time; set by status_write */
	char run_id[RUN_ID_BYTES]; /* "" = none */
	char phase[32];            /* a word: "waiting", "restoring", "training" ... */
	char text[256];            /* a sentence for a person: the current work, or the last error */
	char degraded[256]; /* why the daemon does not work as it should; "" = it does; set by status_write */
	union {
		struct status_fetchd fetchd;
		struct status_traind traind;
		struct status_uploadd uploadd;
	};
};

struct status_page; /* a page that is open for writing */

const char *status_daemon_name(enum status_daemon daemon);
/* Writes the path of a file beside the page of a daemon; `file` NULL: of the folder, which is one that only
 * this daemon of this slot and rank uses. Returns out. */
char *status_path(enum status_daemon daemon, const char *file, char out[static PATH_BYTES]);
/* Returns the name of a stage: "list", "first_byte" ... */
const char *status_stage_name(enum stall_stage stage);

/* Opens the page of a daemon for writing, and creates it where it is missing. Errors: -errno of the file. */
MUST_CHECK int status_open(enum status_daemon daemon, struct status_page **ret_page, struct error *err);
void status_closep(struct status_page **page);
/* Writes the page by one pwrite(2). Ignores a failure, because the run is more important than its status. */
void status_write(struct status_page *page, struct status *status);

/* Sets the text `degraded` for all pages that this process writes from now on; "" = the process works as it
 * should. With a text it must be called before other threads start; with "" any thread may call it. */
void status_set_degraded(const char *text);

/* Reads the newest complete copy of a page. Errors: -ENOENT no page; -EBADMSG no copy is complete, or it has
 * another version. */
MUST_CHECK int status_read(enum status_daemon daemon, struct status *ret_status, struct error *err);
