/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/conf.h"
#include "core/config/config.h"
#include "core/config/config_held.h"
#include "core/series/trials.h"
#include "drivers/wireguard/netdev.h"
#include "model/build.h"

#include <string.h>
#include <sys/stat.h>

#define MISTAKES_MAX 65536u

/* Copies the lines that trials_check() printed. Each line begins with the path of the file. In the place of
 * the path of a file in memory the copy has kiln.conf, because the client sent the text of a kiln.conf. */
static void copy_lines(const char *said, const char *path, struct error *err)
{
	const bool in_memory = strncmp(path, CONFIG_HELD, strlen(CONFIG_HELD)) == 0;
	size_t length = strlen(path), used = 0;

	err->text[0] = '\0';
	while (*said && used < sizeof(err->text) - 1) {
		int line = (int)strcspn(said, "\n");
		bool named = in_memory && strncmp(said, path, length) == 0;
		int n = snprintf(err->text + used, sizeof(err->text) - used, "%s%s%.*s", used ? "\n" : "",
				 named ? "kiln.conf" : "", named ? line - (int)length : line,
				 said + (named ? length : 0));

		used += n > 0 ? (size_t)n : 0;
		said += line + (said[line] == '\n');
	}
}

int conf_check(const char *path, struct error *err)
{
	CLEANUP(free_ptr) char *said = NULL;
	int r = trials_check_text(path, graph_check, &said, err);

	if (r == 0 || !said)
		return r;
	(void)error_set(err, r, "the configuration is not good");
	if (strlen(said) > MISTAKES_MAX)
		said[MISTAKES_MAX] = '\0';
	copy_lines(said, path, err);
	return r;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static void read_network(const char *file, struct conf *conf)
{
	CLEANUP(config_done) struct config config = { 0 };

	if (config_load(file, &config, NULL) < 0)
		return;
	(void)snprintf(conf->network, sizeof(conf->network), "%s", config.ranks.network);
	conf->trusted = config.ranks.trusted;
}

/* Reads kiln.conf where it has changed. */
static void look(struct conf *conf)
{
	const char *file = config_path(0, NULL);
	struct error err = { 0 };
	struct stat st;

	if (stat(file, &st) < 0) {
		*conf = (struct conf){ 0 };
		return;
	}
	if (is_same_time(&st.st_mtim, &conf->stamp))
		return;
	*conf = (struct conf){ .stamp = st.st_mtim };
	if (conf_check(file, &err) < 0)
		(void)snprintf(conf->first, sizeof(conf->first), "%.*s", (int)strcspn(err.text, "\n"),
			       err.text);
	else
		read_network(file, conf);
}

const char *conf_mistake(struct conf *conf)
{
	look(conf);
	return *conf->first ? conf->first : NULL;
}

const char *conf_network(struct conf *conf, char *out, size_t size)
{
	look(conf);
	if (!*conf->network)
		return NULL;
	(void)snprintf(out, size,
		       conf->trusted ? "ranks speak unencrypted over the trusted network %s"
		       : netdev_is_up()
			       ? "ranks speak over WireGuard in the network %s"
			       : "the WireGuard network %s is not up: kiln check tells what is missing",
		       conf->network);
	return out;
}
