/* SPDX-License-Identifier: Apache-2.0 */
#include "import/keras/training.h"

#include "import/keras/layer.h"
#include "model/learn/losses.h"
#include "model/learn/optimizers.h"

#include <string.h>

#define NAME_BYTES 64u

/* Returns the name of a loss, a metric or an optimizer, which is a string or an object with a class. NULL: it
 * is none of Keras's own. */
static const char *name_of(const cJSON *value, char out[static NAME_BYTES])
{
	static const char *const short_names[][2] = {
		{ "mse", "mean_squared_error" }, { "mae", "mean_absolute_error" },
		{ "kld", "kl_divergence" },      { "logcosh", "log_cosh" },
		{ "adam_w", "adamw" },           { "rm_sprop", "rmsprop" },
	};
	const char *name = cJSON_IsString(value) ? value->valuestring : keras_text(value, "class_name");

	if (name && strcmp(name, "function") == 0)
		name = keras_text(value, "config");
	else if (cJSON_IsObject(value) && !keras_own(value))
		return NULL;
	if (!name)
		return NULL;
	(void)keras_small(name, out, NAME_BYTES);
	for (size_t i = 0; i < sizeof(short_names) / sizeof(*short_names); i++)
		if (strcmp(out, short_names[i][0]) == 0)
			(void)snprintf(out, NAME_BYTES, "%s", short_names[i][1]);
	return out;
}

/* Returns the number with the fewest digits that is the same float32, in which Keras keeps it: 0.001, and not
 * 0.0010000000474974513. */
static double short_number(double number)
{
	char text[40];
	int digits = 1;

	do
		(void)snprintf(text, sizeof(text), "%.*g", digits, number);
	while (strtof(text, NULL) != (float)number && ++digits < 10);
	return strtod(text, NULL);
}

/* Adds the keys of a config to a group of kiln.conf. `names`: pairs of Keras's and Kiln's names, ended by
 * NULL. A value that is given, and has no place in Kiln, becomes a note. */
static void take_keys(struct network *network, const char *what, const cJSON *config,
		      const char *const (*names)[2], cJSON *group)
{
	const cJSON *value;

	cJSON_ArrayForEach(value, config) {
		size_t i = 0;

		if (!value->string)
			continue;
		while (names[i][0] && strcmp(names[i][0], value->string) != 0)
			i++;
		if (!names[i][0] && !cJSON_IsNull(value) && !cJSON_IsFalse(value))
			network_note(network, "not taken over: %s of %s", value->string, what);
		else if (names[i][0] && names[i][1] && cJSON_IsNumber(value))
			network_must(cJSON_AddNumberToObject(group, names[i][1],
							     short_number(value->valuedouble)));
		else if (names[i][0] && names[i][1] && cJSON_IsTrue(value))
			network_must(cJSON_AddTrueToObject(group, names[i][1]));
		else if (names[i][0] && names[i][1] && cJSON_IsObject(value))
			network_note(network, "not taken over: %s of %s, which changes from step to step",
				     value->string, what);
	}
}

static void take_optimizer(const cJSON *value, struct network *network)
{
	static const char *const names[][2] = {
		{ "name", NULL },
		{ "learning_rate", "learning_rate" },
		{ "weight_decay", "weight_decay" },
		{ "clipnorm", "clipnorm" },
		{ "global_clipnorm", "global_clipnorm" },
		{ "clipvalue", "clipvalue" },
		{ "use_ema", "use_ema" },
		{ "ema_momentum", NULL },
		{ "ema_overwrite_frequency", "ema_overwrite_frequency" },
		{ "gradient_accumulation_steps", "gradient_accumulation_steps" },
		{ "beta_1", "beta_1" },
		{ "beta_2", "beta_2" },
		{ "epsilon", "epsilon" },
		{ "momentum", "momentum" },
		{ "nesterov", "nesterov" },
		{ "rho", "rho" },
		{ "initial_accumulator_value", "initial_accumulator_value" },
		{ NULL, NULL },
	};
	const cJSON *config = cJSON_GetObjectItemCaseSensitive(value, "config");
	const cJSON *ema = keras_get(config, "ema_momentum");
	char name[NAME_BYTES];

	if (!name_of(value, name) || !optimizer_find(name)) {
		network_note(network, "not taken over: the optimizer %s; adam is there in its place",
			     name_of(value, name) ? name : "that is none of Keras's own");
		return;
	}
	network_must(cJSON_AddStringToObject(network->optimizer, "name", name));
	take_keys(network, "the optimizer", config, names, network->optimizer);
	if (cJSON_IsTrue(keras_get(config, "use_ema")) && cJSON_IsNumber(ema))
		network_must(cJSON_AddNumberToObject(network->optimizer, "ema_momentum", ema->valuedouble));
}

