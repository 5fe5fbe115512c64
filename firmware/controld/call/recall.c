/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/call/recall.h"

#include <string.h>

/* Prints the digest of the method and of the parameters, whose members stand in the order in which the client
 * sent them. Parameters may be a whole kiln.conf, so the table holds a digest. Without memory the digest is
 * "", which equals no other. */
static void digest_request(const struct control_request *request, char out[static DIGEST_HEX_BYTES])
{
	CLEANUP(free_ptr) char *params = cJSON_PrintUnformatted(request->params);
	CLEANUP(free_ptr) char *text = NULL;
	int bytes = params ? asprintf(&text, "%s %s", request->method->name, params) : -1;

	*out = '\0';
	if (bytes >= 0)
		digest_sha256(text, (size_t)bytes, out);
	else
		text = NULL;
}

int recall_find(const struct recall *recall, uint64_t caller, const struct control_request *request,
		cJSON **ret_result, struct error *err)
{
	char digest[DIGEST_HEX_BYTES];

	for (size_t i = 0; i < RECALL_MAX; i++) {
		const struct recalled *done = &recall->done[i];

		if (!done->result || done->caller != caller || strcmp(done->key, request->key) != 0)
			continue;
		digest_request(request, digest);
		if (!*digest || strcmp(digest, done->request) != 0)
			return error_set(err, -EINVAL, "%s: \"idempotency_key\" was used for another request",
					 request->method->name);
		*ret_result = cJSON_Duplicate(done->result, true);
		return 1;
	}
	return 0;
}

bool recall_is_same(uint64_t caller, const struct control_request *request, uint64_t other_caller,
		    const struct control_request *other)
{
	char digest[DIGEST_HEX_BYTES], others[DIGEST_HEX_BYTES];

	if (!request->key || !other->key || caller != other_caller || strcmp(request->key, other->key) != 0)
		return false;
	digest_request(request, digest);
	digest_request(other, others);
	return *digest && strcmp(digest, others) == 0;
}

void recall_add(struct recall *recall, uint64_t caller, const struct control_request *request,
		const cJSON *result)
{
	struct recalled *done = &recall->done[recall->next++ % RECALL_MAX];

	cJSON_Delete(done->result);
	done->result = cJSON_Duplicate(result, true);
	(void)snprintf(done->key, sizeof(done->key), "%s", request->key);
	done->caller = caller;
	digest_request(request, done->request);
}

void recall_done(struct recall *recall)
{
	for (size_t i = 0; i < RECALL_MAX; i++)
		cJSON_Delete(TAKE(recall->done[i].result));
}
