"""System calls in the format of strace become operations on the files below a folder."""

from __future__ import annotations

import pytest

from rocketproof_properties.brokers.systemcalls import Calls, FileOperation

STORE = "/s/store"


def read(text: str) -> list[FileOperation]:
    return list(Calls(STORE).of(text.strip().splitlines()))


def test_replaced_settings_file_is_recorded() -> None:
    found = read(r"""
7 1.000001 openat(AT_FDCWD</s>, "/s/store/config/topics.json.tmp", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 79</s/store/config/topics.json.tmp>
7 1.000002 write(79</s/store/config/topics.json.tmp>, "{\n\t\"a\":\"\303\274\\\"}", 13) = 13
7 1.000003 unlink("/s/store/config/topics.json") = 0
7 1.000004 rename("/s/store/config/topics.json.tmp", "/s/store/config/topics.json") = 0
""")
    main, tmp = f"{STORE}/config/topics.json", f"{STORE}/config/topics.json.tmp"
    assert found == [
        FileOperation("truncate", tmp),
        FileOperation("append", tmp, '{\n\t"a":"ü\\"}'.encode()),
        FileOperation("delete", main),
        FileOperation("rename", tmp, other=main),
    ]


def test_a_mapped_file_is_forced_by_its_addresses() -> None:
    found = read("""
7 1.0 openat(AT_FDCWD</s>, "/s/store/commitlog/0", O_RDWR|O_CREAT, 0666) = 60</s/store/commitlog/0>
7 1.1 ftruncate(60</s/store/commitlog/0>, 8192) = 0
7 1.2 mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_SHARED, 60</s/store/commitlog/0>, 0) = 0x7000
8 1.3 msync(0x7000, 8192, MS_SYNC <unfinished ...>
9 1.4 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x4000
8 1.5 <... msync resumed>) = 0
8 1.6 msync(0x9000, 4096, MS_SYNC) = 0
8 1.7 msync(0x7000, 8192, MS_SYNC) = -1 EIO (Input/output error) (INJECTED)
9 1.8 mmap(0x8000, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS, -1, 0) = 0x8000
8 1.9 msync(0x7000, 4096, MS_SYNC) = 0
""")
    path = f"{STORE}/commitlog/0"
    assert found == [FileOperation("size", path, size=8192), FileOperation("map", path, size=8192), FileOperation("force", path)]


@pytest.mark.parametrize(
    "line",
    [
        '7 1.0 openat(AT_FDCWD</s>, "/s/store/a", O_RDONLY) = 5</s/store/a>',
        '7 1.0 openat(AT_FDCWD</s>, "/s/store/a", O_WRONLY|O_TRUNC) = -1 ENOSPC (No space left on device)',
        '7 1.0 write(3</s/other>, "x", 1) = 1',
        '7 1.0 write(3<socket:[12]>, "/s/store/a", 10) = 10',
        '7 1.0 rename("/s/stores", "/s/store2") = 0',
        "7 1.0 --- SIGSEGV {si_signo=SIGSEGV} ---",
        "7 1.0 +++ killed by SIGKILL +++",
        "",
    ],
)
def test_call_without_effect_below_the_folder_is_no_operation(line: str) -> None:
    assert read(line) == []


def test_partial_write_counts_in_part() -> None:
    assert read('7 1.0 write(3</s/store/a>, "abcdef", 6) = 4') == [FileOperation("append", f"{STORE}/a", b"abcd")]


def test_a_folder_is_forced_with_its_names() -> None:
    assert read("7 1.0 fsync(3</s/store/config>) = 0") == [FileOperation("force", f"{STORE}/config")]
