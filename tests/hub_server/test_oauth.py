"""A login at the Hub, step by step as an application and a browser make it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from huggingface_hub.errors import HfHubHTTPError

from tests.hub_server.hub import Hub

CALLBACK = "http://127.0.0.1:1/login/callback?_target_url=%2F"


@pytest.fixture
def app(hub: Hub) -> dict[str, str]:
    """An application that people log in to; `me` is logged in at the Hub."""
    hub.sign_in("me")
    return hub.add_oauth_app()


def authorize(app: dict[str, str], **options: str) -> dict[str, str]:
    """What the browser brings back to the application."""
    metadata = httpx2.get(app["OPENID_PROVIDER_URL"] + "/.well-known/openid-configuration").json()
    params = {
        "client_id": app["OAUTH_CLIENT_ID"],
        "redirect_uri": CALLBACK,
        "response_type": "code",
        "scope": app["OAUTH_SCOPES"],
        "state": "s1",
        "nonce": "n1",
        **options,
    }
    answer = httpx2.get(metadata["authorization_endpoint"], params=params)
    assert answer.headers["Location"].startswith(CALLBACK)
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["Location"]).query).items()}


def exchange(app: dict[str, str], code: str, **options: str) -> httpx2.Response:
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, **options}
    client = (app["OAUTH_CLIENT_ID"], app["OAUTH_CLIENT_SECRET"])
    return httpx2.post(app["OPENID_PROVIDER_URL"] + "/oauth/token", data=form, auth=client)


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_a_login_gives_a_token_with_the_rights_of_its_scopes(app: dict[str, str], hub: Hub):
    brought = authorize(app)
    assert brought["state"] == "s1"
    token = exchange(app, brought["code"]).json()
    client = hub.api(token=token["access_token"])
    assert client.whoami()["name"] == "me"
    client.create_bucket("me/made-by-login")
    assert hub.bucket_ids() == ["me/made-by-login"]

    reader = exchange(app, authorize(app, scope="openid profile")["code"]).json()
    with pytest.raises(HfHubHTTPError, match="403"):
        hub.api(token=reader["access_token"]).create_bucket("me/another")


def test_the_id_token_and_the_user_information_say_who_it_is(app: dict[str, str], hub: Hub):
    token = exchange(app, authorize(app)["code"]).json()
    signed, _, signature = token["id_token"].rpartition(".")
    (key,) = httpx2.get(f"{hub.endpoint}/.well-known/jwks.json").json()["keys"]
    assert decoded(signature) == hmac.new(decoded(key["k"]), signed.encode(), hashlib.sha256).digest()
    claims = json.loads(decoded(signed.split(".")[1]))
    told = httpx2.get(
        f"{hub.endpoint}/oauth/userinfo", headers={"Authorization": f"Bearer {token['access_token']}"}
    ).json()
    for said in (claims, told):
        assert (said["preferred_username"], said["isPro"]) == ("me", True)
        assert [(org["preferred_username"], org["roleInOrg"]) for org in said["orgs"]] == [("team", "write")]
    assert (claims["aud"], claims["nonce"], claims["iss"]) == (app["OAUTH_CLIENT_ID"], "n1", hub.endpoint)


def test_a_code_is_good_once_and_for_its_application(app: dict[str, str], hub: Hub):
    code = authorize(app)["code"]
    assert exchange(hub.add_oauth_app(), code).status_code == 400
    code = authorize(app)["code"]
    assert exchange({**app, "OAUTH_CLIENT_SECRET": "wrong"}, code).status_code == 401
    assert exchange(app, code).status_code == 200
    assert exchange(app, code).status_code == 400


def test_a_challenge_must_be_met(app: dict[str, str]):
    verifier = "v" * 43
    digest = hashlib.sha256(verifier.encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    wrong = authorize(app, code_challenge=challenge, code_challenge_method="S256")
    assert exchange(app, wrong["code"], code_verifier="guess").status_code == 400
    right = authorize(app, code_challenge=challenge, code_challenge_method="S256")
    assert exchange(app, right["code"], code_verifier=verifier).status_code == 200


def test_nobody_is_logged_in_without_signing_in(app: dict[str, str], hub: Hub):
    hub.sign_in(None)
    params = {"client_id": app["OAUTH_CLIENT_ID"], "redirect_uri": CALLBACK}
    assert httpx2.get(f"{hub.endpoint}/oauth/authorize", params=params).status_code == 401
