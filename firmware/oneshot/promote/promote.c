/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/promote.h"

#include "core/base/events.h"
#include "core/base/paths.h"
#include "core/base/program.h"
#include "core/base/version.h"
#include "core/series/objective.h"
#include "core/series/series.h"
#include "drivers/notify/notify.h"
#include "model/config_text.h"
#include "model/learn/objective.h"
#include "oneshot/promote/copies.h"
#include "oneshot/promote/outcome.h"
#include "oneshot/promote/rollback.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#define LOCK_FILE "promote.lock" /* in PATH_RUNS */

struct promoting {
	struct promote_request request;
	bool requested; /* a person asked; else the night did */
	struct winner winner;
	struct store *models;
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

/* Returns whether an error says that this model cannot be judged or copied, however often it is tried. */
static bool is_refusal(int r)
{
	return r == -EINVAL || r == -EDOM || r == -ENOENT || r == -ENODATA || r == -EBADMSG || r == -ESTALE;
}

/* ---- The two models ---- */

/* Opens the model and the champion, and compares them. */
static int compare(const struct promoting *promoting, const struct judge_wish *wish,
		   struct judgement *ret_judgement, struct error *err)
{
	const struct winner *winner = &promoting->winner;
	CLEANUP(trained_done)
	struct trained model = { .name = winner->run_id, .where = winner->config.sink };
	CLEANUP(trained_done) struct trained champion = { .where = winner->config.sink };
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
	model.any_given = true;
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

/* ---- The champion's record ---- */

static bool add_lost(cJSON *record, const struct promoting *promoting)
{
	const struct winner *winner = &promoting->winner;
	cJSON *lost = cJSON_AddArrayToObject(record, "lost");
	bool done = lost;

	for (uint32_t i = 0; done && winner->series && i < series_trials(winner->series); i++) {
		const char *name = cJSON_GetStringValue(
			cJSON_GetObjectItemCaseSensitive(series_trial(winner->series, i), "name"));

		if (name && strcmp(name, winner->trial) != 0)
			done = cJSON_AddItemToArray(lost, cJSON_CreateString(name));
	}
	if (done && promoting->champion.record)
		done = cJSON_AddItemToArray(lost, cJSON_CreateString(promoting->champion.run_id));
	return done;
}

static bool add_copy(cJSON *record, const char *key, const cJSON *item)
{
	return cJSON_AddItemToObject(record, key, item ? cJSON_Duplicate(item, true) : cJSON_CreateNull());
}

static int make_record(const struct promoting *promoting, const struct copies *copies, cJSON **ret_record,
		       struct error *err)
{
	const struct winner *winner = &promoting->winner;
	CLEANUP(json_free) cJSON *record = cJSON_CreateObject();
	int r;

