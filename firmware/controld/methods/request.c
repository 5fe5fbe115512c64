/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/methods/request.h"

int request_state(enum run_state wanted, struct run_want *ret_want, struct error *err)
{
	int r = run_want_get(ret_want, err);

	if (r < 0 || ret_want->state == wanted)
		return r;
	ret_want->state = wanted;
	ret_want->seq++;
	return run_want_set(ret_want, err);
}

int request_checkpoint(struct run_want *ret_want, struct error *err)
{
	int r = run_want_get(ret_want, err);

	if (r < 0)
		return r;
	ret_want->checkpoint_seq++;
	ret_want->seq++;
	return run_want_set(ret_want, err);
}
