"""Run the demo, and print its tables; the exit code says whether everything was as promised."""

from __future__ import annotations

import logging
import shutil
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console

from offset_sync.model.errors import OffsetSyncError
from offset_sync.tables.store import TableStore
from offset_sync_demo.kafka.clients import CLIENT_ERRORS
from offset_sync_demo.load.console_reader import build_interceptor
from offset_sync_demo.story.acts import FULL, QUICK, Story
from offset_sync_demo.story.crossing import PLAIN
from offset_sync_demo.story.jobs import REPOSITORY
from offset_sync_demo.story.report import Narrator, show_results
from offset_sync_demo.story.world import World

DIRECTORY = REPOSITORY / "data" / "demo"


def play(*, is_quick: bool, directory: Path = DIRECTORY) -> int:
    """Play all acts; return 0 if nothing was lost, and repeats were predicted and none in planned moves; else 1."""
    logging.basicConfig(level=logging.WARNING)
    console = Console(width=None if Console().is_terminal else 132)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    started = time.monotonic()
    # At SIGTERM stop brokers and jobs too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with Narrator(console) as narrator:
            is_good = _play(console, narrator, directory, is_quick=is_quick)
    except (OffsetSyncError, TimeoutError, *CLIENT_ERRORS) as problem:
        console.print(f"the demo failed: {problem}", markup=False, highlight=False)
        return 1
    console.print(f"tables and logs are in {directory}; {time.monotonic() - started:.0f} s", highlight=False)
    console.print("nothing lost, every repeat predicted" if is_good else "NOT as promised: see the tables above")
    return 0 if is_good else 1


def _create_tables(directory: Path) -> TableStore:
    tables = TableStore(str(directory / "tables"))
    tables.create()
    return tables


def _play(console: Console, narrator: Narrator, directory: Path, *, is_quick: bool) -> bool:
    narrator.say("starting two Kafka brokers, and MirrorMaker 2 both ways between them")
    with ThreadPoolExecutor(2) as pool:
        starting = pool.submit(World.start, directory / "brokers")
        building = pool.submit(build_interceptor, REPOSITORY / "scripts")
        tables = _create_tables(directory)
    world = starting.result()
    story: Story | None = None
    try:
        story = Story(world, directory, tables, QUICK if is_quick else FULL, narrator.say)
        story.start_jobs()
        act_one = story.disaster()
        is_good = show_results(console, "Act 1: dc1 is killed under load, its groups start at dc2", act_one)
        act_two = story.come_back()
        is_good &= show_results(console, "Act 2: planned move back to dc1", act_two)
        moved = act_two
        if (jar := building.result()) is not None:
            act_three = story.cross(jar)
            is_good &= show_results(console, "Act 3: planned move to dc2 while producers write at both", act_three)
            moved = [*act_two, *(result for result in act_three if result.group_id != PLAIN)]
        else:
            console.print("Act 3, consumers that skip records they have read, is skipped: no Java compiler (javac)")
        console.print(f"status page: {story.report()}", markup=False, highlight=False, soft_wrap=True)
        no_repeats = all(result.measured.duplicates == 0 for result in moved)
        if not no_repeats:
            console.print("[red]planned work repeated records[/]")
        return is_good and no_repeats
    finally:
        if story is not None:
            story.stop_jobs()
        world.stop()
