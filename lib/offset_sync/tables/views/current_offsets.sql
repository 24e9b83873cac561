-- What every group has committed at every cluster: the newest valid record of each key. A key whose newest record is a
-- tombstone, or has no position, has no row.
--
-- cluster | string | its alias
-- group_id | string | consumer group
-- topic | string | its name there, or at the source
-- partition | int | partition
-- committed_offset | bigint | next offset to read
-- is_own | boolean | Offset Sync wrote it
-- committed_at | timestamp | by the coordinator's clock
-- captured_at | timestamp | when we read it
-- metadata | string | the client's text
-- leader_epoch | int | as the consumer sent it; null: none
-- topic_id | string | as the broker stored it; null: none
-- log_partition | int | of __consumer_offsets
-- log_offset | bigint | offset there
SELECT
  cluster, group_id, topic, partition, committed_offset, is_own, committed_at, captured_at,
  metadata, leader_epoch, topic_id, log_partition, log_offset
FROM (
  SELECT *, row_number() OVER (
    PARTITION BY cluster, group_id, topic, partition ORDER BY log_offset DESC, captured_at
  ) AS newest_first
  FROM offset_commits
  WHERE NOT EXISTS (
    SELECT 1 FROM log_incarnations
    WHERE log_incarnations.topic = '__consumer_offsets'
      AND log_incarnations.reason IN ('TOPIC_RECREATED', 'LOG_TRUNCATED')
      AND log_incarnations.cluster = offset_commits.cluster
      AND log_incarnations.partition = offset_commits.log_partition
      AND log_incarnations.begins_at <= offset_commits.log_offset
      AND log_incarnations.noticed_at >= offset_commits.captured_at
  )
) AS numbered
WHERE newest_first = 1 AND committed_offset >= 0
