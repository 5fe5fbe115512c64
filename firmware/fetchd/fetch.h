/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-fetchd's parts and what they share.
 *
 *   main thread     commit.c, produce.c: follows the reader's wishes: picks windows, hands out spans of rows,
 *                   publishes slots in order
 *   network threads network.c: one a source; keeps range requests in flight; a shard goes to the decoders
 *                   when all its bytes are there
 *   decode workers  decode.c, gather.c: inflate and index shards; gather spans of rows into a slot's columns
 *
 * One mutex guards everything below it in struct fetch, and the windows' states. Workers sleep on `work`, the
 * main thread on `progress`. Buffers are made as the first windows need them and kept; what does not
 * fit fetch.memory_bytes, of the windows ahead as a rule, lies on disk (buffer.h).
 */
#pragma once

#include "core/base/clock.h"
#include "core/ring/ring.h"
#include "core/run/run.h"
#include "core/run/status.h"
#include "data/example.h"
#include "data/filter.h"
#include "data/order.h"
#include "data/plan.h"
#include "drivers/cache/cache.h"
#include "drivers/nic/nic.h"
#include "drivers/store/store.h"
#include "fetchd/memory/buffer.h"

#include <pthread.h>
#include <stdatomic.h>

#define FETCH_SPANS_MAX 1024u
#define PATIENCE_MS     120000u /* with a store that is away in mid-run: a restart would not bring it back */
#define IDLE_MS         1000u   /* a thread without work looks, and ticks, this often */

struct queue {
	struct shard *first, *last;
};

struct record {
	uint64_t offset; /* of the data in the shard's plain bytes */
	uint32_t bytes;
	bool bad; /* its data CRC is wrong: the row stays empty */
};

/* What shards come from, with a network thread of its own. */
struct source {
	struct fetch *fetch;
	struct store *store; /* its thread's */
	struct queue to_fetch;
	atomic_uint_fast64_t bytes_in, retries; /* what the store counted ... */
	atomic_uint_fast64_t at_once, hedged, hedges_won;
	const char *_Atomic pace; /* ... and chose; NULL = nothing */
};

/* What is indexed of a range: [first, at) of the shard are whole records, all of them good. */
struct arrival {
	struct buffer index;
	struct record *record; /* in `index` */
	uint64_t records;
	uint64_t begin, end; /* what has arrived of the shard in this range */
	uint64_t first, at;  /* ARRIVAL_NOWHERE: no record's beginning was found before `at` */
	bool over;
};
#define ARRIVAL_NOWHERE UINT64_MAX

/* One shard of a window: its bytes and where its records are. Buffers are kept from window to window. */
struct shard {
	struct window *window;
	struct source *source;
	struct plan_shard plan;
	struct store_pin pin;
	struct buffer raw, inflated, index; /* as fetched; as inflated; of its records */
	struct cache_view view;             /* of its file in the cache, or none */
	bool cached;                        /* it was not fetched */
	const uint8_t *stored;              /* as the store has it: raw, or the view's */
	const uint8_t *plain;               /* stored or inflated */
	uint64_t plain_bytes;
	struct record *record; /* in `index` */
	uint64_t records;
	struct store_request *part;
	struct arrival *arrival;                           /* of each part */
	uint64_t parts_max, parts_used, parts, parts_left; /* used: the most it has had so far */
	bool fetched_again;
	bool repinned;    /* it is not the plan's any more: `pin` and plan.bytes are the new one's */
	char sha256[65];  /* that it then must have, by the manifest; "" = none is known */
	bool lost;        /* records behind a bad length or a broken stream are left out, by policy ... */
	uint64_t lost_at; /* ... from this byte of the plain ones on */
	struct error err; /* code 0 = good */
	uint64_t bad_offset;
	atomic_uint_fast64_t left_us[STALL_STAGES]; /* when it left each stage, clock_us(); 0 = it did not */
	struct shard *next;                         /* in the queue it waits in, or among those in flight */
};

enum window_state { WINDOW_IDLE, WINDOW_LOADING, WINDOW_READY };

/* A window of one pass over a split; the pass of an evaluation is 0. */
struct place {
	enum split split;
	uint64_t pass, window;
};

struct stream;

