"""Each collector on files as kernels and distributions write them."""

from __future__ import annotations

import ctypes
import sqlite3
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import ParseError
from exhume.fleet.collect import (
    cloud,
    containers,
    files,
    kernel,
    load,
    machine,
    modules,
    mounts,
    network,
    packages,
    sysctls,
)
from exhume.model.fingerprint import Value
from tests.fleet.made import Machine


@pytest.fixture
def made(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_command_line_is_normalised_and_what_is_unknown_is_hashed() -> None:
    found = kernel.parse_cmdline(
        "BOOT_IMAGE=/boot/vmlinuz-5.4.0-1101-aws root=UUID=0f0c2a3b-1 ro console=tty1 "
        'console=ttyS0 nvme_core.io_timeout=4294967295 quiet odd="a b"\n'
    )
    assert found["BOOT_IMAGE"] == ("vmlinuz-5.4.0-1101-aws",)
    assert found["root"] == ("UUID=*",)
    assert found["console"] == ("tty1", "ttyS0")
    assert found["nvme_core.io_timeout"] == ("4294967295",)
    assert found["quiet"] == ("",)
    assert found["odd"][0].startswith("#")


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_command_line_parses(text: str) -> None:
    assert isinstance(kernel.parse_cmdline(text), dict)


def test_kernel_system_and_cgroup_mode(made: Machine) -> None:
    made.write("proc/version", "Linux version 5.4.0-1101-aws (b@x) (gcc 9.4.0) #109 SMP PREEMPT\n")
    made.write("proc/sys/kernel/osrelease", "5.4.0-1101-aws\n")
    made.write("etc/os-release", 'ID=ubuntu\nVERSION_ID="20.04"\n')
    made.write("sys/fs/cgroup/cgroup.controllers", "memory cpu\n")
    made.write("proc/uptime", "99.5 1.0\n")
    found = kernel.collect(made.host).fields
    assert found["kernel"]["release"].value == "5.4.0-1101-aws"
    assert found["kernel"]["preempt model"].value == "preempt"
    assert found["os"]["version_id"].value == "20.04"
    assert found["cgroup"]["controllers"].value == ("cpu", "memory")
    assert found["node"]["uptime seconds"].kind == "volatile"


def test_sysctls_without_what_changes_by_itself(made: Machine) -> None:
    made.write("proc/sys/vm/swappiness", "60\n")
    made.write("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n")
    made.write("proc/sys/kernel/random/uuid", "0f0c2a3b\n")
    made.write("proc/sys/kernel/hostname", "node-1\n")
    made.write("proc/sys/fs/file-nr", "1 2 3\n")
    made.write("proc/sys/net/ipv4/conf/all/rp_filter", "1\n")
    made.write("proc/sys/net/ipv4/conf/veth12/rp_filter", "1\n")
    made.write("proc/sys/user/max_user_namespaces", "9\n")
    found = sysctls.collect(made.host).fields["sysctl"]
    assert {name: field.value for name, field in found.items()} == {
        "vm.swappiness": "60",
        "net.ipv4.tcp_rmem": "4096 131072 6291456",
        "kernel.hostname": "node-1",
        "net.ipv4.conf.all.rp_filter": "1",
    }
    assert found["kernel.hostname"].kind == "identity"


def test_modules_that_are_loaded_and_how(made: Machine) -> None:
    made.write("sys/module/ena/initstate", "live\n")
    made.write("sys/module/ena/version", "2.12.0g\n")
    made.write("sys/module/ena/srcversion", "ABC\n")
    made.write("sys/module/tcp_cubic/parameters/beta", "717\n")
    made.write("sys/module/page_reporting/parameters/passes", "717\n")
    made.write("sys/module/page_reporting/parameters/walked", "717\n")
    found = modules.collect(made.host).fields
    assert list(found["module"]) == ["ena"]
    assert found["module_version"]["ena"].value == "2.12.0g ABC"
    assert found["module_parameter"]["tcp_cubic.beta"].value == "717"
    assert found["module_parameter"]["page_reporting.passes"].kind == "volatile"
    assert found["module_parameter"]["page_reporting.walked"].kind == "volatile"


def test_mounts_without_containers_and_disk_names() -> None:
    found = mounts.parse(
        "/dev/nvme0n1p1 / ext4 rw,relatime,discard 0 0\n"
        "overlay /var/lib/docker/overlay2/ab/merged overlay rw,lowerdir=/x 0 0\n"
        "srv:/home /home nfs4 rw,vers=4.2,clientaddr=10.0.0.7 0 0\n"
        "tmpfs /with\\040blank tmpfs rw,size=4k 0 0\nodd line\n"
    )
    assert found == {
        "/": "ext4 discard,relatime,rw",
        "/home": "nfs4 rw,vers=4.2 from srv:/home",
        "/with blank": "tmpfs rw,size=4k",
    }


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_mounts_parse(text: str) -> None:
    assert isinstance(mounts.parse(text), dict)


DPKG = """Package: dpkg
Status: install ok installed
Architecture: amd64
Version: 1.21

Package: libc6
Status: install ok installed
Architecture: i386
Version: 2.36

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1
"""


def test_packages_of_dpkg_are_those_installed() -> None:
    assert dict(packages.parse_dpkg(DPKG)) == {"dpkg": "1.21", "libc6:i386": "2.36"}


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_package_list_parses(text: str) -> None:
    assert isinstance(dict(packages.parse_dpkg(text)), dict)
    assert isinstance(dict(packages.parse_apk(text)), dict)


def rpm_header(name: str, version: str, release: str, epoch: int | None = None) -> bytes:
    entries, data = [], b""
    for tag, text in ((1000, name), (1001, version), (1002, release)):
        entries.append((tag, 6, len(data), 1))
        data += text.encode() + b"\0"
    if epoch is not None:
        data += b"\0" * (-len(data) % 4)
        entries.append((1003, 4, len(data), 1))
        data += struct.pack(">I", epoch)
    index = b"".join(struct.pack(">IIII", *entry) for entry in entries)
    return struct.pack(">II", len(entries), len(data)) + index + data


def test_packages_of_rpm_come_from_its_database(made: Machine) -> None:
    path = made.write("var/lib/rpm/rpmdb.sqlite", "")
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE Packages (hnum INTEGER, blob BLOB)")
        for blob in (rpm_header("bash", "5.2", "1.el9"), rpm_header("kernel", "6.1", "1", 2),
                     rpm_header("kernel", "6.2", "1", 2)):  # fmt: skip
            database.execute("INSERT INTO Packages VALUES (1, ?)", (blob,))
    database.close()
    found = packages.collect(made.host).fields["package"]
    assert found["bash"].value == "5.2-1.el9"
    assert found["kernel"].value == "2:6.1-1 2:6.2-1"


def test_a_broken_rpm_database_is_told(made: Machine) -> None:
    made.write("var/lib/rpm/rpmdb.sqlite", "no database")
    assert "rpm" in packages.collect(made.host).missing["package"]


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_rpm_header_parses_or_is_refused(blob: bytes) -> None:
    try:
        packages.parse_rpm_header(blob)
    except ParseError:
        return


def test_files_count_by_what_they_mean(made: Machine) -> None:
    made.write("etc/cron.d/a", "# by hand\n* * * * * root true\n")
    before = files.collect(made.host).fields["cron"]
    made.write("etc/cron.d/a", "# by somebody else\n\n* * * * * root true\n")
    assert files.collect(made.host).fields["cron"] == before
    made.write("etc/cron.d/a", "* * * * * root false\n")
    assert files.collect(made.host).fields["cron"] != before


def test_limits_are_those_of_the_first_process() -> None:
    text = "Limit  Soft Limit Hard Limit Units\nMax open files            1024     524288   files\n"
    assert files.parse_limits(text) == [("max open files", "1024", "524288")]


def test_processor_memory_and_graphics(made: Machine) -> None:
    made.write("proc/cpuinfo", "model name\t: Xeon\nmicrocode\t: 0x1\nmodel name\t: Xeon\n")
    made.write("proc/meminfo", "MemTotal:       65000000 kB\n")
    made.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    made.write("sys/devices/system/cpu/vulnerabilities/mds", "Not affected\n")
    made.write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  "
               "535.54.03  Tue\n")  # fmt: skip
    made.write("proc/driver/nvidia/gpus/0/information", "Model: A100\nGPU UUID: GPU-1\n")
    found = machine.collect(made.host).fields
    values: dict[str, Value] = {
        f"{area}/{name}": field.value for area in found for name, field in found[area].items()
    }
    assert values["cpu/model"] == "Xeon"
    assert values["memory/GiB"] == 62
    assert values["memory/transparent hugepages enabled"] == "madvise"
    assert values["mitigation/mds"] == "Not affected"
    assert values["gpu/nvidia driver"] == "535.54.03"
    assert values["gpu/count of A100"] == 1
    assert "GPU-1" not in str(values)


