-- What a failover would have cost at each moment; unknown where the target held a commit of another writer, or the
-- newest answer was withheld for more than an outage. Groups without a commit by then have no row.
--
-- moment | timestamp | when the source would have died
-- source_cluster | string | where the group committed
-- target_cluster | string | where the offset is translated to
-- group_id | string | consumer group
-- topic | string | its name there, or at the source
-- partition | int | partition
-- source_offset | bigint | the commit at the source
-- source_committed_at | timestamp | when it was made
-- target_offset | bigint | offset at the target; null: none
-- answered_offset | bigint | the commit that it translates; null: not written by Offset Sync
-- state | string | of the newest answer; null: none yet
-- outcome | string | of that answer
-- duplicates | bigint | as counted with the answer; null: unknown
-- read_since | bigint | offsets read beyond answered_offset
-- repeats_at_most | bigint | duplicates_at_most of the answer + read_since
-- not_mirrored | bigint | unread records of the source not at the target yet, by the index
-- deleted | bigint | lost, as counted with the answer
-- lost | bigint | not_mirrored + deleted; null: unknown
called AS (
  SELECT cluster, topic, max_by(stream, translated_at) AS stream
  FROM (
    SELECT source_cluster AS cluster, topic, stream, translated_at
    FROM offset_translations
    UNION ALL
    SELECT target_cluster, target_topic, stream, translated_at
    FROM offset_translations
    WHERE target_topic IS NOT NULL
  ) AS names
  GROUP BY cluster, topic
),
history AS (
  SELECT offset_history.*, coalesce(called.stream, offset_history.topic) AS stream
  FROM offset_history LEFT JOIN called
    ON called.cluster = offset_history.cluster AND called.topic = offset_history.topic
),
genuine AS (
  SELECT
    cluster, group_id, topic, stream, partition, committed_offset, committed_at,
    least(
      lead(committed_at) OVER (
        PARTITION BY group_id, stream, partition ORDER BY committed_at, log_offset
      ),
      CASE WHEN replaced_by = 'tombstone' THEN replaced_at END
    ) AS until
  FROM history
  WHERE NOT is_own AND NOT is_tombstone AND committed_offset >= 0
),
owned AS (
  SELECT
    moment, cluster AS source_cluster, group_id, topic, stream, partition,
    committed_offset, committed_at
  FROM genuine INNER JOIN moments ON committed_at <= moment AND (until > moment OR until IS NULL)
),
answers AS (
  SELECT
    source_cluster, target_cluster, group_id, stream, partition,
    state, outcome, source_offset, target_offset, previous_target_offset,
    duplicates, duplicates_at_most, lost, translated_at,
    coalesce(committed_at, translated_at) AS since,
    outcome IN ('COMMITTED', 'UNCHANGED') AS is_ours
  FROM offset_translations
),
ways AS (
  SELECT DISTINCT source_cluster, target_cluster, group_id, stream, partition
  FROM answers
),
standings AS (
  SELECT
    target_cluster, group_id, stream, partition, since, translated_at,
    source_cluster AS answered_for, is_ours,
    CASE WHEN is_ours THEN target_offset ELSE previous_target_offset END AS target_offset,
    source_offset, duplicates, duplicates_at_most, lost
  FROM answers
  WHERE is_ours OR outcome IN ('NOT_FORWARD', 'TARGET_ACTIVE')
  UNION ALL
  SELECT
    cluster, group_id, stream, partition, committed_at, committed_at, cluster, false,
    CASE WHEN committed_offset >= 0 THEN committed_offset END, NULL, NULL, NULL, NULL
  FROM history
  WHERE is_tombstone OR NOT is_own
),
standing_until AS (
  SELECT *, lead(since) OVER (
    PARTITION BY target_cluster, group_id, stream, partition
    ORDER BY since, is_ours DESC, translated_at
  ) AS until
  FROM standings
),
standing AS (
  SELECT
    moment, target_cluster, group_id, stream, partition, answered_for, is_ours, target_offset,
    source_offset, duplicates, duplicates_at_most, lost
  FROM standing_until INNER JOIN moments ON since <= moment AND (until > moment OR until IS NULL)
),
newest_until AS (
  SELECT *, lead(since) OVER (
    PARTITION BY source_cluster, target_cluster, group_id, stream, partition
    ORDER BY since, translated_at
  ) AS until
  FROM answers
),
newest AS (
  SELECT moment, source_cluster, target_cluster, group_id, stream, partition, state, outcome
  FROM newest_until INNER JOIN moments ON since <= moment AND (until > moment OR until IS NULL)
),
indexed AS (
  SELECT
    record_runs.cluster, coalesce(called.stream, record_runs.topic) AS stream,
    partition, origin, indexed_at,
    max(origin_start + length) AS reached, min(origin_start) AS begins
  FROM record_runs LEFT JOIN called
    ON called.cluster = record_runs.cluster AND called.topic = record_runs.topic
  WHERE length > 0
  GROUP BY
    record_runs.cluster, coalesce(called.stream, record_runs.topic), partition, origin, indexed_at
),
indexed_until AS (
  SELECT
    cluster, stream, partition, origin, indexed_at,
    max(reached) OVER in_order AS reached, min(begins) OVER in_order AS begins,
    lead(indexed_at) OVER in_order AS until
  FROM indexed
  WINDOW in_order AS (PARTITION BY cluster, stream, partition, origin ORDER BY indexed_at)
),
frontiers AS (
  SELECT moment, cluster, stream, partition, origin, reached, begins
  FROM indexed_until
  INNER JOIN moments ON indexed_at <= moment AND (until > moment OR until IS NULL)
),
together AS (
  SELECT
    owned.moment, owned.source_cluster, ways.target_cluster,
    owned.group_id, owned.topic, owned.partition,
    owned.committed_offset AS source_offset, owned.committed_at AS source_committed_at,
    standing.target_offset,
    CASE WHEN standing.is_ours THEN standing.source_offset END AS answered_offset,
    newest.state, newest.outcome,
    standing.is_ours AND standing.answered_for = owned.source_cluster
      AND (newest.outcome <> 'WITHHELD' OR newest.state = 'CLUSTER_UNREACHABLE') AS is_counted,
    standing.duplicates, standing.duplicates_at_most, standing.lost AS deleted,
    greatest(
      made.reached - greatest(owned.committed_offset, coalesce(arrived.reached, made.begins)), 0
    ) AS not_mirrored_if_known,
    made.reached IS NOT NULL AS is_indexed
  FROM owned
  INNER JOIN ways
    ON ways.source_cluster = owned.source_cluster AND ways.group_id = owned.group_id
    AND ways.stream = owned.stream AND ways.partition = owned.partition
  LEFT JOIN standing
    ON standing.moment = owned.moment AND standing.target_cluster = ways.target_cluster
    AND standing.group_id = owned.group_id
    AND standing.stream = owned.stream AND standing.partition = owned.partition
  LEFT JOIN newest
    ON newest.moment = owned.moment AND newest.source_cluster = owned.source_cluster
    AND newest.target_cluster = ways.target_cluster AND newest.group_id = owned.group_id
    AND newest.stream = owned.stream AND newest.partition = owned.partition
  LEFT JOIN frontiers AS made
    ON made.moment = owned.moment
    AND made.cluster = owned.source_cluster AND made.origin = owned.source_cluster
    AND made.stream = owned.stream AND made.partition = owned.partition
  LEFT JOIN frontiers AS arrived
    ON arrived.moment = owned.moment AND arrived.cluster = ways.target_cluster
    AND arrived.origin = owned.source_cluster
    AND arrived.stream = owned.stream AND arrived.partition = owned.partition
),
counted AS (
  SELECT
    *,
    CASE WHEN is_counted THEN greatest(source_offset - answered_offset, 0) END AS read_since,
    CASE WHEN is_indexed THEN not_mirrored_if_known END AS not_mirrored
  FROM together
)
SELECT
  moment, source_cluster, target_cluster, group_id, topic, partition,
  source_offset, source_committed_at, target_offset, answered_offset, state, outcome,
  CASE WHEN is_counted THEN duplicates END AS duplicates,
  read_since,
  CASE WHEN is_counted THEN duplicates_at_most + read_since END AS repeats_at_most,
  not_mirrored,
  CASE WHEN is_counted THEN deleted END AS deleted,
  CASE WHEN is_counted THEN deleted + not_mirrored END AS lost
FROM counted
