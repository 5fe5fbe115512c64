/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/plan/seen.h"

#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"

#include <inttypes.h>
#include <string.h>

/* What an earlier run knew of a shard. */
enum known {
	KNOWN_NOTHING,
	KNOWN_OTHERWISE, /* another object under the same key: it may have held the same records */
	KNOWN_TRAINED,   /* it trained on it */
	KNOWN_MAX,
};

/* The shards of one split, of which an earlier run may have trained on some. */
struct seen {
	enum split split;
	const char *member; /* name of the member of run.json that gets the result */
	enum known *shard;  /* by number of the shard, over all sources */
	uint64_t count[KNOWN_MAX];
	char found[KNOWN_MAX][RUN_ID_BYTES]; /* the newest run that knew one of them so */
};

#define SEEN_SPLITS 2u

struct search {
	struct store *sink;
	const struct plan *plan;
	struct seen seen[SEEN_SPLITS];
};

/* ---- One earlier run ---- */

static enum known known_of(const struct plan *earlier, const struct plan_shard *shard)
{
	enum known known = KNOWN_NOTHING;

	for (uint32_t i = 0; i < plan_settings_of(earlier)->sources; i++)
		for (enum split split = SPLIT_TRAIN; split < SPLIT_MAX; split++) {
			struct plan_shard then;
			uint64_t index;

			if (!plan_find(earlier, i, split, shard->key, &index))
				continue;
			then = plan_shard(earlier, i, split, index);
			if (then.bytes != shard->bytes || strcmp(then.etag, shard->etag) != 0)
				known = KNOWN_OTHERWISE;
			else if (split == SPLIT_TRAIN)
				return KNOWN_TRAINED;
		}
	return known;
}

static void compare(struct seen *seen, const struct plan *plan, const char *id, const struct plan *earlier)
{
	uint64_t number = 0;

	for (uint32_t source = 0; source < plan_settings_of(plan)->sources; source++)
		for (uint64_t i = 0; i < plan_source_shards(plan, source, seen->split); i++, number++) {
			const struct plan_shard shard = plan_shard(plan, source, seen->split, i);
			const enum known known = known_of(earlier, &shard), before = seen->shard[number];

			if (known <= before)
				continue;
			seen->shard[number] = known;
			seen->count[before] -= before != KNOWN_NOTHING;
			seen->count[known]++;
			if (!*seen->found[known])
				(void)snprintf(seen->found[known], sizeof(seen->found[known]), "%s", id);
		}
}

/* Tells whether an error is about the objects of an earlier run. Everybody who may write into the sink's
 * bucket can replace them, and this run does not need them. */
static bool is_of_the_past(int r)
{
	return r == -ENOENT || r == -EBADMSG || r == -EFBIG || r == -E2BIG || r == -ENOSPC || r == -ESTALE;
}

/* Compares with the plan of a run. Returns 1, or 0 where the store has no plan of the run that can be read.
 */
static int look_at(struct search *search, const char *id, struct error *err)
{
	CLEANUP(plan_closep) struct plan *earlier = NULL;
	char key[STORE_KEY_MAX], path[PATH_BYTES];
	int r;

	(void)snprintf(key, sizeof(key), "%s/plan", id);
	r = store_get_file(search->sink, key, path_of(PATH_RUN, "plan.earlier", path), PLAN_FILE_MAX, err);
	if (r == 0)
		r = plan_open(path, &earlier, err);
	(void)unlink(path);
	if (is_of_the_past(r)) {
		log_info("%s: whether its training shards validate now is not known: %s", id, err->text);
		return 0;
	}
	for (uint32_t i = 0; r == 0 && i < SEEN_SPLITS; i++)
		compare(&search->seen[i], search->plan, id, earlier);
	return r < 0 ? r : 1;
}

/* Finds the run that a run started from; "" where there is none, or its record cannot be read. */
static int start_of(struct store *sink, const char *id, char ret_id[static RUN_ID_BYTES], struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char key[STORE_KEY_MAX];
	struct run run = { 0 };
	uint64_t bytes;
	int r;

	(void)snprintf(key, sizeof(key), "%s/run.json", id);
	if ((r = store_get_all(sink, key, RUN_JSON_MAX, &text, &bytes, err)) == 0)
		r = run_parse(key, text, bytes, &run, err);
	(void)snprintf(ret_id, RUN_ID_BYTES, "%s", run.start_run);
	return is_of_the_past(r) ? 0 : r;
}

