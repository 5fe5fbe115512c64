/* SPDX-License-Identifier: Apache-2.0 */
/* New rows of a table, CSV or JSON lines: each row is an object of limited size, and lines never fall. An
 * error has a text.
 */
#include "cli/table/rows.h"
#include "cli/table/table.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROW_MOST (TABLE_BLOCK_BYTES + (128u << 10)) /* and what is read at once */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

static uint64_t text_bytes(const cJSON *row)
{
	const cJSON *item;
	uint64_t bytes = 0;

	cJSON_ArrayForEach(item, row)
		bytes += cJSON_IsString(item) ? strlen(item->valuestring) : 0;
	return bytes;
}

static int read_rows(struct rows *rows, struct error *err)
{
	uint64_t line = 0, last = 0;
	int r = 1;

	for (uint32_t i = 0; i < rows->names; i++)
		rows->unread[i] = i % 3 == 2;
	while (r > 0) {
		CLEANUP(json_free) cJSON *row = NULL;

		r = rows->next(rows, &row, &line, err);
		must(r <= 0 || (cJSON_IsObject(row) && line >= last && text_bytes(row) <= ROW_MOST));
		last = line;
	}
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct config_store where = { 0 };
	struct rows *rows = NULL;
	struct error err = { 0 };
	char path[64];
	int fd = memfd_create("rows", 0), r;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	r = table_rows_open(&where, path, &rows, &err);
	if (r == 0)
		r = read_rows(rows, &err);
	must(r == 0 || *err.text);
	table_rows_close(rows);
	(void)close(fd);
	return 0;
}
