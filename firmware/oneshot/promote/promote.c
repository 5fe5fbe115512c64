/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/promote.h"

#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/run/later.h"
#include "core/run/spool.h"
#include "core/series/objective.h"
#include "core/series/series.h"
#include "drivers/notify/notify.h"
#include "model/config_text.h"
#include "model/learn/objective.h"
#include "oneshot/promote/ask.h"
#include "oneshot/promote/branches.h"
#include "oneshot/promote/install.h"
#include "oneshot/promote/merge.h"
#include "oneshot/promote/outcome.h"
#include "oneshot/promote/request.h"
#include "oneshot/promote/rollback.h"
#include "oneshot/promote/take_back.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#define LOCK_FILE      "promote.lock" /* a file in PATH_RUNS */
#define JUDGEMENTS_MAX 3u

struct promoting {
	struct promote_request request;
	bool requested; /* a person asked; else the night did */
	struct winner winner;
	struct merge merge;
	struct store *models; /* the champions of the branch merged into */
	struct champion champion;
	struct promotion promotion;
};

static void done(struct promoting *promoting)
{
	winner_done(&promoting->winner);
	store_close(promoting->models);
	champion_done(&promoting->champion);
	json_free(&promoting->promotion.test);
}

/* Returns whether an error says that this model, as it is, cannot be judged or copied, however often it is
 * tried. */
static bool is_refusal(int r)
{
	return r == -EAGAIN || r == -EINVAL || r == -EDOM || r == -ENOENT || r == -ENODATA || r == -EBADMSG ||
	       r == -ESTALE;
}

/* ---- The two models ---- */

/* Opens the model and the champion, and compares them. */
static int compare(const struct promoting *promoting, const struct judge_wish *wish,
		   struct judgement *ret_judgement, struct error *err)
{
	const struct winner *winner = &promoting->winner;
	CLEANUP(trained_done)
	struct trained model = { .name = winner->run_id, .where = promoting->merge.from };
	CLEANUP(trained_done) struct trained champion = { .where = promoting->merge.into };
	CLEANUP(free_ptr) char *text = NULL, *url = NULL;
	char key[64];
	int r;

	model.options = champion.options =
		(struct config_store){ .endpoint = "", .region = "", .credential = "", .ca_file = "" };
	(void)snprintf(key, sizeof(key), "kiln/%" PRIu64 "/model.safetensors", promoting->champion.number);
	if (asprintf(&url, "%s/%s", store_url(promoting->models), key) < 0)
		return error_set(err, -ENOMEM, "no memory for a name");
	champion.name = url;
	champion.sha256 = champion_sha256(&promoting->champion, key);
	/* The stores of this configuration may be read, and no others that a model names. */
	if ((r = config_print(&winner->config, &text, err)) < 0 ||
	    (r = config_text_load(text, &model.given, err)) < 0)
		return r;
	model.any_given = model.unattended = champion.unattended = true;
	if ((r = trained_load(&model, err)) < 0 || (r = trained_load(&champion, err)) < 0)
		return r;
	return judge(&model, &champion, wish, ret_judgement, err);
}

static void describe(const struct judgement *judgement, const struct judge_wish *wish,
		     const struct champion *champion, char *out, size_t size)
{
	const struct paired *paired = &judgement->paired;
	const double ours = wish->accuracy ? judgement->model.accuracy : judgement->model.loss;
	const double theirs = wish->accuracy ? judgement->champion.accuracy : judgement->champion.loss;

	(void)snprintf(out, size,
		       "%s %.6g on %" PRIu64
		       " records of the test, the champion's (%s) %.6g, gain %.4g (95 %%: "
		       "%.4g .. %.4g, p = %.3g)",
		       wish->accuracy ? "accuracy" : "loss", ours, paired->rows, champion->run_id, theirs,
		       paired->gain, paired->low, paired->high, paired->p);
}

/* Decides by the test. */
static int judge_both(struct promoting *promoting, struct error *err)
{
	const struct config *config = &promoting->winner.config;
	const struct judge_wish wish = { .accuracy = objective_row(objective_of(config))->maximize,
					 .maximize = objective_maximizes(config) };
	struct promotion *promotion = &promoting->promotion;
	struct judgement judgement;
	char figures[768];
	int r = compare(promoting, &wish, &judgement, err);

	if (r < 0)
		return r;
	promotion->test =
		outcome_test(&judgement, &wish, config->promote.min_gain, promoting->champion.run_id);
	if (!promotion->test)
		return error_set(err, -ENOMEM, "no memory for the outcome of a test");
	describe(&judgement, &wish, &promoting->champion, figures, sizeof(figures));
	promotion->outcome = OUTCOME_KEPT;
	if (!paired_holds(&judgement.paired))
		(void)snprintf(promotion->why, sizeof(promotion->why), "%s: no gain that holds", figures);
	else if (judgement.paired.gain < config->promote.min_gain)
		(void)snprintf(promotion->why, sizeof(promotion->why), "%s: less than promote.min_gain %.4g",
			       figures, config->promote.min_gain);
	else {
		promotion->outcome = OUTCOME_PROMOTED;
		(void)snprintf(promotion->why, sizeof(promotion->why), "%s", figures);
	}
	return 0;
}

