"""The pool with made-up processes and a made-up clock: order, number, time, failures, signals."""

import signal

import pytest

from swap.study import pool as of
from swap.study import work
from swap.study.plan import CommandLine, Folder, Kind
from swap.study.pool import Chain, Pool, last_line
from swap.study.study import Run


class Clock:
    def __init__(self):
        self.s = 0.0

    def now(self):
        return self.s

    def sleep(self, span):
        self.s += span


class Made:
    """A process that ends by itself after `takes` seconds, or `slow` seconds after it is told to
    stop."""

    def __init__(self, clock, takes, code=0, slow=0.0):
        self.clock, self.ends, self.code, self.slow = clock, clock.s + takes, code, slow
        self.told = []

    def poll(self):
        return self.code if self.clock.s >= self.ends else None

    def terminate(self):
        self.told.append(self.clock.s)
        # Told once, it saves; told again, it ends at once.
        self.ends = min(self.ends, self.clock.s + (self.slow if len(self.told) == 1 else 0))
        self.code = 143


def command(arm, kind, seed=0, what=None):
    named = {Kind.KEEP: "keep", Kind.MEASURE: "boxes", Kind.FILM: "film climbing"}
    return CommandLine(Run(arm, seed), kind, what or named.get(kind, "train"), ("x",))


def chain(arm, *kinds):
    return Chain([command(arm, kind) for kind in kinds])


class Setup:
    def __init__(self, tmp_path, takes=None, codes=None, slow=0.0):
        self.clock, self.started, self.most = Clock(), [], 0
        self.takes, self.codes, self.slow = takes or {}, codes or {}, slow
        self.processes = {}
        self.folder, self.said = Folder(tmp_path), []
        (tmp_path / "logs").mkdir()

    def start(self, command, log):
        log.write_text("swap: the reason\n")
        self.started.append((self.clock.s, command.label))
        made = Made(
            self.clock,
            self.takes.get(command.label, 10.0),
            self.codes.get(command.label, 0),
            self.slow,
        )
        self.processes[command.label] = made
        running = [x for x in self.processes.values() if x.poll() is None]
        self.most = max(self.most, len(running))
        return made

    def run(self, chains, **options):
        pool = Pool(
            self.folder,
            chains,
            self.start,
            say=self.said.append,
            now=self.clock.now,
            sleep=self.clock.sleep,
            **options,
        )
        pool.run()
        return pool

    @property
    def order(self):
        return [label for _, label in self.started]


FULL = (Kind.TRAIN, Kind.KEEP, Kind.MEASURE)


