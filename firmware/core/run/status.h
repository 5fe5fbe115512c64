/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status pages: what each daemon tells other programs about itself. PATH_STATUS/<daemon>/page has one writer
 * and any number of readers.
 *
 * The file holds two copies of `struct status`, each with a sequence number and a CRC, which are written in
 * turn. A writer that is killed while it writes leaves the other copy whole. Readers use pread(2), never a
 * mapping, so that neither side can stop or crash the other. The file lies on a tmpfs, and is valid only
 * while its writer lives: a reader checks `pid`.
 *
 * Counters only grow while `pid` lives. A reader computes rates from two reads and `updated_us`.
 */
#pragma once

#include "core/run/run.h"

#define STATUS_VERSION 9u

enum status_daemon { STATUS_FETCHD, STATUS_TRAIND, STATUS_UPLOADD, STATUS_DAEMONS };

/* The stages that a trainer with an empty ring can wait for, in the order of a shard's way. */
enum stall_stage {
	STALL_LIST,       /* the plan: listing the keys of the source */
	STALL_CACHE,      /* reading the shard from the disk cache */
	STALL_QUEUE,      /* waiting for a free request */
	STALL_RETRY,      /* failed attempts, and the waits between them */
	STALL_CONNECT,    /* name, TCP, TLS; no time on a connection that is used again */
	STALL_FIRST_BYTE, /* waiting for the server's answer */
	STALL_TRANSFER,   /* receiving the bytes */
	STALL_WORKER,     /* all bytes are there, and every decode worker is busy with other shards */
	STALL_INFLATE,    /* inflating the bytes */
	STALL_PARSE,      /* checksums, and the offset of each record */
	STALL_GATHER,     /* copying records into the slot */
	STALL_STAGES
};

struct status_fetchd {
	uint64_t segment, batch;   /* position of the batch that was committed last */
	uint64_t records, skipped; /* committed; left out by fetch.bad_record */
	uint64_t bytes, retries;   /* received from the store; requests tried again, all classes */
	uint64_t cached;           /* 1: there is a cache */
	/* Shards read from the cache, and their bytes; shards that it did not have; shards written to it. */
	uint64_t cache_hits, cache_bytes, cache_misses, cache_written;
	uint64_t fast; /* 1: records come as they arrive, by order.mode */
	/* Time that the reader waited for a slot, by stage; time that the writer waited for a free slot. */
	uint64_t stalled_us[STALL_STAGES], full_us;
	uint32_t stalled;      /* the reader waits now, for stage stalled - 1; 0 = it does not wait */
	char stalled_key[128]; /* the shard that it waits for, cut; "" = no particular one */
	/* Values that fetchd chooses while it runs: concurrent requests; decode workers in use; windows of
	 * each stream that are read ahead of the one in use; each with its upper bound, and its reason below.
	 * Bytes of a request; bytes of windows in memory and on disk. */
	uint32_t at_once, at_once_max, workers, workers_max, ahead, ahead_max;
	uint64_t part_bytes, memory_bytes, spilled_bytes;
	uint64_t hedged, hedges_won; /* ranges asked for twice; where the second was faster */
	/* With several sources, pace_reason is the reason of the source with the lowest bound of concurrent
	 * requests, and names it: "source 2: ..." */
	char pace_reason[96], workers_reason[96], ahead_reason[96];
};

struct status_traind {
	uint64_t epoch, epochs;      /* the current epoch, counted from 0; run.epochs */
	uint64_t step, epoch_step;   /* steps of the run; steps of the epoch */
	uint64_t epoch_steps;        /* steps of a whole epoch; 0 = not known yet */
	uint64_t rows;               /* trained on since the program began */
	uint64_t busy_us, waited_us; /* the device had work; it had none because no batch was there */
	uint64_t throttled_us;       /* pauses of the run to cool down */
	uint64_t checkpoint_step, checkpoint_us;     /* newest checkpoint on the disk; its Unix time */
	double loss, accuracy;                       /* means over the epoch so far */
	double validation_loss, validation_accuracy; /* means over the last pass, NaN = none yet */
	char device[128];
};

struct status_uploadd {
	uint64_t checkpoint_step; /* latest.json names it */
	uint64_t checkpoint_us;   /* Unix time at which this process set it; 0 = an earlier process did */
	uint64_t bytes, retries;  /* sent; requests tried again, all classes */
	uint64_t busy_us;         /* time of passes that sent something of the current run */
};

struct status {
	uint32_t version, daemon; /* set by status_write */
	int32_t pid;              /* set by status_write */
	uint32_t reserved;
	uint64_t started_us;       /* Unix time; set by status_open */
	uint64_t updated_us;       /* Unix time; set by status_write */
	char run_id[RUN_ID_BYTES]; /* "" = none */
	char phase[32];            /* a word: "waiting", "restoring", "training" ... */
	char text[256];            /* a sentence for a person: current work, or the last error */
	char degraded[256];        /* why the daemon is not well; "" = it is well; set by status_write */
	union {
		struct status_fetchd fetchd;
		struct status_traind traind;
		struct status_uploadd uploadd;
	};
};

struct status_page; /* the writer's side of a page */

const char *status_daemon_name(enum status_daemon daemon);
/* Returns "list", "first_byte" ... */
const char *status_stage_name(enum stall_stage stage);

/* Opens the page of a daemon, and makes it where it is missing. Errors: -errno of the file. */
MUST_CHECK int status_open(enum status_daemon daemon, struct status_page **ret_page, struct error *err);
void status_closep(struct status_page **page);
/* Writes the page with one pwrite(2). A failure is ignored: the run matters more than its status. */
void status_write(struct status_page *page, struct status *status);

/* Sets `degraded` of all pages that this process writes from now on; "" = the process is well. Call it with a
 * text before other threads start; any thread may call it with "". */
void status_set_degraded(const char *text);

/* Reads the newest whole copy. Errors: -ENOENT no page; -EBADMSG no copy is whole, or the version is
 * another. */
MUST_CHECK int status_read(enum status_daemon daemon, struct status *ret_status, struct error *err);
