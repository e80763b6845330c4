"""Masks secrets in configs, command lines and texts before they reach the disk. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

REDACTED: Final = "REDACTED"

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# fmt: off
_ALWAYS: Final = frozenset({
    "accesskey", "apikey", "authorization", "bearer", "cookie", "credential", "credentials", "passphrase", "passwd",
    "password", "passwords", "privatekey", "pwd", "secret", "secrets",
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
_RANDOM = re.compile(r"(?<![A-Za-z0-9+/])(?=[A-Za-z+/]*[0-9])(?=[0-9+/]*[A-Za-z])[A-Za-z0-9+/]{16,}")
"""Letters and digits in one piece: what no name of a setting looks like."""
# Each repetition is bounded or has one place to begin: a text may be megabytes long.
_SHAPES = re.compile(
    r"hf_[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{30,}"
    r"|(?<![A-Za-z0-9])sk-(?:[A-Za-z0-9]{20,}|(?:proj|ant|or|svcacct|admin|live)-[A-Za-z0-9_-]{20,})"
    r"|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}"
    r"|AIza[0-9A-Za-z_-]{35}|(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[^-]|-(?!----END))*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
)
_USER_INFO = re.compile(r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]{0,30}://)[^/\s:@]*(?::[^/\s@]*)?@")
_NAMED = re.compile(
    r"(?P<name>[?&](?:[a-z_]{0,40}token|[a-z_]{0,40}key|password|signature|sig)=)[^&\s#\"']+"
    r"|(?P<header>\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?)(?:(?:bearer|basic|token|digest)\s{1,3})?[^\s\"',;]+"
    r"|(?P<scheme>\bbearer\s{1,3})(?=[^\s\"',;]*[0-9])[A-Za-z0-9._~+/=-]{8,}"
    r"|(?P<setting>(?:password|passwd|passphrase|secret|(?:api|access|account)[_-]?key"
    r"|(?:hf|hub|auth|access|api|wandb|github|bot|session|refresh)[_-]?token)[\"']?\s{0,3}[=:]\s{0,3}[\"']?)"
    r"[^\s\"'&;,}]+"
    r"|(?P<hook>hooks\.slack\.com/[a-z]{1,20}/|discord(?:app)?\.com/api/webhooks/)[^\s\"'<>]+",
    re.IGNORECASE,
)


# fmt: off
_SHAPE_HINTS: Final = (
    "hf_", "api_org_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "sk-", "github_pat_", "glpat-", "xox", "AKIA", "AIza",
    "eyJ", "PRIVATE KEY",
)
_NAME_HINTS: Final = (
    "token=", "key=", "password", "signature=", "sig=", "authorization", "bearer", "passwd", "passphrase", "secret",
    "api_key", "api-key", "apikey", "access_key", "access-key", "accesskey", "account_key", "account-key",
    "accountkey", "_token", "-token", "hooks.slack.com", "/api/webhooks/",
)
# fmt: on


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
    """A text without the tokens, passwords and private keys that stand in it."""
    # Texts are logged from training loops, and most hold none: finding that out must cost little.
    if any(hint in text for hint in _SHAPE_HINTS):
        text = _SHAPES.sub(REDACTED, text)
    if "://" in text and "@" in text:
        text = _USER_INFO.sub(rf"\g<scheme>{REDACTED}@", text)
    lower = text.lower()
    if any(hint in lower for hint in _NAME_HINTS):
        text = _NAMED.sub(lambda match: f"{match[match.lastgroup or 0]}{REDACTED}", text)
    return text


def mask_value(name: str, value: Any, *, within: Sequence[str] = ()) -> Any:
    """A plain config value with what is secret in it replaced.

    Args:
        name: its key.
        value: None, bool, int, float, str, list or dict with str keys, nested.
        within: names of the sections around it.
    """
    words = [word.lower() for word in _WORDS.findall(name)]
    if isinstance(value, dict):
        if _ALWAYS & set(words):
            return _hidden(value, hides_numbers=True)
        if _names_several(words):
            return _hidden(value, hides_numbers=False)
        return {key: mask_value(key, item, within=(*within, name)) for key, item in value.items()}
    if is_secret_name(name, within=within) and value is not None and not isinstance(value, bool):
        return REDACTED
    if _names_several(words):
        return _hidden(value, hides_numbers=False)
    if isinstance(value, list):
        return [mask_value(name, item, within=within) for item in value]
    if not isinstance(value, str):
        return value
    return REDACTED if words[-1:] in (["token"], ["key"]) and _RANDOM.search(value) else mask_text(value)


def _names_several(words: Sequence[str]) -> bool:
    """Whether a name is one of secrets in the plural, where its values are texts: "num_user_tokens" is a number."""
    owners = set(words[:-1])
    last = words[-1] if words else ""
    return (last == "tokens" and bool(owners & _TOKEN_OWNERS)) or (last == "keys" and bool(owners & _KEY_OWNERS))


def _hidden(value: Any, *, hides_numbers: bool) -> Any:
    if isinstance(value, dict):
        return {key: _hidden(item, hides_numbers=hides_numbers) for key, item in value.items()}
    if isinstance(value, list):
        return [_hidden(item, hides_numbers=hides_numbers) for item in value]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return REDACTED if isinstance(value, str) or (is_number and hides_numbers) else value


def mask_argv(argv: Sequence[str]) -> list[str]:
    """A command line with the values of secret-looking options replaced.

    Args:
        argv: program and arguments.
    """
    masked: list[str] = []
    option = ""
    for argument in argv:
        *within, last = option.lstrip("+-").split(".")
        # A secret may begin with one dash; what follows another option with one is an option of its own.
        if option and not argument.startswith("--" if is_secret_name(last, within=within) else "-"):
            masked.append(mask_value(last, argument, within=within))
            option = ""
            continue
        name, equals, value = argument.partition("=")
        *within, last = name.lstrip("+-").split(".")
        option = argument if argument.startswith("-") and not equals else ""
        is_hidden = equals and value and mask_value(last, value, within=within) == REDACTED
        masked.append(f"{name}={REDACTED}" if is_hidden else mask_text(argument))
    return masked


__all__ = ["REDACTED", "is_secret_name", "mask_argv", "mask_text", "mask_value"]
