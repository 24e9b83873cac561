-- How far every group is behind, at the source and at the target, as of the newest report. Log ends are known to
-- report_status only, so this is as old as reported_at; older reports by time travel on sync_status.
--
-- reported_at | timestamp | when the report was made
-- source_cluster | string | where the group committed last
-- target_cluster | string | where it could be moved
-- group_id | string | consumer group
-- topic | string | topic, as the source calls it
-- partition | int | partition
-- status | string | InSync, Mirroring, Behind, Stalled, Withheld or TargetActive
-- reason | string | why it is not InSync; of Withheld a state of offset_translations
-- source_offset | bigint | the group's commit at the source
-- source_end | bigint | log end at the source; null when it does not answer
-- source_lag | bigint | records from the commit to the source's log end, by offset
-- source_committed_at | timestamp | when the group committed last
-- commit_age_ms | bigint | how long ago that was, at reported_at
-- target_offset | bigint | the offset at the target; null: none
-- target_end | bigint | log end at the target; null when it does not answer
-- target_lag | bigint | records from target_offset to the target's log end, by offset
-- behind | bigint | offsets from target_offset to where it should be; below 0: it has to go back
-- staleness_ms | bigint | for how long the target has not had the commit's translation; 0: it has
-- mirror_lag | bigint | records at the source that the target does not have yet, read or not
-- mirror_lag_ms | bigint | age of the oldest of them
-- duplicates | bigint | records the group would read again if moved now; null when unknown
-- lost | bigint | unread records the group would never see if moved now and the source never came back
-- target_topic | string | what the target calls the topic; null: nothing there
SELECT
  reported_at, source_cluster, target_cluster, group_id, topic, partition, status, reason,
  source_offset, source_end, source_lag, source_committed_at,
  unix_millis(reported_at) - unix_millis(source_committed_at) AS commit_age_ms,
  target_offset, target_end, target_lag, wanted_offset - target_offset AS behind, staleness_ms,
  mirror_lag, mirror_lag_ms, duplicates, lost,
  CASE WHEN stream IS NULL THEN topic ELSE target_topic END AS target_topic
FROM sync_status
