// Sphinx indexes Chinese by words but cuts a query at spaces only. Here a run of Chinese is cut
// into the longest words that the index knows, from left to right; the rest as Sphinx does.
var splitQuery = (query) => {
  const known = Search._index.terms, titles = Search._index.titleterms;
  const longest = (run) => {
    for (let n = run.length; n > 1; n -= 1) {
      const word = run.slice(0, n);
      if (Object.hasOwn(known, word) || Object.hasOwn(titles, word)) return word;
    }
    return "";
  };
  const words = [];
  for (let run of query.match(/\p{Script=Han}+|[\p{Letter}\p{Number}_]+/gu) || []) {
    if (!/\p{Script=Han}/u.test(run)) { words.push(run); continue; }
    while (run) {
      const word = longest(run);
      if (word) words.push(word);
      run = run.slice(word.length || 1);
    }
  }
  return words;
};
