/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/box.h"

void box_done(struct box *box)
{
	cJSON_Delete(TAKE(box->errors));
	free(TAKE(box->metrics.dir));
}
