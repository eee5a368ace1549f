from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.fleet import scrub

SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    "name",
    ["password", "DB_PASSWD", "api_token", "AWS_SECRET_ACCESS_KEY", "psk", "wpa.psk", "auth",
     "private-key", "SENTRY_DSN", "cookie", "passphrase", "db_pw", "apikey"],
)  # fmt: skip
def test_a_name_that_means_a_secret_hides_its_value(name: str) -> None:
    assert SECRET not in scrub.value(name, SECRET)


@pytest.mark.parametrize(
    "name", ["vm.overcommit_memory", "author", "compass", "keepalive", "bypass_mode", "monkey"]
)
def test_other_names_keep_theirs(name: str) -> None:
    assert scrub.value(name, "1") == "1"


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "-----BEGIN RSA PRIVATE KEY-----",
        "5f4dcc3b5aa765d61d8327deb882cf99aa",
    ],
)
def test_a_value_of_the_form_of_a_token_is_hidden_whatever_it_is_called(text: str) -> None:
    assert scrub.value("colour", text) == scrub.short(text)


@pytest.mark.parametrize(
    "text", ["pfifo_fast", "4096 87380 6291456", "/usr/lib/systemd/systemd-coredump",
             "6.8.0-1021-aws", "0f0c2a3b-86fc-4a55-9f1e-3c1b2a4d5e6f",
             "auto,no_guest_host,no_guest_guest"]
)  # fmt: skip
def test_what_machines_say_stays_readable(text: str) -> None:
    assert scrub.value("name", text) == text


TEXTS = (
    "PASSWORD={}", 'password = "{}"', "api_token: {}", '{{"clientSecret": "{}"}}',
    "ExecStart=/bin/x --password {}", "ExecStart=/bin/x --token={} --y", "Environment=FOO={}",
    'Environment="A=b" "C={}"', "* * * * * root curl -H 'Authorization: Bearer {}' http://x/",
    "http://bob:{}@host/path", "machine x login y password {}", "a=password={}",
    "*/5 * * * * root mysqldump -u root --password={} all", "foo password {}",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=25, deadline=None)
@given(secret=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_%!.-]{9,30}", fullmatch=True))
def test_a_secret_in_a_text_is_gone_before_it_is_hashed(text: str, secret: str) -> None:
    assert secret not in scrub.scrubbed_text(text.format(secret))


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_can_be_scrubbed_and_hashes_alike(text: str) -> None:
    assert scrub.text_hash(text) == scrub.text_hash(text)
    assert len(scrub.value("name", text)) >= 0


def test_a_changed_secret_still_shows_as_a_change() -> None:
    hashes = {scrub.text_hash(f"PASSWORD=secret-{n}") for n in range(50)}
    assert len(hashes) > 40
