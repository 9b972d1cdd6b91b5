"""The race's clock, on a GPU that is acted: a slow host must not be counted."""

import pytest

from utils import benchmark

torch = pytest.importorskip("torch")
SLEEP = 2e6  # cycles in a millisecond


class Acted:
    """A host and a GPU, each with a clock in milliseconds; work queues up on the GPU."""

    def __init__(self, launch: float, kernel: float, synchronises: bool = False):
        self.launch, self.kernel, self.synchronises = launch, kernel, synchronises
        self.host = self.gpu = 0.0
        self.sleeps = 0

    def busy(self, span: float) -> float:
        self.gpu = max(self.gpu, self.host) + span
        return self.gpu

    def sleep(self, cycles: int) -> None:
        self.sleeps += 1
        self.busy(cycles / SLEEP)

    def call(self) -> None:
        self.host += self.launch
        self.busy(self.kernel)
        if self.synchronises:
            self.host = self.gpu

    def event(self, enable_timing: bool):
        return ActedEvent(self)


class ActedEvent:
    def __init__(self, machine: Acted):
        self.machine = machine

    def record(self) -> None:
        self.at = self.machine.busy(0.0)

    def query(self) -> bool:
        return self.machine.host >= self.at

    def synchronize(self) -> None:
        self.machine.host = max(self.machine.host, self.at)

    def elapsed_time(self, other: "ActedEvent") -> float:
        return other.at - self.at


@pytest.fixture
def acted(monkeypatch):
    def start(**how) -> Acted:
        machine = Acted(**how)
        monkeypatch.setattr(torch.cuda, "_sleep", machine.sleep, raising=False)
        monkeypatch.setattr(torch.cuda, "Event", machine.event)
        return machine

    return start


@pytest.mark.parametrize("launch", [0.01, 0.4, 0.9, 3.0])
def test_only_the_gpu_is_timed_however_slow_the_host(acted, launch):
    machine = acted(launch=launch, kernel=0.2)
    assert benchmark.milliseconds(machine.call, (), repeats=20) == pytest.approx(0.2)


def test_a_quick_host_is_timed_once(acted):
    machine = acted(launch=0.01, kernel=0.2)
    benchmark.milliseconds(machine.call, (), repeats=20)
    assert machine.sleeps == 1


def test_a_call_that_waits_for_the_gpu_is_timed_all_the_same(acted):
    machine = acted(launch=0.1, kernel=0.2, synchronises=True)
    assert 0.2 <= benchmark.milliseconds(machine.call, (), repeats=20) <= 0.31
    assert machine.sleeps == 4


def test_the_race_gives_each_call_its_own_time(acted):
    machine = acted(launch=0.9, kernel=0.5)

    def quick():
        machine.host += machine.launch
        machine.busy(0.1)

    times = benchmark.race({"slow": machine.call, "quick": quick}, (), rounds=3)
    assert times == {"slow": pytest.approx(0.5), "quick": pytest.approx(0.1)}
