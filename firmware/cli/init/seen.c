/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/init/seen.h"

#include <string.h>

/* In the order in which they are looked for. */
static const char *const usual[] = { "label", "image/class/label", "labels", "target", "class", "y" };

static uint32_t named(const struct seen *seen, const char *name)
{
	uint32_t i = 0;

	while (i < seen->features && strcmp(seen->feature[i].name, name) != 0)
		i++;
	return i;
}

int seen_find_label(struct seen *seen, const char *label, struct error *err)
{
	char names[512] = "";

	seen->label = seen->features;
	for (size_t i = 0; !label && seen->label == seen->features && i < sizeof(usual) / sizeof(usual[0]);
	     i++)
		seen->label = named(seen, usual[i]);
	if (label)
		seen->label = named(seen, label);
	if (seen->label < seen->features) {
		seen->feature[seen->label].use = SEEN_LABEL;
		return 0;
	}
	for (uint32_t i = 0;
	     i < seen->features && strlen(names) + CONFIG_FEATURE_NAME_BYTES + 2 < sizeof(names); i++) {
		(void)strcat(names, i ? ", " : "");
		(void)strcat(names, seen->feature[i].name);
	}
	return error_set(err, -EINVAL, "found no label%s%s; --label names one of the features: %s",
			 label ? " " : "", label ? label : "", names);
}
