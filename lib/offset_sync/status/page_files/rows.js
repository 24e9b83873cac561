// The list of groups or topics: only rows that are asked for are made, however many there are.

const PAGE = matchMedia("(min-width: 64rem)").matches ? 40 : 10; // on a phone pairs and curves come below
let shown = PAGE;

function showRows() {
  const found = search();
  const isTopics = place.view === "topics";
  byId("rows").replaceChildren(...found.slice(0, shown).map(isTopics ? topicRow : groupRow));
  const noun = isTopics ? "topic" : "group";
  const isAll = !(place.q || place.status || (place.move && !isTopics) || place.pair);
  byId("found").replaceChildren(
    found.length ? `${plural(found.length, noun)}, worst first` : `No ${noun} is like that`,
    isAll ? "" : make("button", { class: "link", onclick: () => { byId("search").value = ""; go({ q: "", status: "", move: "", pair: "" }); } }, "show all"),
  );
  const more = byId("more");
  more.hidden = found.length <= shown;
  more.textContent = `Show ${count(Math.min(PAGE * 5, found.length - shown))} more of ${count(found.length)}`;
  showChoices();
}

function showChoices() {
  const press = (element, isOn) => element.setAttribute("aria-pressed", String(isOn));
  for (const each of document.querySelectorAll("[data-move]")) press(each, each.dataset.move === place.move && place.view === "groups");
  for (const each of document.querySelectorAll("[data-word]")) press(each, each.dataset.word === place.status);
  for (const each of document.querySelectorAll("[data-pair]")) press(each, each.dataset.pair === place.pair);
  for (const each of document.querySelectorAll("[data-view]")) press(each, each.dataset.view === place.view);
}

function showViews() {
  byId("views").replaceChildren(...["groups", "topics"].map((view) => make(
    "button", { "data-view": view, onclick: () => { shown = PAGE; go({ view, open: "" }); } },
    `${view === "groups" ? "Groups" : "Topics"} `, make("b", {}, count(view === "groups" ? size(groups) : size(topics))),
  )));
}

// A row that opens: `fill` makes the details when they are first wanted.
function openingRow(key, head, fill) {
  const details = make("div", { class: "details" });
  const isOpen = place.open === key;
  const button = make("button", { class: "head", "aria-expanded": String(isOpen) }, ...head);
  const row = make("article", { class: isOpen ? "row open" : "row" }, button, details);
  const open = (isNow) => {
    row.classList.toggle("open", isNow);
    button.setAttribute("aria-expanded", String(isNow));
    details.replaceChildren(...(isNow ? fill() : []));
  };
  button.addEventListener("click", () => {
    const isNow = button.getAttribute("aria-expanded") !== "true";
    place.open = isNow ? key : "";
    writePlace();
    open(isNow);
  });
  if (isOpen) details.replaceChildren(...fill());
  return row;
}

function groupRow(n) {
  const move = groups.move[n];
  return openingRow(groupKey(n), [
    badge(groups.status[n]),
    nameOf(groups.group_id[n]),
    whereOf(groups, n),
    make("span", { class: `move ${move}` }, symbol(MOVE_SYMBOLS[move]), moveText(n)),
    make("span", { class: "lag" }, `lag ${count(groups.source_lag[n])}`),
  ], () => groupDetails(n));
}

// The only pair there is needs no name.
const whereOf = (table, n) => make("span", { class: "where" }, size(pairs) > 1 ? pairKey(table, n) : "");

function moveText(n) {
  const move = groups.move[n];
  if (move === "now") return "Yes: repeats nothing, loses nothing";
  if (move === "no") return `No: ${refusal(n)}`;
  const repeats = groups.duplicates_at_most[n] ? `repeats ${range(groups.duplicates[n], groups.duplicates_at_most[n])}${listed(groups, n)}` : "";
  const loses = groups.lost[n] ? `loses ${count(groups.lost[n])} if ${groups.source_cluster[n]} never comes back` : "";
  const cost = [repeats, loses].filter(Boolean).join(", ");
  return cost ? `At a cost: ${cost}` : "Not yet: nothing to repeat or lose, but not all is InSync";
}

function refusal(n) {
  if (groups.skipped[n]) return `would skip ${plural(groups.skipped[n], "unread record")}`;
  if (groups.Withheld[n]) return `${plural(groups.Withheld[n], "partition")} withheld (${groups.reason[n] || "no reason given"})`;
  if (groups.TargetActive[n]) return `has members at ${groups.target_cluster[n]}`;
  if (groups.unknown[n]) return "what it would repeat is not known";
  return `${groups.target_cluster[n]} does not say whether it has members`;
}

function topicRow(n) {
  return openingRow(topicKey(n), [
    badge(topics.status[n]),
    nameOf(topics.topic[n]),
    whereOf(topics, n),
    make("span", { class: "move" }, topics.origins[n] ? `produced at ${topics.origins[n]}` : ""),
    make("span", { class: "lag" }, topics.mirror_lag[n] ? `mirror ${duration(topics.mirror_lag_ms[n])}` : "mirrored"),
  ], () => topicDetails(n));
}
