// Clips: a job on the server, followed by its events, and the film that it leaves.

const clips = new Room("clips", "clip", ["/autoencode"]);
let clip = null;  // {name, blob}
let clipUrl = "";

function readClip() {
  return clips.work(async (signal) => {
    let job = null;
    byId("job").hidden = false;
    byId("clip-result").hidden = true;
    follow({ status: "waiting", progress: 0 });
    try {
      const mask = document.querySelector("input[name=mask]:checked").value;
      const { content } = await ask("/autoencode", { body: form([[clip.name, clip.blob]], { mask, model: clips.model }), signal });
      job = content.id;
      byId("job-cancel").onclick = () => clips.controller.abort();
      const last = await whileEncoding(end(job, signal));
      if (last.status === "cancelled") return;
      if (last.status === "failed") throw new Refusal(`The clip could not be put through the model. The server said: “${last.error}”`);
      const film = await ask(`/jobs/${job}/result`, { accept: "video/mp4", signal });
      showClip(film.content, last.result ?? {});
    } finally {
      if (job) ask(`/jobs/${job}`, { method: "DELETE" }).catch(() => {});  // ends it, or frees what it made
      if (clips.controller.signal === signal) byId("job").hidden = true;
    }
  });
}

async function end(job, signal) {
  for await (const { data } of events(`/jobs/${job}/events`, signal)) {
    follow(data);
    if (!["waiting", "running"].includes(data.status)) return data;
  }
  return (await ask(`/jobs/${job}`, { signal })).content;  // the stream ended early
}

function follow({ status, progress }) {
  byId("job-progress").value = progress ?? 0;
  byId("job-text").textContent = status === "waiting" ? "waiting for its turn" : `${Math.round(100 * (progress ?? 0))} %`;
}

function showClip(bytes, result) {
  URL.revokeObjectURL(clipUrl);
  clipUrl = URL.createObjectURL(new Blob([bytes], { type: "video/mp4" }));
  const video = byId("clip-video");
  video.src = clipUrl;
  video.onerror = () => clips.say(["This browser cannot show the film; ", make("a", { href: clipUrl, download: "clip.mp4" }, "keep it"), " and look at it elsewhere."], true);
  video.muted = true;
  if (!calm.matches) video.play().catch(() => {});
  const parts = ["The clip, and what came back out of its latents"];
  const { psnr = {}, top = [] } = result;
  for (const [name, value] of Object.entries(psnr)) if (value != null) parts.push(`${name} ${value.toFixed(1)} dB PSNR`);
  if (top.length > 0) parts.push(`taken for “${top[0].name}” (${percent(top[0].probability)})`);
  byId("clip-text").textContent = `${parts.join("; ")}.`;
  byId("clip-result").hidden = false;
}

for (const input of document.querySelectorAll("input[name=mask]")) input.onchange = () => clip && readClip();

function openClips(list) {
  const shelf = byId("clip-samples");
  const take = (name, blob, button) => {
    press(shelf, button);
    clip = { name, blob };
    readClip();
  };
  const buttons = list.filter((one) => one.kind === "clip").map(({ name }) => {
    const button = make("button", { type: "button", "aria-pressed": "false" }, "A ball that bounces");
    if (name !== "clip.avi") button.textContent = name;
    button.onclick = () => clips.work(async () => take(name, await sampleFile(name), button));
    return button;
  });
  shelf.replaceChildren(...buttons, uploadButton(clips, "A clip of yours", "video/*,audio/*", ([file]) => take(file.name, file, null)));
  clips.changed = () => clip && readClip();
}
