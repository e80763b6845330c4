"""Masks secrets in configs and command lines before they reach the disk. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

REDACTED: Final = "REDACTED"

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# fmt: off
_ALWAYS: Final = frozenset({
    "accesskey", "apikey", "authorization", "bearer", "cookie", "credential", "credentials", "passphrase", "passwd",
    "password", "privatekey", "pwd", "secret", "secrets",
})
_TOKEN_OWNERS: Final = frozenset({
    "access", "anthropic", "api", "auth", "bearer", "bot", "client", "discord", "gh", "github", "gitlab", "hf", "hub",
    "huggingface", "id", "login", "my", "oauth", "openai", "private", "read", "refresh", "session", "slack", "user",
    "wandb", "write",
})
_KEY_OWNERS: Final = frozenset({
    "access", "account", "anthropic", "api", "auth", "encryption", "license", "openai", "private", "secret", "service",
    "signing", "ssh", "storage", "wandb",
})
# fmt: on
_SHAPES = re.compile(
    r"hf_[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}"
    r"|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}"
    r"|AIza[0-9A-Za-z_-]{35}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.|\n)*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
)
_USER_INFO = re.compile(r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]*://)[^/\s:@]*(?::[^/\s@]*)?@")
_QUERY = re.compile(r"(?P<name>[?&](?:[a-z_]*token|[a-z_]*key|password|signature|sig)=)[^&\s#]+", re.IGNORECASE)


def is_secret_name(name: str, *, within: Sequence[str] = ()) -> bool:
    """Whether a value under this name is one nobody should read.

    Args:
        name: an option's or config key's name.
        within: names of the sections around it, outermost first.
    """
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    if _ALWAYS & set(words) or "".join(words) in _ALWAYS:
        return True
    owners = set(words[:-1])
    if words[-1] in ("token", "pat"):
        # A plain "token" is a secret; "cls_token", "pad_token" and "eos_token" are settings of a model.
        return not owners or bool(owners & _TOKEN_OWNERS)
    if words[-1] == "key":
        section = {word.lower() for part in within[-1:] for word in _WORDS.findall(part)}
        return bool(owners & _KEY_OWNERS) or (not owners and bool(section & _KEY_OWNERS))
    return False


def mask_text(text: str) -> str:
    """A text without the tokens, passwords in URLs and private keys that stand in it."""
    text = _SHAPES.sub(REDACTED, text)
    text = _USER_INFO.sub(rf"\g<scheme>{REDACTED}@", text)
    return _QUERY.sub(rf"\g<name>{REDACTED}", text)


def mask_value(name: str, value: Any, *, within: Sequence[str] = ()) -> Any:
    """A plain config value with what is secret in it replaced.

    Args:
        name: its key.
        value: None, bool, int, float, str, list or dict with str keys, nested.
        within: names of the sections around it.
    """
    if isinstance(value, dict):
        return {key: mask_value(key, item, within=(*within, name)) for key, item in value.items()}
    if (
        is_secret_name(name, within=within)
        and isinstance(value, (str, int, float, list))
        and not isinstance(value, bool)
    ):
        return REDACTED
    if isinstance(value, list):
        return [mask_value(name, item, within=within) for item in value]
    return mask_text(value) if isinstance(value, str) else value


def mask_argv(argv: Sequence[str]) -> list[str]:
    """A command line with the values of secret-looking options replaced.

    Args:
        argv: program and arguments.
    """
    masked: list[str] = []
    hide_next = False
    for argument in argv:
        if hide_next and not argument.startswith("--"):
            masked.append(REDACTED)
            hide_next = False
            continue
        name, equals, value = argument.partition("=")
        is_secret = is_secret_name(name.rsplit(".", 1)[-1].lstrip("-"))
        hide_next = is_secret and not equals and argument.startswith("-")
        masked.append(f"{name}={REDACTED}" if is_secret and equals and value else mask_text(argument))
    return masked


__all__ = ["REDACTED", "is_secret_name", "mask_argv", "mask_text", "mask_value"]
