"""Of what cron logs a start is kept, and the name of the program; never its arguments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.derive.cron_lines import CronStart, cron_events, cron_start, program_of

CMD = "(root) CMD (/usr/local/bin/agent --once)"


@pytest.mark.parametrize(
    ("text", "program", "started"),
    [
        (CMD, "CRON", "agent"),
        (CMD, "CROND", "agent"),
        (CMD, "crond", "agent"),
        (CMD, "/USR/SBIN/CRON", "agent"),
        (f"Nov 15 20:15:01 node-1 CRON[1234]: {CMD}", "", "agent"),
        ("USER root pid  456 cmd /usr/local/bin/agent --once", "crond", "agent"),
        ('Starting [Cron] "*/5 * * * * root /opt/agent --once"...', "systemd", "agent"),
        ('Starting cron-a-0.service - [Cron] "@daily /opt/agent"...', "systemd", "agent"),
        (CMD, "trainer", None),
        (CMD, "", None),
        ("(root) CMDEND (/usr/local/bin/agent --once)", "CROND", None),
        ("(root) CMDOUT (it said CMD (x))", "CROND", None),
        ("(root) RELOAD (crontabs/root)", "cron", None),
        ("pam_unix(cron:session): session opened for user root", "CRON", None),
        ("USER root pid 456 cmd /opt/agent", "trainer", None),
    ],
)
def test_only_cron_tells_of_what_cron_started(text: str, program: str, started: str | None) -> None:
    assert cron_start(text, program) == started


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("   cd / && run-parts --report /etc/cron.hourly", "run-parts"),
        ("command -v debian-sa1 > /dev/null && debian-sa1 1 1", "debian-sa1"),
        ("test -x /usr/sbin/anacron || ( cd / && run-parts /etc/cron.daily )", "run-parts"),
        ("[ -x /usr/lib/php/sessionclean ] && if [ ! -d /run/systemd/system ]; then "
         "/usr/lib/php/sessionclean; fi", "sessionclean"),
        ("flock -n /var/lock/x /opt/sync --all", "sync"),
        ("flock /var/lock/x -c '/opt/sync --all'", "sync"),
        ("timeout 50s nice -n 10 ionice -c3 /opt/y", "y"),
        ("sudo -u bob /opt/z", "z"),
        ("bash -c '/opt/q --x'", "q"),
        ("python3 /opt/job.py --token abc", "job.py"),
        ("perl -e 'print 1'", "perl"),
        ("sleep 30; $HOME/bin/late", "late"),
        ("/opt/x >/dev/null 2>&1", "x"),
        ("curl https://user:s3cret@host/x", "curl"),
        ("TOKEN=s3cret /opt/a.sh x", "a.sh"),
        ("TOKEN='s3 cret' /opt/a.sh x", "a.sh"),
        ('env TOKEN="s3 cret" /opt/a.sh x', "a.sh"),
        ("sudo TOKEN=s3cret /opt/a.sh", "a.sh"),
        ("TOKEN='s3cret", None),
        ("'/opt/with blanks/x y' -a", None),
        ("", None),
    ],
)  # fmt: skip
def test_a_command_is_known_by_the_program_that_it_is_for(
    command: str, program: str | None
) -> None:
    assert program_of(command) == program


@given(st.text(max_size=200))
def test_no_command_does_any_harm(command: str) -> None:
    found = program_of(command)
    assert found is None or (0 < len(found) <= 64 and not set(found) & set(" \"'=/:\n"))
    cron_start(f"(root) CMD ({command})", "CRON")


def test_starts_of_one_program_in_one_second_are_one_event_with_a_count() -> None:
    second = 1_000_000_000
    starts = [
        CronStart(5 * second + 1, "a"),
        CronStart(5 * second, "b"),
        CronStart(5 * second, "a"),
    ]
    found = [(one.time_ns, one.subject, one.count) for one in cron_events(starts)]
    assert found == [(5 * second, "a", 2), (5 * second, "b", 1)]
