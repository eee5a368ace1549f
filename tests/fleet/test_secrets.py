"""Secrets planted wherever one may stand; none may come out."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer

import pytest

from exhume.fleet import codec
from exhume.fleet.collect import cloud
from exhume.fleet.fingerprint import fingerprint
from tests.fleet.made import Machine

PLANTS = {
    "cmdline": "plantAlpha77q",
    "cmdline_unknown": "plantBravo77q",
    "cmdline_setenv": "plantCharlie77q",
    "unit": "plantDelta77q",
    "unit_exec": "plantEcho77q",
    "drop_in": "plantFoxtrot77q",
    "sysctl": "plantGolf77q",
    "core_pattern": "plantHotel77q",
    "fastopen": "plantIndia77q",
    "docker": "plantJuliett77q",
    "cron": "plantKilo77q",
    "cron_url": "plantLima77q",
    "mount": "plantMike77q",
    "mount_url": "plantNovember77q",
    "mount_odd": "plantOscar77q",
    "module": "plantPapa77q",
    "config": "plantQuebec77q",
    "kubelet": "plantRomeo77q",
    "label": "plantSierra77q",
    "image": "plantTango77q",
    "user_data": "plantUniform77q",
    "process": "plantVictor77q",
}


class Docker(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        rows: list[dict[str, object]] = []
        if self.path.startswith("/containers/json"):
            image = f"https://bob:{PLANTS['image']}@registry.example/app:1"
            rows = [{"Id": "ab" * 32, "Names": ["/app"], "Image": image, "State": "running",
                     "Command": f"run --token {PLANTS['docker']}",
                     "Env": [f"TOKEN={PLANTS['docker']}"],
                     "Labels": {"pw": PLANTS["docker"]}}]  # fmt: skip
        body = json.dumps(rows).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...

    def address_string(self) -> str:
        return "local"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    p = PLANTS
    made.write(
        "proc/cmdline",
        f"BOOT_IMAGE=/boot/vmlinuz root=UUID=0f0c2a3b quiet db_password={p['cmdline']} "
        f"bootstrap={p['cmdline_unknown']} systemd.setenv=API_TOKEN={p['cmdline_setenv']}\n",
    )
    made.write("etc/systemd/system/app.service",
               f"[Service]\nEnvironment=PASSWORD={p['unit']} X=1\n"
               f"ExecStart=/bin/app --password {p['unit_exec']}\n")  # fmt: skip
    made.write("etc/systemd/system/app.service.d/10.conf",
               f"[Service]\nEnvironment=\"TOKEN={p['drop_in']}\"\n")  # fmt: skip
    made.write("proc/sys/net/ipv4/secret_seed", f"{p['sysctl']}\n")
    made.write("proc/sys/kernel/core_pattern", f"|/usr/bin/dump --key {p['core_pattern']}\n")
    made.write("proc/sys/net/ipv4/tcp_fastopen_key", f"{p['fastopen']}\n")
    made.write("etc/cron.d/backup", f"0 3 * * * root dump --password={p['cron']}\n"
               f"0 4 * * * root curl https://u:{p['cron_url']}@host/\n")  # fmt: skip
    made.write(
        "proc/self/mounts",
        f"//srv/share /mnt/a cifs rw,username=bob,password={p['mount']} 0 0\n"
        f"https://bob:{p['mount_url']}@dav/x /mnt/b fuse.davfs rw 0 0\n"
        f"srv:/x /mnt/c nfs4 rw,vers=4.2,opaque={p['mount_odd']} 0 0\n",
    )
    made.write("sys/module/wifi/parameters/psk", f"{p['module']}\n")
    made.write("etc/docker/daemon.json", json.dumps({"auths": {"password": p["config"]}}))
    made.write("var/lib/kubelet/config.yaml", f"bootstrapToken: {p['kubelet']}\n")
    made.write("proc/77/stat", "77 (app) S 1 77 77 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0")
    made.write("proc/77/cmdline", f"app\0--token\0{p['process']}\0")
    made.write("proc/77/environ", f"TOKEN={p['process']}\0")
    return made


def test_no_planted_secret_comes_out(machine: Machine) -> None:
    socket = machine.root / "run/docker.sock"
    server = UnixStreamServer(str(socket), Docker)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()

    def ask(method: str, path: str, headers: dict[str, str]) -> str | None:
        return f"#!/bin/sh\nexport PASSWORD={PLANTS['user_data']}" if "user-data" in path else "x"

    try:
        found = fingerprint(
            machine.host,
            {"deploy_token": PLANTS["label"]},
            extra=(("cloud", lambda _: cloud.collect(ask)),),
        )
    finally:
        server.shutdown()
        server.server_close()
    text = codec.encode(found).decode()
    assert {name for name, plant in PLANTS.items() if plant in text} == set()
    # They were looked at all the same.
    looked = ("cmdline/db_password", "unit_file/app.service", "sysctl/net.ipv4.secret_seed",
              "cron/etc/cron.d/backup", "mount//mnt/a", "module_parameter/wifi.psk",
              "file/etc/docker/daemon.json", "label/deploy_token", "cloud/user data", "process/app",
              "sysctl/kernel.core_pattern", "file/var/lib/kubelet/config.yaml")  # fmt: skip
    for key in looked:
        area, _, name = key.partition("/")
        assert found.field(area, name) is not None, key
    assert any(name.endswith("registry.example/app:1") for name in found.fields["image"])


def test_a_changed_secret_is_still_a_difference(machine: Machine) -> None:
    before = fingerprint(machine.host)
    for path in ("etc/systemd/system/app.service.d/10.conf", "etc/cron.d/backup", "proc/cmdline"):
        file = machine.root / path
        file.write_text(file.read_text().replace("77q", "78q"))
    after = fingerprint(machine.host)
    for area, name in (("unit_file", "app.service"), ("cron", "etc/cron.d/backup"),
                       ("cmdline", "bootstrap")):  # fmt: skip
        assert before.field(area, name) != after.field(area, name)
