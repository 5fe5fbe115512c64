/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/controld.h"

#include <string.h>

/* The parameters as text; members in the order the client sent them. */
static char *params_of(const struct call *call)
{
	return call->request.params ? cJSON_PrintUnformatted(call->request.params) : strdup("{}");
}

int recall_find(const struct recall *recall, const struct call *call, cJSON **ret_result, struct error *err)
{
	CLEANUP(free_ptr) char *params = NULL;

	for (size_t i = 0; i < RECALL_MAX; i++) {
		const struct recalled *done = &recall->done[i];

		if (!done->method || done->caller != call->caller ||
		    strcmp(done->key, call->request.key) != 0)
			continue;
		params = params_of(call);
		if (done->method != call->request.method || !params || strcmp(params, done->params) != 0)
			return error_set(err, -EINVAL, "%s: \"idempotency_key\" was used for another request",
					 call->request.method->name);
		*ret_result = cJSON_Duplicate(done->result, true);
		return 1;
	}
	return 0;
}

static void forget(struct recalled *done)
{
	free(done->params);
	cJSON_Delete(done->result);
	*done = (struct recalled){ 0 };
}

void recall_keep(struct recall *recall, const struct call *call)
{
	struct recalled *done = &recall->done[recall->next++ % RECALL_MAX];

	forget(done);
	done->params = params_of(call);
	done->result = cJSON_Duplicate(call->result, true);
	if (!done->params || !done->result) {
		forget(done);
		return;
	}
	(void)snprintf(done->key, sizeof(done->key), "%s", call->request.key);
	done->caller = call->caller;
	done->method = call->request.method;
}

void recall_done(struct recall *recall)
{
	for (size_t i = 0; i < RECALL_MAX; i++)
		forget(&recall->done[i]);
}