@pytest.mark.parametrize("at_once", [1, 2, 4, 9])
def test_no_more_run_at_once_than_may_and_each_runs_once_in_its_order(at_once, tmp_path):
    setup = Setup(tmp_path)
    chains = [chain(arm, *FULL) for arm in "abcd"]
    setup.run(chains, at_once=at_once)
    assert setup.most == min(at_once, 4)
    for arm in "abcd":
        mine = [label for label in setup.order if label.startswith(arm)]
        assert mine == [f"{arm}-0 train", f"{arm}-0 keep", f"{arm}-0 boxes"]
    assert all(not chain.commands for chain in chains)
    waves = -(-4 // at_once)
    assert setup.clock.s == pytest.approx(30 * waves, abs=3 * of.POLL_S * waves + 1)


def test_what_is_nearest_to_a_result_goes_first(tmp_path):
    setup = Setup(tmp_path)
    chains = [
        chain("new", *FULL),
        chain("begun", Kind.RESUME, Kind.KEEP),
        chain("kept", Kind.MEASURE),
        chain("trained", Kind.KEEP, Kind.MEASURE),
    ]
    setup.run(chains)
    assert setup.order == [
        *("trained-0 keep", "kept-0 boxes", "trained-0 boxes"),
        *("begun-0 train", "begun-0 keep", "new-0 train", "new-0 keep", "new-0 boxes"),
    ]


@pytest.mark.parametrize("measure_at_once", [1, 2, 8])
def test_measurements_of_a_run_go_at_once_and_share_its_place(measure_at_once, tmp_path):
    names = ["boxes", "gaps", "stairs"]
    setup = Setup(tmp_path, takes={"a-0 gaps": 25.0})
    several = [command("a", Kind.MEASURE, what=name) for name in names]
    chains = [
        Chain([command("a", Kind.KEEP), *several, command("a", Kind.FILM)]),
        chain("b", Kind.TRAIN),
    ]
    setup.run(chains, measure_at_once=measure_at_once)
    assert setup.order == [
        *("a-0 keep", "a-0 boxes", "a-0 gaps", "a-0 stairs", "a-0 film climbing", "b-0 train")
    ]
    assert setup.most == min(measure_at_once, 3)
    begun = {label: s for s, label in setup.started}
    spans = {1: (10, 20, 45, 55), 2: (10, 10, 20, 35), 8: (10, 10, 10, 35)}[measure_at_once]
    assert [begun[label] for label in setup.order[1:5]] == [pytest.approx(x, abs=1) for x in spans]
    assert (tmp_path / "logs" / "a-0-film-climbing.log").is_file()
    assert all(not chain.commands for chain in chains)


@pytest.mark.parametrize(
    ("on_gpu", "at_once", "wanted"), [(True, 1, 4), (True, 6, 2), (True, 40, 1), (False, 2, 1)]
)
def test_measurements_go_at_once_on_a_gpu_as_far_as_there_are_cores(
    on_gpu, at_once, wanted, monkeypatch
):
    monkeypatch.setattr(work.openmp, "usable_cores", lambda: 16)
    assert work.measure_at_once(on_gpu, at_once) == wanted


def test_a_measurement_that_fails_ends_its_run_but_not_those_beside_it(tmp_path):
    names = ["boxes", "gaps", "stairs"]
    setup = Setup(tmp_path, takes={"a-0 gaps": 20.0}, codes={"a-0 boxes": 2})
    several = Chain([command("a", Kind.MEASURE, what=name) for name in names])
    setup.run([several], measure_at_once=2)
    assert setup.order == ["a-0 boxes", "a-0 gaps"]
    assert several.failed == "a-0 boxes failed (exit code 2): the reason"
    assert [c.what for c in several.commands] == ["boxes", "stairs"]


def test_all_measurements_that_fail_are_told(tmp_path):
    setup = Setup(tmp_path, codes={"a-0 boxes": 2, "a-0 gaps": 1})
    both = Chain([command("a", Kind.MEASURE, what=name) for name in ("boxes", "gaps")])
    setup.run([both], measure_at_once=2)
    wanted = "a-0 boxes failed (exit code 2): the reason; a-0 gaps failed (exit code 1): the reason"
    assert both.failed == wanted


def test_time_that_is_up_stops_what_runs_and_begins_nothing_new(tmp_path):
    setup = Setup(tmp_path, takes={"a-0 train": 1e6, "b-0 train": 1e6}, slow=20.0)
    chains = [chain(arm, *FULL) for arm in "abc"]
    pool = setup.run(chains, at_once=2, minutes=25.0)
    assert setup.order == ["a-0 train", "b-0 train"]
    for made in setup.processes.values():
        assert len(made.told) == 1
        assert made.told[0] == pytest.approx(25 * 60 - of.SAVE_S, abs=1)
    assert setup.clock.s < 25 * 60
    assert pool.stopped == "25 minutes are up"
    assert pool.signal is None
    assert [chain.failed for chain in chains] == [None] * 3
    assert [len(chain.commands) for chain in chains] == [3, 3, 3]


def test_short_times_leave_a_tenth_for_saving_and_the_start_counts(tmp_path):
    setup = Setup(tmp_path, takes={"a-0 train": 1e6})
    setup.clock.s = 12.0
    pool = Pool(
        setup.folder,
        [chain("a", *FULL)],
        setup.start,
        minutes=1.0,
        say=setup.said.append,
        now=setup.clock.now,
        sleep=setup.clock.sleep,
    )
    pool.run(started_s=2.0)
    assert setup.processes["a-0 train"].told == [pytest.approx(2 + 54, abs=0.5)]


def test_who_does_not_stop_is_told_again(tmp_path):
    setup = Setup(tmp_path, takes={"a-0 train": 1e6}, slow=1e5)
    setup.run([chain("a", *FULL)], minutes=10.0)
    told = setup.processes["a-0 train"].told
    assert len(told) == 2
    assert told[1] - told[0] == pytest.approx(of.GRACE_S, abs=1)


def test_a_run_that_fails_is_told_and_the_others_go_on(tmp_path):
    setup = Setup(tmp_path, codes={"a-0 train": 1})
    chains = [chain(arm, *FULL) for arm in "ab"]
    setup.run(chains)
    assert chains[0].failed == "a-0 train failed (exit code 1): the reason"
    assert any("a-0 train failed" in line and "a-0.log" in line for line in setup.said)
    assert setup.order == ["a-0 train", "b-0 train", "b-0 keep", "b-0 boxes"]


def test_a_signal_stops_everything_cleanly(tmp_path):
    setup = Setup(tmp_path, takes={"a-0 train": 1e6}, slow=5.0)
    sleep = setup.clock.sleep

    def interrupted(span):
        sleep(span)
        if 100 < setup.clock.s < 100 + 2 * span:
            signal.raise_signal(signal.SIGTERM)

    setup.clock.sleep = interrupted
    before = signal.getsignal(signal.SIGTERM)
    pool = setup.run([chain("a", *FULL)])
    assert pool.stopped == "interrupted"
    assert pool.signal == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before
    assert setup.processes["a-0 train"].told == [pytest.approx(100, abs=1)]


def test_status_is_told_now_and_then(tmp_path):
    setup = Setup(tmp_path, takes={"a-0 train": 150.0})
    setup.run([chain("a", Kind.TRAIN)], status=lambda running: f"status {running[0].label}")
    assert setup.said.count("status a-0 train") == 2


def test_the_last_line_of_a_log_is_the_reason(tmp_path):
    log = tmp_path / "x.log"
    assert last_line(log) == ""
    log.write_bytes(b"x" * 10000 + b"\n\xff begins\nswap: out of memory\n\n")
    assert last_line(log) == "out of memory"
