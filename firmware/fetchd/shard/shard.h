/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shard on its way from the store to the ring: its bytes, its records, and the notes of when it left which
 * stage.
 *
 *     window_load()
 *           |
 *        shard_begin()
 *           |
 *           |  the cache may have it            no cache for it
 *           +--------------------------+-----------------------------.
 *           v                          |                             |
 *     [ reader's queue ]               |                             v
 *     cache/shard_reader.c ----------- | --- not found ----> [ thread's queue ]
 *           |                          |                     shard/network.c:  part requests in flight,
 *           | found: cached            |                             |         shard/arrive.c indexes
 *           |                          |                             |         records on the way
 *           |                          |                             | all parts done, or err
 *           v                          |                             v
 *     [ workers' queue ] <-------------+-----------------------------'         shard/work.c
 *           |
 *     decode/decode.c:  check a changed object, inflate, index the records
 *           |     |
 *           |     `---- damaged or changed, for the first time ----> [ thread's queue ]
 *           v
 *     window_settle():  indexed, or failed with err
 *           |     |
 *           |     `---- good and not cached: cache/shard_writer.c writes a copy into the cache
 *           v
 *     workers/gather.c:  rows into slots of the ring, until the window has given all of its rows
 *           |
 *        shard_begin() for another object, in the same buffers
 *
 * Who may touch a shard: whoever popped it from a queue, until it is put into the next queue; nobody while it
 * waits in a queue. Between window_settle() and the next shard_begin() it is read-only, and any worker
 * gathers from it. `group` and the queues are guarded by fetch->lock, `left_us` is atomic.
 *
 * A crash loses shards and nothing else: the ring's cursor says which windows are loaded anew.
 */
#pragma once

#include "core/run/status.h"
#include "data/plan.h"
#include "drivers/cache/cache.h"
#include "drivers/store/store.h"
#include "fetchd/memory/buffer.h"

struct record {
	uint64_t offset; /* where the data begins in the shard's plain bytes */
	uint32_t bytes;
	bool bad; /* the data CRC is wrong, or the filter cannot judge the record: the row stays empty */
};

/* Records of one part that were indexed as its bytes arrived (arrive.h): bytes [first, at) of the shard are
 * complete good records. */
struct arrival {
	struct buffer index;
	struct record *record; /* in `index` */
	uint64_t records;
	uint64_t begin, end; /* bytes of the shard that arrived in this part */
	uint64_t first, at;  /* ARRIVAL_NOWHERE: no start of a record was found before `at` */
	bool over;           /* do not index the part any further */
};
#define ARRIVAL_NOWHERE UINT64_MAX

/* State that the shards of one window share. */
struct group {
	enum split split;
	uint64_t shards;
	uint64_t bytes;   /* stored, inflated and index bytes of these shards so far: at most window_max */
	uint64_t caching; /* shards that the cache writes from this window's buffers */
	/* key of the shard because of which the window is given up; NULL = it is not */
	const char *given_up;
	bool margin; /* the budget allows buffers that are larger than the stored bytes, and a second index */
};

struct network;
struct source;
struct window;

/* A shard holds one object of the plan after the other, in the same buffers. */
struct shard {
	struct window *window; /* for window_settle() */
	struct group *group;
	struct source *source;
	struct network *network; /* the thread that fetches it */
	struct plan_shard plan;
	struct store_pin pin;
	struct buffer raw, inflated, index; /* bytes as fetched; inflated bytes; index of the records */
	/* Of a small object: its place in the window's shared buffer, in place of `raw`. slice_bytes 0 =
	 * none. */
	uint8_t *slice;
	uint64_t slice_bytes;
	struct cache_view view; /* mapping of the file in the cache; zeroed = none */
	bool cached;            /* the bytes come from the cache */
	uint64_t claim; /* to fetch it, of this process: cache/shard_claims.h; CACHE_CLAIM_NONE = none */
	uint64_t
		claim_wait_us; /* clock_us() until which it waits for another process; 0 = it does not wait */
	const uint8_t *stored; /* bytes as the store has them: in `raw` or `view` */
	const uint8_t *plain;  /* stored or inflated bytes */
	uint64_t plain_bytes;
	struct record *record; /* in `index`; of an object: `whole` */
	struct record whole;   /* an object is one record */
	uint64_t records;
	bool settled;                                      /* indexed, or failed with err */
	struct store_request *part;                        /* parts_max of them */
	struct arrival *arrival;                           /* one per part */
	uint64_t parts_max, parts_used, parts, parts_left; /* parts_used: most parts of any object so far */
	bool fetched_again;
	bool repinned;    /* the object changed since the plan: pin and plan.bytes are the new object's */
	char sha256[65];  /* SHA-256 that the changed object must have, by the manifest; "" = not known */
	bool lost;        /* bad_record = "skip": a bad length or broken stream hides the rest ... */
	uint64_t lost_at; /* ... from this plain byte on */
	struct error err; /* code 0 = good */
	uint64_t bad_offset;
	atomic_uint_fast64_t left_us[STALL_STAGES]; /* clock_us() at which it left each stage; 0 = not yet */
	struct shard *next;                         /* next shard in the queue */
};

/* ---- Queues: first in, first out, without a lock of their own ---- */

struct queue {
	struct shard *first, *last;
};

void queue_append(struct queue *queue, struct shard *shard);
/* Returns NULL when empty. */
struct shard *queue_pop(struct queue *queue);
/* Removes a shard from anywhere in the queue, O(shards before it). */
void queue_remove(struct queue *queue, struct shard *shard);

/* ---- Memory: called by whoever has the shard ---- */

/* Allocates the arrays of a zeroed shard, for `parts` requests. Errors: -ENOMEM. */
MUST_CHECK int shard_init(struct shard *shard, struct budget *budget, uint64_t parts, struct error *err);

/* Makes the shard this object of the plan. Buffers keep their memory. */
void shard_begin(struct shard *shard, const struct plan_shard *plan, struct source *source);

/* Begins the same object once more after its load failed, with empty buffers. */
void shard_begin_again(struct shard *shard);

/* The largest memory of each buffer, over any number of shards; shard_measure() adds one shard. */
struct shard_sizes {
	uint64_t raw, inflated, index, arrival, parts;
};
void shard_measure(const struct shard *shard, struct shard_sizes *sizes);

/* Allocates memory of these sizes for later, outside the account. */
void shard_expect(struct shard *shard, const struct shard_sizes *sizes);

/* Returns the bytes on the account once the stored bytes have a buffer. */
uint64_t shard_bytes(const struct shard *shard, bool margin);

/* Whether the stored bytes go into the shard's place in the shared buffer. */
bool shard_is_shared(const struct shard *shard);
/* Returns where the stored bytes go, once the shard has memory for them. */
uint8_t *shard_memory(const struct shard *shard);

/* Gets a buffer for the stored bytes. Errors: those of buffer_grow(), naming the key. */
MUST_CHECK int shard_reserve(struct shard *shard, struct error *err);
/* shard_reserve() without the wait on a full disk. */
MUST_CHECK int shard_try_reserve(struct shard *shard, struct error *err);
/* Allocates memory for the stored bytes, in case the cache lacks the object. */
void shard_expect_raw(struct shard *shard);
/* Lets the buffer of the stored bytes rest. */
void shard_release(struct shard *shard);
/* Returns the buffer of the stored bytes, which the caller then owns; the shard goes on with `spare`. The
 * bytes of a shared buffer are copied into `spare`, which is returned. */
struct buffer shard_swap_raw(struct shard *shard, struct buffer spare);
/* Frees all buffers. */
void shard_drop(struct shard *shard);

/* ---- Notes of when it left which stage: any thread that has the shard ---- */

/* Notes that the shard leaves a stage now; the stages of a request; that the shard begins anew. */
void shard_leaves(struct shard *shard, enum stall_stage stage);
void shard_notes_request(struct shard *shard, const struct http_times *times);
void shard_forgets(struct shard *shard);
/* Returns the stage that the shard is in: the one after the last stage that it left. Any thread. */
enum stall_stage shard_stage(const struct shard *shard, bool has_cache);
