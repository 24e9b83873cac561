// What is looked for and what is open: kept in the address behind #, so that a reload or a link shows the same.

const place = { view: "groups", q: "", status: "", move: "", pair: "", open: "" };

function readPlace() {
  const said = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(place)) place[name] = said.get(name) || "";
  if (place.view !== "topics") place.view = "groups";
  if (!WORDS.includes(place.status)) place.status = "";
}

function writePlace() {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(place)) if (value && !(name === "view" && value === "groups")) said.set(name, value);
  history.replaceState(null, "", `#${said}`);
}

// What changes, and what is shown of it; `open` is the key of the row whose details are shown.
function go(changes) {
  Object.assign(place, changes);
  writePlace();
  showRows();
}

const pairKey = (table, n) => `${table.source_cluster[n]} → ${table.target_cluster[n]}`;
const groupKey = (n) => `${groups.group_id[n]}\n${pairKey(groups, n)}`;
const topicKey = (n) => `${topics.topic[n]}\n${pairKey(topics, n)}`;

// What a search looks into, lower case: a group's name and its topics; a topic's name.
let haystacks = null;

function haystackOf(n) {
  if (!haystacks) haystacks = { groups: new Array(size(groups)), topics: new Array(size(topics)) };
  const known = haystacks[place.view];
  if (known[n] === undefined) {
    const names = place.view === "topics" ? [topics.topic[n], topics.target_topic[n]] : [groups.group_id[n], ...topicsOf(n)];
    known[n] = names.join("\n").toLowerCase();
  }
  return known[n];
}

const topicsOf = (group) => new Set(rowsOf[group].flatMap((row) => [partitions.topic[row], partitions.target_topic[row]]));

// InSync is said of what is so throughout, every other word of what has a partition like that.
const hasStatus = (table, n, word) => (word === "InSync" ? table.status[n] === word : table[word][n] > 0);

// Row numbers that are looked for, worst first; a group or topic of exactly that name before all.
function search() {
  const table = place.view === "topics" ? topics : groups;
  const names = place.view === "topics" ? topics.topic : groups.group_id;
  const wanted = place.q.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (let n = 0; n < size(table); n += 1) {
    if (place.pair && pairKey(table, n) !== place.pair) continue;
    if (place.status && !hasStatus(table, n, place.status)) continue;
    if (place.move && place.view === "groups" && table.move[n] !== place.move) continue;
    if (wanted.length && !wanted.every((word) => haystackOf(n).includes(word))) continue;
    found.push(n);
  }
  const isExact = (n) => (names[n] === place.q ? 0 : 1);
  return place.q ? found.sort((a, b) => isExact(a) - isExact(b) || a - b) : found;
}
