/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks/orted.h"

#include "core/base/program.h"

#include <inttypes.h>
#include <string.h>

#define NODES                        \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"abcdefghijklmnopqrstuvwxyz0123456789.,:@()[]-"
#define TCP          "tcp://"
#define PORT_MAX     65535u
#define ALLOWED_SIZE 160u

enum name {
	ESS,
	JOB,
	VPID,
	COUNT,
	URI,
	NODE_NAMES,
	ATTACHED,
	PLM,
	NAMES,
};

static const struct {
	const char *name;
	bool required;
	const char *only; /* the one value that is allowed; NULL = a form below */
} options[NAMES] = {
	[ESS] = { "ess", true, "env" },
	[JOB] = { "ess_base_jobid", true, NULL },
	[VPID] = { "ess_base_vpid", true, NULL },
	[COUNT] = { "ess_base_num_procs", true, NULL },
	[URI] = { "orte_hnp_uri", true, NULL },
	[NODE_NAMES] = { "orte_node_regex", false, NULL },
	[ATTACHED] = { "orte_leave_session_attached", true, "1" },
	[PLM] = { "plm", true, "rsh" },
};

/* The values of a vector, and where they stand in it. */
struct vector {
	const char *value[NAMES]; /* NULL = the option is missing */
	size_t place[NAMES];
};

/* ---- The options ---- */

/* Writes all names, with commas between them. */
static const char *all_names(char out[static ALLOWED_SIZE])
{
	size_t used = 0;

	for (size_t i = 0; i < NAMES; i++)
		used += (size_t)snprintf(out + used, ALLOWED_SIZE - used, "%s%s", i ? ", " : "",
					 options[i].name);
	return out;
}

static int refuse(struct error *err, size_t place, const char *found, const char *allowed)
{
	return error_set(err, -EINVAL, "argument %zu of orted: found \"%.100s\", allowed: %s", place + 1,
			 found, allowed);
}

static int collect_one(const char *const *words, size_t place, struct vector *vector, struct error *err)
{
	char allowed[ALLOWED_SIZE];
	size_t name = 0;

	if (strcmp(words[0], "-mca") != 0 && strcmp(words[0], "--mca") != 0)
		return refuse(err, place, words[0], "-mca NAME VALUE");
	while (name < NAMES && strcmp(words[1], options[name].name) != 0)
		name++;
	if (name == NAMES)
		return refuse(err, place + 1, words[1], all_names(allowed));
	if (vector->value[name])
		return error_set(err, -EINVAL, "argument %zu of orted: found \"%s\" twice, allowed: once",
				 place + 2, words[1]);
	vector->value[name] = words[2];
	vector->place[name] = place + 2;
	return 0;
}

static int collect(const char *const *words, size_t count, struct vector *vector, struct error *err)
{
	int r = 0;

	if (count > ORTED_ARGUMENTS_MAX || count % 3 != 0)
		return error_set(
			err, -EINVAL,
			"orted: found %zu arguments, allowed: at most %u, each option as -mca NAME VALUE",
			count, ORTED_ARGUMENTS_MAX);
	for (size_t i = 0; r == 0 && i < count; i += 3)
		r = collect_one(words + i, i, vector, err);
	for (size_t name = 0; r == 0 && name < NAMES; name++)
		if (options[name].required && !vector->value[name])
			r = error_set(err, -EINVAL, "orted: the option %s is missing", options[name].name);
	return r;
}

/* ---- The values ---- */

static int check_fixed(const struct vector *vector, struct error *err)
{
	for (size_t name = 0; name < NAMES; name++)
		if (options[name].only && strcmp(vector->value[name], options[name].only) != 0)
			return error_set(err, -EINVAL,
					 "argument %zu of orted: %s: found \"%.100s\", allowed: %s",
					 vector->place[name] + 1, options[name].name, vector->value[name],
					 options[name].only);
	return 0;
}

static int read_number(const struct vector *vector, enum name name, uint64_t min, uint64_t max, uint32_t *ret,
		       struct error *err)
{
	uint64_t number;

	if (!program_number(vector->value[name], max, &number) || number < min)
		return error_set(err, -EINVAL,
				 "argument %zu of orted: %s: found \"%.100s\", allowed: %" PRIu64
				 " .. %" PRIu64,
				 vector->place[name] + 1, options[name].name, vector->value[name], min, max);
	*ret = (uint32_t)number;
	return 0;
}

static int check_node_names(const struct vector *vector, struct error *err)
{
	const char *text = vector->value[NODE_NAMES];

	if (!text || (*text && strlen(text) <= ORTED_WORD_MAX && strspn(text, NODES) == strlen(text)))
		return 0;
	return refuse(err, vector->place[NODE_NAMES], text, "1 .. 2048 characters of [A-Za-z0-9.,:@()[]-]");
}

/* Checks "ADDRESS[,ADDRESS...]:PORT". Writes an address outside of the network to `stranger`. */
static bool is_contact(const char *text, const struct cidr *network, char stranger[static CIDR_TEXT_BYTES])
{
	uint64_t port;

	*stranger = '\0';
	for (;; text++) {
		const size_t length = strcspn(text, ",:");
		char address[CIDR_TEXT_BYTES];
		uint32_t number;

		if (length >= sizeof(address))
			return false;
		(void)snprintf(address, sizeof(address), "%.*s", (int)length, text);
		if (!cidr_parse_address(address, &number))
			return false;
		if (!cidr_has(network, number))
			memcpy(stranger, address, sizeof(address));
		text += length;
		if (*text != ',')
			break;
	}
	return *text == ':' && program_number(text + 1, PORT_MAX, &port) && port > 0 && !*stranger;
}

static int check_uri(const struct vector *vector, const struct cidr *network, uint32_t job, struct error *err)
{
	const char *uri = vector->value[URI];
	char start[64], stranger[CIDR_TEXT_BYTES] = "", own[CIDR_TEXT_BYTES];
	const size_t length = (size_t)snprintf(start, sizeof(start), "%" PRIu32 ".0;" TCP, job);

	if (strncmp(uri, start, length) == 0 && is_contact(uri + length, network, stranger))
		return 0;
	if (*stranger)
		return error_set(err, -EINVAL,
				 "argument %zu of orted: %s: found the address %s, allowed: addresses in "
				 "ranks.network, %s/%u",
				 vector->place[URI] + 1, options[URI].name, stranger,
				 cidr_address(network->network, own), network->prefix);
	return error_set(err, -EINVAL,
			 "argument %zu of orted: %s: found \"%.100s\", allowed: %sADDRESS[,ADDRESS...]:PORT",
			 vector->place[URI] + 1, options[URI].name, uri, start);
}

int orted_check(const char *const *arguments, size_t count, const struct cidr *network,
		struct orted_job *ret_job, struct error *err)
{
	struct vector vector = { 0 };
	struct orted_job job = { 0 };
	int r = collect(arguments, count, &vector, err);

	if (r < 0 || (r = check_fixed(&vector, err)) < 0 || (r = check_node_names(&vector, err)) < 0 ||
	    (r = read_number(&vector, JOB, 1, UINT32_MAX, &job.id, err)) < 0 ||
	    (r = read_number(&vector, COUNT, 2, ORTED_DAEMONS_MAX, &job.count, err)) < 0 ||
	    (r = read_number(&vector, VPID, 1, job.count - 1, &job.vpid, err)) < 0 ||
	    (r = check_uri(&vector, network, job.id, err)) < 0)
		return r;
	*ret_job = job;
	return 0;
}
