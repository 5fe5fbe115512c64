# SPDX-License-Identifier: Apache-2.0
"""What a lakeFS repository does: branches with uncommitted changes, commits, three-way merges, tags, protected branches. Facts about the
behaviour are those of lakeFS 1.84 (github.com/treeverse/lakeFS, pkg/graveler and pkg/api/controller.go)."""
import fnmatch
import hashlib
import json
import re
import threading
import time


class Refused(Exception):
    """An answer that is no success: an HTTP status and a message."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


class Repository:
    """All calls hold `lock`. An entry is a dict: key (of the object in the store), bucket, etag, size, mtime."""

    def __init__(self, name, storage, branch):
        self.lock = threading.RLock()
        self.id, self.storage, self.default_branch, self.created = name, storage, branch, int(time.time())
        self.commits, self.trees, self.branches, self.staging, self.tags = {}, {}, {}, {}, {}
        self.hooks = []  # those that refuse: {event, branch, message}
        self.protected = []  # patterns of branches that take merges only
        self.imports = {}
        self.sorted = {}  # the paths of a commit, in bytewise order
        self.branches[branch] = self._commit({}, [], "Repository created", {})
        self.staging[branch] = {}

    def json(self):
        return {"id": self.id, "storage_namespace": self.storage, "default_branch": self.default_branch,
                "creation_date": self.created}

    def seen(self):
        """What tests ask for."""
        with self.lock:
            history = {name: [self.commits[c] for c in self._first_parents(head)] for name, head in self.branches.items()}
            return {"branches": {name: {"commits": commits, "uncommitted": list(self.uncommitted(name))} for name, commits in history.items()},
                    "tags": self.tags, "commits": list(self.commits.values())}

    # ---- Commits and refs ----

    def _commit(self, tree, parents, message, metadata):
        tree_id = hashlib.sha256(json.dumps(sorted((p, e["etag"], e["size"], e["bucket"], e["key"]) for p, e in tree.items()))
                                 .encode()).hexdigest()
        commit = {"parents": parents, "committer": "kiln", "message": message, "creation_date": int(time.time()),
                  "meta_range_id": tree_id, "metadata": metadata}
        identity = hashlib.sha256(json.dumps([commit, len(self.commits)], sort_keys=True).encode()).hexdigest()
        self.commits[identity] = {"id": identity, **commit}
        self.trees[identity] = tree
        return identity

    def resolve(self, ref):
        """The id of a commit, and the branch whose staging counts, too, or None."""
        match = re.fullmatch(r"([^~^@]+)((?:[~^]\d*|@)*)", ref)
        if not match:
            raise Refused(400, f"ref: invalid value: {ref}")
        name, modifiers = match.groups()
        staged = None
        if name in self.branches:
            identity, staged = self.branches[name], None if modifiers else name
        elif name in self.tags:
            identity = self.tags[name]
        else:
            found = [c for c in self.commits if len(name) >= 6 and c.startswith(name)]
            if len(found) != 1:
                raise Refused(404, f"{name}: not found")
            identity = found[0]
        for kind, count in re.findall(r"([~^@])(\d*)", modifiers):
            for _ in range(0 if kind == "@" else int(count or 1)):
                if not self.commits[identity]["parents"]:
                    raise Refused(404, f"{ref}: not found")
                identity = self.commits[identity]["parents"][0]
        return identity, staged

    def tree(self, ref):
        identity, staged = self.resolve(ref)
        tree = self.trees[identity]
        if staged and self.staging[staged]:
            tree = dict(tree)
            for path, entry in self.staging[staged].items():
                if entry is None:
                    tree.pop(path, None)
                else:
                    tree[path] = entry
        return tree

    def paths(self, ref):
        """The paths of a tree, in bytewise order."""
        identity, staged = self.resolve(ref)
        if staged and self.staging[staged]:
            return sorted(self.tree(ref), key=str.encode)
        if identity not in self.sorted:
            self.sorted[identity] = sorted(self.trees[identity], key=str.encode)
        return self.sorted[identity]

    def commit_json(self, ref):
        return self.commits[self.resolve(ref)[0]]

    def log(self, ref, query):
        """A CommitList. Without first_parent the order of lakeFS is by time; here that of the walk."""
        walk = self._first_parents if query.get("first_parent") == "true" else self._ancestors
        every = list(walk(self.resolve(ref)[0]))
        found = every[:int(query.get("amount", 100))]
        return {"pagination": {"has_more": len(found) < len(every), "next_offset": found[-1] if len(found) < len(every) else "",
                               "results": len(found), "max_per_page": 1000}, "results": [self.commits[c] for c in found]}

    # ---- Branches and tags ----

    def branch_list(self, prefix):
        return {name: self.branch_head(name) for name in self.branches if name.startswith(prefix)}

    def branch_head(self, name):
        if name not in self.branches:
            raise Refused(404, f"branch {name}: not found")
        return {"id": name, "commit_id": self.branches[name]}

    def create_branch(self, name, source):
        if not re.fullmatch(r"\w[-\w]*", name):
            raise Refused(400, f"branch id: invalid value: {name}")
        identity = self.resolve(source)[0]
        if name in self.branches:
            raise Refused(409, "branch already exists: not unique")
        self._check_hook("pre-create-branch", name)
        self.branches[name], self.staging[name] = identity, {}
        return identity

    def delete_branch(self, name):
        self.branch_head(name)
        if name == self.default_branch:
            raise Refused(403, "cannot delete repository default branch")
        self._check_hook("pre-delete-branch", name)
        del self.branches[name], self.staging[name]

    def create_tag(self, name, ref):
        identity = self.resolve(ref)[0]
        if name in self.tags:
            raise Refused(409, "tag already exists: not unique")
        self._check_hook("pre-create-tag", name)
        self.tags[name] = identity
        return {"id": name, "commit_id": identity}

    def tag(self, name):
        if name not in self.tags:
            raise Refused(404, "tag not found")
        return {"id": name, "commit_id": self.tags[name]}

    # ---- Changes ----

    def check_protected(self, branch, what):
        if any(fnmatch.fnmatchcase(branch, pattern) for pattern in self.protected):
            raise Refused(403, f"cannot {what} to protected branch")

    def put(self, branch, path, entry):
        """Puts an entry, or None for a deletion, into the branch's uncommitted changes."""
        self.branch_head(branch)
        self.check_protected(branch, "write")
        self.staging[branch][path] = entry

    def uncommitted(self, branch):
        self.branch_head(branch)
        return differences(self.trees[self.branches[branch]], self.tree(branch))

    def _check_hook(self, event, name):
        """`name`: of the branch that is changed, made or deleted, or of the tag."""
        for hook in self.hooks:
            if hook["event"] == event and fnmatch.fnmatchcase(name, hook.get("branch", "*")):
                raise Refused(412, f"{event} hook: {hook['message']}")

    def commit(self, branch, message, metadata, allow_empty):
        self.branch_head(branch)
        self.check_protected(branch, "commit")
        self._check_hook("pre-commit", branch)
        if not self.uncommitted(branch) and not allow_empty:
            raise Refused(400, "commit: no changes")
        self.branches[branch] = self._commit(self.tree(branch), [self.branches[branch]], message, metadata)
        self.staging[branch] = {}
        return self.commits[self.branches[branch]]

    def _first_parents(self, identity):
        while identity:
            yield identity
            identity = next(iter(self.commits[identity]["parents"]), None)

    def _ancestors(self, identity):
        found, queue = [], [identity]
        while queue:
            at = queue.pop(0)
            if at not in found:
                found.append(at)
                queue += self.commits[at]["parents"]
        return found

    def base(self, left, right):
        """The common ancestor with the largest generation, as lakeFS has it: no other one descends from it."""
        of_left = set(self._ancestors(left))
        return max((c for c in self._ancestors(right) if c in of_left), key=self._generation)

    def _generation(self, identity):
        return 1 + max((self._generation(c) for c in self.commits[identity]["parents"]), default=0)

    def merge(self, source, branch, message, metadata, allow_empty, strategy):
        self.branch_head(branch)
        head, from_ = self.branches[branch], self.resolve(source)[0]
        if self.uncommitted(branch):
            raise Refused(400, "uncommitted changes (dirty branch)")
        base = self.base(head, from_)
        changes = differences(self.trees[base], self.trees[from_])
        if (base == from_ or not changes) and not allow_empty:
            raise Refused(400, "merge: no changes")
        if strategy != "source-wins" and conflicts(self.trees[base], self.trees[head], self.trees[from_]):
            raise Refused(409, "conflict found")
        self._check_hook("pre-merge", branch)
        tree = dict(self.trees[head])
        for path, (_, entry) in changes.items():
            if entry is None:
                tree.pop(path, None)
            else:
                tree[path] = entry
        self.branches[branch] = self._commit(tree, [head, from_], message or f"Merge '{source}' into '{branch}'", metadata)
        self.staging[branch] = {}
        return self.branches[branch]

    def diff(self, left, right, two_dot):
        one, other = self.resolve(left)[0], self.resolve(right)[0]
        if two_dot:
            return typed(differences(self.trees[one], self.trees[other]))
        base = self.base(one, other)
        found = typed(differences(self.trees[base], self.trees[other]))
        for path in conflicts(self.trees[base], self.trees[one], self.trees[other]):
            found[path]["type"] = "conflict"
        return found

    # ---- Import ----

    def import_tree(self, branch, entries, destination, message, metadata):
        """Replaces what the branch has below the destination. A branch with uncommitted changes is refused; a protected one is not."""
        if self.uncommitted(branch):
            raise Refused(400, f"{branch}: uncommitted changes (dirty branch)")
        self._check_hook("pre-commit", branch)
        tree = {p: e for p, e in self.trees[self.branches[branch]].items() if not p.startswith(destination)}
        tree.update(entries)
        metadata = {**metadata, ".lakefs.merge.strategy": "source-wins"}
        self.branches[branch] = self._commit(tree, [self.branches[branch]], message, metadata)
        return self.commits[self.branches[branch]]


def same(one, other):
    return one is other or (one is not None and other is not None and one["etag"] == other["etag"] and one["size"] == other["size"])


def differences(old, new):
    """{path: (entry before, entry after)}, None where there is none."""
    return {p: (old.get(p), new.get(p)) for p in sorted(old.keys() | new.keys()) if not same(old.get(p), new.get(p))}


def conflicts(base, one, other):
    return [p for p, (_, theirs) in differences(base, other).items()
            if not same(base.get(p), one.get(p)) and not same(one.get(p), theirs)]


def typed(changes):
    """The entries of a DiffList."""
    return {p: {"type": "added" if a is None else "removed" if b is None else "changed", "path": p, "path_type": "object",
                "size_bytes": (b or a)["size"]} for p, (a, b) in changes.items()}
