/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client/call.h"

#include "cli/base/say.h"
#include "cli/client/result.h"

#include <string.h>

static cJSON *value_of(const struct control_param *param, const char *text)
{
	unsigned long long number;
	char *end;

	if (param->type != CONTROL_INTEGER)
		return json_string(text);
	errno = 0;
	number = strtoull(text, &end, 10);
	return errno || *end || end == text || *text == '-' || number > 9007199254740992u
		       ? NULL
		       : cJSON_CreateNumber((double)number);
}

static const struct control_param *param_of(const struct control_method *method, const char *name)
{
	static const struct control_param key = { "idempotency_key", CONTROL_NAME, false, 1,
						  CONTROL_KEY_MAX,   NULL,         "" };

	for (const struct control_param *param = method->params; name && param->name; param++)
		if (strcmp(param->name, name) == 0)
			return param;
	return name && method->acts && strcmp(name, key.name) == 0 ? &key : NULL;
}

static void usage(const char *verb, const struct control_method *method, const char *positional, bool json)
{
	printf("Usage: kiln %s%s%s%s%s\n\n%s.\n\n", verb, positional ? " [" : "",
	       positional ? positional : "", positional ? "]" : "",
	       method->params[0].name || json ? " [OPTION...]" : "", method->help);
	control_help(method, stdout);
	if (method->acts)
		printf("  %-22s the same key acts once\n", "--idempotency_key KEY");
	if (json)
		printf("  %-22s the answer as it is\n", "--json");
	printf("\nMethod %s, role %s.\n", method->name, control_role_name(method->role));
}

int client_arguments(int argc, char **argv, const char *method_name, const char *positional,
		     cJSON **ret_params, bool *ret_json)
{
	const struct control_method *method = control_method_find(method_name);
	CLEANUP(json_free) cJSON *params = cJSON_CreateObject();

	for (int i = 1; i < argc; i++) {
		const char *name = strncmp(argv[i], "--", 2) == 0 ? argv[i] + 2 : NULL;
		const struct control_param *param = param_of(method, name ? name : positional);
		const char *text = argv[i];
		cJSON *value = NULL;

		if (name && strcmp(name, "help") == 0) {
			usage(argv[0], method, positional, ret_json != NULL);
			return -1;
		}
		if (name && ret_json && strcmp(name, "json") == 0) {
			*ret_json = true;
			continue;
		}
		if (!param || cJSON_HasObjectItem(params, param->name) || *argv[i] == '\0')
			return cli_usage(argv[0], "\"%s\" is not expected here", argv[i]);
		if (param->type == CONTROL_BOOLEAN)
			value = cJSON_CreateTrue();
		else if (!name || i + 1 < argc)
			value = value_of(param, name ? (text = argv[++i]) : text);
		if (!value || !cJSON_AddItemToObject(params, param->name, value))
			return cli_usage(argv[0], "%s: found \"%s\", expected another value", argv[i], text);
	}
	*ret_params = TAKE(params);
	return CLI_OK;
}

bool client_flag(int *argc, char **argv, const char *flag)
{
	int kept = 1;

	for (int i = 1; i < *argc; i++)
		if (strcmp(argv[i], flag) != 0)
			argv[kept++] = argv[i];
	if (kept == *argc)
		return false;
	*argc = kept;
	return true;
}

int client_verb(int argc, char **argv, const char *method, const char *positional,
		int (*print)(const cJSON *result))
{
	CLEANUP(json_free) cJSON *params = NULL, *result = NULL;
	struct error err = { 0 };
	bool json = false;
	int r = client_arguments(argc, argv, method, positional, &params, &json);

	if (r != CLI_OK)
		return r < 0 ? CLI_OK : r;
	if (client_ask(method, TAKE(params), &result, &err) < 0)
		return client_error(&err);
	return json ? client_print_json(result) : print(result);
}
