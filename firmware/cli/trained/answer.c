/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trained/answer.h"
#include "core/base/visible.h"
#include "core/run/dataset.h"
#include "model/learn/losses.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct answers answers_of(const struct config *config, uint64_t outputs)
{
	const struct loss *loss = loss_find(config->model.loss);

	return (struct answers){ .outputs = outputs, .numbers = loss && loss->kind == METRICS_NUMBERS };
}

static bool is_binary(const struct answers *answers)
{
	return answers->outputs == 1 && !answers->numbers;
}

static uint64_t classes_of(const struct answers *answers)
{
	return is_binary(answers) ? 2 : answers->outputs;
}

static double probability_of(const struct answers *answers, const float *output, uint64_t class)
{
	if (is_binary(answers))
		return class ? (double)output[0] : 1 - (double)output[0];
	return (double)output[class];
}

/* Returns the class with the largest probability; the first one where several classes have this
 * probability. */
static uint64_t class_of(const struct answers *answers, const float *output)
{
	uint64_t best = 0;

	for (uint64_t i = 1; i < classes_of(answers); i++)
		if (probability_of(answers, output, i) > probability_of(answers, output, best))
			best = i;
	return best;
}

const char *answer_class(const struct answers *answers, uint64_t class,
			 char number[static ANSWER_NUMBER_BYTES])
{
	const char *name = dataset_class(answers->dataset, class);

	if (!name && answers->encoder && class < text_encoder_classes(answers->encoder))
		name = text_encoder_class(answers->encoder, (uint32_t) class);
	if (name && classes_of(answers) == 2 && strcmp(name, "neg") == 0)
		return "negative";
	if (name && classes_of(answers) == 2 && strcmp(name, "pos") == 0)
		return "positive";
	if (name)
		return name;
	(void)snprintf(number, ANSWER_NUMBER_BYTES, "%" PRIu64, class);
	return number;
}

const char *answer_class_text(const struct answers *answers, uint64_t class,
			      char out[static ANSWER_CLASS_BYTES])
{
	char number[ANSWER_NUMBER_BYTES];

	return visible(answer_class(answers, class, number), out, ANSWER_CLASS_BYTES);
}

static int check_finite(const struct answers *answers, const float *output, struct error *err)
{
	for (uint64_t i = 0; i < answers->outputs; i++)
		if (!isfinite(output[i]))
			return error_set(err, -EDOM, "output %" PRIu64 " of the network is %g", i,
					 (double)output[i]);
	return 0;
}

int answer_print(const struct answers *answers, const float *output, const char *what, struct error *err)
{
	const uint64_t class = class_of(answers, output);
	char name[ANSWER_CLASS_BYTES];
	int r = check_finite(answers, output, err);

	if (r < 0)
		return r;
	if (!answers->numbers)
		printf("%-12s %.4f  ", answer_class_text(answers, class, name),
		       probability_of(answers, output, class));
	for (uint64_t i = 0; answers->numbers && i < answers->outputs; i++)
		printf("%.7g %s", (double)output[i], i + 1 == answers->outputs ? " " : "");
	visible_print(what, stdout);
	(void)putchar('\n');
	return 0;
}

static void add_numbers(const struct answers *answers, const float *output, cJSON *object)
{
	cJSON *all;

	if (answers->outputs == 1) {
		cJSON_AddNumberToObject(object, "value", (double)output[0]);
		return;
	}
	all = cJSON_AddArrayToObject(object, "values");
	for (uint64_t i = 0; i < answers->outputs; i++)
		cJSON_AddItemToArray(all, cJSON_CreateNumber((double)output[i]));
}

int answer_json(const struct answers *answers, const float *output, cJSON *object, struct error *err)
{
	const uint64_t class = class_of(answers, output);
	char number[ANSWER_NUMBER_BYTES];
	cJSON *all;
	int r = check_finite(answers, output, err);

	if (r < 0)
		return r;
	if (answers->numbers) {
		add_numbers(answers, output, object);
		return 0;
	}
	json_add_u64(object, "class", class);
	cJSON_AddStringToObject(object, "label", answer_class(answers, class, number));
	cJSON_AddNumberToObject(object, "probability", probability_of(answers, output, class));
	all = cJSON_AddObjectToObject(object, "probabilities");
	for (uint64_t i = 0; i < classes_of(answers); i++)
		cJSON_AddNumberToObject(all, answer_class(answers, i, number),
					probability_of(answers, output, i));
	return 0;
}

/* ---- The classes with the largest probabilities ---- */

/* Writes the classes, the largest probability first; of equal ones the class with the smaller number. Returns
 * their count. */
static uint64_t top_of(const struct answers *answers, const float *output, uint64_t most,
		       uint64_t ret_class[static ANSWER_TOP_MAX])
{
	uint64_t count = 0;

	for (uint64_t class = 0; class < classes_of(answers); class ++) {
		uint64_t at = count;

		while (at > 0 && probability_of(answers, output, class) >
					 probability_of(answers, output, ret_class[at - 1]))
			at--;
		if (at == most)
			continue;
		count += count < most;
		memmove(&ret_class[at + 1], &ret_class[at], (count - at - 1) * sizeof(ret_class[0]));
		ret_class[at] = class;
	}
	return count;
}

int answer_print_top(const struct answers *answers, const float *output, uint64_t most, const char *what,
		     struct error *err)
{
	uint64_t class[ANSWER_TOP_MAX];
	char name[ANSWER_CLASS_BYTES];
	int r = check_finite(answers, output, err);

	if (r < 0)
		return r;
	visible_print(what, stdout);
	(void)putchar(':');
	for (uint64_t i = 0; answers->numbers && i < answers->outputs; i++)
		printf(" %.7g", (double)output[i]);
	for (uint64_t i = 0, top = answers->numbers ? 0 : top_of(answers, output, most, class); i < top; i++)
		printf("%s %s %.4f", i ? "," : "", answer_class_text(answers, class[i], name),
		       probability_of(answers, output, class[i]));
	(void)putchar('\n');
	return 0;
}

void answer_top_json(const struct answers *answers, const float *output, uint64_t most, cJSON *object)
{
	uint64_t class[ANSWER_TOP_MAX];
	char number[ANSWER_NUMBER_BYTES];
	cJSON *list;

	if (answers->numbers)
		return;
	list = cJSON_AddArrayToObject(object, "top");
	for (uint64_t i = 0, top = top_of(answers, output, most, class); i < top; i++) {
		cJSON *item = cJSON_CreateObject();

		cJSON_AddStringToObject(item, "label", answer_class(answers, class[i], number));
		cJSON_AddNumberToObject(item, "probability", probability_of(answers, output, class[i]));
		cJSON_AddItemToArray(list, item);
	}
}
