// What is shown, elements, numbers and times. Text reaches the page as text only: nothing here, or after it, takes HTML.

// A table is its columns by name, each a list; row n of all of them is one row.
const content = JSON.parse(document.getElementById("content").textContent);
const { pairs, groups, topics, partitions } = content;
const size = (table) => table.source_cluster.length;

// The rows of each group in the table of partitions.
const rowsOf = groups.group_id.map(() => []);
partitions.group.forEach((group, row) => rowsOf[group].push(row));

const byId = (id) => document.getElementById(id);

// make("p", {class: "muted", onclick: f}, "text", element, null)
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

// A name is isolated: in whatever direction it is written, its neighbours keep theirs.
const nameOf = (text, kind = "name") => make("bdi", { class: kind }, text);

const whole = new Intl.NumberFormat("en");

const count = (number) => (number === null ? "?" : whole.format(number));

function range(least, most) {
  return least === most || most === null ? count(least) : `${count(least)} to ${count(most)}`;
}

const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

function duration(ms) {
  const seconds = Math.max(Math.round(ms / 1000), 0);
  if (ms < 950) return `${(Math.max(ms, 0) / 1000).toFixed(1)} s`;
  for (const [size, unit, smaller, smallUnit] of [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]]) {
    if (seconds >= size) {
      const rest = Math.floor((seconds % size) / smaller);
      return `${Math.floor(seconds / size)} ${unit}${rest ? ` ${rest} ${smallUnit}` : ""}`;
    }
  }
  return `${seconds} s`;
}

// A time in the reader's zone, with the zone's name.
const clock = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit",
  hourCycle: "h23", timeZoneName: "short",
});
const utc = (ms) => `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;

const SYMBOLS = { Withheld: "⊘", Stalled: "✖", Behind: "▲", TargetActive: "◆", Mirroring: "⇄", InSync: "✔" };
const WORDS = Object.keys(SYMBOLS); // worst first
const MOVES = { now: "Yes", at_cost: "At a cost", no: "No" };
const MOVE_SYMBOLS = { now: "✔", at_cost: "▲", no: "⊘" };

// U+FE0E after a sign: as text, never as a coloured picture.
const symbol = (sign) => make("span", { class: "symbol", "aria-hidden": "true" }, `${sign}\ufe0e`);

const badge = (word, number) => make(
  "span", { class: `badge ${word}`, title: MEANINGS[word] || "" }, symbol(SYMBOLS[word] || "?"), word,
  number === undefined ? null : make("b", {}, count(number)),
);

const MEANINGS = {
  InSync: "The group has read all below its position at the target and nothing above it, and the records at both positions are the same. It may be moved.",
  Mirroring: "The sync is done, but the mirror has yet to bring records: they would be missing if the source never came back.",
  Behind: "The target does not have the translation of the newest commit yet. Moved now, the group would repeat records.",
  Stalled: "Without progress for too long: the mirror, the index or the sync does not work for this partition.",
  Withheld: "No safe offset is known, so none is committed. The reason is shown beside it.",
  TargetActive: "The group has members at the target, so it runs there and is left alone.",
  "Move: yes": "Every partition is InSync: nothing is repeated, nothing is lost.",
  "Move: at a cost": "It can be moved, with the repeats and the loss that are shown. Planned work waits for “yes”.",
  "Move: no": "A partition is withheld, the group is active at the target, or the cost is not known.",
  Repeats: "Records the group would read again if moved now. Two numbers are bounds; “or more” where a part is not known.",
  Loses: "Unread records it would never see if moved now and the source never came back: the mirror has yet to bring them.",
  Lag: "Records from the group's commit to the end of the source's log.",
  Stale: "For how long the target has not had the translation of the newest commit.",
  "Mirror gaps": "Records of the target that are missing at the source, which has later ones of their origin.",
  Drift: "Change of f − g over the window. It converges to 0 while the sync works and grows when it is broken.",
};
