"""Experimental: copies of a mirror that stamps no headers are told by contents (``mirror.identity: fingerprint``).

Three modules are for other rooms: :mod:`offset_sync.contents.index_contents` reads and aligns for ``index_records``,
:mod:`offset_sync.contents.known_logs` says what ``maintain_tables`` removes, and
:mod:`offset_sync.contents.check` compares the newest records for ``check``. The rules themselves are in
:mod:`offset_sync.contents.alignment`, which is pure. See ``docs/design/fingerprint.md``.
"""
