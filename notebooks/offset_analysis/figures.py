"""The notebooks' pictures."""

from __future__ import annotations

import html

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from offset_analysis.failover import worst_groups

CAUSE_COLOURS = {
    "withheld": "#b3261e",
    "target active": "#7b4ea3",
    "no commits": "#8a6d00",
    "mirror behind": "#0b67a3",
    "sync behind": "#c2570c",
}
_COLOURS = ("#0b67a3", "#c2570c", "#2e7d32", "#7b4ea3", "#b3261e", "#8a6d00", "#00838f", "#ad1457", "#616161")
_PANELS = {
    "repeats_at_most": "records read again, at most",
    "lost": "records lost: not mirrored yet, or deleted at the target",
    "unknown": "partitions of which nobody can tell",
}


def since_figure(lagging: pd.DataFrame) -> go.Figure:
    """Return a bar per row of ``find_lagging``, from when it began to the report; of no length where nobody knows."""
    figure = go.Figure()
    for cause, rows in lagging.groupby("cause", sort=False):
        names = [_name(row) for row in rows.itertuples()]
        begins = rows["since"].fillna(rows["reported_at"])
        hours = (rows["reported_at"] - begins).dt.total_seconds() / 3600
        figure.add_bar(
            y=names,
            x=hours * 3_600_000,
            base=begins,
            orientation="h",
            name=str(cause),
            width=0.6,
            marker_color=CAUSE_COLOURS[str(cause)],
            customdata=rows[["detail", "partitions"]],
            text=_ages(hours),
            hovertemplate="%{y}<br>since %{base}<br>%{customdata[1]} partitions: %{customdata[0]}",
        )
    figure.update_layout(barmode="overlay", height=140 + 46 * max(1, lagging["group_id"].nunique()))
    figure.update_xaxes(type="date", title="UTC")
    figure.update_yaxes(autorange="reversed", automargin=True, type="category")
    return _plain(figure, "Lagging since")


def progress_figure(progress: pd.DataFrame) -> go.Figure:
    """Return a panel per group: how far it stood at each cluster. A level line is a group that nobody moves."""
    groups = list(dict.fromkeys(progress["group_id"]))
    titles = [html.escape(group) for group in groups]
    figure = make_subplots(rows=max(1, len(groups)), shared_xaxes=True, subplot_titles=titles, vertical_spacing=0.06)
    clusters = {cluster: _COLOURS[n % len(_COLOURS)] for n, cluster in enumerate(sorted(set(progress["cluster"])))}
    shown = set[str]()
    for (group, cluster), rows in progress.groupby(["group_id", "cluster"]):
        is_first = str(cluster) not in shown
        shown.add(str(cluster))
        trace = go.Scatter(
            x=rows["at"],
            y=rows["position"],
            name=str(cluster),
            legendgroup=str(cluster),
            line_shape="hv",
            line_color=clusters[cluster],
            line_dash="solid" if cluster == min(clusters) else "dash",
            showlegend=is_first,
        )
        figure.add_trace(trace, row=groups.index(group) + 1, col=1)
    figure.update_layout(height=120 + 170 * max(1, len(groups)))
    return _plain(figure, "Offsets committed at each cluster, summed over topics and partitions")


def costs_figure(costs: pd.DataFrame, title: str) -> go.Figure:
    """Return three panels over the moments, stacked by group: repeats, losses, and what nobody can tell."""
    figure = make_subplots(rows=3, shared_xaxes=True, subplot_titles=list(_PANELS.values()), vertical_spacing=0.09)
    named: dict[str, str] = {}
    for row, column in enumerate(_PANELS, 1):
        wide = worst_groups(costs, column)
        for group in wide.columns:
            is_new = group not in named
            colour = named.setdefault(group, _COLOURS[len(named) % len(_COLOURS)])
            trace = go.Scatter(
                x=wide.index,
                y=wide[group],
                name=html.escape(str(group)),
                legendgroup=str(group),
                showlegend=is_new,
                stackgroup=column,
                line={"color": colour, "width": 1, "shape": "hv"},
            )
            figure.add_trace(trace, row=row, col=1)
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(height=760, hovermode="x unified")
    return _plain(figure, title)


def _name(row: object) -> str:
    group, source, target = (
        html.escape(getattr(row, name)) for name in ("group_id", "source_cluster", "target_cluster")
    )
    return f"{group}  {source} → {target}"


def _ages(hours: pd.Series) -> list[str]:
    return [f"{value:.1f} h" if value >= 1 else f"{60 * value:.0f} min" for value in hours]


def _plain(figure: go.Figure, title: str) -> go.Figure:
    figure.update_layout(title=title, template="plotly_white", margin={"l": 60, "r": 20, "t": 80, "b": 40})
    return figure
