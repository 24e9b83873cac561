"""Consumers of confluent-kafka that skip what their group has read at another cluster; in ``aio`` the asyncio one."""

from offset_sync_consumer.consumer import Consumer
from offset_sync_consumer.version import __version__

__all__ = ["Consumer", "__version__"]
