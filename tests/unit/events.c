/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <syslog.h>

#include <cmocka.h>

#define NAME_SET "abcdefghijklmnopqrstuvwxyz."

/* sd-id128(3): a UUID of version 4, 32 lower-case hexadecimal digits. */
static void ids_are_well_formed_and_unique(void **state)
{
	(void)state;
	for (size_t i = 0; i < EVENT_MAX; i++) {
		const char *id = event_rows[i].message_id;

		assert_non_null(id);
		assert_int_equal(strlen(id), 32);
		assert_int_equal(strspn(id, "0123456789abcdef"), 32);
		assert_int_equal(id[12], '4');
		assert_non_null(strchr("89ab", id[16]));
		assert_ptr_equal(event_by_message_id(id), &event_rows[i]);
	}
	assert_null(event_by_message_id("fc2e22bc6ee647b6b90729ab34a250b1"));
}

static void names_are_well_formed_and_unique(void **state)
{
	(void)state;
	for (size_t i = 0; i < EVENT_MAX; i++) {
		const char *name = event_rows[i].name, *dot = strchr(name, '.');

		assert_int_equal(strspn(name, NAME_SET), strlen(name));
		assert_true(dot && dot > name && dot[1] && !strchr(dot + 1, '.'));
		assert_true(strlen(name) <= 32); /* longest value of the parameter "event" */
		assert_ptr_equal(event_by_name(name), &event_rows[i]);
	}
	assert_null(event_by_name("events.lost")); /* a line of kiln-controld, not an event */
	assert_null(event_by_name(""));
}

static void every_row_says_what_it_means(void **state)
{
	(void)state;
	for (size_t i = 0; i < EVENT_MAX; i++) {
		assert_true(strlen(event_rows[i].help) > 8);
		/* '|' would end the Markdown table's cell that contains the help */
		assert_null(strchr(event_rows[i].help, '|'));
		assert_in_range(event_rows[i].priority, LOG_ERR, LOG_INFO);
		assert_int_equal(event_rows[i].fields >> event_fields_count, 0);
	}
}

static void every_field_is_documented_and_used(void **state)
{
	uint32_t used = 0;

	(void)state;
	assert_true(event_fields_count < 32);
	for (size_t i = 0; i < EVENT_MAX; i++)
		used |= event_rows[i].fields;
	for (size_t i = 0; i < event_fields_count; i++) {
		const struct event_field *field = &event_fields[i];

		assert_memory_equal(field->name, "KILN_", 5);
		assert_true(strlen(field->name) > 5 && strlen(field->help) > 3);
		assert_true(used & 1u << i);
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(field->name, event_fields[k].name);
			assert_int_not_equal(field->offset, event_fields[k].offset);
		}
	}
}

/* No row has more fields than an entry can hold. */
static void no_row_has_too_many_fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < EVENT_MAX; i++)
		assert_in_range(__builtin_popcount(event_rows[i].fields), 0, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_well_formed_and_unique),
		cmocka_unit_test(names_are_well_formed_and_unique),
		cmocka_unit_test(every_row_says_what_it_means),
		cmocka_unit_test(every_field_is_documented_and_used),
		cmocka_unit_test(no_row_has_too_many_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
