"""Copies of a mirror that stamps no headers, recognised by contents: an extension of Offset Sync.

``extensions.contents`` switches it on. Copies whose original is certain become ordinary runs of ``record_runs``; all
others are of unknown origin, which all groups have unread. So an answer may be early, and none is ahead. The core finds
it by entry points (:mod:`offset_sync.config.extensions`) and knows nothing of it. The rules are in
:mod:`offset_sync_contents.alignment`, which is pure. See ``docs/design/fingerprint.md``.
"""
