"""Which process of this host is still the one that began."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from trackio_like.run.host import is_alive, process_started

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts from its boot")


@pytest.fixture
def child():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process


def test_a_process_lives_until_it_ends(child):
    started = process_started(child.pid)
    assert is_alive(child.pid, started)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(child.pid, started)  # dead, and not waited for by its parent
    child.wait()
    assert not is_alive(child.pid, started)


def test_a_later_process_of_the_same_number_is_another(child):
    assert not is_alive(child.pid, process_started(child.pid) - 10)


def test_a_process_that_could_not_tell_when_it_began_is_not_taken_for_dead(child):
    assert is_alive(child.pid, 0.0)


@linux_only
def test_setting_the_wall_clock_does_not_move_the_time_a_process_began(child):
    since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert 0 < process_started(child.pid) <= since_boot
    wall = psutil.Process(child.pid).create_time()
    assert abs(wall - psutil.boot_time() - process_started(child.pid)) <= 2