	if (!json_add_u64(record, "version", CHAMPION_VERSION) ||
	    !cJSON_AddStringToObject(record, "name", winner->config.run.name) ||
	    !json_add_u64(record, "number", copies->number) ||
	    !cJSON_AddStringToObject(record, "kiln_version", KILN_VERSION) ||
	    !cJSON_AddStringToObject(record, "run_id", winner->run_id) ||
	    !cJSON_AddStringToObject(record, "series", winner_series(winner)) ||
	    !cJSON_AddStringToObject(record, "trial", winner->trial) ||
	    !json_add_u64(record, "promoted_s", (uint64_t)time(NULL)) ||
	    !add_copy(record, "metrics", cJSON_GetObjectItemCaseSensitive(winner->record, "metrics")) ||
	    !add_copy(record, "test", promoting->promotion.test) || !add_lost(record, promoting) ||
	    !json_add_u64(record, "before", promoting->champion.record ? promoting->champion.number : 0))
		return error_set(err, -ENOMEM, "no memory for the record of a champion");
	r = copies_json(copies, record, err);
	if (r == 0)
		*ret_record = TAKE(record);
	return r;
}

/* ---- Promotion ---- */

static int open_model_folder(const struct winner *winner, struct store **ret_store, struct error *err)
{
	const struct store_options options = store_options_of(&winner->config);
	struct config_store where = winner->config.sink;
	const size_t length = strlen(where.url);
	char url[PATH_BYTES];

	(void)snprintf(url, sizeof(url), "%s%s%s/model", where.url,
		       length && where.url[length - 1] == '/' ? "" : "/", winner->run_id);
	where.url = url;
	return store_open(&where, &options, ret_store, err);
}

static int install(struct promoting *promoting, struct error *err)
{
	CLEANUP(store_closep) struct store *model = NULL;
	CLEANUP(copies_done) struct copies copies = { 0 };
	CLEANUP(json_free) cJSON *record = NULL;
	uint64_t number;
	int r;

	notify_status("copying %s", promoting->winner.run_id);
	if ((r = open_model_folder(&promoting->winner, &model, err)) < 0 ||
	    (r = champion_take_number(promoting->models, &promoting->champion, promoting->winner.run_id,
				      &number, err)) < 0 ||
	    (r = copies_of_run(model, number, &copies, err)) < 0 ||
	    (r = copies_make(&copies, model, promoting->models, err)) < 0 ||
	    (r = make_record(promoting, &copies, &record, err)) < 0 ||
	    (r = champion_put(promoting->models, record, number, err)) < 0)
		return r;
	promoting->promotion.number = number;
	champion_track(&promoting->winner.config, promoting->models, promoting->winner.run_id, number);
	return 0;
}

/* Notes that the model is the champion already: a promotion was killed before it could note its outcome. */
static int note_again(struct promoting *promoting)
{
	const struct champion *champion = &promoting->champion;
	const cJSON *test = cJSON_GetObjectItemCaseSensitive(champion->record, "test");

	promoting->promotion.outcome = OUTCOME_PROMOTED;
	promoting->promotion.number = champion->number;
	promoting->promotion.test = cJSON_IsObject(test) ? cJSON_Duplicate(test, true) : NULL;
	(void)snprintf(promoting->promotion.why, sizeof(promoting->promotion.why),
		       "it is the champion already");
	champion_track(&promoting->winner.config, promoting->models, champion->run_id, champion->number);
	return 0;
}

static int judge_and_install(struct promoting *promoting, struct error *err)
{
	const struct winner *winner = &promoting->winner;
	int r;

	if ((r = champion_store(&winner->config, &promoting->models, err)) < 0 ||
	    (r = champion_get(promoting->models, &promoting->champion, err)) < 0)
		return r;
	if (promoting->champion.record && strcmp(promoting->champion.run_id, winner->run_id) == 0)
		return note_again(promoting);
	notify_status("judging %s", winner->run_id);
	r = decide(promoting, err);
	if (r < 0 || promoting->promotion.outcome != OUTCOME_PROMOTED)
		return r;
	return install(promoting, err);
}

/* Returns whether the night's model asks for no promotion, or has its outcome already. `r`: what finding it
 * returned. A box without a run, and a series that goes on, ask for none either. */
static bool is_settled(const struct promoting *promoting, int r)
{
	const struct winner *winner = &promoting->winner;
	const cJSON *settled = winner->series ? cJSON_GetObjectItemCaseSensitive(winner->series, "promotion")
					      : cJSON_GetObjectItemCaseSensitive(winner->record, "promotion");

	if (promoting->requested || (r < 0 && r != -EAGAIN && !is_refusal(r)))
		return false;
	return r == -EAGAIN || cJSON_IsObject(settled) || winner->config.promote.against == AGAINST_OFF;
}

static int refuse(struct promoting *promoting, const struct error *why)
{
	promoting->promotion.outcome = OUTCOME_REFUSED;
	promoting->promotion.number = 0;
	(void)snprintf(promoting->promotion.why, sizeof(promoting->promotion.why), "%.1000s", why->text);
	return 0;
}

static int promote(struct promoting *promoting, struct error *err)
{
	int r = winner_find(&promoting->request, &promoting->winner, err);

	if (is_settled(promoting, r))
		return EX_OK;
	if (r == 0)
		r = judge_and_install(promoting, err);
	if (r < 0 && is_refusal(r))
		r = refuse(promoting, err);
	if (r == 0)
		r = outcome_note(&promoting->promotion, &promoting->winner, &promoting->champion, err);
	if (r < 0)
		return r;
	return promoting->promotion.outcome == OUTCOME_REFUSED ? EX_DATAERR : EX_OK;
}

/* ---- The verb ---- */

static bool same_words(const struct promote_request *a, const struct promote_request *b)
{
	return a->rollback == b->rollback && a->force == b->force && strcmp(a->series, b->series) == 0 &&
	       strcmp(a->trial, b->trial) == 0;
}

/* Reads what is requested: by the arguments or by the file. Arguments that are those of the file go on with
 * it. Returns 1, or 0 where nothing is requested. */
static int read_request(int argc, char **argv, struct promote_request *ret_request, struct error *err)
{
	const char *series = program_option(argc, argv, "--series"),
		   *trial = program_option(argc, argv, "--trial");
	struct promote_request given = { .rollback = program_option(argc, argv, "--rollback"),
					 .force = program_option(argc, argv, "--force") };
	int r = promote_request_get(ret_request, err);

	if (r < 0 || (!series && !trial && !given.rollback && !given.force))
		return r;
	(void)snprintf(given.series, sizeof(given.series), "%s", series ? series : "");
	(void)snprintf(given.trial, sizeof(given.trial), "%s", trial ? trial : "");
	if (r == 1 && same_words(&given, ret_request))
		return 1;
	*ret_request = given;
	r = promote_request_put(&given, err);
	return r < 0 ? r : 1;
}

static int run(int argc, char **argv, struct error *err)
{
	CLEANUP(done) struct promoting promoting = { 0 };
	CLEANUP(close_fd) int lock = -1;
	char path[PATH_BYTES];
	int r;

	if ((r = path_make(path_of(PATH_RUNS, NULL, path), err)) < 0 ||
	    (r = file_lock(path_of(PATH_RUNS, LOCK_FILE, path), &lock, err)) < 0 ||
	    (r = read_request(argc, argv, &promoting.request, err)) < 0)
		return r;
	promoting.requested = r == 1;
	r = promoting.request.rollback ? rollback(&promoting.request, err) : promote(&promoting, err);
	if (r >= 0 && promoting.requested && promote_request_remove(err) < 0)
		return err->code;
	return r;
}

int oneshot_promote(int argc, char **argv)
{
	struct error err = { 0 };
	int r = run(argc, argv, &err);

	return r < 0 ? fatal(&err) : r;
}
