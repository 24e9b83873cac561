// Put everything together. What can be read at once comes first; the curves when their library has been read.

readPlace();
showAges();
setInterval(showAges, 1000);
showProblems();
showMoves();
showWords();
showPairs();
showViews();
showLegend();

const box = byId("search");
let typedAt = 0;
box.value = place.q;
box.addEventListener("input", () => { typedAt = Date.now(); shown = PAGE; go({ q: box.value, open: "" }); });
byId("more").addEventListener("click", () => { shown += PAGE * 5; showRows(); });
window.addEventListener("hashchange", () => { readPlace(); box.value = place.q; showRows(); });
showRows();

window.addEventListener("load", showCurves);

// A newer page, unless the reader is typing or looking elsewhere.
if (content.reload_ms > 0) {
  setInterval(() => {
    if (document.visibilityState === "visible" && Date.now() - typedAt > 5000) location.reload();
  }, content.reload_ms);
}
