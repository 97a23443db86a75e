// Index entries of guides first, then titles that begin with the query, then the rest. Pages of the reference and of the
// gallery come after guides, unless the query is the name of a function that no ordinary word is like.
var Scorer = {
  score: function (result) {
    var page = result[0], title = result[1], score = result[4], kind = String(result[6]);
    var asked = (new URLSearchParams(window.location.search).get("q") || "").trim().toLowerCase();
    if (page.startsWith("api/") || page.startsWith("auto_examples/")) {
      return asked.includes("_") && title.toLowerCase().endsWith(asked) ? score + 300 : score - 300;
    }
    if (kind === "index") return score + 200;
    return asked && title.toLowerCase().startsWith(asked) ? score + 100 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 3,
  objPrio: { 0: 5, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
