-- Every answer, and in plain words why it was written or not.
--
-- source_cluster | string | where the group committed
-- target_cluster | string | where the offset is translated to
-- group_id | string | consumer group
-- topic | string | its name there, or at the source
-- partition | int | partition
-- translated_at | timestamp | when the answer was computed
-- is_written | boolean | the target acknowledged it
-- why | string | why or why not
-- outcome | string | COMMITTED, UNCHANGED, NOT_FORWARD, TARGET_ACTIVE, FAILED, DRY_RUN, WITHHELD or GONE
-- state | string | EXACT, AT_FRONTIER, INDEX_BEHIND, APPROXIMATE, REWIND, or the reason to withhold
-- error | string | the target's error, or why not asked
-- source_offset | bigint | the commit at the source
-- source_committed_at | timestamp | when it was made
-- previous_target_offset | bigint | offset at the target before; null: none
-- target_offset | bigint | the translation; null when withheld
-- moved | bigint | target_offset - previous_target_offset; null: unknown
-- duplicates | bigint | records repeated if moved then; null: unknown
-- duplicates_at_most | bigint | with those that it may have read
-- lost | bigint | unread records deleted at the target and not at the source
-- strategy | string | exact, header or timestamp
-- decided_by | string | stream: a micro-batch; reconcile: the reconcile pass
-- committed_at | timestamp | when acknowledged; null: not written
-- latency_ms | bigint | from source_committed_at to committed_at, by two clocks
-- target_topic | string | its name at the target; null: none
SELECT
  source_cluster, target_cluster, group_id, topic, partition, translated_at,
  outcome = 'COMMITTED' AS is_written,
  CASE outcome
    WHEN 'COMMITTED' THEN CASE state
      WHEN 'EXACT' THEN 'written: the first record that the group has not read'
      WHEN 'AT_FRONTIER' THEN 'written: the group has read all that is indexed at the target'
      WHEN 'INDEX_BEHIND' THEN 'written on the safe side: the index of the source has not reached the commit yet'
      WHEN 'APPROXIMATE' THEN 'written: approximate, by the strategy of the topic; earlier than necessary'
      WHEN 'REWIND' THEN 'written: the group went back at the source, and the target follows'
      ELSE 'written: ' || state
    END
    WHEN 'UNCHANGED' THEN 'not written: the target holds this offset already'
    WHEN 'NOT_FORWARD' THEN 'not written: the offset at the target is not ours, and is ahead or has just been changed'
    WHEN 'TARGET_ACTIVE' THEN 'not written: the group has members at the target'
    WHEN 'FAILED' THEN 'not acknowledged: ' || coalesce(error, 'no reason given')
    WHEN 'DRY_RUN' THEN 'not written: a dry run'
    WHEN 'GONE' THEN 'not written: the group has another home now, or has deleted its offset'
    WHEN 'WITHHELD' THEN CASE state
      WHEN 'TOPIC_RECREATED' THEN 'withheld: the topic was deleted and recreated, its offsets are other records now'
      WHEN 'LOG_TRUNCATED' THEN 'withheld: the log was truncated, its offsets may be other records now'
      WHEN 'PARTITIONS_DIFFER' THEN 'withheld: only one of the clusters has this partition of the topic'
      WHEN 'NOT_INDEXED' THEN 'withheld: the index does not cover the records that the answer depends on'
      WHEN 'TOPIC_MISSING' THEN 'withheld: the topic does not exist at one of the clusters'
      WHEN 'TOPIC_UNAUTHORIZED' THEN 'withheld: no right to describe the topic at one of the clusters'
      WHEN 'COMMIT_BEYOND_END' THEN 'withheld: the commit is beyond the end of the log'
      WHEN 'CLUSTER_UNREACHABLE' THEN 'withheld: the cluster or the leader of the partition does not answer'
      WHEN 'STRATEGY_REFUSED' THEN 'withheld: the strategy of the topic could lose records'
      WHEN 'NO_REFERENCE' THEN 'withheld: the strategy of the topic has no mirrored record to translate by'
      WHEN 'COMMITTED_AT_BOTH' THEN 'withheld: the group commits at two clusters at once'
      WHEN 'OWNER_UNKNOWN' THEN 'withheld: a cluster that could not be read since the start may hold a newer commit'
      WHEN 'TRANSLATION_FAILED' THEN 'withheld: translating this partition failed; see the log of sync_offsets'
      WHEN 'TOPIC_NOT_INCLUDED' THEN 'withheld: the configuration does not include the topic'
      WHEN 'PARTITION_MISSING' THEN 'withheld: the topic has fewer partitions'
      ELSE 'withheld: ' || state
    END
    ELSE outcome || ': ' || state
  END AS why,
  outcome, state, error, source_offset, source_committed_at, previous_target_offset, target_offset,
  target_offset - previous_target_offset AS moved,
  duplicates, duplicates_at_most, lost, strategy,
  CASE WHEN batch_id IS NULL THEN 'reconcile' ELSE 'stream' END AS decided_by,
  committed_at,
  unix_millis(committed_at) - unix_millis(source_committed_at) AS latency_ms,
  target_topic
FROM offset_translations
