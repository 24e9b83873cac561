// The packed columns of packing.py as plain arrays.

function unpackNumbers(column, rows, columns) {
  if (!("i" in column)) return column.v;
  const values = "like" in column ? columns[column.like].slice() : new Array(rows).fill(column.d);
  let row = 0;
  column.i.forEach((step, n) => { row += step; values[row] = column.v[n]; });
  return values;
}

function unpackTable(packed) {
  const columns = Object.create(null);
  for (const [name, column] of Object.entries(packed.columns)) {
    if ("w" in column) {
      const words = unpackNumbers(column.n, packed.rows, columns);
      columns[name] = words.map((word) => (word === null ? null : column.w[word]));
    } else {
      columns[name] = unpackNumbers(column, packed.rows, columns);
    }
  }
  columns.rows = packed.rows;
  return columns;
}

const content = JSON.parse(document.getElementById("content").textContent);
const pairs = unpackTable(content.pairs);
const groups = unpackTable(content.groups);
const topics = unpackTable(content.topics);
const partitions = unpackTable(content.partitions);

// The partitions of group n are the rows from firsts[n] up to firsts[n + 1].
const firsts = [0];
for (let n = 0; n < groups.rows; n += 1) firsts.push(firsts[n] + groups.partitions[n]);
