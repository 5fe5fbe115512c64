/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/rauc/rauc.h"

#include "drivers/bus/bus.h"

#include <string.h>

#define SERVICE   "de.pengutronix.rauc"
#define OBJECT    "/"
#define INTERFACE SERVICE ".Installer"

struct rauc {
	sd_bus *bus;
};

int rauc_open(struct rauc **ret_rauc, struct error *err)
{
	CLEANUP(rauc_closep) struct rauc *rauc = calloc(1, sizeof(*rauc));
	int r;

	if (!rauc)
		return error_set(err, -ENOMEM, "no memory for a bus connection");
	if ((r = bus_open("RAUC", RAUC_WAIT_S, &rauc->bus, err)) < 0)
		return r;
	*ret_rauc = TAKE(rauc);
	return 0;
}

void rauc_closep(struct rauc **rauc)
{
	if (!*rauc)
		return;
	bus_close((*rauc)->bus);
	free(*rauc);
	*rauc = NULL;
}

static int failure(int r, const char *what, sd_bus_error *error, struct error *err)
{
	if (sd_bus_error_has_name(error, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
	    sd_bus_error_has_name(error, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
		r = -EPIPE;
	r = error_set(err, r, "RAUC: %s: %s", what, error->message ? error->message : strerror(-r));
	sd_bus_error_free(error);
	return r;
}

int rauc_install(struct rauc *rauc, const char *bundle, struct error *err)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r = sd_bus_call_method(rauc->bus, SERVICE, OBJECT, INTERFACE, "InstallBundle", &error, NULL,
				   "sa{sv}", bundle, 0);

	if (r >= 0)
		return 0;
	if (error.message && strstr(error.message, "already processing"))
		r = -EBUSY;
	return failure(r, "InstallBundle", &error, err);
}

int rauc_version(struct rauc *rauc, const char *bundle, char *ret_version, size_t size, struct error *err)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *reply = NULL;
	const char *compatible, *version;
	int r = sd_bus_call_method(rauc->bus, SERVICE, OBJECT, INTERFACE, "Info", &error, &reply, "s",
				   bundle);

	if (r >= 0)
		r = sd_bus_message_read(reply, "ss", &compatible, &version);
	if (r < 0) {
		sd_bus_message_unref(reply);
		return failure(r, "Info", &error, err);
	}
	(void)snprintf(ret_version, size, "%s", version);
	sd_bus_message_unref(reply);
	return 0;
}

/* Reads a property without starting the service. The caller reads the value from *ret_reply, whose read
 * position is inside the variant, and calls sd_bus_message_unref(). */
static int get(struct rauc *rauc, const char *property, const char *type, sd_bus_message **ret_reply,
	       struct error *err)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *call = NULL, *reply = NULL;
	int r = sd_bus_message_new_method_call(rauc->bus, &call, SERVICE, OBJECT,
					       "org.freedesktop.DBus.Properties", "Get");

	if (r >= 0)
		r = sd_bus_message_set_auto_start(call, 0);
	if (r >= 0)
		r = sd_bus_message_append(call, "ss", INTERFACE, property);
	if (r >= 0)
		r = sd_bus_call(rauc->bus, call, 0, &error, &reply);
	if (r >= 0)
		r = sd_bus_message_enter_container(reply, 'v', type);
	sd_bus_message_unref(call);
	if (r < 0) {
		sd_bus_message_unref(reply);
		return failure(r, property, &error, err);
	}
	*ret_reply = reply;
	return 0;
}

static int get_text(struct rauc *rauc, const char *property, char *out, size_t size, struct error *err)
{
	sd_bus_message *reply = NULL;
	const char *text = "";
	int r = get(rauc, property, "s", &reply, err);

	if (r < 0)
		return r;
	r = sd_bus_message_read(reply, "s", &text);
	(void)snprintf(out, size, "%s", text);
	sd_bus_message_unref(reply);
	return r < 0 ? error_set(err, r, "RAUC: %s: not of its type", property) : 0;
}

int rauc_look(struct rauc *rauc, struct rauc_progress *ret_progress, struct error *err)
{
	sd_bus_message *reply = NULL;
	char operation[32];
	const char *text = "";
	int32_t percent = 0, depth = 0;
	int r = get_text(rauc, "Operation", operation, sizeof(operation), err);

	if (r < 0 || (r = get(rauc, "Progress", "(isi)", &reply, err)) < 0)
		return r;
	r = sd_bus_message_read(reply, "(isi)", &percent, &text, &depth);
	ret_progress->busy = strcmp(operation, "idle") != 0;
	ret_progress->percent = percent < 0 ? 0 : (uint32_t)percent;
	(void)snprintf(ret_progress->text, sizeof(ret_progress->text), "%s", text);
	sd_bus_message_unref(reply);
	return r < 0 ? error_set(err, r, "RAUC: Progress: not of its type") : 0;
}

int rauc_last_error(struct rauc *rauc, char *ret_text, size_t size, struct error *err)
{
	return get_text(rauc, "LastError", ret_text, size, err);
}
