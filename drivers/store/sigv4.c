/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/sigv4.h"
#include "drivers/digest/digest.h"
#include "drivers/digest/mbedtls.h"

#include <string.h>
#include <time.h>

#include <mbedtls/md.h>
#include <mbedtls/platform_util.h>

#define ALGORITHM  "AWS4-HMAC-SHA256"
#define HASH_BYTES 32u

void sigv4_time(int64_t unix_s, char out[static SIGV4_TIME_BYTES])
{
	time_t seconds = (time_t)unix_s;
	struct tm tm;

	(void)gmtime_r(&seconds, &tm);
	(void)strftime(out, SIGV4_TIME_BYTES, "%Y%m%dT%H%M%SZ", &tm);
}

/* ---- Encoding ---- */

static bool is_unreserved(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
	       c == '.' || c == '_' || c == '~';
}

int sigv4_encode(const char *text, bool plain_slash, char *out, size_t out_bytes)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t used = 0;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		bool plain = is_unreserved(c) || (c == '/' && plain_slash);

		if (used + (plain ? 1 : 3) >= out_bytes)
			return -ENAMETOOLONG;
		if (plain) {
			out[used++] = (char)c;
		} else {
			out[used++] = '%';
			out[used++] = digits[c >> 4];
			out[used++] = digits[c & 15];
		}
	}
	if (used >= out_bytes)
		return -ENAMETOOLONG;
	out[used] = 0;
	return 0;
}

/* Compares by encoded name, then by encoded value. To compare "name=value" as one text would be wrong: '='
 * sorts after '-' and '.'. */
static bool pair_is_before(const struct sigv4_pair *a, const struct sigv4_pair *b)
{
	int order = strcmp(a->name, b->name);

	return order ? order < 0 : strcmp(a->value, b->value) < 0;
}

static int append(char *out, size_t out_bytes, size_t *used, const char *text)
{
	size_t bytes = strlen(text);

	if (bytes >= out_bytes - *used)
		return -ENAMETOOLONG;
	memcpy(out + *used, text, bytes + 1);
	*used += bytes;
	return 0;
}

/* Encodes every name and value into `scratch`, one after the other, and inserts each pair into the sorted
 * list. */
static int encode_sorted(const struct sigv4_pair *pairs, size_t count, char *scratch, size_t scratch_bytes,
			 struct sigv4_pair *sorted)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		struct sigv4_pair pair;
		size_t at = i;

		pair.name = scratch + used;
		if (sigv4_encode(pairs[i].name, false, scratch + used, scratch_bytes - used) < 0)
			return -ENAMETOOLONG;
		used += strlen(pair.name) + 1;
		pair.value = scratch + used;
		if (sigv4_encode(pairs[i].value, false, scratch + used, scratch_bytes - used) < 0)
			return -ENAMETOOLONG;
		used += strlen(pair.value) + 1;
		for (; at > 0 && pair_is_before(&pair, &sorted[at - 1]); at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = pair;
	}
	return 0;
}

int sigv4_query(const struct sigv4_pair *pairs, size_t count, char *out, size_t out_bytes)
{
	struct sigv4_pair sorted[SIGV4_PAIRS_MAX];
	char scratch[SIGV4_QUERY_BYTES];
	size_t used = 0;
	int r = 0;

	if (!out_bytes || count > SIGV4_PAIRS_MAX ||
	    encode_sorted(pairs, count, scratch, sizeof(scratch), sorted) < 0)
		return -ENAMETOOLONG;
	out[0] = 0;
	for (size_t i = 0; i < count && r == 0; i++) {
		r = i ? append(out, out_bytes, &used, "&") : 0;
		r = r < 0 ? r : append(out, out_bytes, &used, sorted[i].name);
		r = r < 0 ? r : append(out, out_bytes, &used, "=");
		r = r < 0 ? r : append(out, out_bytes, &used, sorted[i].value);
	}
	return r;
}

/* ---- Signing ---- */

static void hmac(const uint8_t *key, size_t key_bytes, const char *text, uint8_t out[static HASH_BYTES])
{
	(void)mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), key, key_bytes,
			      (const uint8_t *)text, strlen(text), out);
}

static void feed(mbedtls_sha256_context *hash, const char *text)
{
	(void)mbedtls_sha256_update(hash, (const uint8_t *)text, strlen(text));
}