static int decide(struct promoting *promoting, struct error *err)
{
	const struct champion *champion = &promoting->champion;
	struct promotion *promotion = &promoting->promotion;
	const char *why = NULL;

	if (!champion->record)
		why = "there was no champion";
	else if (promoting->request.force)
		why = "a person promoted it without a test";
	else if (promoting->winner.config.promote.against == AGAINST_NOTHING)
		why = "promote.against asks for no test";
	if (!why)
		return judge_both(promoting, err);
	promotion->outcome = OUTCOME_PROMOTED;
	(void)snprintf(promotion->why, sizeof(promotion->why), "%s", why);
	return 0;
}

/* ---- Promotion ---- */

/* Returns 1 where another champion was merged meanwhile. */
static int install(struct promoting *promoting, struct error *err)
{
	const struct winner *winner = &promoting->winner;
	struct promotion *promotion = &promoting->promotion;
	const struct installing installing = { .winner = winner,
					       .merge = &promoting->merge,
					       .champion = &promoting->champion,
					       .promotion = promotion };
	int r;

	promotion->unmerged = promoting->merge.branches;
	if ((r = merge_begin(winner, &promoting->merge, err)) < 0 ||
	    (r = merge_refresh(winner, &promoting->merge, err)) < 0 ||
	    (r = install_model(&installing, err)) != 0)
		return r;
	promotion->put = true;
	if ((r = outcome_put(promotion, winner, &promoting->champion, &promoting->merge, err)) < 0 ||
	    (r = merge_promote(winner, &promoting->merge, promotion->number, promotion->at_s, err)) < 0)
		return r;
	champion_track(&winner->config, promoting->models, winner->run_id, promotion->number);
	return 0;
}

/* Ends a judgement after which the champion stays. */
static int keep(struct promoting *promoting, struct error *err)
{
	int r;

	promoting->promotion.at_s = time(NULL);
	if ((r = merge_keep_begin(&promoting->winner, &promoting->merge, err)) != 0)
		return r < 0 ? r : 0;
	if ((r = outcome_put(&promoting->promotion, &promoting->winner, &promoting->champion,
			     &promoting->merge, err)) < 0)
		return r;
	return merge_keep(&promoting->winner, &promoting->merge, err);
}

/* Notes that the model is the champion already: a promotion was killed before it could note its outcome. */
static int note_again(struct promoting *promoting, struct error *err)
{
	const struct champion *champion = &promoting->champion;
	const cJSON *test = cJSON_GetObjectItemCaseSensitive(champion->record, "test");

	promoting->promotion.outcome = OUTCOME_PROMOTED;
	promoting->promotion.number = champion->number;
	promoting->promotion.at_s = champion_promoted_s(champion);
	promoting->promotion.test = cJSON_IsObject(test) ? cJSON_Duplicate(test, true) : NULL;
	(void)snprintf(promoting->promotion.why, sizeof(promoting->promotion.why),
		       "it is the champion already");
	champion_track(&promoting->winner.config, promoting->models, champion->run_id, champion->number);
	promoting->merge.merged = true;
	return merge_promote(&promoting->winner, &promoting->merge, champion->number,
			     promoting->promotion.at_s, err);
}

/* Judges against the champion of the branch merged into. Returns 1 where another one was merged meanwhile. */
static int judge_once(struct promoting *promoting, struct error *err)
{
	int r;

	champion_done(&promoting->champion);
	json_free(&promoting->promotion.test);
	if ((r = champion_get(promoting->models, &promoting->champion, err)) < 0)
		return r;
	if (promoting->champion.record && strcmp(promoting->champion.run_id, promoting->winner.run_id) == 0)
		return note_again(promoting, err);
	notify_status("judging %s", promoting->winner.run_id);
	r = decide(promoting, err);
	if (r < 0)
		return r;
	return promoting->promotion.outcome == OUTCOME_PROMOTED ? install(promoting, err)
								: keep(promoting, err);
}

static int judge_and_install(struct promoting *promoting, struct error *err)
{
	const struct winner *winner = &promoting->winner;
	int r;

	if ((r = merge_open(winner, &promoting->merge, err)) < 0 ||
	    (r = champion_store(&winner->config, &promoting->merge.into, &promoting->models, err)) < 0)
		return r;
	for (uint32_t i = 0; i < JUDGEMENTS_MAX; i++) {
		if ((r = judge_once(promoting, err)) <= 0)
			return r;
		log_notice("%s: another champion was promoted meanwhile, judging again", winner->run_id);
	}
	return error_set(err, -EBUSY, "%s: others promote champions all the time", winner->run_id);
}

/* Returns whether the night's model asks for no promotion, or has its outcome already. `r`: what finding it
 * returned. A box without a run, and a series that goes on, ask for none either. */
