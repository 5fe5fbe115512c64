/* SPDX-License-Identifier: Apache-2.0 */
/* A condition of order.filter, a NUL, and a record that it judges. */
#include "data/filter.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t bytes = strnlen((const char *)data, size), after = bytes < size ? bytes + 1 : size;
	/* Memory that ends with the text, so that a read beyond it is seen. */
	char *text = strndup((const char *)data, bytes);
	struct error err = { 0 };
	struct filter filter;
	int r;

	if (!text)
		abort();
	if (filter_parse(text, &filter)) {
		if (!filter.terms || filter.terms > FILTER_TERMS_MAX || filter.nodes < filter.terms)
			abort();
		for (uint32_t i = 0; i < filter.terms; i++) {
			const struct filter_term *term = &filter.term[i];

			if (!*filter_name(&filter, term) || term->op >= FILTER_OPS ||
			    term->index > FILTER_INDEX_MAX || (term->is_text && term->indexed))
				abort();
		}
		r = filter_match(&filter, data + after, size - after, &err);
		if (r != 0 && r != 1 && (r != -EBADMSG || !*err.text))
			abort();
	}
	free(text);
	return 0;
}