def test_processes_are_names_and_kernel_threads_are_none(made: Machine) -> None:
    made.write("proc/7/stat", "7 (worker-17) S 1 7 7 0 -1 4194560 0 0 0 0")
    made.write("proc/8/stat", "8 (kworker/0:1) S 2 0 0 0 -1 2129984 0 0 0 0")
    found = load.collect(made.host).fields["process"]
    assert list(found) == ["worker-*"]
    assert found["worker-*"].kind == "load"


def test_network_cards_have_queues_and_a_driver(made: Machine) -> None:
    card = made.root / "sys/class/net/eth0"
    (card / "queues/rx-0").mkdir(parents=True)
    (card / "queues/tx-0").mkdir()
    (made.root / "sys/bus/ena").mkdir(parents=True)
    (made.root / "sys/dev0").mkdir()
    (made.root / "sys/dev0/driver").symlink_to(made.root / "sys/bus/ena")
    (card / "device").symlink_to(made.root / "sys/dev0")
    made.write("sys/class/net/eth0/mtu", "9001\n")

    def answer(_: str, buffer: ctypes.Array[ctypes.c_char]) -> None:
        (command,) = struct.unpack_from("=I", buffer.raw)
        if command != 0x10:
            raise OSError(95, "not supported")
        struct.pack_into("=9I", buffer, 0, command, 8192, 0, 0, 8192, 1024, 0, 0, 512)

    found = network.collect(made.host, answer).fields
    assert found["nic"]["eth0 receive ring"].value == 1024
    assert found["nic"]["eth0 transmit ring"].value == 512
    assert found["nic"]["eth0 driver"].value == "ena"
    assert found["nic"]["eth0 rx queues"].value == 1
    assert found["nic"]["eth0 mtu"].value == 9001
    assert found["irq"]["irqbalance"].value == "does not run"


