/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/objective.h"

#include "core/series/objective.h"
#include "model/learn/losses.h"

static bool has_accuracy(const struct config *config)
{
	const struct loss *loss = config->model.loss ? loss_find(config->model.loss) : NULL;

	return !loss || loss->kind != METRICS_NUMBERS;
}

enum config_objective objective_of(const struct config *config)
{
	if (config->promote.objective != OBJECTIVE_AUTO)
		return (enum config_objective)config->promote.objective;
	return has_accuracy(config) ? OBJECTIVE_VALIDATION_ACCURACY : OBJECTIVE_VALIDATION_LOSS;
}

const char *objective_text(const struct config *config)
{
	return objective_row(objective_of(config))->name;
}

bool objective_maximizes(const struct config *config)
{
	return config->promote.direction == MODE_MAX ||
	       (config->promote.direction == MODE_AUTO && objective_row(objective_of(config))->maximize);
}

static bool has_test(const struct config *config)
{
	for (uint32_t i = 0; i < config->sources; i++)
		if (!config->source[i].test_glob || *config->source[i].test_glob)
			return true;
	return false;
}

/* Returns what a run lacks, and so cannot have the metric; NULL: nothing. */
static const char *lack(const struct config *config, enum config_objective objective)
{
	const struct objective *row = objective_row(objective);
	const bool train = objective < OBJECTIVE_VALIDATION_LOSS,
		   validation = config->split.by == SPLIT_BY_PREFIX || config->split.validation_percent > 0;

	if (row->maximize && !has_accuracy(config))
		return "a loss that has an accuracy";
	if (row->test && !has_test(config))
		return "test shards: split.test_glob";
	if (row->test && config->series.method == METHOD_HALVING && config_has_trials(config))
		return "series.method \"grid\" or \"random\": a rung of \"halving\" has no test";
	if (!row->test && !train && !validation)
		return "validation shards: split.validation_percent";
	return NULL;
}

void objective_check(const struct config *config, struct mistakes *mistakes)
{
	const char *lacks = lack(config, objective_of(config));

	if (lacks && (config->promote.objective != OBJECTIVE_AUTO || config_has_trials(config)))
		mistakes_add(mistakes, config_line(config, "promote.objective"),
			     "promote.objective: found \"%s\", allowed with %s", objective_text(config),
			     lacks);
	if (config->promote.against == AGAINST_CHAMPION && !has_test(config))
		mistakes_add(
			mistakes, config_line(config, "promote.against"),
			"promote.against: found \"champion\", allowed with test shards, on which both are "
			"judged: split.test_glob");
}
