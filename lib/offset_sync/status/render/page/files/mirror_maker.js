// MirrorMaker's offsets beside ours, where it has said any: what groups would read again, and lose, at them.

const MIRROR_MAKER = {
  group: "",
  "from → to": "",
  "said of": "Partitions that it has checkpoints of.",
  behind: "Records the group would read again at MirrorMaker's offset, and not at ours.",
  lost: "Unread records that it would never see there. +: and more, nobody can tell.",
  stands: "Whose offset stands at the target: MirrorMaker's, ours, another one.",
};

function showMirrorMaker() {
  const { rows, more, doubts } = content.mirror_maker;
  byId("mirrormaker").hidden = rows.length === 0;
  const heads = Object.entries(MIRROR_MAKER).map(([word, title]) => make("th", { title }, word));
  byId("its").replaceChildren(make(
    "table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows.map(mirrorMakerRow)),
  ));
  byId("itsmore").textContent = more ? `… and ${plural(more, "more group")}` : "";
  byId("doubts").replaceChildren(...doubts.map((text) => make("li", {}, `? ${text}`)));
}

function mirrorMakerRow([group, source, target, checkpoints, of, behind, lost, unknown, stands]) {
  return make(
    "tr", {}, make("td", {}, nameOf(group)), make("td", {}, nameOf(source), " → ", nameOf(target)),
    make("td", {}, `${count(checkpoints)} of ${count(of)}`), make("td", {}, count(behind)),
    make("td", {}, count(lost) + (unknown ? "+" : "")), make("td", {}, stands),
  );
}
