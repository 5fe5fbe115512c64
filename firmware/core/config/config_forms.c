/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the forms of strings: names, URLs, hosts, CPU lists. */
#include "core/base/url.h"
#include "core/base/visible.h"
#include "core/config/cidr.h"
#include "core/config/config_reading.h"
#include "core/config/filter.h"
#include "core/config/local_time.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#define SMALL   "abcdefghijklmnopqrstuvwxyz"
#define LETTERS SMALL "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

bool config_is_name(const char *text)
{
	size_t length = strlen(text);

	return length >= 1 && length <= 64 && strspn(text, LETTERS DIGITS "_-") == length;
}

/* Tells whether the text is a valid bucket name. Old buckets may also have upper-case letters and "_": S3
 * User Guide, "General purpose bucket naming rules". */
static bool is_s3_bucket(const char *bucket)
{
	size_t bytes = strcspn(bucket, "/"), allowed = strspn(bucket, LETTERS DIGITS "._-");

	return allowed == bytes && bytes >= 3 && bytes <= CONFIG_BUCKET_MAX &&
	       strlen(bucket + bytes) <= CONFIG_PREFIX_MAX + 1;
}

static bool is_url(const char *text)
{
	struct config_lakefs lakefs;

	return strncmp(text, "file:///", 8) == 0 || config_lakefs(text, &lakefs) ||
	       (strncmp(text, "s3://", 5) == 0 && is_s3_bucket(text + 5));
}

static bool is_region(const char *text)
{
	size_t length = strlen(text);

	return length >= 1 && length <= CONFIG_REGION_MAX && strspn(text, SMALL DIGITS "-_") == length;
}

/* Accepts "auto", or CPU numbers and ranges such as 0-3,8, where each range ascends and each number is below
 * 4096. */
static bool is_cpu_list(const char *text)
{
	if (strcmp(text, "auto") == 0)
		return true;
	for (;;) {
		char *end;
		unsigned long first, last;

		if (!isdigit((unsigned char)*text))
			return false;
		first = last = strtoul(text, &end, 10);
		if (*end == '-' && isdigit((unsigned char)end[1]))
			last = strtoul(end + 1, &end, 10);
		if (first > last || last >= 4096)
			return false;
		if (*end == '\0')
			return true;
		if (*end != ',')
			return false;
		text = end + 1;
	}
}

static bool is_ipv6(const char *text, size_t bytes)
{
	char copy[INET6_ADDRSTRLEN];
	struct in6_addr address;

	(void)snprintf(copy, sizeof(copy), "%.*s", (int)bytes, text);
	return bytes < sizeof(copy) && inet_pton(AF_INET6, copy, &address) == 1;
}

/* Tells whether the text is a port. Refuses a leading zero, because the signed request contains the port
 * exactly as the configuration has it. */
static bool is_port(const char *text)
{
	size_t digits = strspn(text, DIGITS);

	return digits >= 1 && digits <= 5 && (!text[digits] || text[digits] == '/') && text[0] != '0' &&
	       strtoul(text, NULL, 10) <= 65535;
}

static bool is_host(const char *text, size_t bytes)
{
	size_t allowed = strspn(text, LETTERS DIGITS ".-");

	return bytes > 0 && bytes <= CONFIG_HOST_MAX &&
	       (is_ipv6(text, bytes) || (allowed >= bytes && *text != '-' && *text != '.'));
}

/* Tells whether the text is empty or a list of items with `separator` between two; after a comma one space
 * may stand. */
static bool is_list(const char *text, size_t max, char separator, bool (*is_item)(const char *, size_t))
{
	const char set[] = { separator, '\0' };

	if (strlen(text) > max)
		return false;
	while (*text) {
		const size_t bytes = strcspn(text, set);

		if (!is_item(text, bytes) || (text[bytes] && !text[bytes + 1]))
			return false;
		text += bytes + (text[bytes] == separator);
		text += separator == ',' && *text == ' ';
	}
	return true;
}

/* Tells whether the text is a list of hosts. Checks every character, because the hosts are written to a file
 * that systemd-timesyncd reads. */
static bool is_hosts(const char *text)
{
	return is_list(text, CONFIG_HOSTS_MAX, ' ', is_host);
}

/* Returns the end of the leading "SCHEME://" or "SCHEMEs://", host and port; NULL where the text begins in
 * another way. */
