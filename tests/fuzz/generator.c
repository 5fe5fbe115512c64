/* SPDX-License-Identifier: Apache-2.0 */
/* For every configuration that loads, the generator writes only unit lines of the forms below. These forms
 * are written down apart from the generator. */
#include "generator/units.c" // NOLINT(bugprone-suspicious-include): programs make no archive

#include <regex.h>
#include <stddef.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DAY  "(Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
#define TIME " ([01][0-9]|2[0-3]):[0-5][0-9]:00 "
#define ZONE "[A-Za-z0-9_+/-]{1,63}"
#define CPUS "[0-9]{1,4}(-[0-9]{1,4})?"
static const char *const forms[] = {
	"^\\[(Timer|Service)\\]$",
	"^OnCalendar=$",
	"^OnCalendar=" DAY "(," DAY "){0,6} \\*-\\*-\\*" TIME ZONE "$",
	"^OnCalendar=2[0-9]{3}-[01][0-9]-[0-3][0-9]" TIME ZONE "$",
	"^Persistent=yes$",
	"^CPUAffinity=$",
	"^CPUAffinity=" CPUS "(," CPUS ")*$",
	"^MemoryMax=[1-9][0-9]{0,18}$",
	"^SetCredential=[A-Za-z0-9_-]{1,64}:-$",
	"^LoadCredential=([A-Za-z0-9_-]{1,64}):/data/kiln/credentials/\\1$",
};
#define FORMS (sizeof(forms) / sizeof(forms[0]))

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

static void compile(regex_t form[static FORMS])
{
	/* POSIX allows back references such as \1 in basic expressions only; glibc allows them in extended
	 * ones. */
	for (size_t i = 0; i < FORMS; i++)
		must(regcomp(&form[i], forms[i], REG_EXTENDED | (strstr(forms[i], "\\1") ? 0 : REG_NOSUB)) ==
		     0);
}

static bool is_allowed(const char *line)
{
	static regex_t form[FORMS];
	static bool compiled;

	if (!compiled)
		compile(form);
	compiled = true;
	for (size_t i = 0; i < FORMS; i++)
		if (regexec(&form[i], line, 0, NULL, 0) == 0)
			return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(config_done) struct config config = { 0 };
	static struct units_file file;
	struct error err = { 0 };
	char path[64];
	int fd = memfd_create("config", 0), r;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	r = config_load(path, &config, &err);
	(void)close(fd);
	for (int kind = 0; r == 0 && kind < UNITS_KINDS; kind++) {
		char *rest = file.text, *line;

		if (units_write(&config, (enum units_kind)kind, 1800000000, &file, &err) < 0)
			continue;
		must(!*file.text || file.text[strlen(file.text) - 1] == '\n');
		while ((line = strsep(&rest, "\n")) && rest)
			if (!is_allowed(line)) {
				fprintf(stderr, "%s: \"%s\"\n", file.unit, line);
				abort();
			}
	}
	return 0;
}