/* Adds the layer that the loss expects of Kiln's network and computes itself in Keras. */
static void add_last(struct network *network, const struct loss *loss)
{
	char name[NETWORK_NAME_BYTES];
	const char *before = network->layer[network->layers - 1].name;

	if (!loss->output_op)
		return;
	network_read(network_add(network, loss->output_op, network_name(network, loss->output_op, name),
				 "the loss from_logits", NULL),
		     before);
	network_note(network,
		     "the loss is from_logits: the layer %s follows the network, so the output is "
		     "probabilities",
		     name);
}

static void take_loss(const cJSON *value, struct network *network)
{
	static const char *const names[][2] = {
		{ "name", NULL },
		{ "reduction", NULL },
		{ "from_logits", NULL },
		{ "axis", NULL },
		{ "dtype", NULL },
		{ "fn", NULL },
		{ "label_smoothing", "label_smoothing" },
		{ "delta", "huber_delta" },
		{ "gamma", "focal_gamma" },
		{ "alpha", "focal_alpha" },
		{ "apply_class_balancing", "focal_balancing" },
		{ NULL, NULL },
	};
	const cJSON *config = cJSON_GetObjectItemCaseSensitive(value, "config");
	char name[NAME_BYTES];
	const struct loss *loss = name_of(value, name) ? loss_find(name) : NULL;

	if (!loss) {
		network_note(network,
			     "not taken over: the loss %s; one that fits the last layer is there in its "
			     "place",
			     name_of(value, name) ? name : "that is none of Keras's own");
		return;
	}
	if (loss->output_op && !cJSON_IsTrue(keras_get(config, "from_logits")) &&
	    strcmp(network_last_op(network), loss->output_op) != 0) {
		network_note(
			network,
			"not taken over: the loss %s, which Kiln has behind %s, and the last layer is %s; "
			"one that fits is there in its place",
			name, loss->output_op, network_last_op(network));
		return;
	}
	network_must(cJSON_AddStringToObject(network->model, "loss", name));
	if (!cJSON_IsObject(config))
		return;
	take_keys(network, "the loss", config, names, network->model);
	if (cJSON_IsTrue(keras_get(config, "from_logits")))
		add_last(network, loss);
}

/* Tells whether kiln.conf can have one more top_k: one number, beside a loss of classes. */
static bool has_place_for_top_k(const struct network *network)
{
	const char *name = keras_text(network->model, "loss");
	const struct loss *loss = name ? loss_find(name) : NULL;

	return loss && loss->kind != METRICS_NUMBERS && !cJSON_HasObjectItem(network->model, "top_k");
}

static void take_metric(const cJSON *value, struct network *network)
{
	char name[NAME_BYTES];
	const cJSON *k = keras_get(cJSON_GetObjectItemCaseSensitive(value, "config"), "k");

	if (!name_of(value, name)) {
		network_note(network, "not taken over: a metric that is none of Keras's own");
		return;
	}
	if (strstr(name, "top_k") && cJSON_IsNumber(k) && has_place_for_top_k(network))
		cJSON_AddItemToObject(network->model, "top_k", network_must(cJSON_Duplicate(k, false)));
	else if (strstr(name, "top_k") || (!strstr(name, "accuracy") && strcmp(name, "acc") != 0))
		network_note(network, "not taken over: the metric %s; kiln evaluate prints Kiln's metrics",
			     name);
}

void keras_training_read(const cJSON *compile, struct network *network)
{
	static const char *const others[] = { "loss_weights", "weighted_metrics" };
	const cJSON *metric, *metrics = keras_get(compile, "metrics");

	if (!compile)
		return;
	if (keras_get(compile, "optimizer"))
		take_optimizer(keras_get(compile, "optimizer"), network);
	if (keras_get(compile, "loss"))
		take_loss(keras_get(compile, "loss"), network);
	cJSON_ArrayForEach(metric, metrics)
		take_metric(metric, network);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (cJSON_GetArraySize(keras_get(compile, others[i])) > 0)
			network_note(network, "not taken over: %s", others[i]);
}
