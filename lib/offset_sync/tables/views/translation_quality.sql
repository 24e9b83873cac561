-- How good the answers of a day were. Shares are of all answers of the row and add up to 1, failed_share aside.
-- Latency counts the first write for each commit.
--
-- day | timestamp | day (UTC) of translated_at
-- source_cluster | string | where the group committed
-- target_cluster | string | where the offset is translated to
-- topic | string | its name there, or at the source
-- strategy | string | exact, header or timestamp
-- answers | bigint | rows of offset_translations
-- exact_share | double | state EXACT
-- at_frontier_share | double | state AT_FRONTIER
-- index_behind_share | double | state INDEX_BEHIND
-- approximate_share | double | state APPROXIMATE
-- rewind_share | double | state REWIND
-- withheld_share | double | outcome WITHHELD
-- failed_share | double | outcome FAILED; part of the shares above
-- duplicates_p50 | bigint | known duplicates: half of the answers have no more
-- duplicates_p95 | bigint | 95 of 100 have no more
-- duplicates_max | bigint | the worst
-- lost_max | bigint | the most lost
-- writes | bigint | commits whose translation was written
-- latency_p50_ms | bigint | from the commit to the target's acknowledgement; two clocks
-- latency_p95_ms | bigint | 95 of 100 took no longer
-- latency_max_ms | bigint | the longest
WITH answers AS (
  SELECT
    *,
    outcome = 'COMMITTED' AND previous_target_offset IS DISTINCT FROM target_offset
      AND committed_at = min(committed_at) OVER (
        PARTITION BY source_cluster, target_cluster, group_id, topic, partition, source_offset, source_committed_at
      ) AS is_first_write
  FROM offset_translations
),
timed AS (
  SELECT
    *,
    date_trunc('DAY', translated_at) AS day,
    CASE WHEN is_first_write THEN unix_millis(committed_at) - unix_millis(source_committed_at) END AS latency_ms
  FROM answers
)
SELECT
  day, source_cluster, target_cluster, topic, strategy,
  count(*) AS answers,
  avg(CASE WHEN outcome <> 'WITHHELD' AND state = 'EXACT' THEN 1.0E0 ELSE 0.0E0 END) AS exact_share,
  avg(CASE WHEN outcome <> 'WITHHELD' AND state = 'AT_FRONTIER' THEN 1.0E0 ELSE 0.0E0 END) AS at_frontier_share,
  avg(CASE WHEN outcome <> 'WITHHELD' AND state = 'INDEX_BEHIND' THEN 1.0E0 ELSE 0.0E0 END) AS index_behind_share,
  avg(CASE WHEN outcome <> 'WITHHELD' AND state = 'APPROXIMATE' THEN 1.0E0 ELSE 0.0E0 END) AS approximate_share,
  avg(CASE WHEN outcome <> 'WITHHELD' AND state = 'REWIND' THEN 1.0E0 ELSE 0.0E0 END) AS rewind_share,
  avg(CASE WHEN outcome = 'WITHHELD' THEN 1.0E0 ELSE 0.0E0 END) AS withheld_share,
  avg(CASE WHEN outcome = 'FAILED' THEN 1.0E0 ELSE 0.0E0 END) AS failed_share,
  CAST(percentile_disc(0.5) WITHIN GROUP (ORDER BY duplicates) AS BIGINT) AS duplicates_p50,
  CAST(percentile_disc(0.95) WITHIN GROUP (ORDER BY duplicates) AS BIGINT) AS duplicates_p95,
  max(duplicates) AS duplicates_max,
  max(lost) AS lost_max,
  count(latency_ms) AS writes,
  CAST(percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_ms) AS BIGINT) AS latency_p50_ms,
  CAST(percentile_disc(0.95) WITHIN GROUP (ORDER BY latency_ms) AS BIGINT) AS latency_p95_ms,
  max(latency_ms) AS latency_max_ms
FROM timed
GROUP BY day, source_cluster, target_cluster, topic, strategy
