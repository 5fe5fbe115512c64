/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to the whole box: each is one word to kiln-steer, which starts a unit. */
#include "controld/controld.h"

static int start(struct call *call, const char *word, struct error *err)
{
	call->result = cJSON_CreateObject();
	return cJSON_AddTrueToObject(call->result, "started") ? steer_say(call, word, NULL, err)
							      : error_set(err, -ENOMEM, "no memory");
}

int method_factory_reset(struct call *call, struct error *err)
{
	return start(call, "factory.reset", err);
}

int method_power_off(struct call *call, struct error *err)
{
	return start(call, "power.off", err);
}
