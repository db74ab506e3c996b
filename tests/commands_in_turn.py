"""Runs commands one after the other as long as they end well: `python commands_in_turn.py LINES`,
where LINES is a JSON list of lists of words. torchrun starts this script; its processes then load
torch once for all of the commands."""

import json
import sys

from torch.distributed import distributed_c10d

from swap.__main__ import main

if __name__ == "__main__":
    for k, words in enumerate(json.loads(sys.argv[1])):
        # Groups meet by their number, which begins anew, at the one store that torchrun has.
        distributed_c10d._world.group_count = k
        sys.argv = ["swap", *words]
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise
