"""A short life with faults thrown in: no command beyond a limit, and every kind of fault is met."""

import tiny_swap
from deploy_soak import soak
from swap.export.write import export


def test_no_unsafe_command_whatever_comes(tmp_path):
    bundle = export(tiny_swap.robot(), tmp_path / "tiny.bundle")
    commands, wrong, reasons, modes, _ = soak(bundle, 12.0)
    assert wrong == []
    assert commands > 2000
    assert {"run", "damped", "stand up"} <= modes.keys()
    assert len(reasons) >= 3
