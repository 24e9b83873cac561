// The convergence curves. Colours of text and grid come from the style sheet, so that dark mode and print have theirs.

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
const TRIED = 8; // more lines than these start hidden, and are shown by their names in the legend

// Plotly knows no zones: it shows what the text says, so the text says local time.
const local = (ms) => new Date(ms - new Date(ms).getTimezoneOffset() * 60000).toISOString().slice(0, 23);

function trace(series, what, n) {
  return {
    x: series.at.map(local), y: series[what], name: `${series.source} → ${series.target}`,
    mode: series.at.length > 1 ? "lines" : "markers", visible: n < TRIED ? true : "legendonly",
    line: { color: COLOURS[n % COLOURS.length], dash: DASHES[Math.floor(n / COLOURS.length) % DASHES.length], width: 1.75, shape: what === "change" ? "hvh" : "linear" },
  };
}

// At least a minute wide and a few records high: of a single report Plotly would show milliseconds and thousandths.
function ranges(all, what) {
  const span = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  const [first, last] = span(all.flatMap((series) => series.at));
  const [low, high] = span(all.flatMap((series) => series[what]).concat(0));
  return {
    x: last - first < 60000 ? { range: [last - 60000, last + 2000].map(local) } : {},
    y: { tickformat: Math.max(-low, high) < 10000 ? ",d" : "~s", ...(high - low < 4 ? { range: [low - 2.2, high + 2.2] } : {}) },
  };
}

function draw(element, all, what) {
  const { x, y } = ranges(all, what);
  const layout = {
    height: all.length > 1 ? 190 + 18 * Math.min(all.length, 6) : 170,
    margin: { l: 8, r: 8, t: 6, b: 8 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "inherit", size: 11 }, dragmode: false, hovermode: "closest", showlegend: all.length > 1,
    legend: { orientation: "h", y: -0.25 },
    xaxis: { type: "date", automargin: true, nticks: 5, fixedrange: true, ...x },
    yaxis: { automargin: true, nticks: 5, fixedrange: true, zeroline: true, ...y },
    hoverlabel: { bgcolor: "#22272e", bordercolor: "#22272e", font: { color: "#ffffff" } },
  };
  Plotly.newPlot(element, all.map((series, n) => trace(series, what, n)), layout, { displayModeBar: false, responsive: true });
}

function showCurves() {
  const all = content.drift;
  if (!all.length) {
    byId("convergence").append(make("p", { class: "muted" }, "Nothing has been recorded yet."));
    for (const id of ["change", "windowed_change"]) byId(id).hidden = true;
    return;
  }
  for (const what of ["change", "windowed_change"]) draw(byId(what), all, what);
}
