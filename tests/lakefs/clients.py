# SPDX-License-Identifier: Apache-2.0
"""Tells the story of a night to the contract server with lakeFS's own clients, `lakefs` or `lakefs_sdk`, and prints what they got:

    clients.py lakefs|sdk REPOSITORY

    clients.py protected REPOSITORY   what a protected branch and an access key without permissions answer, for rules set by lakefs_sdk

The objects of the trial are uploaded before (put_object of lib.sh): clients.py waits for a line on its input before it commits.
"""
import json
import os
import sys
import time

import lakefs
import lakefs_sdk
from lakefs.client import Client

HOST, KEY, SECRET = (os.environ[f"KILN_LAKEFS{name}"] for name in ("", "_KEY", "_SECRET"))
NOTE, MARK = {"kiln.series": "s1", "kiln.run_id": "r1"}, {"kiln.run_id": "r2"}


def by_lakefs(name):
    repository = lakefs.Repository(name, client=Client(host=HOST, username=KEY, password=SECRET))
    repository.create(storage_namespace=f"s3://kiln/lakefs/{name}", default_branch="main")
    imported = repository.branch("main").import_data("imdb", metadata={"kiln.import": "s3://kiln/imdb/"})
    imported.prefix("s3://kiln/imdb/", destination="data/").run()
    start = repository.ref("main").get_commit().id
    branch = repository.branch("exp-adam").create(start)
    uploaded()
    branch.commit("trial adam", metadata=NOTE)
    branch.commit("trial of another", metadata=MARK, allow_empty=True)
    changes = [f"{c.type} {c.path} {c.size_bytes}" for c in repository.ref("main").diff("exp-adam", type="three_dot")]
    merged = branch.merge_into("main", message="winner adam", metadata={"kiln.series": "s1"})
    repository.tag("nightly").create(merged)
    branch.delete()
    return start, changes, merged


def by_sdk(name):
    api = lakefs_sdk.ApiClient(lakefs_sdk.Configuration(host=f"{HOST}/api/v1", username=KEY, password=SECRET))
    lakefs_sdk.RepositoriesApi(api).create_repository(
        lakefs_sdk.RepositoryCreation(name=name, storage_namespace=f"s3://kiln/lakefs/{name}", default_branch="main"))
    imports = lakefs_sdk.ImportApi(api)
    number = imports.import_start(name, "main", lakefs_sdk.ImportCreation(
        paths=[lakefs_sdk.ImportLocation(type="common_prefix", path="s3://kiln/imdb/", destination="data/")],
        commit=lakefs_sdk.CommitCreation(message="imdb", metadata={"kiln.import": "s3://kiln/imdb/"}))).id
    while not imports.import_status(name, "main", number).completed:
        time.sleep(0.1)
    start = lakefs_sdk.CommitsApi(api).get_commit(name, "main").id
    lakefs_sdk.BranchesApi(api).create_branch(name, lakefs_sdk.BranchCreation(name="exp-adam", source=start))
    uploaded()
    lakefs_sdk.CommitsApi(api).commit(name, "exp-adam", lakefs_sdk.CommitCreation(message="trial adam", metadata=NOTE))
    lakefs_sdk.CommitsApi(api).commit(name, "exp-adam", lakefs_sdk.CommitCreation(message="trial of another", metadata=MARK, allow_empty=True))
    refs = lakefs_sdk.RefsApi(api)
    changes = [f"{c.type} {c.path} {c.size_bytes}" for c in refs.diff_refs(name, "main", "exp-adam", type="three_dot").results]
    merged = refs.merge_into_branch(name, "exp-adam", "main",
                                    merge=lakefs_sdk.Merge(message="winner adam", metadata={"kiln.series": "s1"})).reference
    lakefs_sdk.TagsApi(api).create_tag(name, lakefs_sdk.TagCreation(id="nightly", ref=merged))
    lakefs_sdk.BranchesApi(api).delete_branch(name, "exp-adam")
    return start, changes, merged


def protected(name):
    """Prints one line for each call: its status, and lakeFS's sentence."""
    api = lakefs_sdk.ApiClient(lakefs_sdk.Configuration(host=f"{HOST}/api/v1", username=KEY, password=SECRET))
    repositories, branches, refs = lakefs_sdk.RepositoriesApi(api), lakefs_sdk.BranchesApi(api), lakefs_sdk.RefsApi(api)
    repositories.set_branch_protection_rules(name, [lakefs_sdk.BranchProtectionRule(pattern="prod*")])
    print("rules", *[r.pattern for r in repositories.get_branch_protection_rules(name)], flush=True)
    tell("commit", lambda: lakefs_sdk.CommitsApi(api).commit(name, "production", lakefs_sdk.CommitCreation(message="m")))
    tell("merge", lambda: refs.merge_into_branch(name, "work", "production"))
    uploaded()
    tell("delete", lambda: branches.delete_branch(name, "work"))


def tell(what, call):
    try:
        call()
        print(what, "done", flush=True)
    except lakefs_sdk.ApiException as e:
        print(what, e.status, json.loads(e.body)["message"], flush=True)


def uploaded():
    print("upload", flush=True)
    sys.stdin.readline()


if sys.argv[1] == "protected":
    protected(sys.argv[2])
    sys.exit()
found_start, found_changes, found_merged = (by_lakefs if sys.argv[1] == "lakefs" else by_sdk)(sys.argv[2])
print("changes", *found_changes, flush=True)
