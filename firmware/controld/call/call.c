/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/call/call.h"

struct call *call_new(struct calls *calls, struct box *box, call_answer_fn *answer, void *client)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->calls = calls;
	call->box = box;
	call->answer = answer;
	call->client = client;
	return call;
}

void call_free(struct call *call)
{
	if (call->job)
		call->leave(call->job);
	control_request_done(&call->request);
	cJSON_Delete(call->result);
	free(call);
}

void call_end(struct call *call, int r, struct error *err)
{
	if (r == 0 && call->request.key && call->request.method->acts)
		recall_add(&call->calls->recall, call->caller, &call->request, call->result);
	if (call->client)
		call->answer(call->client, call, r, err);
	call_free(call);
}

int call_result_true(struct call *call, const char *name, struct error *err)
{
	call->result = cJSON_CreateObject();
	return cJSON_AddTrueToObject(call->result, name) ? 0 : call_no_memory(err);
}
