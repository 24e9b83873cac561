"""The status page: one HTML file that holds everything it shows and asks nobody for anything."""

from __future__ import annotations

from offset_sync.status.render.page.html import render_page, write_page

__all__ = ["render_page", "write_page"]
