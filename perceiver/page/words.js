// Words: a click hides one, and the model says what stood there.

const words = new Room("words", "text", ["/fill"]);
const kMask = "[MASK]";
const kOwnSentences = ["He told me that he had never been in London before."];

// A sentence as tokens: words, which can be hidden, and what stands between them.
const sentence = { tokens: [], list: kOwnSentences, at: 0 };

function tokensOf(text) {
  const tokens = [];
  for (const piece of text.split(/(\[MASK\]|[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*)/u)) {
    if (piece === "") continue;
    const isWord = piece === kMask || /^[\p{L}\p{N}]/u.test(piece);
    // `known`: what was written there; of a sample's [MASK] nobody knows.
    tokens.push({ text: piece, isWord, hidden: piece === kMask, known: piece !== kMask, guess: "" });
  }
  return tokens;
}

function showSentence(text) {
  sentence.tokens = tokensOf(text.trim());
  drawSentence();
  guess();
}

function drawSentence() {
  const held = document.activeElement?.dataset?.token;
  const wordTokens = sentence.tokens.filter((token) => token.isWord);
  byId("sentence").replaceChildren(...sentence.tokens.map((token, i) => {
    if (!token.isWord) return token.text;
    const shown = token.hidden ? token.guess || "\u2003\u2003" : token.text;
    return make("button", {
      type: "button", class: "word", "data-token": i, "aria-pressed": String(token.hidden),
      "aria-label": token.hidden ? `hidden word${token.guess ? `: the model says ${token.guess}` : ""}` : null,
      tabindex: token === (sentence.tokens[held] ?? wordTokens[0]) ? 0 : -1,
    }, shown);
  }));
  if (held) byId("sentence").querySelector(`[data-token="${held}"]`)?.focus();
}

function toggle(token) {
  // Nobody knows what stood at a sample's [MASK]: there, the model's word stays.
  if (token.hidden && !token.known) Object.assign(token, { text: token.guess || kMask, known: token.guess !== "" });
  if (token.hidden && !token.known) return;
  token.hidden = !token.hidden;
  token.guess = "";
  drawSentence();
  guess();
}

function guess() {
  const hidden = sentence.tokens.filter((token) => token.hidden);
  if (hidden.length === 0) {
    words.controller?.abort();
    words.section.classList.remove("busy");
    words.problem.hidden = true;
    byId("words-time").textContent = "";
    byId("guesses").replaceChildren(make("p", { class: "quiet" }, "Nothing is hidden. Click a word."));
    return;
  }
  words.work(async (signal) => {
    await pause(0.12);  // further clicks come
    if (signal.aborted) return;
    byId("words-time").textContent = "";
    const text = sentence.tokens.map((token) => (token.hidden ? kMask : token.text)).join("");
    const { content, ms } = await whileEncoding(ask("/fill", { body: { text, top: 5, model: words.model }, signal }));
    if (signal.aborted) return;
    content.masks.forEach((mask, i) => (hidden[i].guess = mask.word));
    drawSentence();
    showGuesses(hidden, content.masks);
    byId("words-time").textContent = `${milliseconds(ms)} for ${hidden.length === 1 ? "a word" : `${hidden.length} words`}`;
  });
}

function showGuesses(hidden, masks) {
  byId("guesses").replaceChildren(...masks.map((mask, i) => {
    const list = make("ol", { class: "bars" });
    const truth = hidden[i].known ? hidden[i].text : null;
    bars(list, mask.candidates.map(({ word, probability }) => (
      { name: word, share: probability, note: word === truth ? "stood there" : "" })));
    const order = masks.length > 1 ? `, filled in as number ${mask.step}` : "";
    return make("div", {}, make("h3", {}, truth ? `“${truth}” was hidden${order}` : `a missing word${order}`), list);
  }));
}

byId("sentence").addEventListener("click", (event) => {
  const token = sentence.tokens[event.target.closest(".word")?.dataset.token];
  if (!token) return;
  event.target.closest(".word").focus();
  toggle(token);
});

byId("sentence").addEventListener("keydown", (event) => {
  const all = [...byId("sentence").querySelectorAll(".word")];
  const at = all.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  if (!all[to]) return;
  all[at].tabIndex = -1;
  all[to].tabIndex = 0;
  all[to].focus();
});

byId("another").onclick = () => {
  sentence.at = (sentence.at + 1) % sentence.list.length;
  showSentence(sentence.list[sentence.at]);
};

function writeOwn(open) {
  byId("write").hidden = !open;
  byId("sentence").hidden = open;
  byId("own").setAttribute("aria-expanded", String(open));
  byId("own").textContent = open ? "Done" : "Write your own";
}

byId("own").onclick = () => {
  const open = byId("write").hidden;
  const field = byId("write-text");
  if (open) {
    field.value = sentence.tokens.map((token) => (token.known || !token.hidden ? token.text : kMask)).join("");
    writeOwn(true);
    field.focus();
    field.select();
  } else if (field.value.trim() !== "") {
    writeOwn(false);
    showSentence(field.value);
  }
};

byId("write-text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    byId("own").click();
    byId("own").focus();
  }
  if (event.key === "Escape") writeOwn(false);
});

async function openWords(list) {
  const sample = list.find((one) => one.kind === "sentences");
  if (sample) {
    const text = await (await sampleFile(sample.name)).text();
    sentence.list = [...kOwnSentences, ...text.split("\n").filter((line) => line.trim() !== "")];
  }
  words.changed = guess;
  sentence.tokens = tokensOf(sentence.list[0]);
  sentence.tokens.find((token) => token.text === "had").hidden = true;  // something to begin with
  drawSentence();
  guess();
}
