/* SPDX-License-Identifier: Apache-2.0 */
#include "model/unread.h"

#include "model/base/base.h"
#include "model/graph/inputs.h"
#include "model/learn/losses.h"
#include "model/learn/optimizers.h"
#include "model/learn/schedules.h"
#include "model/learn/update.h"

#include <string.h>

/* ---- Which configurations read a key ---- */

/* Returns whether a name is in a list of names that are separated by commas. Also true for a name that its
 * table lacks (`known` false), so that the keys beside it are not noted. */
static bool is_one_of(const char *list, const char *name, bool known)
{
	for (size_t bytes; known && (bytes = config_next_name(&list)) > 0; list += bytes)
		if (strlen(name) == bytes && !memcmp(name, list, bytes))
			return true;
	return !known;
}

static bool is_optimizer(const struct graph *graph, const char *list)
{
	return is_one_of(list, graph->config->optimizer.name, graph->optimizer != NULL);
}

static bool is_adam(const struct graph *graph)
{
	return is_optimizer(graph, "adam,adamw");
}

static bool has_betas(const struct graph *graph)
{
	return is_optimizer(graph, "adam,adamw,adamax,lion");
}

static bool has_epsilon(const struct graph *graph)
{
	return is_optimizer(graph, "adam,adamw,adamax,rmsprop,adagrad");
}

static bool is_rmsprop(const struct graph *graph)
{
	return is_optimizer(graph, "rmsprop");
}

static bool is_adagrad(const struct graph *graph)
{
	return is_optimizer(graph, "adagrad");
}

static bool has_momentum(const struct graph *graph)
{
	return is_optimizer(graph, "sgd,rmsprop");
}

static bool has_nesterov(const struct graph *graph)
{
	return !graph->optimizer || (is_optimizer(graph, "sgd") && graph->config->optimizer.momentum > 0);
}

static bool decays(const struct graph *graph)
{
	return !graph->optimizer || optimizer_weight_decay(graph->config, graph->optimizer) > 0;
}

static bool averages(const struct graph *graph)
{
	return graph->config->optimizer.use_ema;
}

static bool warms_up(const struct graph *graph)
{
	return graph->config->optimizer.warmup_steps > 0;
}

static bool is_schedule(const struct graph *graph, const char *list)
{
	const char *name = graph->config->optimizer.schedule;

	return is_one_of(list, name, name && schedule_find(name));
}

static bool is_step(const struct graph *graph)
{
	return is_schedule(graph, "step");
}

/* Returns whether the schedule reads optimizer.learning_rate: all except "step", which has the key
 * optimizer.values. */
static bool reads_rate(const struct graph *graph)
{
	const char *name = graph->config->optimizer.schedule;

	return !name || strcmp(name, "step") != 0;
}

static bool has_end(const struct graph *graph)
{
	return is_schedule(graph, "cosine,linear,polynomial,cosine_restarts,one_cycle");
}

static bool has_last_rate(const struct graph *graph)
{
	return is_schedule(graph, "cosine,linear,polynomial,cosine_restarts");
}

static bool is_polynomial(const struct graph *graph)
{
	return is_schedule(graph, "polynomial");
}

static bool restarts(const struct graph *graph)
{
	return is_schedule(graph, "cosine_restarts");
}

static bool is_loss(const struct graph *graph, const char *list)
{
	return is_one_of(list, graph->config->model.loss, graph->loss != NULL);
}

static bool is_huber(const struct graph *graph)
{
	return is_loss(graph, "huber");
}

static bool is_focal(const struct graph *graph)
{
	return is_loss(graph, "categorical_focal_crossentropy,binary_focal_crossentropy");
}

static bool is_binary_focal(const struct graph *graph)
{
	return is_loss(graph, "binary_focal_crossentropy");
}

static bool reads_alpha(const struct graph *graph)
{
	return is_loss(graph, "categorical_focal_crossentropy") ||
	       (is_binary_focal(graph) && graph->config->model.focal_balancing);
}

/* Returns whether there is a parameter that optimizer.lazy can change. Also true for optimizers other than
 * Adam, because another row of the table notes the key for those. */
static bool has_lazy(const struct graph *graph)
{
	if (!is_adam(graph))
		return true;
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (!graph_at(graph, graph->node[i].output)->elements)
			return true;
	for (uint32_t i = 0; i < graph->tensors; i++)
		if (graph_at(graph, i)->lazy)
			return true;
	return false;
}

static bool takes_input(const struct graph *graph)
{
	return graph_takes_input(graph->config);
}

static bool has_base(const struct graph *graph)
{
	return !graph->config->model.base || *graph->config->model.base;
}

static bool is_bert(const struct graph *graph)
{
	return !graph->config->model.base || base_reads_texts(graph->config->model.base);
}

static bool starts_from_weights(const struct graph *graph)
{
	const char *weights = graph->config->model.weights;

	return !weights || *weights;
}

static bool stops_early(const struct graph *graph)
{
	return graph->config->early_stopping.monitor != MONITOR_NONE;
}

static bool reduces(const struct graph *graph)
{
	return graph->config->reduce_on_plateau.monitor != MONITOR_NONE;
}

static bool keeps_best(const struct graph *graph)
{
	return graph->config->keep_best.monitor != MONITOR_NONE;
}

/* ---- The table ---- */

#define ADAMS    "optimizer.name = \"adam\" or \"adamw\""
#define BERT     "model.base = \"bert\""
#define BETAS    "optimizer.name = \"adam\", \"adamw\", \"adamax\" or \"lion\""
#define ENDS     "optimizer.schedule = \"cosine\", \"linear\", \"polynomial\""
#define MONITORS "one of \"loss\", \"accuracy\", \"val_loss\", \"val_accuracy\""

