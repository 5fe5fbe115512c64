/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/box.h"

void box_done(struct box *box)
{
	cJSON_Delete(TAKE(box->errors));
	run_rows_done(&box->run_rows);
	free(TAKE(box->metrics.dir));
}
