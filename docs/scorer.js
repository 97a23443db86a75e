// Index entries first, then titles that begin with the query, then the rest.
var Scorer = {
  score: function (result) {
    var title = result[1], score = result[4], kind = String(result[6]);
    if (kind === "index") return score + 200;
    var asked = (new URLSearchParams(window.location.search).get("q") || "").trim().toLowerCase();
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
