/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client/call.h"

#include "cli/base/say.h"
#include "cli/client/result.h"

#include <stdlib.h>
#include <string.h>

const struct verb_option call_options[] = {
	{ .name = "json", .help = "print the whole answer as JSON" },
	{ 0 },
};

/* Makes the JSON value of a parameter from the option's text. Returns NULL where memory is short. */
static cJSON *value_of(const struct verb_option *option, const char *text)
{
	switch (option->value) {
	case VERB_FLAG:
		return cJSON_CreateTrue();
	case VERB_NUMBER:
		return cJSON_CreateNumber((double)strtoull(text, NULL, 10));
	default:
		return json_string(text);
	}
}

static bool is_param(const struct control_method *method, const char *name)
{
	for (const struct control_param *param = method->params; param->name; param++)
		if (strcmp(param->name, name) == 0)
			return true;
	return method->acts && strcmp(control_key.name, name) == 0;
}

static int add_options(const struct arguments *arguments, const struct control_method *method, cJSON *params)
{
	struct verb_option option;
	char word[VERB_WORD_BYTES];

	for (uint32_t i = 0; verb_option_at(arguments->verb, i, &option); i++) {
		const char *text = arguments->value[i];

		if (!option.of_method || !text)
			continue;
		if (!is_param(method, option.name))
			return cli_usage(arguments->name, "%s is not expected here",
					 verb_option_word(&option, word));
		if (!cJSON_AddItemToObject(params, option.name, value_of(&option, text)))
			return CLI_ERROR;
	}
	return CLI_OK;
}

static int add_operand(const struct arguments *arguments, const struct control_method *method, cJSON *params)
{
	const char *text = arguments_operand(arguments, 0), *name = arguments->verb->positional;

	if (!text || !name || !is_param(method, name))
		return CLI_OK;
	if (cJSON_HasObjectItem(params, name) || !*text)
		return cli_usage(arguments->name, "\"%s\" is not expected here", text);
	return cJSON_AddItemToObject(params, name, json_string(text)) ? CLI_OK : CLI_ERROR;
}

int call_params(const struct arguments *arguments, const char *method_name, cJSON **ret_params)
{
	const struct control_method *method = control_method_find(method_name);
	CLEANUP(json_free) cJSON *params = cJSON_CreateObject();
	int r = add_options(arguments, method, params);

	if (r == CLI_OK)
		r = add_operand(arguments, method, params);
	if (r == CLI_OK)
		*ret_params = TAKE(params);
	return r;
}

int call_run(const struct arguments *arguments, const char *method, int (*print)(const cJSON *result))
{
	CLEANUP(json_free) cJSON *params = NULL, *result = NULL;
	struct error err = { 0 };
	int r = call_params(arguments, method, &params);

	if (r != CLI_OK)
		return r;
	if (client_ask(method, TAKE(params), &result, &err) < 0)
		return client_error(&err);
	if (arguments_have(arguments, "json"))
		return client_print_json(result);
	json_visible(result);
	return print(result);
}
