"""Looks at what a Hub holds, past its wire protocol: what a test compares with what should be there."""

from __future__ import annotations

from dataclasses import dataclass

from tests.hub_server.app import Services
from tests.hub_server.git import history, resolve_revision
from tests.hub_server.serving import Ports
from tests.hub_server.state import Bucket, Repo
from tests.hub_server.world import World


@dataclass(frozen=True, kw_only=True)
class SpaceTruth:
    """A Space as it is."""

    sdk: str
    stage: str
    """Where it ends up once it was asked often enough."""
    hardware: str
    variables: dict[str, str]
    secrets: dict[str, str]
    volumes: list[dict]
    num_restarts: int
    num_commits: int


class Truth:
    """The questions; `Hub` has them all."""

    _ports: Ports
    _services: Services
    _world: World

    def bucket_files(self, bucket_id: str) -> dict[str, bytes]:
        """Path to content of all that a bucket holds.

        Raises:
            KeyError: There is no such bucket.
        """

        def read() -> dict[str, bytes]:
            files = self._bucket(bucket_id).files
            return {path: self._services.cas.content(entry.xet_hash) for path, entry in files.items()}

        return self._ports.call(read)

    def bucket_ids(self) -> list[str]:
        return self._ports.call(lambda: sorted(self._world.saved.buckets))

    def bucket_is_private(self, bucket_id: str) -> bool:
        return self._ports.call(lambda: self._bucket(bucket_id).private)

    def repo_files(self, repo_type: str, repo_id: str, revision: str = "main") -> dict[str, bytes]:
        """Path to content of all that a repository holds.

        Raises:
            KeyError: There is no such repository.
        """

        def read() -> dict[str, bytes]:
            repos = self._services.repos
            repo = self._repo(repo_type, repo_id)
            files = repos.trees.files(repo, resolve_revision(repo, revision))
            return {path: repos.content(blob) for path, blob in files.items()}

        return self._ports.call(read)

    def repo_ids(self, repo_type: str) -> list[str]:
        """The repositories of a type: model, dataset or space."""
        repos = self._ports.call(lambda: list(self._world.saved.repos.values()))
        return sorted(repo.id for repo in repos if repo.type == repo_type)

    def repo_is_private(self, repo_type: str, repo_id: str) -> bool:
        return self._ports.call(lambda: self._repo(repo_type, repo_id).private)

    def num_commits(self, repo_type: str, repo_id: str, revision: str = "main") -> int:
        """How many commits lead to a revision, the one that creating made among them."""

        def count() -> int:
            repo = self._repo(repo_type, repo_id)
            return sum(1 for _ in history(repo, resolve_revision(repo, revision)))

        return self._ports.call(count)

    def space(self, space_id: str) -> SpaceTruth:
        """All of a Space, the values of its secrets too."""

        def read() -> SpaceTruth:
            settings = self._repo("space", space_id).space
            assert settings is not None
            return SpaceTruth(
                sdk=settings.sdk,
                stage=settings.stages[-1],
                hardware=settings.hardware,
                variables={key: str(entry["value"]) for key, entry in settings.variables.items()},
                secrets={key: str(entry["value"]) for key, entry in settings.secrets.items()},
                volumes=[dict(volume) for volume in settings.volumes],
                num_restarts=settings.num_restarts,
                num_commits=self.num_commits("space", space_id),
            )

        return self._ports.call(read)

    def set_space_stages(self, space_id: str, *stages: str) -> None:
        """What a Space's next questions for its stage are told; the last one stays."""

        def change() -> None:
            settings = self._repo("space", space_id).space
            assert settings is not None
            settings.stages = list(stages)

        self._ports.call(change)

    def _repo(self, repo_type: str, repo_id: str) -> Repo:
        return self._world.saved.repos[f"{repo_type}/{repo_id}"]

    def _bucket(self, bucket_id: str) -> Bucket:
        return self._world.saved.buckets[bucket_id]
