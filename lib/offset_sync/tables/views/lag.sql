-- How far every group is behind at both clusters, by the newest report.
--
-- reported_at | timestamp | when the report was made
-- source_cluster | string | where the group committed
-- target_cluster | string | where the offset is translated to
-- group_id | string | consumer group
-- topic | string | its name there, or at the source
-- partition | int | partition
-- status | string | InSync, Mirroring, Behind, Stalled, Withheld or TargetActive
-- reason | string | why not InSync; with Withheld: its reason
-- source_offset | bigint | the commit at the source
-- source_end | bigint | log end; null: no answer
-- source_lag | bigint | source_end - source_offset, at least 0
-- source_committed_at | timestamp | when it was made
-- commit_age_ms | bigint | how long before reported_at
-- target_offset | bigint | offset at the target; null: none
-- target_end | bigint | log end; null: no answer
-- target_lag | bigint | target_end - target_offset, at least 0
-- behind | bigint | wanted_offset - target_offset; below 0: it has to go back
-- staleness_ms | bigint | how long the target has not had the translation; 0: it has
-- mirror_lag | bigint | records of the source, read or not, not at the target yet
-- mirror_lag_ms | bigint | age of the oldest of them
-- duplicates | bigint | records repeated if moved then; null: unknown
-- lost | bigint | unread records never seen if moved then and the source never came back
-- target_topic | string | its name at the target; null: none
SELECT
  reported_at, source_cluster, target_cluster, group_id, topic, partition, status, reason,
  source_offset, source_end, source_lag, source_committed_at,
  unix_millis(reported_at) - unix_millis(source_committed_at) AS commit_age_ms,
  target_offset, target_end, target_lag, wanted_offset - target_offset AS behind, staleness_ms,
  mirror_lag, mirror_lag_ms, duplicates, lost,
  target_topic
FROM sync_status
