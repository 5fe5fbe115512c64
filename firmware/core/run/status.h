/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each daemon says of itself to whoever asks: PATH_STATUS/<daemon>/page, one writer, any readers.
 *
 * The file holds two copies of `struct status`, each with a sequence number and a CRC, written in turn: a
 * writer killed in mid-write leaves the other copy whole. Readers use pread(2), never a mapping, so neither
 * side can stop or crash the other. Not durable: it lies on a tmpfs and means nothing after its writer has
 * ended (`pid` tells).
 *
 * Counters only grow while `pid` lives; rates are the reader's business, from two reads and `updated_us`.
 */
#pragma once

#include "core/run/run.h"

#define STATUS_VERSION 9u

enum status_daemon { STATUS_FETCHD, STATUS_TRAIND, STATUS_UPLOADD, STATUS_DAEMONS };

/* What a trainer with an empty ring waits for, in the order in which a shard passes through it. */
enum stall_stage {
	STALL_LIST,       /* the plan: the source's keys */
	STALL_CACHE,      /* the disk cache reads it */
	STALL_QUEUE,      /* for its turn among the requests in flight */
	STALL_RETRY,      /* attempts that failed, and the waits between them */
	STALL_CONNECT,    /* name, TCP, TLS; a connection that is kept takes no time */
	STALL_FIRST_BYTE, /* the server thinks */
	STALL_TRANSFER,
	STALL_WORKER, /* all bytes are there, and every decode worker has other work */
	STALL_INFLATE,
	STALL_PARSE,  /* checksums, and where each record lies */
	STALL_GATHER, /* records into the slot */
	STALL_STAGES
};

struct status_fetchd {
	uint64_t segment, batch;   /* the place in the run that was committed last */
	uint64_t records, skipped; /* committed; left out by policy */
	uint64_t bytes, retries;   /* received from the store; requests tried again, all classes */
	uint64_t cached;           /* 1: there is a cache */
	/* Shards read from it and their bytes; those not there; those written to it. */
	uint64_t cache_hits, cache_bytes, cache_misses, cache_kept;
	uint64_t fast; /* 1: records come as they arrive, by order.mode */
	/* The reader waited for a slot, by what it waited for; the writer waited for a free one. */
	uint64_t stalled_us[STALL_STAGES], full_us;
	uint32_t stalled;      /* it waits now: for stage stalled - 1; 0 = it does not */
	char stalled_key[128]; /* the shard, cut; "" = none in particular */
	/* What is chosen as it goes: requests in flight, and why; decode workers in use, and why; bytes asked
	 * for at once by one request; bytes of windows in memory and on disk; windows of each stream that are
	 * read behind the one in use, the most that the memory allows, and why. */
	uint32_t at_once, at_once_max, workers, workers_max, ahead, ahead_max;
	uint64_t part_bytes, memory_bytes, spilled_bytes;
	uint64_t hedged, hedges_won; /* ranges asked for twice; where the second was faster */
	/* Of several sources, pace_reason is that of the one that may have the fewest requests in flight, the
	 * first of those, and says which, as configured: "source 2: ..." */
	char pace_reason[96], workers_reason[96], ahead_reason[96];
};

struct status_traind {
	uint64_t epoch, epochs;      /* the epoch in work, counted from 0 */
	uint64_t step, epoch_step;   /* of the run; of the epoch */
	uint64_t epoch_steps;        /* of a whole epoch; 0 = not known yet */
	uint64_t rows;               /* trained on since the program began */
	uint64_t busy_us, waited_us; /* the device had work; it had none because no batch was there */
	uint64_t throttled_us;       /* pauses of the run to cool down */
	uint64_t checkpoint_step, checkpoint_us;     /* the newest on the disk, and when (Unix time) */
	double loss, accuracy;                       /* of the epoch so far */
	double validation_loss, validation_accuracy; /* of the last pass, NaN = none yet */
	char device[128];
};

struct status_uploadd {
	uint64_t checkpoint_step; /* latest.json names it */
	uint64_t checkpoint_us;   /* when this process moved it there (Unix time); 0 = an earlier one did */
	uint64_t bytes, retries;  /* sent; requests tried again, all classes */
	uint64_t busy_us;         /* passes that sent something of the current run */
};

struct status {
	uint32_t version, daemon; /* set by status_write */
	int32_t pid;              /* set by status_write */
	uint32_t reserved;
	uint64_t started_us;       /* Unix time; set by status_open */
	uint64_t updated_us;       /* Unix time; set by status_write */
	char run_id[RUN_ID_BYTES]; /* "" = none */
	char phase[32];            /* one word: "waiting", "restoring", "training" ... */
	char text[256];            /* what it does or waits for, or its last error, for a person */
	char degraded[256];        /* why it is not well, whatever it does; "" = it is; set by status_write */
	union {
		struct status_fetchd fetchd;
		struct status_traind traind;
		struct status_uploadd uploadd;
	};
};

struct status_page; /* a writer's */

const char *status_daemon_name(enum status_daemon daemon);
/* "list", "first_byte" ... */
const char *status_stage_name(enum stall_stage stage);

/* Make or take over the daemon's page. Errors: -errno of the file. */
MUST_CHECK int status_open(enum status_daemon daemon, struct status_page **ret_page, struct error *err);
void status_closep(struct status_page **page);
/* One pwrite(2). What cannot be written is left out: status is never worth a run. */
void status_write(struct status_page *page, struct status *status);

/* From now on status_write() says in every page of this process why it is not well; "" = it is. One that says
 * why comes before other threads begin; any of them may take it back. */
void status_set_degraded(const char *text);

/* The newest whole copy. Errors: -ENOENT no page; -EBADMSG no copy is whole, or of another version. */
MUST_CHECK int status_read(enum status_daemon daemon, struct status *ret_status, struct error *err);