static const char *end_of_host(const char *text, const char *name)
{
	size_t bytes = strlen(name);
	size_t tls = strncmp(text, name, bytes) == 0 && text[bytes] == 's';
	size_t scheme = strncmp(text, name, bytes) == 0 && strncmp(text + bytes + tls, "://", 3) == 0
				? bytes + tls + 3
				: 0;
	const char *host = text + scheme, *end = host + strspn(host, LETTERS DIGITS "._-");

	if (*host == '[') {
		end = host + strcspn(host, "]");
		if (!*end || !is_ipv6(host + 1, (size_t)(end - host - 1)))
			return NULL;
		end++;
	}
	if (scheme == 0 || end == host || end - host > (ptrdiff_t)CONFIG_HOST_MAX)
		return NULL;
	if (*end == ':')
		end = is_port(end + 1) ? end + 1 + strspn(end + 1, DIGITS) : NULL;
	return end;
}

/* Tells whether the text is an endpoint, which has no path: the keys of objects are formed from the url. */
static bool is_endpoint(const char *text)
{
	const char *end = end_of_host(text, "http");

	return !*text || (end && !*end);
}

static bool is_relay(const char *text)
{
	const char *end = end_of_host(text, "smtp");

	return !*text || (end && !*end);
}

/* Tells whether the text is one mail address. Quoted names and comments are not allowed, so that no address
 * can add a header or a command. */
static bool is_address(const char *text, size_t bytes)
{
	size_t name = strspn(text, LETTERS DIGITS "!#$%&'*+/=?^_`{|}~.-");

	return name >= 1 && name + 1 < bytes && text[name] == '@' &&
	       is_host(text + name + 1, bytes - name - 1);
}

/* Tells whether the text is a list of mail addresses. */
static bool is_mail(const char *text)
{
	return is_list(text, CONFIG_MAIL_MAX, ',', is_address);
}

/* Tells whether the text is a web URL. After the host only printable ASCII is allowed, because the text is
 * sent unchanged in a request. */
static bool is_web(const char *text)
{
	const char *end = end_of_host(text, "http");

	if (!end)
		return !*text;
	if (*end && *end != '/')
		return false;
	while (*end > ' ' && *end <= '~')
		end++;
	return !*end && end - text <= CONFIG_WEB_MAX;
}

bool config_string_allowed(const struct config_key *key, const char *text)
{
	struct filter filter;
	struct cidr cidr;
	unsigned value;

	switch (key->type) {
	case KEY_NAME:
		return config_is_name(text) || (!*text && key->fallback && !*key->fallback);
	case KEY_URL:
		return visible_is(text) && is_url(text);
	case KEY_ENDPOINT:
		return is_endpoint(text);
	case KEY_WEB:
		return is_web(text);
	case KEY_RELAY:
		return is_relay(text);
	case KEY_MAIL:
		return is_mail(text);
	case KEY_REGION:
		return is_region(text);
	case KEY_CPUS:
		return is_cpu_list(text);
	case KEY_DAYS:
		return local_days_parse(text, &value);
	case KEY_TIME:
		return local_time_parse(text, &value) && (*text || (key->fallback && !*key->fallback));
	case KEY_ZONE:
		return local_zone_exists(text);
	case KEY_HOSTS:
		return is_hosts(text);
	case KEY_NETWORK:
		return !*text || cidr_parse(text, &cidr);
	case KEY_FILTER:
		return visible_is(text) && (!*text || filter_parse(text, &filter));
	default:
		return visible_is(text);
	}
}

int config_store_check(const struct config_store *store, struct error *err)
{
	struct config_store given = *store;
	const char *misfit, *fits;

	for (size_t i = 0; i < config_source_keys_count; i++) {
		const struct config_key *key = &config_source_keys[i];
		bool checked = key->type == KEY_URL || key->type == KEY_ENDPOINT || key->type == KEY_REGION;
		char allowed[256], shown[101];
		const char *text;

		if (!checked)
			continue;
		memcpy(&text, (const char *)store + key->offset, sizeof(text));
		if (!text)
			text = "";
		if ((key->type == KEY_REGION && !*text) || config_string_allowed(key, text))
			continue;
		config_allowed(key, allowed, sizeof(allowed));
		return error_set(err, -EINVAL, "%s: found \"%s\", allowed: %s", key->name,
				 url_without_login(text, strlen(text), shown, sizeof(shown)), allowed);
	}
	if (!given.endpoint)
		given.endpoint = "";
	misfit = config_store_misfit(&given, &fits);
	return misfit ? error_set(err, -EINVAL, "%s: allowed with the url \"%s\": %s", misfit, store->url,
				  fits)
		      : 0;
}
