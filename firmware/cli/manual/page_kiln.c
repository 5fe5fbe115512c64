/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/help.h"
#include "cli/manual/pages.h"
#include "cli/manual/roff.h"

#include <stdlib.h>
#include <string.h>

static void put_option(FILE *out, const struct verb_option *option)
{
	char word[VERB_WORD_BYTES], tag[160], allowed[600];

	(void)snprintf(tag, sizeof(tag), "%s%s%s", verb_option_word(option, word),
		       option->argument ? " " : "", option->argument ? option->argument : "");
	help_allowed(option, allowed, sizeof(allowed));
	roff_item(out, tag, "%s%s", option->help, allowed);
}

static void put_synopsis(FILE *out, const struct verb *verb, const struct verb *parent)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&text, &bytes);

	if (!memory)
		return;
	verb_synopsis(verb, parent, "kiln ", memory);
	if (fclose(memory) == 0) {
		text[strcspn(text, "\n") == bytes ? bytes : bytes - 1] = '\0';
		roff_synopsis(out, text);
	}
	free(text);
}

static void put_about(FILE *out, const char *about)
{
	while (*about) {
		const char *end = strstr(about, "\n\n");

		roff_paragraph(out, "%.*s", end ? (int)(end - about) : (int)strlen(about), about);
		about = end ? end + 2 : "";
	}
}

static void put_exits(FILE *out, const struct verb *verb)
{
	for (const struct verb_exit *code = verb->exits; code && code->code; code++)
		roff_paragraph(out, "Exit status %d: %s.", code->code, code->means);
}

static void put_verb(FILE *out, const struct verb *verb, const struct verb *parent)
{
	struct verb_option option;

	if (parent)
		roff_items_end(out); /* the options of the sub-verb before */
	put_synopsis(out, verb, parent);
	roff_sentence(out, verb_summary(verb));
	if (verb->about)
		put_about(out, verb->about);
	for (uint32_t i = 0; verb->run && verb_option_at(verb, i, &option); i++)
		put_option(out, &option);
	put_exits(out, verb);
	for (const struct verb *const *sub = verb->subs; sub && *sub; sub++)
		put_verb(out, *sub, verb);
}

static void put_statuses(FILE *out)
{
	roff_section(out, "EXIT STATUS");
	roff_item(out, "0", "done");
	roff_item(out, "1", "error; standard error says which");
	roff_item(out, "2", "wrong usage; nothing was done");
	roff_item(out, "3", "with --host: some boxes did not answer");
	roff_item(out, "4", "with --host: no box answered");
	roff_item(out, "5, 6", "of status and watch: degraded, the run failed");
	roff_item(out, "7",
		  "of status and watch: no run goes on; of stalls: no run has fetched data since the box "
		  "started");
	roff_item(out, "78", "of config check: the file has mistakes");
}

static void put_surroundings(FILE *out)
{
	roff_section(out, "ENVIRONMENT");
	roff_item(out, "KILN_ROOT", "Folder that every path of Kiln is relative to; default: /.");
	roff_item(out, "KILN_CONFIG", "Path of the configuration file; default: `/etc/kiln/kiln.conf`.");
	roff_item(out, "KILN_PKI",
		  "Folder of ca.crt, client.crt and client.key for --host; default: `~/.kiln`.");
	roff_item(out, "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN",
		  "Keys of a store without a credential in the configuration.");
	roff_item(out, "NO_COLOR", "If set and not empty: no colours on a terminal.");
	roff_item(out, "TMPDIR", "Folder of temporary files; default: `/tmp`.");
	roff_section(out, "FILES");
	roff_item(out, "/etc/kiln/kiln.conf", "The configuration.");
	roff_item(out, "/run/kiln/control.sock", "The control socket of this box.");
	roff_item(out, "/usr/share/doc/kiln/", "The manual, one page per task.");
}

void page_kiln(const struct verb *const *verbs, FILE *out)
{
	roff_title(out, "kiln", "1", "prepare data, train every night, look at a box and steer it");
	roff_section(out, "SYNOPSIS");
	roff_synopsis(out, "kiln [--host NAME=ADDRESS[:PORT],...] VERB [ARGUMENT...]");
	roff_section(out, "DESCRIPTION");
	roff_paragraph(out, "`kiln` is the command line of Kiln, the firmware of a node that trains every "
			    "night. Some verbs talk to a box, through its control socket or, with `--host`, "
			    "from another machine. The other verbs work on this machine alone: they prepare "
			    "data, and evaluate, export and apply trained models.");
	roff_section(out, "OPTIONS");
	for (const struct verb_option *option = verb_global_options; option->name; option++)
		put_option(out, option);
	roff_section(out, "VERBS");
	for (const struct verb *const *verb = verbs; *verb; verb++) {
		roff_group(out, (*verb)->name);
		put_verb(out, *verb, NULL);
	}
	put_statuses(out);
	put_surroundings(out);
	roff_see_also(out,
		      "kiln.conf(5), kiln-control(7), kiln-events(7), kiln-controld(8), kiln-fetchd(8), "
		      "kiln-generator(8), kiln-oneshot(8), kiln-steer(8), kiln-traind(8), kiln-uploadd(8)");
}
