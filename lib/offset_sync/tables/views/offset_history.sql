-- Every commit record of every group once, in the order of the log: how long it was current and how far it moved.
-- Records that their log has lost come before those written since.
--
-- cluster | string | its alias
-- group_id | string | consumer group
-- topic | string | its name there, or at the source
-- partition | int | partition
-- committed_offset | bigint | next offset to read; null for a tombstone
-- previous_offset | bigint | the offset before; null: none
-- moved | bigint | offsets from previous_offset; null: unknown
-- is_rewind | boolean | it moved back
-- is_tombstone | boolean | the offset was deleted or has expired
-- is_own | boolean | Offset Sync wrote it
-- committed_at | timestamp | by the coordinator's clock
-- replaced_at | timestamp | committed_at of the key's next record; null: it is current
-- replaced_by | string | commit or tombstone; null: it is current
-- stood_ms | bigint | replaced_at - committed_at; below 0: the coordinator's clock went back
-- captured_at | timestamp | when we read it
-- log_partition | int | of __consumer_offsets
-- log_offset | bigint | offset there
WITH incarnations AS (
  SELECT cluster, partition AS log_partition, begins_at, noticed_at
  FROM log_incarnations
  WHERE topic = '__consumer_offsets' AND reason IN ('TOPIC_RECREATED', 'LOG_TRUNCATED')
),
captures AS (
  SELECT
    offset_commits.*,
    max(incarnations.noticed_at) OVER (
      PARTITION BY offset_commits.cluster, group_id, topic, partition,
        offset_commits.log_partition, log_offset, captured_at
    ) AS incarnation_since
  FROM offset_commits LEFT JOIN incarnations
    ON incarnations.cluster = offset_commits.cluster AND incarnations.log_partition = offset_commits.log_partition
    AND incarnations.begins_at <= offset_commits.log_offset AND incarnations.noticed_at < offset_commits.captured_at
),
records AS (
  SELECT
    *,
    CASE WHEN committed_offset >= 0 THEN committed_offset END AS position,
    row_number() OVER (
      PARTITION BY cluster, group_id, topic, partition, log_partition, log_offset, incarnation_since
      ORDER BY captured_at
    ) AS capture
  FROM captures
),
neighbours AS (
  SELECT
    *,
    lag(position) OVER in_order AS previous_offset,
    lead(committed_at) OVER in_order AS replaced_at,
    lead(is_tombstone) OVER in_order AS is_deleted_next
  FROM records
  WHERE capture = 1
  WINDOW in_order AS (
    PARTITION BY cluster, group_id, topic, partition ORDER BY incarnation_since NULLS FIRST, log_offset
  )
)
SELECT
  cluster, group_id, topic, partition, committed_offset, previous_offset,
  position - previous_offset AS moved,
  coalesce(position < previous_offset, false) AS is_rewind,
  is_tombstone, is_own, committed_at, replaced_at,
  CASE WHEN is_deleted_next THEN 'tombstone' WHEN NOT is_deleted_next THEN 'commit' END AS replaced_by,
  unix_millis(replaced_at) - unix_millis(committed_at) AS stood_ms,
  captured_at, log_partition, log_offset
FROM neighbours
