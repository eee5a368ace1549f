"""What lines of job logs and of supervisors mean, and which of them mean nothing."""

from __future__ import annotations

import pytest

from exhume.derive import signatures
from exhume.derive.signatures import match


@pytest.mark.parametrize(
    "line",
    [
        "config: timeout=30s retries=5",
        "retrying after timeout",
        "health check passed",
        "Health check for backend-3 passed after 12 ms",
        "health check interval 30s, timeout 5s, failed threshold 3",
        "0 health checks failed",
        "health checks: 12 passing, 0 failed",
        "0 requests timed out",
        "grpc_deadline_exceeded_total 0",
        "Session timeout after 30s configured",
        "Request will time out after 30s",
        "request timed out 0 times",
        "shutting down: deadline exceeded count = 0",
        "retrying in 5s if the connection timed out",
        'errors: {"connection timed out": 0, "connection reset by peer": 0}',
        "Waiting for the actor, will fail with GetTimeoutError: after 60s",
        "0 Workers (tasks / actors) killed due to memory pressure (OOM), 1 Workers crashed",
        "    except asyncio.TimeoutError:",
        "missed 0 heartbeats",
        "missed heartbeats: 0, late: 0",
        "peers count as dead when they missed 5 heartbeats",
        "will restart the worker if it missed 3 health checks",
        "heartbeat interval 10s, allowed missed heartbeats 3",
        "no missed health checks",
        "heartbeats missed: 0, late: 0",
        "using connection timeout after 30s",
        "connect timed out after 0s",
        "Health check late by 0.0 ms",
        "deadline exceeded rate 0.00%",
        "deadline_exceeded_ratio: 0, retries: 3",
    ],
)
def test_what_is_set_counted_as_none_or_went_well_is_no_harm(line: str) -> None:
    assert match(line, signatures.job_log()) is None


@pytest.mark.parametrize(
    "line",
    [
        "request timed out 2 times",
        'errors: {"connection timed out": 10}',
        "connection reset by peer: 0x7f00",
        "deadline exceeded: 0.5 s too late",
        "heartbeat missed: 3",
        "connection timed out after 0.5 s",
        "request failed with timeout after 3s",
        "deadline exceeded (error rate 0.5%)",
    ],
)
def test_what_is_counted_as_some_is_harm(line: str) -> None:
    assert match(line, signatures.job_log()) is not None


@pytest.mark.parametrize(
    "line",
    [
        "Error updating node status, will retry: context deadline exceeded",
        "rank 0 connection timed out",
        "no answer, so the request timed out",
        "health check failed: failure threshold reached",
    ],
)
def test_harm_is_harm_also_where_words_of_settings_stand_beside_it(line: str) -> None:
    found = match(line, signatures.job_log())
    assert found is not None
    assert found.cls == "job"


@pytest.mark.parametrize(
    "line",
    [
        "ray.exceptions.ObjectFetchTimedOutError: Failed to retrieve object abc.",
        "ray.exceptions.ObjectLostError: Failed to retrieve object abc.",
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        "Health check failed for node abc, remaining checks 2",
        "Raylet is terminated: ip=10.0.0.7, id=5ad7fa. Termination is unexpected.",
        "The raylet exited immediately because the Ray agent failed.",
        "The node with client ID 5ad7fa has been marked dead because the monitor has missed too "
        "many heartbeats from it.",
        "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    ],
)
def test_failures_of_jobs_are_known_in_job_logs_and_not_in_the_kernels(line: str) -> None:
    found = match(line, signatures.job_log())
    assert found is not None
    assert found.cls == "job"
    assert match(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "INFO  health checks ok=970 max_latency_ms=5",
        "health checks: 970 passed, failed=0",
        "health check timeout set to 5s",
        "health check endpoint listens on :8080",
        "request took 7.8s",
        "timeout=30s retries=3",
        "Started Amazon ECS agent.",
        "agent.service: Deactivated successfully.",
        "responding to 3 peers in 5s",
        "Raylet is terminated. Termination is graceful.",
        "exited the loop: all done",
        "error: kex_exchange_identification: read: Connection reset by peer",
        "ssh_dispatch_run_fatal: Connection from 192.0.2.7 port 22: Connection timed out [preauth]",
        "Read error from remote host 192.0.2.7 port 52011: Connection timed out",
        "connect to mx.example.org[192.0.2.7]:25: Connection timed out",
        "Timed out waiting for reply from 192.0.2.7:123 (ntp.example.org).",
        "idle connection timed out after 60s, closing",
        "Node 1 disconnected due to idle connection timed out",
        "session timed out after 1800 seconds of inactivity, logging out",
        "*1 client timed out (110: Connection timed out) while waiting for request",
    ],
)
def test_ordinary_lines_of_programs_mean_nothing(line: str) -> None:
    assert match(line, signatures.job_log()) is None


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("ERROR health check timed out after 1.4s", 1.4),
        ("Health check for backend-3 failed after 7800 ms: no answer", 7.8),
        ("request timed out after 30 seconds", 30.0),
        ("rpc timeout after 250.5ms", 0.2505),
        ("worker-3 was unresponsive for 8.1 seconds", 8.1),
        ("request timed out after 1.2.3s", "1.2.3"),
        ("health check missed: no answer for 5300 ms", 5.3),
        ("heartbeat missed, no reply for 0.7 s", 0.7),
        ("Heartbeat late by 4.2s (interval 10s)", 4.2),
        ("no heartbeat from 10.0.0.4:7946 for 12s", 12.0),
        ("event loop blocked for 4200 ms", 4.2),
    ],
)
def test_how_long_somebody_waited_comes_in_seconds(line: str, seconds: float | str) -> None:
    found = match(line, signatures.job_log())
    assert found is not None
    assert found.fields["late_seconds"] == seconds
