"""Generated run names: readable, and the same for the n-th run of a project wherever it is made."""

from __future__ import annotations

import hashlib

# fmt: off
_ADJECTIVES = (  # noqa: SIM905 - words read better as text than as a list of strings
    "amber brave brisk calm clear cosmic crisp dapper eager early fair fleet gentle glad golden grand happy honest "
    "humble jolly keen kind late lively lucid lucky lunar mellow merry mild neat nimble noble odd patient plain polar "
    "proud quick quiet rapid rare rosy round royal rustic sharp shiny silent silver smooth snowy solar solid spry "
    "steady stellar sunny swift tidy vivid warm wise"
).split()
_NOUNS = (  # noqa: SIM905 - as above
    "acorn badger beacon birch bison brook canyon cedar cliff clover comet coral crane creek delta dune eagle ember "
    "falcon fern finch fjord flint fox gale glacier grove gull harbor hawk heron hill island ivy jay kestrel lagoon "
    "lake lark lichen lynx maple marsh meadow mesa moon moss oak orchid otter owl pebble pine puffin quartz raven reef "
    "ridge river robin sparrow spruce summit willow wren"
).split()
# fmt: on


def generated_name(project: str, ordinal: int | str) -> str:
    """A run's name where the user gave none.

    Args:
        project: the project's name.
        ordinal: counts the project's runs from 1; or the beginning of the run's id.
    """
    digest = hashlib.sha256(f"{project}\0{ordinal}".encode("utf-8", "replace")).digest()
    adjective = _ADJECTIVES[int.from_bytes(digest[:4]) % len(_ADJECTIVES)]
    noun = _NOUNS[int.from_bytes(digest[4:8]) % len(_NOUNS)]
    return f"{adjective}-{noun}-{ordinal}"


__all__ = ["generated_name"]