/* Writes the names of the signed headers, such as "host;x-amz-date". The canonical request and the
 * Authorization header both contain this list. */
static int signed_names(const struct sigv4_request *request, char *out, size_t out_bytes)
{
	size_t used = 0;

	for (size_t i = 0; i < request->headers_count; i++)
		if ((i && append(out, out_bytes, &used, ";") < 0) ||
		    append(out, out_bytes, &used, request->headers[i].name) < 0)
			return -ENAMETOOLONG;
	return 0;
}

static void canonical_hash(const struct sigv4_request *request, const char *names,
			   char out[static 2 * HASH_BYTES + 1])
{
	mbedtls_sha256_context hash;
	uint8_t digest[HASH_BYTES];

	mbedtls_sha256_init(&hash);
	(void)mbedtls_sha256_starts(&hash, 0);
	feed(&hash, request->method);
	feed(&hash, "\n");
	feed(&hash, request->path);
	feed(&hash, "\n");
	feed(&hash, request->query);
	feed(&hash, "\n");
	for (size_t i = 0; i < request->headers_count; i++) {
		feed(&hash, request->headers[i].name);
		feed(&hash, ":");
		feed(&hash, request->headers[i].value);
		feed(&hash, "\n");
	}
	feed(&hash, "\n");
	feed(&hash, names);
	feed(&hash, "\n");
	feed(&hash, request->payload_sha256);
	(void)mbedtls_sha256_finish(&hash, digest);
	mbedtls_sha256_free(&hash);
	digest_hex(digest, sizeof(digest), out);
}

static int make_signing_key(const struct sigv4_key *key, const char *date, uint8_t out[static HASH_BYTES])
{
	char secret[256];
	int length = snprintf(secret, sizeof(secret), "AWS4%s", key->secret_access_key);

	if (length < 0 || (size_t)length >= sizeof(secret))
		return -ENAMETOOLONG;
	hmac((const uint8_t *)secret, (size_t)length, date, out);
	hmac(out, HASH_BYTES, key->region, out);
	hmac(out, HASH_BYTES, key->service, out);
	hmac(out, HASH_BYTES, "aws4_request", out);
	mbedtls_platform_zeroize(secret, sizeof(secret));
	return 0;
}

static int signing_key(const struct sigv4_key *key, const char *date, uint8_t out[static HASH_BYTES])
{
	struct sigv4_day *day = key->day;
	int r;

	if (day && strcmp(day->date, date) == 0) {
		memcpy(out, day->key, HASH_BYTES);
		return 0;
	}
	r = make_signing_key(key, date, out);
	if (r == 0 && day) {
		memcpy(day->key, out, HASH_BYTES);
		(void)snprintf(day->date, sizeof(day->date), "%s", date);
	}
	return r;
}

int sigv4_authorization(const struct sigv4_request *request, const struct sigv4_key *key,
			const char time[static SIGV4_TIME_BYTES], char out[static SIGV4_AUTHORIZATION_BYTES])
{
	char names[256] = "", scope[128], to_sign[512], digest[2 * HASH_BYTES + 1], date[9];
	uint8_t signature[HASH_BYTES];
	int length;

	(void)snprintf(date, sizeof(date), "%.8s", time);
	length = snprintf(scope, sizeof(scope), "%s/%s/%s/aws4_request", date, key->region, key->service);
	if (length < 0 || (size_t)length >= sizeof(scope) || signed_names(request, names, sizeof(names)) < 0)
		return -ENAMETOOLONG;
	canonical_hash(request, names, digest);
	(void)snprintf(to_sign, sizeof(to_sign), ALGORITHM "\n%s\n%s\n%s", time, scope, digest);
	if (signing_key(key, date, signature) < 0)
		return -ENAMETOOLONG;
	hmac(signature, HASH_BYTES, to_sign, signature);
	digest_hex(signature, sizeof(signature), digest);
	length = snprintf(out, SIGV4_AUTHORIZATION_BYTES,
			  ALGORITHM " Credential=%s/%s, SignedHeaders=%s, Signature=%s", key->access_key_id,
			  scope, names, digest);
	return length < 0 || (size_t)length >= SIGV4_AUTHORIZATION_BYTES ? -ENAMETOOLONG : 0;
}
