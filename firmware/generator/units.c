/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "core/box/night.h"
#include "core/config/local_time.h"
#include "data/batch.h"
#include "generator/generator.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* Daylight saving removes the time of the nightly start on some days. The timer gets these days for this many
 * days ahead: more than a box runs without a boot, and each boot runs this program again. */
#define GAP_DAYS     1500u
#define GAPS_MAX     8
#define MEMORY_OTHER ((uint64_t)512 << 20) /* bytes for the code, libraries and stacks of fetchd */

static void add(struct units_file *file, const char *format, ...) PRINTF(2, 3);

/* Adds to the text. A text that is too long is cut, and units_write() refuses it. */
static void add(struct units_file *file, const char *format, ...)
{
	size_t used = strlen(file->text);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(file->text + used, sizeof(file->text) - used, format, args);
	va_end(args);
}

/* Doubles each %, which begins a specifier, systemd.unit(5). */
static void add_string(struct units_file *file, const char *text)
{
	for (; *text; text++)
		add(file, *text == '%' ? "%%%%" : "%c", *text);
}

/* ---- The timer ---- */

static void add_days(struct units_file *file, unsigned days)
{
	static const char *const names[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
	const char *comma = "";

	for (unsigned i = 0; i < 7; i++)
		if (days >> i & 1) {
			add(file, "%s%s", comma, names[i]);
			comma = ",";
		}
}

static void add_gaps(struct units_file *file, const struct config *config, int64_t now)
{
	struct night_gap gap;
	unsigned left = GAP_DAYS;
	int64_t from = now;

	/* systemd skips a day on which the time of the nightly start does not exist: give the timer a date
	 * and another time for that day. */
	for (int i = 0; i < GAPS_MAX && left > 0 && night_gap_next(config, from, left, &gap); i++) {
		add(file, "OnCalendar=%04d-%02d-%02d %02u:%02u:00 ", gap.year, gap.month, gap.day,
		    gap.minutes / 60, gap.minutes % 60);
		add_string(file, config->run.zone);
		add(file, "\n");
		left -= gap.days_ahead + 1;
		from += ((int64_t)gap.days_ahead + 1) * 86400;
	}
}

static void timer(struct units_file *file, const struct config *config, int64_t now)
{
	unsigned days = 0, at = 0;

	(void)local_days_parse(config->run.days, &days);
	/* A timer needs a time; kiln-oneshot nightly starts no run then. */
	if (days == 0)
		days = (1u << LOCAL_DAYS_A_WEEK) - 1;
	(void)local_time_parse(config->run.at, &at);
	add(file, "[Timer]\nOnCalendar=\nOnCalendar=");
	add_days(file, days);
	add(file, " *-*-* %02u:%02u:00 ", at / 60, at % 60);
	add_string(file, config->run.zone);
	add(file, "\n");
	add_gaps(file, config, now);
	/* After a missed start systemd starts the unit at boot; kiln-oneshot nightly then decides what to
	 * do. */
	add(file, "Persistent=yes\n");
}

/* ---- The services ---- */

static void add_credential(struct units_file *file, const char *name)
{
	add(file, "LoadCredential=");
	add_string(file, name);
	add(file, ":/data/kiln/credentials/");
	add_string(file, name);
	add(file, "\n");
}

/* Adds a name to the list, unless it is empty or in the list already. Returns the new count. */
static uint32_t add_name(const char **names, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return count;
	names[count] = name;
	return *name ? count + 1 : count;
}

enum stores {
	STORES_SOURCES = 1u << 0,
	STORES_SINK = 1u << 1,
};

/* Adds the credentials of the stores that the service uses, and no other: systemd does not start a service
 * with a missing credential. */
static void credentials(struct units_file *file, const struct config *config, unsigned stores)
{
	const char *names[CONFIG_SOURCES_MAX + 1];
	uint32_t count = 0;

	for (uint32_t i = 0; stores & STORES_SOURCES && i < config->sources; i++)
		count = add_name(names, count, config->source[i].store.credential);
	if (stores & STORES_SINK)
		count = add_name(names, count, config->sink.credential);
	if (count > 0)
		add(file, "[Service]\n");
	for (uint32_t i = 0; i < count; i++)
		add_credential(file, names[i]);
}

/* Adds a credential without which the service starts, too: the service gets an empty one then. */
static void add_optional_credential(struct units_file *file, const char *name)
{
	add(file, "SetCredential=");
	add_string(file, name);
	add(file, ":-\n");
	add_credential(file, name);
}

/* Uploads go on where the credential of the tracking server is missing. */
static void tracking_credential(struct units_file *file, const struct config *config)
{
	if (!*config->tracking.credential ||
	    strcmp(config->tracking.credential, config->sink.credential) == 0)
		return;
	add(file, "[Service]\n");
	add_optional_credential(file, config->tracking.credential);
}

/* A program that tells people starts also without its credentials, because it may have to tell that one is
 * missing. */
static void notify_credentials(struct units_file *file, const struct config *config, const char *sink)
{
	const char *const given[] = { sink, config->notify.url_credential, config->notify.credential,
				      config->notify.mail_credential, config->notify.heartbeat_credential };
	const char *names[sizeof(given) / sizeof(given[0])];
	uint32_t count = 0;

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		count = add_name(names, count, given[i]);
	if (count > 0)
		add(file, "[Service]\n");
	for (uint32_t i = 0; i < count; i++)
		add_optional_credential(file, names[i]);
}

/* Computes the memory limit of fetchd: windows, shards that wait for the cache, connections, ranges requested
 * twice, at most 2 of each network thread, and the ring, which counts as memory of fetchd if it is on normal
 * pages. Several ranks divide fetch.memory_bytes and the ring; all else is needed by each of them. */
static int fetchd_memory(const struct config *config, uint64_t *ret_bytes, struct error *err)
{
	struct ring_geometry geometry;
	struct example_schema schema;
	const uint64_t threads =
		config->fetch.network_threads ? config->fetch.network_threads : CONFIG_THREADS_MAX;
	uint64_t each, bytes;
	int r = batch_schema(config, &schema, err);

	if (r < 0)
		return r;
	batch_geometry(config, &schema, config->run.batch_rows, &geometry);
	each = MEMORY_OTHER + config_fetch_connections(config) * CONFIG_CONNECTION_BYTES +
	       config->sources * threads * 2 * config_fetch_part_bytes(config);
	if (__builtin_add_overflow(each, config_fetch_cache_backlog_bytes(config), &each) ||
	    __builtin_mul_overflow(each, config->device.count, &bytes) ||
	    __builtin_add_overflow(bytes, config->fetch.memory_bytes, &bytes) ||
	    __builtin_add_overflow(bytes, ring_file_bytes(&geometry), &bytes))
		bytes = INT64_MAX;
	*ret_bytes = bytes < INT64_MAX ? bytes : INT64_MAX;
	return 0;
}

/* localhost: orted and its ranks speak with each other over loopback. */
static void rank(struct units_file *file, const struct config *config)
{
	if (*config->ranks.network)
		add(file, "[Service]\nIPAddressAllow=localhost %s\n", config->ranks.network);
}

/* The box that leads speaks with the kiln-controld of the others, whose names may need a name server, and
 * proves who it is with a certificate of the role ranks. Where a file is missing, the value "-" stands in:
 * kiln-traind says what is wrong. */
static void lead(struct units_file *file)
{
	static const struct {
		const char *name, *source;
	} files[] = { { "ca.crt", "control-ca" },
		      { "client.crt", "leads-crt" },
		      { "client.key", "leads-key" } };

	add(file, "[Service]\nPrivateNetwork=no\nIPAddressDeny=\nIPAddressAllow=\n"
		  "RestrictAddressFamilies=AF_INET6\nEnvironment=KILN_PKI=%%d\n");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		add(file, "SetCredential=%s:-\nLoadCredential=%s:/data/kiln/credentials/%s\n", files[i].name,
		    files[i].name, files[i].source);
}

static void trainer(struct units_file *file, const struct config *config)
{
	if (strcmp(config->device.cores, "auto") != 0) {
		add(file, "[Service]\nCPUAffinity=\nCPUAffinity=");
		add_string(file, config->device.cores);
		add(file, "\n");
	}
	if (*config->ranks.boxes)
		lead(file);
}

int units_write(const struct config *config, enum units_kind kind, int64_t now, struct units_file *ret_file,
		struct error *err)
{
	static const char *const units[] = { "kiln-nightly.timer",        "kiln-fetchd.service",
					     "kiln-traind.service",       "kiln-uploadd.service",
					     "kiln-begin.service",        "kiln-preload.service",
					     "kiln-update-fetch.service", "kiln-check-store.service",
					     "kiln-report.service",       "kiln-heartbeat.service",
					     "kiln-promote.service",      "kiln-rank@.service",
					     "kiln-rank-begin@.service" };
	static const char *const templates[UNITS_KINDS][UNITS_TEMPLATES] = {
		[UNITS_FETCHD] = { "kiln-fetchd@.service", "kiln-rank-fetchd@.service" },
		[UNITS_TRAIND] = { "kiln-traind@.service" },
		[UNITS_BEGIN] = { "kiln-begin@.service" }
	};
	uint64_t bytes;
	int r;

	*ret_file = (struct units_file){ .unit = units[kind] };
	memcpy(ret_file->template, templates[kind], sizeof(ret_file->template));
	switch (kind) {
	case UNITS_TIMER:
		timer(ret_file, config, now);
		break;
	case UNITS_FETCHD:
		r = fetchd_memory(config, &bytes, err);
		if (r < 0)
			return r;
		/* fetchd uploads the plan to the sink. */
		credentials(ret_file, config, STORES_SOURCES | STORES_SINK);
		add(ret_file, "[Service]\nMemoryMax=%" PRIu64 "\n", bytes);
		break;
	case UNITS_TRAIND:
		trainer(ret_file, config);
		break;
	case UNITS_RANK:
		rank(ret_file, config);
		break;
	case UNITS_UPLOADD:
		credentials(ret_file, config, STORES_SINK);
		tracking_credential(ret_file, config);
		break;
	case UNITS_CHECK_STORE:
		credentials(ret_file, config, STORES_SINK);
		break;
	case UNITS_REPORT:
		notify_credentials(ret_file, config, config->sink.credential);
		break;
	case UNITS_HEARTBEAT:
		notify_credentials(ret_file, config, "");
		break;
	case UNITS_PRELOAD:
		credentials(ret_file, config, STORES_SOURCES);
		break;
	default:
		credentials(ret_file, config, STORES_SOURCES | STORES_SINK);
		break;
	}
	if (strlen(ret_file->text) + 1 >= sizeof(ret_file->text))
		return error_set(err, -E2BIG, "%s: more than %u bytes", ret_file->unit, UNITS_TEXT_BYTES);
	return 0;
}