struct window {
	const struct stream *stream;
	enum window_state state;
	struct place place;
	struct shard *shard;
	uint64_t shards, loading; /* of them, not yet indexed */
	const struct shard *last; /* the last that arrived */
	/* The shards whose records can be taken, and the index in the window of each one's first record: all
	 * at once, or with order.mode "fast" in the order in which they came. */
	uint32_t *taken;
	uint64_t *first;
	uint32_t arrived;
	uint64_t records;
	const struct shard *failed; /* NULL = none so far */
	uint64_t lost;              /* shards whose rest is left out */
	uint64_t bytes;             /* stored, inflated and index of this window's shards so far */
	uint64_t spans;             /* in flight */
	uint64_t keeps;             /* shards of it that the cache writes */
	bool eager;                 /* its shards' records can be taken before all have arrived */
	bool alone;                 /* it was loaded once more, when the stream's other one was given up */
	bool ahead;                 /* it was not in use yet when it was loaded */
	bool roomy;                 /* its buffers may be larger than what is stored */
};

/* One lane of one source: where it stands is cursor.place[place]. The window that rows are taken from and the
 * one behind it are held, and of the same pass what is read further ahead: fetch->ahead behind the first. */
#define AHEAD_LEAST 1u
#define AHEAD_MAX   31u
struct stream {
	uint32_t source, lane, place;
	bool gave_rows;   /* in this pass, as far as this process knows */
	bool expects;     /* the windows that may be read ahead later have their places */
	uint32_t windows; /* that may hold something: the first of `window` */
	struct window window[1 + AHEAD_MAX];
};

/* A slot between claim and commit. */
struct pending {
	struct ring_slot *slot;
	enum ring_kind kind;
	enum split split;
	uint64_t segment, batch, first_row;
	uint32_t rows, skipped, empty; /* empty: of lanes that have ended */
	uint32_t spans;                /* in flight */
	bool sealed, packed;           /* packed: its ragged columns, into so many bytes by feature */
	uint64_t packed_bytes[EXAMPLE_FEATURES_MAX];
	struct cursor cursor;
	struct error err; /* code 0 = good */
	uint32_t err_row;
	const char *err_key; /* NULL = none; also of a skipped record */
	uint64_t err_offset;
};

/* `count` rows of a slot come from offsets [offset, offset + count) of a window's order, or stay empty
 * without a window. */
struct span {
	struct window *window;
	struct pending *pending;
	uint64_t offset;
	const uint32_t *row; /* NULL = first, first + stride ... */
	uint32_t first, stride, count;
	uint32_t arrived; /* of the window, when it was handed out */
};

static inline uint32_t span_row(const struct span *span, uint32_t i)
{
	return span->row ? span->row[i] : span->first + i * span->stride;
}

/* All shards of the plan. */
struct extent {
	uint64_t shards, bytes, largest;
};

struct fetch {
	struct run run;
	struct plan *plan;
	struct ring *ring;
	struct nic_cores cores;
	struct example_schema schema;
	struct filter filter;
	struct extent extent;
	bool filtered, fast;  /* fast: by order.mode */
	struct budget budget; /* fetch.memory_bytes: of all windows, and the most that one may take */
	struct source source[PLAN_SOURCES_MAX];
	uint32_t sources;
	uint32_t rank, world;                    /* of several trainers' fetchds that share the run's lanes */
	struct stream stream[CURSOR_PLACES_MAX]; /* of this rank's lanes, by source, then lane */
	uint32_t streams, lanes;                 /* lanes: this rank's */

	pthread_mutex_t lock;
	pthread_cond_t work, progress, rested; /* rested: workers that may take none */
	struct queue to_decode;
	struct span span[FETCH_SPANS_MAX];
	uint64_t spans_head, spans_tail, spans; /* spans: handed out and not done */
	uint64_t unsaid, whole;        /* spans since the workers were told; slots since the producer was */
	bool discard;                  /* give up what is being fetched: another generation is wanted */
	uint32_t workers, workers_max; /* decode workers that may take work; all of them */
	uint32_t workers_begun;
	uint32_t ahead;                  /* windows of a stream behind the one in use */
	uint64_t window_most;            /* bytes: what the largest window took so far */
	uint32_t connections_max;        /* a source */
	atomic_uint_fast64_t part_bytes; /* of the newest shard's ranges */
	uint64_t listed_us;              /* what the plan took */
	const struct cursor *cursor;     /* the producer's; NULL = not yet */
	struct ring_quarantine unplaced; /* lost while rows were passed over: the next slot's */
	struct fetch_cache *cache;       /* NULL = none */
};

