// Run the search of the built documentation without a browser: node search_pages.js HTML_FOLDER QUERY...
// Prints a JSON object from each query to the documents found, best first.
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [folder, ...queries] = process.argv.slice(2);
const nothing = { addEventListener() {}, children: [], removeChild() {}, dataset: {} };
const page = {
  console,
  URLSearchParams,
  URL,
  localStorage: { setItem() {}, removeItem() {} },
  location: { search: "" },
  addEventListener() {},
  document: {
    ...nothing,
    documentElement: { dataset: {} },
    getElementById: () => ({ children: [], firstChild: null, removeChild() {}, replaceChildren() {} }),
    querySelectorAll: () => [],
    querySelector: () => null,
  },
  DOCUMENTATION_OPTIONS: {},
  SPHINX_HIGHLIGHT_ENABLED: false,
  _ready: () => {},
};
page.window = page;
vm.createContext(page);
const scripts = ["doctools.js", "base-stemmer.js", "english-stemmer.js", "language_data.js", "searchtools.js"];
for (const name of scripts.filter((name) => fs.existsSync(path.join(folder, "_static", name))))
  vm.runInContext(fs.readFileSync(path.join(folder, "_static", name), "utf8"), page, name);
vm.runInContext(fs.readFileSync(path.join(folder, "searchindex.js"), "utf8"), page, "searchindex.js");
const found = {};
for (const query of queries) {
  page.location.search = "?q=" + encodeURIComponent(query);
  page.__query = query;
  const results = vm.runInContext("Search._performSearch(...Search._parseQuery(__query))", page);
  found[query] = results.reverse().map((result) => result[0]);
}
console.log(JSON.stringify(found));
