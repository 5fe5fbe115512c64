/* SPDX-License-Identifier: Apache-2.0 */
/* The methods on the whole box: each sends one word to kiln-steer, which starts a unit. */
#include "controld/call/steer.h"
#include "controld/methods/methods.h"

static int start(struct call *call, const char *word, struct error *err)
{
	int r = call_result_true(call, "started", err);

	return r < 0 ? r : steer_say(call, word, NULL, err);
}

int method_factory_reset(struct call *call, struct error *err)
{
	return start(call, "factory.reset", err);
}

int method_power_off(struct call *call, struct error *err)
{
	return start(call, "power.off", err);
}
