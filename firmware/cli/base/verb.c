/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/verb.h"

#include <string.h>

const struct verb_option verb_global_options[] = {
	{ "host", VERB_TEXT, "NAME=ADDRESS[:PORT],...",
	  "run the verb on other boxes, over mutual TLS; ca.crt, client.crt and client.key are in the folder "
	  "KILN_PKI, or in ~/.kiln if KILN_PKI is not set",
	  NULL, 0, 0, false },
	{ "help", VERB_FLAG, NULL, "print the verbs", NULL, 0, 0, false },
	{ "version", VERB_FLAG, NULL, "print the version", NULL, 0, 0, false },
	{ 0 },
};

/* ---- Options ---- */

/* A search for the option of an index, counted from 0. `left`: how many options to skip before it. */
struct search {
	uint32_t left;
	struct verb_option *found;
};

static bool is_found(struct search *search, const struct verb_option *option)
{
	if (search->left-- > 0)
		return false;
	*search->found = *option;
	return true;
}

static struct verb_option option_of(const struct control_param *param)
{
	static const enum verb_value values[] = { [CONTROL_INTEGER] = VERB_NUMBER,
						  [CONTROL_TEXT] = VERB_TEXT,
						  [CONTROL_NAME] = VERB_NAME,
						  [CONTROL_WORD] = VERB_CHOICE,
						  [CONTROL_BOOLEAN] = VERB_FLAG };
	static const char *const arguments[] = { [CONTROL_INTEGER] = "N",
						 [CONTROL_TEXT] = "TEXT",
						 [CONTROL_NAME] = "NAME",
						 [CONTROL_WORD] = "WORD",
						 [CONTROL_BOOLEAN] = NULL };

	return (struct verb_option){ .name = param->name,
				     .value = values[param->type],
				     .argument = arguments[param->type],
				     .help = param->help,
				     .choices = param->words,
				     .min = param->min,
				     .max = param->max,
				     .of_method = true };
}

static bool has_param(const struct control_method *method, const char *name)
{
	for (const struct control_param *param = method->params; param->name; param++)
		if (strcmp(param->name, name) == 0)
			return true;
	return false;
}

static bool find_param(const struct verb *verb, struct search *search)
{
	const struct control_method *first = verb_method(verb, 0), *method;
	struct verb_option option;

	for (uint32_t i = 0; (method = verb_method(verb, i)); i++)
		for (const struct control_param *param = method->params; param->name; param++) {
			if (i > 0 && has_param(first, param->name))
				continue;
			option = option_of(param);
			if (is_found(search, &option))
				return true;
		}
	if (!first || !first->acts)
		return false;
	option = option_of(&control_key);
	return is_found(search, &option);
}

bool verb_option_at(const struct verb *verb, uint32_t index, struct verb_option *ret_option)
{
	struct search search = { index, ret_option };

	for (uint32_t i = 0; verb->options[i]; i++)
		for (const struct verb_option *option = verb->options[i]; option->name; option++)
			if (is_found(&search, option))
				return true;
	return !verb->parameters_not_options && find_param(verb, &search);
}

const char *verb_option_word(const struct verb_option *option, char out[static VERB_WORD_BYTES])
{
	(void)snprintf(out, VERB_WORD_BYTES, "--%s", option->name);
	for (char *at = out; *at; at++)
		if (*at == '_')
			*at = '-';
	return out;
}

const char *verb_choices(const struct verb_option *option, char *out, size_t size)
{
	size_t used = 0;

	for (const char *at = option->choices; *at && used + 3 < size; at++) {
		if (*at == '|')
			out[used++] = ',';
		out[used++] = *at == '|' ? ' ' : *at;
	}
	out[used] = '\0';
	return out;
}

/* ---- Rows ---- */

const struct verb *verb_sub(const struct verb *verb, const char *name)
{
	for (const struct verb *const *sub = verb->subs; sub && *sub; sub++)
		if (strcmp((*sub)->name, name) == 0)
			return *sub;
	return NULL;
}

const struct control_method *verb_method(const struct verb *verb, uint32_t index)
{
	const bool is_there = index < sizeof(verb->methods) / sizeof(verb->methods[0]);

	return is_there && verb->methods[index] ? control_method_find(verb->methods[index]) : NULL;
}

const char *verb_summary(const struct verb *verb)
{
	const struct control_method *method = verb_method(verb, 0);

	return verb->summary ? verb->summary : method ? method->help : "";
}

/* ---- Synopsis ---- */

static void print_made(const struct verb *verb, FILE *out)
{
	struct verb_option option;

	for (const struct verb_operand *operand = verb->operands; operand && operand->name; operand++)
		fprintf(out, " %s%s%s%s", operand->optional ? "[" : "", operand->name,
			operand->optional ? "]" : "", operand->repeated ? "..." : "");
	if (verb_option_at(verb, 0, &option))
		fputs(" [OPTION...]", out);
	(void)fputc('\n', out);
}

static void print_given(const char *synopsis, const char *prefix, FILE *out)
{
	while (*synopsis) {
		int length = (int)strcspn(synopsis, "\n");

		fprintf(out, "%s%.*s\n", prefix, length, synopsis);
		synopsis += length + (synopsis[length] == '\n');
	}
}

void verb_synopsis(const struct verb *verb, const struct verb *parent, const char *prefix, FILE *out)
{
	if (verb->synopsis)
		print_given(verb->synopsis, prefix, out);
	else if (verb->run) {
		fprintf(out, "%s%s%s%s", prefix, parent ? parent->name : "", parent ? " " : "", verb->name);
		print_made(verb, out);
	}
	for (const struct verb *const *sub = verb->subs; sub && *sub; sub++)
		verb_synopsis(*sub, verb, prefix, out);
}
