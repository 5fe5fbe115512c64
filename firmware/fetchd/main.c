/* SPDX-License-Identifier: Apache-2.0 */
#include "core/log.h"
#include "core/paths.h"
#include "drivers/hugepage/hugepage.h"
#include "drivers/notify/notify.h"
#include "fetchd/fetch.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define RETIRE_WAIT_MS  5000u
#define BYTES_VALUE_MAX 65536u /* longest bytes feature */

static int make_schema(const struct config *config, struct example_schema *schema, struct error *err)
{
	static const uint32_t dtypes[] = { EXAMPLE_FLOAT32, EXAMPLE_INT64, EXAMPLE_BYTES };

	schema->features = config->features;
	for (uint32_t i = 0; i < config->features; i++) {
		const struct config_feature *from = &config->feature[i];
		uint64_t elements = 1;

		for (uint32_t d = 0; d < from->rank; d++)
			if (__builtin_mul_overflow(elements, from->shape[d], &elements) ||
			    elements > UINT32_MAX / 8)
				return error_set(err, -EINVAL, "schema: \"%s\" has too many values",
						 from->name);
		schema->feature[i] = (struct example_feature){ .name = from->name,
							       .dtype = dtypes[from->dtype],
							       .elements = elements,
							       .optional = from->missing == MISSING_DEFAULT,
							       .fill = from->fill,
							       .bytes_max = BYTES_VALUE_MAX };
	}
	return 0;
}

static void make_geometry(const struct fetch *fetch, struct ring_geometry *geometry)
{
	static const uint32_t dtypes[] = { 0, RING_FLOAT32, RING_INT64, RING_UINT8 };
	uint64_t rows = plan_settings_of(fetch->plan)->batch_rows;

	memset(geometry, 0, sizeof(*geometry));
	geometry->slots = (uint32_t)fetch->run.config.ring.slots;
	for (uint32_t i = 0; i < fetch->schema.features; i++) {
		struct ring_column_spec *column = &geometry->column[geometry->columns++];

		(void)snprintf(column->name, sizeof(column->name), "%s", fetch->schema.feature[i].name);
		column->dtype = dtypes[fetch->schema.feature[i].dtype];
		column->row_bytes = (uint32_t)example_row_bytes(&fetch->schema.feature[i]);
		column->capacity = rows * column->row_bytes;
	}
	geometry->column[geometry->columns++] =
		(struct ring_column_spec){ FETCH_COLUMN_EMPTY, RING_UINT8, 1, rows };
}

static int open_ring(struct fetch *fetch, struct error *err)
{
	char folder[PATH_BYTES], path[PATH_BYTES];
	struct ring_geometry geometry;
	struct stat st = { 0 };
	bool huge;
	int r;

	make_geometry(fetch, &geometry);
	path_of(PATH_RING, NULL, path);
	if (stat(path, &st) < 0)
		st.st_size = 0;
	r = hugepage_prepare(path_of(PATH_HUGE, NULL, folder), ring_file_bytes(&geometry),
			     (uint64_t)st.st_size, fetch->run.config.ring.small_pages, &huge, err);
	if (r < 0)
		return r;
	r = ring_create(path, &geometry, RETIRE_WAIT_MS, &fetch->ring, err);
	if (r == 0)
		log_info("ring: %u slots of %" PRIu64 " bytes on %s", geometry.slots,
			 ring_slot_bytes(fetch->ring),
			 ring_pages_of(fetch->ring) == RING_HUGE_PAGES ? "2 MiB pages" : "normal pages");
	return r;
}

static int open_store(struct fetch *fetch, struct error *err)
{
	const struct config *config = &fetch->run.config;
	struct store_options options = { .connections = (uint32_t)config->fetch.connections,
					 .connect_timeout_ms = config->fetch.connect_timeout_ms,
					 .low_speed_bytes_per_s = config->fetch.low_speed_bytes_per_s,
					 .low_speed_s = config->fetch.low_speed_s,
					 .attempts_max = (uint32_t)config->fetch.attempts_max };

	return store_open(&config->source, &options, &fetch->store, err);
}

static int start_threads(struct fetch *fetch, struct error *err)
{
	uint64_t workers = fetch->run.config.fetch.decode_workers;
	char network[256], decode[256];
	pthread_t thread;

	if (workers == 0)
		workers = (uint64_t)CPU_COUNT(&fetch->cores.decode);
	for (uint64_t i = 0; i <= workers; i++)
		if (pthread_create(&thread, NULL, i ? decode_thread : network_thread, fetch) != 0)
			return error_set(err, -EAGAIN, "cannot start thread %" PRIu64 " of %" PRIu64, i + 1,
					 workers + 1);
	nic_cores_text(&fetch->cores.network, network, sizeof(network));
	nic_cores_text(&fetch->cores.decode, decode, sizeof(decode));
	log_info("network thread on cores %s (%s%s), %" PRIu64 " decode workers on cores %s", network,
		 *fetch->cores.nic ? fetch->cores.nic : "no default route",
		 fetch->cores.known ? "" : ", which does not say what is near: all cores", workers, decode);
	return 0;
}

int main(void)
{
	static struct fetch fetch = { .lock = PTHREAD_MUTEX_INITIALIZER,
				      .work = PTHREAD_COND_INITIALIZER,
				      .progress = PTHREAD_COND_INITIALIZER };
	struct error err = { 0 };

	log_open("fetchd");
	if (run_load(&fetch.run, &err) < 0 || make_schema(&fetch.run.config, &fetch.schema, &err) < 0 ||
	    nic_cores_find("", fetch.run.config.fetch.nic, fetch.run.config.fetch.cores, &fetch.cores, &err) <
		    0 ||
	    fetch_plan(&fetch.run, &fetch.plan, &err) < 0 || open_ring(&fetch, &err) < 0 ||
	    open_store(&fetch, &err) < 0)
		return fatal(&err);
	fetch.shard_max = fetch.run.config.fetch.memory_bytes / 2;
	fetch.record_max = fetch.shard_max < UINT32_MAX ? fetch.shard_max : UINT32_MAX;
	if (start_threads(&fetch, &err) < 0)
		return fatal(&err);
	notify_ready("fetching %s", fetch.run.config.source.url);
	if (fetch_run(&fetch, &err) < 0)
		return fatal(&err);
	return 0;
}
