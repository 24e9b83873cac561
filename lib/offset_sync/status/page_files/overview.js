// The first screen: how old the page is, how many groups may be moved, the pairs of clusters.

function showAges() {
  const age = Date.now() - content.reported_at;
  const reported = byId("reported");
  reported.textContent = `${clock.format(content.reported_at)}, ${ago(age)}`;
  reported.title = utc(content.reported_at);
  const old = byId("old");
  old.hidden = age <= content.stale_after_ms && age > -content.stale_after_ms;
  old.textContent = age < 0
    ? `The clock of this computer is ${duration(-age)} behind the report's: ages are not to be trusted.`
    : `Last report ${duration(age)} ago. Is report_status running?`;
}

const ago = (ms) => (ms < 0 ? `in ${duration(-ms)}` : `${duration(ms)} ago`);

function showProblems() {
  // The page has the texts already, notes after the problems; a problem of one status also leads to its groups.
  [...byId("problems").children].forEach((item, n) => {
    const word = content.problems[n];
    if (word) item.append(" ", make("button", { class: "link", onclick: () => go({ view: "groups", status: word, move: "", q: "" }) }, "show"));
  });
}

function showMoves() {
  const tiles = Object.entries(MOVES).map(([move, word]) => {
    const number = groups.move.reduce((sum, each) => sum + (each === move ? 1 : 0), 0);
    const toggle = () => go({ view: "groups", move: place.move === move ? "" : move });
    return make(
      "button", { class: `tile ${move}`, "data-move": move, onclick: toggle }, make("b", {}, count(number)),
      make("span", {}, symbol(MOVE_SYMBOLS[move]), word),
    );
  });
  byId("moves").replaceChildren(...tiles);
}

function showWords() {
  const toggle = (word) => () => go({ status: place.status === word ? "" : word });
  byId("words").replaceChildren(...WORDS.map((word) => make(
    "button", { class: "chip", "data-word": word, title: MEANINGS[word], onclick: toggle(word) },
    badge(word, totalOf(word)),
  )));
}

const totalOf = (word) => groups.status.reduce((sum, _, n) => sum + (hasStatus(groups, n, word) ? 1 : 0), 0);

function showPairs() {
  const cards = [];
  for (let n = 0; n < size(pairs); n += 1) cards.push(pairCard(n));
  byId("pairs").replaceChildren(...cards);
}

function pairCard(n) {
  const key = pairKey(pairs, n);
  const drift = pairs.windowed_change[n];
  const driftText = drift === null ? "not known" : `${drift > 0 ? "+" : ""}${count(drift)}`;
  const facts = [
    ["groups", count(pairs.groups[n])],
    ["in sync", `${count(pairs.InSync[n])} of ${plural(pairs.partitions[n], "partition")}`],
    ["all moved now", `repeats ${repeatsText(pairs, n)}, loses ${count(pairs.lost[n])}`],
    ["mirror", pairs.mirror_lag[n] ? `${plural(pairs.mirror_lag[n], "record")} under way, ${duration(pairs.mirror_lag_ms[n])}` : "up to date"],
    ["drift", `${driftText}${drift === null ? "" : pairs.is_converged[n] ? ", converged" : ", NOT converged"}`],
  ];
  const toggle = () => go({ pair: place.pair === key ? "" : key });
  return make(
    "button", { class: "card pair", "data-pair": key, onclick: toggle },
    make("span", { class: "line" }, nameOf(key), badge(pairs.status[n])),
    make("span", { class: "sums" }, ...facts.flatMap(([word, value]) => [make("i", {}, word), make("b", {}, value)])),
  );
}

function repeatsText(table, n) {
  if (table.unknown[n] && table.duplicates_at_most[n] === 0) return "not known";
  return range(table.duplicates[n], table.duplicates_at_most[n]) + (table.unknown[n] ? " or more" : "") + listed(table, n);
}

// What is on read lists: consumers that go by these skip it.
const listed = (table, n) => (table.listed[n] ? ` (${count(table.listed[n])} listed)` : "");

function showLegend() {
  const terms = Object.entries(MEANINGS).map(([word, text]) => make(
    "div", {}, make("dt", {}, word in SYMBOLS ? badge(word) : word), make("dd", {}, text),
  ));
  byId("legend").replaceChildren(...terms);
}