static bool is_settled(const struct promoting *promoting, int r)
{
	const struct winner *winner = &promoting->winner;

	if (promoting->requested || (r < 0 && !is_refusal(r)))
		return false;
	return r == -EAGAIN || outcome_is_noted(winner->series, winner->record) ||
	       winner->config.promote.against == AGAINST_OFF;
}

/* Deletes the branches that are not kept. Those that have to wait go after the uploads. */
static int clean_up(const struct winner *winner, struct error *err)
{
	int r = branches_delete(winner, err);

	return r > 0 ? later_note(LATER_JUDGE, err) : r;
}

static int refuse(struct promoting *promoting, const struct error *why)
{
	promoting->promotion.outcome = OUTCOME_REFUSED;
	promoting->promotion.number = 0;
	promoting->promotion.at_s = time(NULL);
	(void)snprintf(promoting->promotion.why, sizeof(promoting->promotion.why), "%.1000s", why->text);
	take_back(&promoting->promotion, &promoting->winner, &promoting->champion, &promoting->merge);
	return 0;
}

/* Returns whether the outcome belongs in the records: a run that goes on has none yet, and a request that
 * names no model says nothing of its series. `r`: what finding the model returned. */
static bool has_outcome(const struct promoting *promoting, int r)
{
	return r != -EAGAIN && (promoting->winner.record || !promoting->requested);
}

/* Notes the outcome; then the branches that are not kept go. */
static int note(struct promoting *promoting, struct error *err)
{
	int r = outcome_note(&promoting->promotion, &promoting->winner, &promoting->champion,
			     &promoting->merge, err);

	return r < 0 ? r : clean_up(&promoting->winner, err);
}

static int promote(struct promoting *promoting, struct error *err)
{
	int r = winner_find(&promoting->request, &promoting->winner, err);

	bool noted = has_outcome(promoting, r);

	if (is_settled(promoting, r)) {
		r = clean_up(&promoting->winner, err);
		return r < 0 ? r : EX_OK;
	}
	if (r == 0)
		r = judge_and_install(promoting, err);
	if (r < 0 && (is_refusal(r) || (r == -EPERM && promoting->promotion.unmerged)))
		r = refuse(promoting, err);
	if (r < 0)
		return r;
	outcome_say(&promoting->promotion, &promoting->winner);
	if (noted)
		r = note(promoting, err);
	if (r < 0)
		return r;
	return promoting->promotion.outcome == OUTCOME_REFUSED ? EX_DATAERR : EX_OK;
}

/* ---- The verb ---- */

/* Does what is requested. The request is over at the end, whatever came of it: who asked has the answer, and
 * asks again. */
static int answer(int argc, char **argv, bool *ret_requested, struct error *err)
{
	CLEANUP(done) struct promoting promoting = { .requested = true };
	struct error later = { 0 };
	int r = request_read(argc, argv, &promoting.request, err);

	*ret_requested = r != 0;
	if (r == 0)
		return EX_OK;
	if (r == 1)
		r = promoting.request.rollback ? rollback(&promoting.request, err) : promote(&promoting, err);
	if (promote_request_remove(&later) < 0 && r >= 0) {
		*err = later;
		return later.code;
	}
	return r;
}

/* Returns whether files of the current run are not in the store yet: then the night asks later. */
static bool is_uploading(void)
{
	CLEANUP(run_done) struct run run = { 0 };

	return run_load(&run, NULL) == 0 && spool_has(run.id);
}

/* Judges the night's own model. */
static int judge_night(struct error *err)
{
	CLEANUP(done) struct promoting promoting = { 0 };

	return promote(&promoting, err);
}

/* Returns whether the night's model is to be judged later, because waiting may help. `r`: what judging it
 * returned. */
static bool is_to_repeat(int r, const struct error *err)
{
	return r < 0 && error_exit_code(err) == EX_UNAVAILABLE;
}

/* A start that the night made while a request was at work is one with it, so the night's own model follows.
 */
static int run(int argc, char **argv, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	struct error later = { 0 }, again;
	bool requested;
	char path[PATH_BYTES];
	int r, night = EX_OK;

	if ((r = path_make(path_of(PATH_RUNS, NULL, path), err)) < 0 ||
	    (r = file_lock(path_of(PATH_RUNS, LOCK_FILE, path), &lock, err)) < 0)
		return r;
	later_forget(LATER_JUDGE);
	r = answer(argc, argv, &requested, err);
	if (!requested || (promote_is_due() && !is_uploading()))
		night = judge_night(&later);
	if (is_to_repeat(night, &later) && later_note(LATER_JUDGE, &again) < 0)
		log_warning("%s; the model of this night is judged after the next boot", again.text);
	if (night >= 0)
		return requested ? r : night;
	if (r >= 0)
		*err = later;
	else
		log_warning("%s", later.text);
	return err->code;
}

int oneshot_promote(int argc, char **argv)
{
	struct error err = { 0 };
	int r = run(argc, argv, &err);

	return r < 0 ? fatal(&err) : r;
}
