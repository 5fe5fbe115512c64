/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/names.h"

#include <string.h>

bool name_is_parameter(const char *name)
{
	return strncmp(name, "optimizer/", 10) != 0 && strncmp(name, "state/", 6) != 0;
}
