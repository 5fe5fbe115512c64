/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/controld.h"

#include <string.h>

/* Of method and parameters, members in the order the client sent them: what is kept must be small. "" without
 * memory, which is equal to nothing. */
static void digest_request(const struct call *call, char out[static DIGEST_HEX_BYTES])
{
	CLEANUP(free_ptr) char *params = cJSON_PrintUnformatted(call->request.params);
	CLEANUP(free_ptr) char *text = NULL;
	int bytes = params ? asprintf(&text, "%s %s", call->request.method->name, params) : -1;

	*out = '\0';
	if (bytes >= 0)
		digest_sha256(text, (size_t)bytes, out);
	else
		text = NULL;
}

int recall_find(const struct recall *recall, const struct call *call, cJSON **ret_result, struct error *err)
{
	char request[DIGEST_HEX_BYTES];

	for (size_t i = 0; i < RECALL_MAX; i++) {
		const struct recalled *done = &recall->done[i];

		if (!done->result || done->caller != call->caller ||
		    strcmp(done->key, call->request.key) != 0)
			continue;
		digest_request(call, request);
		if (!*request || strcmp(request, done->request) != 0)
			return error_set(err, -EINVAL, "%s: \"idempotency_key\" was used for another request",
					 call->request.method->name);
		*ret_result = cJSON_Duplicate(done->result, true);
		return 1;
	}
	return 0;
}

bool recall_is_same(const struct call *call, const struct call *other)
{
	char request[DIGEST_HEX_BYTES], others[DIGEST_HEX_BYTES];

	if (!call->request.key || !other->request.key || call->caller != other->caller ||
	    strcmp(call->request.key, other->request.key) != 0)
		return false;
	digest_request(call, request);
	digest_request(other, others);
	return *request && strcmp(request, others) == 0;
}

void recall_keep(struct recall *recall, const struct call *call)
{
	struct recalled *done = &recall->done[recall->next++ % RECALL_MAX];

	cJSON_Delete(done->result);
	done->result = cJSON_Duplicate(call->result, true);
	(void)snprintf(done->key, sizeof(done->key), "%s", call->request.key);
	done->caller = call->caller;
	digest_request(call, done->request);
}

void recall_done(struct recall *recall)
{
	for (size_t i = 0; i < RECALL_MAX; i++)
		cJSON_Delete(TAKE(recall->done[i].result));
}
