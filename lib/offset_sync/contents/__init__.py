"""Experimental: copies of a mirror that stamps no headers are matched by contents (``mirror.identity: fingerprint``).

Each job imports one module: ``index_records`` :mod:`offset_sync.contents.index_contents`, ``maintain_tables``
:mod:`offset_sync.contents.known_logs`, ``check`` :mod:`offset_sync.contents.check`. The rules are in
:mod:`offset_sync.contents.alignment`, which is pure, and the options in :mod:`offset_sync.config.mirror`. See
``docs/design/fingerprint.md``.
"""
