// What there is to see: the rooms open as far as the server has models for them.

const kMissing = {
  words: ["This server has no model for words. Start it with one: ", make("code", {}, "perceiver serve -m language-mini")],
  pictures: ["This server has no model for pictures. Start it with one: ", make("code", {}, "perceiver serve -m image-mini")],
  motion: ["This server has no model for motion. Start it with one: ", make("code", {}, "perceiver serve -m flow-mini")],
  clips: ["No trained model for clips comes with the program. With DeepMind's weights, this room opens: ",
    make("code", {}, "perceiver serve -m deepmind/multimodal-perceiver"), "; and with random ones, to see the way: ",
    make("code", {}, "perceiver serve -m multimodal_mini")],
};

// Many inputs, few latents, any outputs.
function drawDiagram() {
  const dots = (count, x, radius, name) => Array.from({ length: count }, (_, i) => ({ x, y: 180 * ((i + 0.5) / count), radius, name }));
  const inputs = dots(17, 8, 2.6, "input"), latents = dots(5, 150, 6.5, "latent"), outputs = dots(9, 312, 3.2, "output");
  const svg = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const lines = (from, to, name) => from.flatMap((a) => to.map((b) => svg("path", {
    class: name, d: `M${a.x} ${a.y} C${(a.x + b.x) / 2} ${a.y} ${(a.x + b.x) / 2} ${b.y} ${b.x} ${b.y}`,
  })));
  byId("diagram").replaceChildren(...lines(inputs, latents, "in"), ...lines(latents, outputs, "out"),
    ...[...inputs, ...latents, ...outputs].map(({ x, y, radius, name }) => svg("circle", { cx: x, cy: y, r: radius, class: name })));
}

function askForKey() {
  byId("key").hidden = false;
  byId("key-wrong").textContent = key ? "That is not one of its keys." : "";
}

byId("key").addEventListener("submit", (event) => {
  event.preventDefault();
  key = byId("key-text").value.trim();
  byId("key").hidden = true;
  start();
});

// Which room is being looked at.
const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
const inSight = new Set();
const looking = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) inSight[isIntersecting ? "add" : "delete"](target.id);
  const first = [...links.keys()].find((id) => inSight.has(id));
  for (const [id, link] of links) {
    if (id === first) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}, { rootMargin: "-45% 0px -50% 0px" });
for (const section of document.querySelectorAll(".room")) looking.observe(section);

// A room begins when it is first looked at, so that the first one need not wait for the last.
function whenSeen(section, begin) {
  const observer = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) once();
  }, { rootMargin: "100px" });
  const once = () => {
    observer.disconnect();
    links.get(section.id).removeEventListener("click", once);
    begin();
  };
  observer.observe(section);
  links.get(section.id).addEventListener("click", once);
}

async function loaded() {
  for (;;) {
    const response = await reach("/health", {});
    if (response.status !== 503) return;
    byId("served").textContent = "The server is loading its models…";
    await pause(0.5);
  }
}

async function start() {
  const served = byId("served");
  try {
    await loaded();
    const { content: info } = await ask("/info");
    const { content: list } = await ask("/samples");
    const count = info.models.length === 1 ? "one model" : `${info.models.length} models`;
    served.textContent = `perceiver ${info.version}: ${count}, on ${info.device}`;
    const rooms = [[words, openWords], [pictures, openPictures], [motion, openMotion], [clips, openClips]];
    for (const [room, begin] of rooms) {
      if (!room.open(info, kMissing[room.section.id])) continue;
      whenSeen(room.section, () => room.work(() => begin(list)));
    }
  } catch (error) {
    if (!(error instanceof Refusal)) console.error(error);
    const again = make("button", { type: "button", class: "plain", onclick: start }, "Try again");
    served.replaceChildren(make("span", { class: "error-text", role: "alert" }, error.message), " ", error.status === 401 ? "" : again);
  }
}

byId("where").textContent = location.host;
drawDiagram();
start();
