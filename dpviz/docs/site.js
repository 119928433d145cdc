// Search finds pages that contain all words; titles and headings have the largest weight.
const root = document.currentScript.dataset.root;
const field = document.getElementById("search");
const found = document.getElementById("found");

function worth(page, words) {
  const title = page.title.toLowerCase(), text = page.text.toLowerCase();
  const heads = page.headings.map(([, head]) => head.toLowerCase()).join("\n");
  let sum = 0;
  for (const word of words) {
    if (!text.includes(word) && !title.includes(word)) return 0;
    sum += title.includes(word) ? 20 : heads.includes(word) ? 8 : 1;
  }
  return sum;
}

function entry(page, words) {
  const place = document.createElement("p"), link = document.createElement("a");
  const head = page.headings.find(([, text]) => words.every((one) => text.toLowerCase().includes(one)));
  link.href = `${root}/${page.path}${head ? "#" + head[0] : ""}`;
  link.textContent = head ? `${page.title}: ${head[1]}` : page.title;
  const at = Math.max(0, page.text.toLowerCase().indexOf(words[0]) - 50);
  place.append(link, ` (${page.group}) … ${page.text.slice(at, at + 160)} …`);
  return place;
}

field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const ranked = window.dpvizPages.map((page) => [worth(page, words), page]).filter(([sum]) => sum)
    .sort(([one], [other]) => other - one).slice(0, 12);
  found.hidden = !words.length;
  found.replaceChildren(...ranked.map(([, page]) => entry(page, words)));
  if (words.length && !ranked.length) found.textContent = "No page has all of these words.";
});