static const struct {
	const char *key;
	bool (*is_read)(const struct graph *graph);
	const char *reader; /* for the message: the setting with which the key would be read */
	/* NULL, or another key. If the file lacks that key, `key` counts as set even if its value is the
	 * default */
	const char *beside;
} rows[] = {
	{ "model.input", takes_input, "a layer that reads it", NULL },
	{ "model.huber_delta", is_huber, "model.loss = \"huber\"", NULL },
	{ "model.focal_gamma", is_focal, "a focal model.loss", NULL },
	{ "model.focal_alpha", reads_alpha,
	  "model.loss = \"categorical_focal_crossentropy\", or model.focal_balancing = true", NULL },
	{ "model.focal_balancing", is_binary_focal, "model.loss = \"binary_focal_crossentropy\"", NULL },
	{ "model.base_after", has_base, "model.base", NULL },
	{ "model.base_trainable", has_base, "model.base", NULL },
	{ "model.base_unfreeze_from", has_base, "model.base", NULL },
	{ "model.base_pooling", has_base, "model.base", NULL },
	{ "model.base_scaling", has_base, "model.base", NULL },
	{ "model.bert_hidden_size", is_bert, BERT, NULL },
	{ "model.bert_num_hidden_layers", is_bert, BERT, NULL },
	{ "model.bert_num_attention_heads", is_bert, BERT, NULL },
	{ "model.bert_intermediate_size", is_bert, BERT, NULL },
	{ "model.bert_vocab_size", is_bert, BERT, NULL },
	{ "model.bert_max_position_embeddings", is_bert, BERT, NULL },
	{ "model.bert_layer_norm_eps", is_bert, BERT, NULL },
	{ "model.bert_hidden_dropout_prob", is_bert, BERT, NULL },
	{ "model.bert_attention_probs_dropout_prob", is_bert, BERT, NULL },
	{ "model.weights_layers", starts_from_weights, "model.weights", NULL },
	{ "model.weights_skip_mismatch", starts_from_weights, "model.weights", NULL },
	{ "optimizer.learning_rate", reads_rate, "optimizer.schedule other than \"step\"", NULL },
	{ "optimizer.beta_1", has_betas, BETAS, NULL },
	{ "optimizer.beta_2", has_betas, BETAS, NULL },
	{ "optimizer.epsilon", has_epsilon, "optimizer.name other than \"sgd\" and \"lion\"", NULL },
	{ "optimizer.momentum", has_momentum, "optimizer.name = \"sgd\" or \"rmsprop\"", NULL },
	{ "optimizer.rho", is_rmsprop, "optimizer.name = \"rmsprop\"", NULL },
	{ "optimizer.initial_accumulator_value", is_adagrad, "optimizer.name = \"adagrad\"", NULL },
	{ "optimizer.nesterov", has_nesterov, "optimizer.name = \"sgd\" and optimizer.momentum above 0",
	  NULL },
	{ "optimizer.lazy", is_adam, ADAMS, NULL },
	{ "optimizer.lazy", has_lazy, "an embedding or embedding_bag that is not frozen", NULL },
	{ "optimizer.exclude_from_weight_decay", decays,
	  "optimizer.weight_decay above 0, or optimizer.name = \"adamw\"", NULL },
	{ "optimizer.boundaries", is_step, "optimizer.schedule = \"step\"", NULL },
	{ "optimizer.values", is_step, "optimizer.schedule = \"step\"", NULL },
	{ "optimizer.decay_steps", has_end, ENDS ", \"cosine_restarts\" or \"one_cycle\"", NULL },
	{ "optimizer.alpha", has_last_rate, ENDS " or \"cosine_restarts\"", NULL },
	{ "optimizer.power", is_polynomial, "optimizer.schedule = \"polynomial\"", NULL },
	{ "optimizer.t_mul", restarts, "optimizer.schedule = \"cosine_restarts\"", NULL },
	{ "optimizer.m_mul", restarts, "optimizer.schedule = \"cosine_restarts\"", NULL },
	{ "optimizer.warmup_from", warms_up, "optimizer.warmup_steps above 0", NULL },
	{ "optimizer.ema_momentum", averages, "optimizer.use_ema = true", "optimizer.use_ema" },
	{ "optimizer.ema_overwrite_frequency", averages, "optimizer.use_ema = true", NULL },
#define OF_MONITOR(group, key, is_read)                                               \
	{                                                                             \
		group "." key, is_read, group ".monitor, " MONITORS, group ".monitor" \
	}
	OF_MONITOR("early_stopping", "mode", stops_early),
	OF_MONITOR("early_stopping", "patience", stops_early),
	OF_MONITOR("early_stopping", "min_delta", stops_early),
	OF_MONITOR("early_stopping", "restore_best", stops_early),
	OF_MONITOR("reduce_on_plateau", "mode", reduces),
	OF_MONITOR("reduce_on_plateau", "factor", reduces),
	OF_MONITOR("reduce_on_plateau", "patience", reduces),
	OF_MONITOR("reduce_on_plateau", "min_delta", reduces),
	OF_MONITOR("reduce_on_plateau", "cooldown", reduces),
	OF_MONITOR("reduce_on_plateau", "min_lr", reduces),
	OF_MONITOR("keep_best", "mode", keeps_best),
};

void unread_check(const struct graph *graph, struct mistakes *mistakes)
{
	const struct config *config = graph->config;
	char value[CONFIG_VALUE_BYTES];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!rows[i].is_read(graph) && config_asks(config, rows[i].key, rows[i].beside, value))
			mistakes_add(mistakes, config_line(config, rows[i].key),
				     "%s: found %s, which nothing reads, allowed: with %s", rows[i].key,
				     value, rows[i].reader);
}
