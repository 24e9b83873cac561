-- Which groups lag, since when and why: a row per cause. Settings: silent_after_ms (no commit for so long is silence),
-- late_after_ms (less delay is none).
--
-- source_cluster | string | where the group committed
-- target_cluster | string | where the offset is translated to
-- group_id | string | consumer group
-- cause | string | withheld, target active, no commits, mirror behind or sync behind
-- since | timestamp | in the partition where it has lasted longest; null: unknown
-- partitions | bigint | partitions concerned
-- source_lag | bigint | sum of their source_lag
-- target_lag | bigint | sum of their target_lag
-- duplicates | bigint | sum, where known
-- lost | bigint | sum, where known
-- detail | string | of withheld the reasons, else one of the topics
-- reported_at | timestamp | the report that this is from
progress AS (
  SELECT
    source_cluster, target_cluster, group_id, topic, partition, outcome, translated_at,
    max(CASE WHEN outcome <> 'WITHHELD' THEN translated_at END) OVER in_key AS last_answered_at,
    max(CASE WHEN outcome <> 'TARGET_ACTIVE' THEN translated_at END) OVER in_key AS last_inactive_at
  FROM offset_translations
  WINDOW in_key AS (PARTITION BY source_cluster, target_cluster, group_id, topic, partition)
),
begins AS (
  SELECT
    source_cluster, target_cluster, group_id, topic, partition,
    min(CASE WHEN outcome = 'WITHHELD' AND (translated_at > last_answered_at OR last_answered_at IS NULL)
      THEN translated_at END) AS withheld_since,
    min(CASE WHEN outcome = 'TARGET_ACTIVE' AND (translated_at > last_inactive_at OR last_inactive_at IS NULL)
      THEN translated_at END) AS active_since
  FROM progress
  GROUP BY source_cluster, target_cluster, group_id, topic, partition
),
facts AS (
  SELECT
    lag.*, withheld_since, active_since, silent_after_ms, late_after_ms,
    status NOT IN ('Withheld', 'TargetActive') AS is_translated
  FROM lag
  CROSS JOIN settings
  LEFT JOIN begins
    ON begins.source_cluster = lag.source_cluster AND begins.target_cluster = lag.target_cluster
    AND begins.group_id = lag.group_id AND begins.topic = lag.topic AND begins.partition = lag.partition
),
causes AS (
  SELECT *, 'withheld' AS cause, withheld_since AS since, reason AS detail FROM facts WHERE status = 'Withheld'
  UNION ALL
  SELECT *, 'target active', active_since, topic FROM facts WHERE status = 'TargetActive'
  UNION ALL
  SELECT *, 'no commits', source_committed_at, topic FROM facts
  WHERE source_lag > 0 AND commit_age_ms >= silent_after_ms
  UNION ALL
  SELECT *, 'mirror behind', reported_at - mirror_lag_ms * INTERVAL '1' MILLISECOND, topic FROM facts
  WHERE mirror_lag > 0 AND mirror_lag_ms >= late_after_ms
  UNION ALL
  SELECT *, 'sync behind', reported_at - staleness_ms * INTERVAL '1' MILLISECOND, topic FROM facts
  WHERE is_translated AND staleness_ms >= late_after_ms
)
SELECT
  source_cluster, target_cluster, group_id, cause, min(since) AS since, count(*) AS partitions,
  CAST(sum(source_lag) AS BIGINT) AS source_lag, CAST(sum(target_lag) AS BIGINT) AS target_lag,
  CAST(sum(duplicates) AS BIGINT) AS duplicates, CAST(sum(lost) AS BIGINT) AS lost,
  max(detail) AS detail, max(reported_at) AS reported_at
FROM causes
GROUP BY source_cluster, target_cluster, group_id, cause
