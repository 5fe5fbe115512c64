/* SPDX-License-Identifier: Apache-2.0 */
#include "core/control/control.h"

#include <stddef.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

/* The input is a role, then a line. A request is accepted only if it fits its row of the table, or refused
 * with a sentence; in both cases the answer is one whole line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free_ptr) char *answer = NULL;
	CLEANUP(json_free) cJSON *json = NULL;
	struct control_request request;
	enum control_code code = 0;
	struct error err = { 0 };
	enum control_role role;
	int r;

	if (size == 0)
		return 0;
	role = (enum control_role)(data[0] % CONTROL_ROLE_MAX);
	r = control_request_parse((const char *)data + 1, size - 1, role, &request, &code, &err);
	must((r < 0) == (*err.text != '\0') && (r < 0) == (code != 0));
	must(!request.id || !request.gets_no_answer);
	if (r == 0) {
		must((request.id || request.gets_no_answer) && control_role_may(role, request.method->role) &&
		     (!request.key || request.method->acts));
		for (const struct control_param *param = request.method->params; param->name; param++)
			if (param->type == CONTROL_INTEGER) {
				uint64_t value = control_integer(&request, param->name, param->min);

				must(value >= param->min && value <= param->max);
			} else if (param->type == CONTROL_LIST) {
				const cJSON *list = control_list(&request, param->name), *item;

				must(cJSON_IsArray(list) && cJSON_GetArraySize(list) >= (int)param->min &&
				     cJSON_GetArraySize(list) <= (int)param->max);
				cJSON_ArrayForEach(item, list)
					must(cJSON_IsString(item));
			} else if (param->type != CONTROL_BOOLEAN && param->required) {
				must(control_text(&request, param->name, NULL) != NULL);
			}
		answer = control_reply(request.id, cJSON_CreateObject());
	} else {
		answer = control_reply_error(request.id, code, err.text);
	}
	must(answer && strchr(answer, '\n') == answer + strlen(answer) - 1);
	must(json_parse("answer", answer, strlen(answer), &json, NULL) == 0);
	control_request_done(&request);
	return 0;
}