/* Sleep until it is signalled, or for `ms`; the lock is held. By the clock that nobody sets: a step back of
 * the time of day would hold all threads up, and the watchdog end them. */
static inline void fetch_wait(struct fetch *fetch, pthread_cond_t *which, uint32_t ms)
{
	uint64_t until_ns = clock_ns() + (uint64_t)ms * 1000000;
	struct timespec until = { .tv_sec = (time_t)(until_ns / 1000000000),
				  .tv_nsec = (long)(until_ns % 1000000000) };

	(void)pthread_cond_clockwait(which, &fetch->lock, CLOCK_MONOTONIC, &until);
}

/* plan.c: the run's plan, made and uploaded at its first start, opened and checked afterwards. */
MUST_CHECK int fetch_plan(const struct run *run, struct plan **ret_plan, struct error *err);

/* manifest.c: what manifest.jsonl and the listing disagree in becomes warnings; no manifest is fine. */
MUST_CHECK int manifest_compare(struct store *store, const struct plan *plan, uint32_t source,
				struct store_pin *ret_pin, struct error *err);
/* The SHA-256 that the manifest of this pin has for a key of so many bytes; "" = it does not say. */
MUST_CHECK int manifest_sha256(struct store *store, const struct store_pin *pin, const char *key,
			       uint64_t bytes, char ret_sha256[static 65], struct error *err);

/* changed.c: objects that are others than the plan has, by the decoders, without the lock. */
/* In the run record, when the plan is made: which manifests may vouch for an object later. */
MUST_CHECK int changed_note_manifests(const struct store_pin *pin, uint32_t sources, struct error *err);
/* Whether the shard, which failed with -ESTALE, is to be fetched once more, as what it is now. */
bool changed_repin(struct fetch *fetch, struct shard *shard);
/* It has come: whether the run may go on with it, else its error. */
void changed_check(struct fetch *fetch, struct shard *shard);

/* setup.c: schema, memory, ring, store and threads, after run, plan and cores are there. */
MUST_CHECK int fetch_setup(struct fetch *fetch, struct error *err);
MUST_CHECK int fetch_start_threads(struct fetch *fetch, struct error *err);

/* network.c */
void *network_thread(void *source);
/* Requests for any shard of the plan. Errors: -ENOMEM. */
MUST_CHECK int network_reserve(const struct fetch *fetch, struct shard *shard, struct error *err);
/* The most that a source may be asked for at once, or as many as there is to be room for beforehand: one a
 * shard of all windows that may ever be read ahead, and more where they are cut. */
uint32_t network_requests(const struct fetch *fetch);
/* Queue a shard for fetching from its source; the lock is held. */
void network_fetch(struct shard *shard);
/* All its bytes are there, or its error is: it is the decoders'. The lock is not held. */
void network_done(struct shard *shard);
void queue_append(struct queue *queue, struct shard *shard);
struct shard *queue_take(struct queue *queue); /* NULL when empty */

/* arrive.c */
/* The request for a part is about to be submitted. */
void arrival_expect(struct shard *shard, uint64_t part);
/* The indexed run that begins at this offset of the shard's plain bytes, or NULL. Offsets rise from call to
 * call; `part` begins with 0 and is kept. */
const struct arrival *arrival_at(const struct shard *shard, uint64_t offset, uint64_t *part);
/* So many parts may come soon, each with an index of so many bytes: places for them, in a new shard. */
void arrivals_place(struct shard *shard, uint64_t parts, uint64_t bytes);
uint64_t arrivals_kept_bytes(const struct shard *shard);
void arrivals_drop(struct shard *shard);

/* decode.c */
void *decode_thread(void *fetch);

/* A record and the shard it is of. */
struct window_record {
	const struct shard *shard;
	const struct record *record;
};

/* quarantine.c: what a slot leaves out, by policy; nothing where the policy is to stop. The lock is held. */
void quarantine_begin(struct fetch *fetch, struct pending *pending);
void quarantine_row(struct fetch *fetch, struct pending *pending, uint32_t row, struct window_record record);
/* What the window lost of its shards, in the slot, or with none in the next that begins. */
void quarantine_lost(struct fetch *fetch, struct pending *pending, const struct window *window);
void quarantine_seal(struct fetch *fetch, struct pending *pending);

/* gather.c */
void gather_span(struct fetch *fetch, const struct span *span);

