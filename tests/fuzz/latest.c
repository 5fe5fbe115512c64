/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/latest.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is taken is printed, and taken again as the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct latest latest = { 0 }, again = { 0 };
	struct error err = { 0 };

	if (latest_parse("latest.json", (const char *)data, size, &latest, &err) < 0) {
		if (!*err.text)
			abort();
		return 0;
	}
	if (latest_print(&latest, &text, &err) < 0 ||
	    latest_parse("latest.json", text, strlen(text), &again, &err) < 0 || again.step != latest.step ||
	    again.bytes != latest.bytes || strcmp(again.name, latest.name) != 0 ||
	    strcmp(again.sha256, latest.sha256) != 0)
		abort();
	return 0;
}
