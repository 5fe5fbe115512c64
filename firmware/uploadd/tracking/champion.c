/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a model that was promoted the champion of MLflow's model registry. */
#include "uploadd/tracking/about.h"
#include "uploadd/tracking/connect.h"

#include <inttypes.h>
#include <string.h>

#define ALIAS "champion"

/* Finds the MLflow run of the run that made the model. *ret_id: "" = MLflow does not have it. */
static int find_run(struct sender *sender, const cJSON *champion, char ret_id[static MLFLOW_ID_BYTES],
		    struct error *err)
{
	char experiment[MLFLOW_ID_BYTES], ids[MLFLOW_DOUBLES_MAX][MLFLOW_ID_BYTES];
	int r = mlflow_experiment(sender->mlflow, files_text(champion, "experiment"), experiment, err);

	ret_id[0] = '\0';
	if (r == 0)
		r = mlflow_find_runs(sender->mlflow, experiment, ABOUT_RUN_TAG, files_text(champion, "run"),
				     ids, err);
	if (r > 0)
		(void)snprintf(ret_id, MLFLOW_ID_BYTES, "%s", ids[0]);
	return r < 0 ? r : 0;
}

static int create_version(struct sender *sender, const cJSON *champion,
			  char ret_version[static MLFLOW_VERSION_BYTES], struct error *err)
{
	char run[MLFLOW_ID_BYTES], number[32];
	const struct mlflow_text tags[] = { { ABOUT_RUN_TAG, files_text(champion, "run") },
					    { "kiln.champion", number } };
	int r = find_run(sender, champion, run, err);

	(void)snprintf(number, sizeof(number), "%.0f", files_number(champion, "number"));
	return r < 0 ? r
		     : mlflow_create_version(sender->mlflow, files_text(champion, "model"),
					     files_text(champion, "source"), run, tags, 2, ret_version, err);
}

static int send_it(struct sender *sender, const cJSON *champion, struct error *err)
{
	const char *model = files_text(champion, "model");
	const struct mlflow_text tag = { ABOUT_RUN_TAG, files_text(champion, "run") };
	char version[MLFLOW_VERSION_BYTES];
	int r = connect_to(sender, champion, err);

	if (r == 0)
		r = mlflow_model(sender->mlflow, model, err);
	if (r == 0)
		r = mlflow_find_version(sender->mlflow, model, &tag, version, err);
	if (r == 0)
		r = create_version(sender, champion, version, err);
	return r < 0 ? r : mlflow_set_alias(sender->mlflow, model, ALIAS, version, err);
}

int send_champion(struct sender *sender, const char *name, char ret_refused[static RUN_ID_BYTES],
		  struct error *err)
{
	CLEANUP(json_free) cJSON *champion = NULL;
	char path[PATH_BYTES];
	int r = json_read(tracking_champion_path(name, path), TRACKING_CHAMPION_BYTES, &champion, err),
	    removed;
	bool is_lost = r == -EBADMSG;

	if (r == 0) {
		r = send_it(sender, champion, err);
		is_lost = r == -EINVAL;
	}
	if (r < 0 && !is_lost)
		return r;
	removed = file_remove_durable(path, is_lost ? NULL : err);
	if (!is_lost || removed < 0)
		return removed;
	(void)snprintf(ret_refused, RUN_ID_BYTES, "%s", files_text(champion, "run"));
	return 1;
}
