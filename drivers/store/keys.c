/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/visible.h"
#include "drivers/store/backend.h"

#include <fnmatch.h>
#include <string.h>

/* ---- What both backends use ---- */

size_t store_glob_literal(const char *glob)
{
	return glob ? strcspn(glob, "*?[\\") : 0;
}

bool store_glob_matches(const char *glob, const char *key)
{
	return !glob || fnmatch(glob, key, 0) == 0;
}

const char *store_key_text(const char *key, char out[static STORE_KEY_TEXT])
{
	return visible(key, out, STORE_KEY_TEXT);
}
