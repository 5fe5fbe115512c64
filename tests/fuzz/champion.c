/* SPDX-License-Identifier: Apache-2.0 */
/* A champion.json of the store, as a promotion and a rollback read it: checked, its files listed as copies of
 * the next number, and the record of these copies read again. */
#include "oneshot/promote/champion.c" // NOLINT(bugprone-suspicious-include): programs make no archive
#include "oneshot/promote/copies.c"   // NOLINT(bugprone-suspicious-include)

#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

/* No part of a key leads elsewhere. */
static void check_key(const char *key)
{
	for (const char *part = key;; part++) {
		const size_t bytes = strcspn(part, "/");

		must(bytes > 0 && !(bytes <= 2 && strncmp(part, "..", bytes) == 0));
		part += bytes;
		if (!*part)
			return;
	}
}

static void check_copies(const struct copies *copies)
{
	for (uint32_t i = 0; i < copies->count; i++) {
		check_key(copies->copy[i].from);
		check_key(copies->copy[i].to);
		must(copies->copy[i].expected && strlen(copies->copy[i].to) < STORE_KEY_MAX);
	}
}

/* The record that a rollback makes is that of a champion, too. */
static void read_again(const struct champion *champion, const struct copies *copies)
{
	CLEANUP(champion_done) struct champion next = { .record = cJSON_Duplicate(champion->record, true) };
	static const char *const replaced[] = { "number", "files", "saved_model", "onnx", "kiln" };
	struct error err = { 0 };

	for (size_t i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++)
		cJSON_DeleteItemFromObjectCaseSensitive(next.record, replaced[i]);
	must(json_add_u64(next.record, "number", copies->number) &&
	     copies_json(copies, next.record, &err) == 0);
	must(check("the next", &next, &err) == 0 && next.number > champion->number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(champion_done) struct champion champion = { 0 };
	CLEANUP(copies_done) struct copies copies = { 0 };
	struct error err = { 0 };

	if (json_parse("champion.json", (const char *)data, size, &champion.record, &err) < 0 ||
	    check("champion.json", &champion, &err) < 0) {
		must(*err.text);
		return 0;
	}
	must(*champion.run_id && strlen(champion.run_id) < RUN_ID_BYTES && !strchr(champion.run_id, '/'));
	must(champion.before < champion.number && champion.number < NUMBER_MAX);
	must(copies_of_champion(&champion, champion.number + 1, &copies, &err) == 0);
	check_copies(&copies);
	read_again(&champion, &copies);
	return 0;
}
