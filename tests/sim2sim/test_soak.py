"""A short life with faults thrown in: no command beyond a limit, and every kind of fault is met."""

from deploy_soak import soak


def test_no_unsafe_command_whatever_comes(bundle):
    commands, wrong, reasons, modes, _ = soak(bundle, 12.0)
    assert wrong == []
    assert commands > 2000
    assert {"run", "damped", "stand up"} <= modes.keys()
    assert len(reasons) >= 3
