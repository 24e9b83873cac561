"""The status page: one HTML file that holds everything it shows and loads nothing."""

from __future__ import annotations

from offset_sync.status.render.page.content import PageOptions
from offset_sync.status.render.page.html import render_page, write_page

__all__ = ["PageOptions", "render_page", "write_page"]