/* ---- All of them ---- */

/* The run that the weights are from: start_run or, with model.weights = "<run id>/...", below the sink or as
 * a URL below it, that run. "" = from none that the sink could have. */
static void first_run(const struct run *run, char ret_id[static RUN_ID_BYTES])
{
	const char *name = run->config.model.weights, *url = run->config.sink.url;
	const size_t length = strlen(url);
	size_t id;

	(void)snprintf(ret_id, RUN_ID_BYTES, "%s", run->start_run);
	if (*ret_id || !*run->weights_sha256)
		return;
	if (strncmp(name, url, length) == 0 && (name[length] == '/' || (length && url[length - 1] == '/')))
		name += length + (name[length] == '/');
	id = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
	if (name[id] == '/' && id > 0 && id < RUN_ID_BYTES)
		(void)snprintf(ret_id, RUN_ID_BYTES, "%.*s", (int)id, name);
}

static int look_back(struct search *search, const struct run *run, struct error *err)
{
	char id[RUN_ID_BYTES], before[RUN_ID_BYTES];
	int r;

	first_run(run, id);
	for (uint32_t i = 0; *id && i < SEEN_RUNS_MAX; i++) {
		if ((r = look_at(search, id, err)) <= 0)
			return r;
		if ((r = start_of(search->sink, id, before, err)) < 0)
			return r;
		memcpy(id, before, sizeof(id));
	}
	return 0;
}

static int report(const struct seen *seen, const struct search *search, const struct run *run,
		  struct error *err)
{
	const uint64_t shards = plan_shards(search->plan, seen->split), trained = seen->count[KNOWN_TRAINED],
		       replaced = seen->count[KNOWN_OTHERWISE];
	const char *split = split_name(seen->split),
		   *id = seen->found[trained ? KNOWN_TRAINED : KNOWN_OTHERWISE];
	char note[RUN_ID_BYTES + 160];

	if (trained + replaced == 0)
		return 0;
	event_send(&(struct event){ .id = seen->split == SPLIT_TEST ? EVENT_TEST_SEEN : EVENT_VALIDATION_SEEN,
				    .run_id = run->id,
				    .count = trained + replaced },
		   trained ? "%s trained on %" PRIu64 " of the %" PRIu64
			     " %s shards, and this run starts from its weights: the %s's figures are too good"
			   : "this run starts from the weights of %s, and %" PRIu64 " of the %" PRIu64
			     " %s shards were replaced since: they may hold records on which it trained, and "
			     "then the %s's figures are too good",
		   id, trained ? trained : replaced, shards, split, split);
	(void)snprintf(note, sizeof(note),
		       "{\"%s\":{\"run\":\"%s\",\"shards\":%" PRIu64 ",\"replaced\":%" PRIu64
		       ",\"of\":%" PRIu64 "}}",
		       seen->member, id, trained, replaced, shards);
	return run_note(note, err);
}

static void search_done(struct search *search)
{
	for (uint32_t i = 0; i < SEEN_SPLITS; i++)
		free(search->seen[i].shard);
}

int seen_note(const struct run *run, struct store *sink, const struct plan *plan, struct error *err)
{
	CLEANUP(search_done)
	struct search search = {
		.sink = sink,
		.plan = plan,
		.seen = { { .split = SPLIT_VALIDATION, .member = "validation_seen" },
			  { .split = SPLIT_TEST, .member = "test_seen" } },
	};
	int r = 0;

	for (uint32_t i = 0; i < SEEN_SPLITS; i++) {
		const uint64_t shards = plan_shards(plan, search.seen[i].split);

		search.seen[i].shard = calloc(shards + 1, sizeof(enum known));
		if (!search.seen[i].shard)
			return error_set(err, -ENOMEM, "no memory for %" PRIu64 " shards", shards);
	}
	if (plan_shards(plan, SPLIT_VALIDATION) + plan_shards(plan, SPLIT_TEST) > 0)
		r = look_back(&search, run, err);
	for (uint32_t i = 0; r == 0 && i < SEEN_SPLITS; i++)
		r = report(&search.seen[i], &search, run, err);
	return r;
}