def test_images_have_no_digest_in_their_name() -> None:
    digest = "ab" * 32
    assert containers.image_name(f"repo/app:1@sha256:{digest}") == "repo/app:1"
    assert containers.image_name(f"sha256:{digest}") == "sha256:abababababab"
    images = f'[{{"Id": "sha256:{digest}", "RepoTags": ["app:1"]}}, 5]'
    assert containers.parse_images(images.encode()) == {"app:1": "sha256:abababababab"}
    with pytest.raises(ParseError):
        containers.parse_images(b"{")


def test_the_cloud_is_asked_with_a_token_only() -> None:
    asked: list[tuple[str, str, dict[str, str]]] = []

    def answer(method: str, path: str, headers: dict[str, str]) -> str | None:
        asked.append((method, path, headers))
        if method == "PUT":
            return "token-1"
        return {"/latest/meta-data/placement/availability-zone": "us-east-1a"}.get(path)

    found = cloud.collect(answer).fields["cloud"]
    assert found["zone"].value == "us-east-1a"
    assert found["user data"].value == "none"
    assert asked[0][:2] == ("PUT", "/latest/api/token")
    assert all(h["X-aws-ec2-metadata-token"] == "token-1" for _, _, h in asked[1:])
    assert "cloud" in cloud.collect(lambda *_: None).missing
