// What opens below a row: a group's topics and their partitions; a topic's groups.

const MANY = 200;

function groupDetails(n) {
  const byTopic = new Map();
  for (const row of rowsOf[n]) {
    const topic = partitions.topic[row];
    if (!byTopic.has(topic)) byTopic.set(topic, []);
    byTopic.get(topic).push(row);
  }
  const drift = groups.windowed_change[n];
  const facts = [
    groups.reason[n] ? ["why", groups.reason[n]] : null,
    ["repeats", repeatsText(groups, n)],
    ["loses", count(groups.lost[n])],
    ["lag", count(groups.source_lag[n])],
    groups.staleness_ms[n] ? ["stale", duration(groups.staleness_ms[n])] : null,
    drift === null ? null : ["drift", `${drift > 0 ? "+" : ""}${count(drift)}${groups.is_converged[n] ? "" : ", NOT converged"}`],
  ].filter(Boolean);
  const counts = WORDS.filter((word) => groups[word][n]).map((word) => badge(word, groups[word][n]));
  return [
    make("div", { class: "facts" }, ...facts.map(([word, value]) => make("span", { class: "fact" }, make("i", {}, word), make("b", {}, value)))),
    make("div", { class: "chips" }, ...counts),
    ...[...byTopic].map(([topic, mine]) => topicOfGroup(n, topic, mine)),
  ];
}

function topicOfGroup(group, topic, rows) {
  const worst = WORDS.find((word) => rows.some((row) => partitions.status[row] === word));
  const number = topicNumber(topic, group);
  const shape = number < 0 ? "" : topics.origins[number];
  const lead = make("button", { class: "link", onclick: () => openTopic(number) }, nameOf(topic));
  return make(
    "section", { class: "topic" },
    make("h4", {}, badge(worst), lead, make("span", { class: "muted" }, `${elsewhere(topic, partitions.target_topic[rows[0]])}${plural(rows.length, "partition")}${shape ? `, produced at ${shape}` : ""}`)),
    partitionTable(rows),
  );
}

// What a topic is called at the target, where that is another name.
const elsewhere = (topic, there) => (there && there !== topic ? `there ${there}, ` : "");

function topicNumber(topic, group) {
  for (let n = 0; n < size(topics); n += 1) {
    if (topics.topic[n] === topic && pairKey(topics, n) === pairKey(groups, group)) return n;
  }
  return -1;
}

// What is asked first comes first: a phone shows the first few.
const COLUMNS = [
  ["partition", (row) => count(partitions.partition[row])],
  ["status", (row) => badge(partitions.status[row])],
  ["repeats", (row) => range(partitions.duplicates[row], partitions.duplicates_at_most[row]) + listed(partitions, row)],
  ["loses", (row) => count(partitions.lost[row])],
  ["lag", (row) => count(partitions.source_lag[row])],
  ["stale", (row) => (partitions.staleness_ms[row] ? duration(partitions.staleness_ms[row]) : "")],
  ["source", (row) => count(partitions.source_offset[row])],
  ["target", (row) => (partitions.target_offset[row] === null ? "none" : count(partitions.target_offset[row]))],
  ["wanted", (row) => (partitions.wanted_offset[row] === partitions.target_offset[row] ? "same" : count(partitions.wanted_offset[row]))],
  ["committed", (row) => (partitions.age_ms[row] === null ? "" : `${duration(partitions.age_ms[row])} before`)],
  ["translation", (row) => partitions.state[row] || ""],
  ["why", (row) => partitions.reason[row] || ""],
];

function partitionTable(rows) {
  const body = make("tbody", {}, ...rows.slice(0, MANY).map(partitionRow));
  const rest = rows.length - MANY;
  const addRest = (event) => { body.append(...rows.slice(MANY).map(partitionRow)); event.target.remove(); };
  return make(
    "div", { class: "scroll", tabindex: "0" },
    make("table", {}, make("thead", {}, make("tr", {}, ...COLUMNS.map(([word]) => make("th", { scope: "col", class: `of-${word}` }, word)))), body),
    rest > 0 ? make("button", { class: "plain", onclick: addRest }, `Show ${count(rest)} more`) : null,
  );
}

const partitionRow = (row) => make("tr", {}, ...COLUMNS.map(([word, cell]) => make("td", { class: `of-${word}` }, cell(row))));

function topicDetails(n) {
  const mine = [];
  for (let group = 0; group < size(groups); group += 1) {
    if (pairKey(groups, group) !== pairKey(topics, n)) continue;
    if (rowsOf[group].some((row) => partitions.topic[row] === topics.topic[n])) mine.push(group);
  }
  const waiting = topics.mirror_lag[n];
  const there = topics.target_topic[n] === topics.topic[n] ? null : topics.target_topic[n];
  const facts = [
    there ? [`called at ${topics.target_cluster[n]}`, there] : null,
    ["produced at", topics.origins[n] || "not known"],
    ["under way in the mirror", waiting ? `${plural(waiting, "record")}, the oldest ${duration(topics.mirror_lag_ms[n])}` : "nothing"],
  ].filter(Boolean);
  return [
    make("div", { class: "facts" }, ...facts.map(([word, value]) => make("span", { class: "fact" }, make("i", {}, word), make("b", {}, value)))),
    groupList(mine, PAGE),
  ];
}

function groupList(mine, most) {
  const list = make("ul", { class: "plainlist" }, ...mine.slice(0, most).map((group) => make(
    "li", {}, badge(groups.status[group]), make("button", { class: "link", onclick: () => openGroup(group) }, nameOf(groups.group_id[group])),
  )));
  if (mine.length > most) {
    list.append(make("li", {}, make("button", { class: "plain", onclick: () => list.replaceWith(groupList(mine, mine.length)) }, `Show ${count(mine.length - most)} more`)));
  }
  return list;
}

function openGroup(n) {
  look({ view: "groups", q: groups.group_id[n], open: groupKey(n) });
}

function openTopic(n) {
  if (n >= 0) look({ view: "topics", q: topics.topic[n], open: topicKey(n) });
}

function look(changes) {
  shown = PAGE;
  byId("search").value = changes.q;
  go({ status: "", move: "", pair: "", ...changes });
  byId("find").scrollIntoView();
}