/* stall.c: where a shard's time goes; any thread that has it. */
void shard_leaves(struct shard *shard, enum stall_stage stage);
void shard_notes_request(struct shard *shard, const struct http_times *times);
void shard_forgets(struct shard *shard);

/* cache.c, keep.c: see cache.h. */
/* Open the cache of the configuration, if there is one; what is wrong with it is a warning. */
void cache_begin(struct fetch *fetch);
MUST_CHECK int cache_start_threads(struct fetch *fetch, struct error *err);
/* Wait a little for what is still to be written. */
void cache_end(struct fetch *fetch);
/* Whether the cache is to be asked for it before its source, and may keep it. */
bool cache_takes_shard(const struct shard *shard);
/* Look it up, then queue it for its source; the lock is held. */
void cache_fetch(struct shard *shard);
/* Whether a file of the cache has its checksum. */
bool cache_shard_is_sound(const struct shard *shard);
/* Its file is damaged: remove it. The lock is not held. */
void cache_forget(struct shard *shard);
/* It is good: write it some time. The lock is held. */
void cache_keep(struct shard *shard);
/* The window is wanted for other shards; the lock is held. False: as soon as `progress` is signalled. */
bool cache_lets_go(struct window *window);
void cache_count(const struct fetch *fetch, struct status_fetchd *status);

/* stream.c: all with the lock held */
void streams_make(struct fetch *fetch);
/* The most that fetch->ahead may be: what the memory holds without the disk, and where that is not known yet
 * the least; and the reason. */
uint32_t streams_ahead_max(const struct fetch *fetch, const char **ret_reason);
/* Load what each stream needs at this cursor and behind it, as far as there is room. Errors: -ENOMEM. */
MUST_CHECK int streams_load(struct fetch *fetch, const struct cursor *cursor, struct error *err);
/* The stream's window for a place; NULL = not loaded yet. */
struct window *stream_window(struct stream *stream, struct place place);

/* window.c: with the lock held, but for window_records() and the shards' memory */
/* Start loading. Errors: -ENOMEM. A full disk is the window's failure. */
MUST_CHECK int window_load(struct fetch *fetch, struct window *window, struct place place, struct error *err);
/* The same of an eager one for what has not arrived: rows of the rest may be taken already. */
MUST_CHECK int window_load_rest(struct window *window, struct error *err);
/* One that was never loaded may be some time: room for shards like those of this one, in no account yet.
 * Errors: -ENOMEM. */
MUST_CHECK int window_expect(struct fetch *fetch, struct window *window, const struct window *like,
			     struct error *err);
/* Whether it failed as it had to spill onto a full disk: it may do better alone. */
bool window_lacks_disk(const struct window *window);
/* Whether it failed as it was read ahead, of what may pass: it is loaded once more when it is needed. */
bool window_failed_ahead(const struct window *window);
/* All of it is there, or has failed for good. */
bool window_is_whole(const struct window *window);
/* Free its memory. */
void window_drop(const struct fetch *fetch, struct window *window);
/* Room for a shard's stored bytes; none, for now; hand them over for a place that the next ones may lie in.
 * Whoever has the shard. */
MUST_CHECK int shard_reserve(struct shard *shard, struct error *err);
void shard_release(struct shard *shard);
struct buffer shard_take_raw(struct shard *shard, struct buffer place);
/* One of its shards is indexed, or has failed. */
void window_arrived(struct fetch *fetch, struct window *window, const struct shard *shard);
/* The first shard that failed, one that was given up if there is no other, or NULL. Of a window that is still
 * loading: the first that came. */
const struct shard *window_failure(const struct window *window);
/* The same, where it is not loaded once more. */
const struct shard *window_final_failure(const struct window *window);

/* records.c: a window's order, for many records of a span. */
struct window_order {
	const struct window *window;
	struct order_key key;
	struct order_permutation permutation;
	uint32_t arrived;
	bool shuffled;
};
struct window_order window_order(const struct fetch *fetch, const struct span *span);
/* The records at `first` .. first + count - 1 of it; count <= WINDOW_RECORDS_MAX. */
#define WINDOW_RECORDS_MAX ORDER_RUN_MAX
void window_records(const struct window_order *order, uint64_t first, uint32_t count,
		    struct window_record *ret_record);
/* commit.c: until the run is final. */
MUST_CHECK int fetch_run(struct fetch *fetch, struct error *err);
