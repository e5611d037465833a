"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { starts, lengths, row, step, outcome, attempt, machines, steps } = data;
  const ids = data.ids.split("\n"), count = starts.length;
  const box = document.getElementById("chart"), canvas = box.querySelector("canvas"), pen = canvas.getContext("2d");
  const tip = document.getElementById("tip"), band = document.getElementById("band"), find = document.getElementById("find");
  const LEFT = 118, TOP = 96, AXIS = 22, GAP = 8;
  const rowHeight = Math.min(20, Math.max(620 / Math.max(1, data.rows), Math.min(4, 1500 / Math.max(1, data.rows))));
  const body = Math.max(40, Math.round(rowHeight * data.rows)), HEIGHT = TOP + AXIS + GAP + body + 4;
  let view, wide = 0, wanted = null;
  const all = () => ({ from: 0, to: Math.max(1, data.length), top: 0, bottom: Math.max(1, data.rows) });
  view = all();

  // How many bars run at any time: sorted begins and ends, counted by bisection.
  const begins = Int32Array.from(starts).sort(), ends = Int32Array.from(starts, (s, i) => s + lengths[i]).sort();
  const rented = Int32Array.from(machines, m => m[1]).sort(), gone = Int32Array.from(machines, m => m[3]).sort();
  const upto = (list, at) => { let a = 0, b = list.length; while (a < b) { const m = (a + b) >> 1; if (list[m] <= at) a = m + 1; else b = m; } return a; };
  const running = at => upto(begins, at) - upto(ends, at), held = at => upto(rented, at) - upto(gone, at);

  const byRow = Array.from({ length: data.rows }, () => []);
  for (let i = 0; i < count; i++) byRow[row[i]].push(i);

  const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const x = t => LEFT + (t - view.from) / (view.to - view.from) * (wide - LEFT);
  const y = r => TOP + AXIS + GAP + (r - view.top) / (view.bottom - view.top) * body;
  const timeAt = px => view.from + (px - LEFT) / (wide - LEFT) * (view.to - view.from);
  const rowAt = py => view.top + (py - TOP - AXIS - GAP) / body * (view.bottom - view.top);

  const say = ticks => {
    const s = ticks * data.tick / 1e6;
    if (s < 1) return +(s * 1000).toPrecision(3) + "ms";
    if (s < 60) return +s.toPrecision(3) + "s";
    if (s < 3600) return Math.floor(s / 60) + "m" + String(Math.floor(s % 60)).padStart(2, "0") + "s";
    if (s < 86400) return Math.floor(s / 3600) + "h" + String(Math.floor(s % 3600 / 60)).padStart(2, "0") + "m";
    return Math.floor(s / 86400) + "d" + String(Math.floor(s % 86400 / 3600)).padStart(2, "0") + "h";
  };
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

  function axis() {
    const span = (view.to - view.from) * data.tick / 1e6, most = (wide - LEFT) / 90;
    let unit = STEPS.find(s => span / s <= most);
    if (span < most) { unit = 1; while (span / unit < most / 2) unit /= 2; unit = 10 ** Math.floor(Math.log10(unit)); while (span / unit > most) unit *= 2; }
    unit = unit || span / most;
    pen.fillStyle = style("--soft"); pen.strokeStyle = style("--line"); pen.lineWidth = 1; pen.textAlign = "center";
    const ticks = unit * 1e6 / data.tick;
    for (let t = Math.ceil(view.from / ticks) * ticks; t <= view.to; t += ticks) {
      const px = Math.round(x(t)) + .5;
      pen.beginPath(); pen.moveTo(px, 0); pen.lineTo(px, HEIGHT); pen.stroke();
      if (px > LEFT + 12 && px < wide - 16) pen.fillText(t ? say(t) : "0", px, TOP + 15);
    }
    pen.textAlign = "left";
  }

  function curve(value, most, paint, fill) {
    pen.beginPath();
    for (let px = LEFT; px <= wide; px++) {
      const py = TOP - 4 - value(timeAt(px)) / most * (TOP - 26);
      if (px === LEFT) pen.moveTo(px, py); else pen.lineTo(px, py);
    }
    if (fill) { pen.lineTo(wide, TOP - 4); pen.lineTo(LEFT, TOP - 4); pen.fillStyle = paint; pen.globalAlpha = .28; pen.fill(); pen.globalAlpha = 1; }
    else { pen.strokeStyle = paint; pen.lineWidth = 1.4; pen.stroke(); }
  }

  function levels() {
    let busy = 1, have = 1;
    for (let px = LEFT; px <= wide; px++) { const t = timeAt(px); busy = Math.max(busy, running(t)); have = Math.max(have, held(t)); }
    const most = Math.max(busy, have);
    curve(running, most, style("--accent"), true); curve(running, most, style("--accent"), false); curve(held, most, style("--ink"), false);
    pen.fillStyle = style("--soft");
    const words = "up to " + busy.toLocaleString() + " at work";
    pen.fillText(words, LEFT + 6, 13);
    pen.fillStyle = style("--ink"); pen.fillText("up to " + have.toLocaleString() + (have === 1 ? " machine" : " machines"), LEFT + 22 + pen.measureText(words).width, 13);
  }

  function lanes() {
    const one = body / (view.bottom - view.top), soft = style("--soft"), colours = [style("--held"), style("--boot")];
    let lastLabel = -99;
    for (const [name, from, up, to, lost, first, rows] of machines) {
      if (first + rows < view.top || first > view.bottom) continue;
      const py = y(first), tall = Math.max(rows * one - (one > 5 ? 1.5 : 0), .6);
      pen.fillStyle = colours[0]; pen.fillRect(Math.max(x(from), LEFT), py, Math.max(0, Math.min(x(to), wide) - Math.max(x(from), LEFT)), tall);
      if (up > from) { pen.fillStyle = colours[1]; const a = Math.max(x(from), LEFT); pen.fillRect(a, py, Math.max(0, x(up) - a), tall); }
      if (lost && x(to) >= LEFT) { pen.fillStyle = style("--bad"); pen.fillRect(x(to) - 1, py, 2.5, tall); }
      if (py - lastLabel >= 13 && py > TOP + 10) { pen.fillStyle = soft; pen.fillText(name.length > 16 ? name.slice(0, 9) + "…" + name.slice(-6) : name, 6, py + Math.min(tall / 2 + 4, 14)); lastLabel = py; }
    }
  }

  function bars() {
    const one = body / (view.bottom - view.top), tall = Math.max(one - (one > 5 ? 1.5 : one > 2.5 ? .5 : 0), .6);
    const scale = (wide - LEFT) / (view.to - view.from), bad = style("--bad");
    for (let r = Math.max(0, Math.floor(view.top)); r < Math.min(data.rows, Math.ceil(view.bottom)); r++) {
      const list = byRow[r], py = y(r);
      let a = 0, b = list.length;
      while (a < b) { const m = (a + b) >> 1; if (starts[list[m]] + lengths[list[m]] < view.from) a = m + 1; else b = m; }
      let pixel = -1, cover = 0, paint = "";
      const flush = () => { if (cover > 0) { pen.globalAlpha = Math.min(1, .25 + cover); pen.fillStyle = paint; pen.fillRect(pixel, py, 1, tall); pen.globalAlpha = 1; cover = 0; } };
      for (let k = a; k < list.length; k++) {
        const i = list[k];
        if (starts[i] > view.to) break;
        const left = Math.max(x(starts[i]), LEFT), width = Math.min(x(starts[i] + lengths[i]), wide) - left;
        const fails = outcome[i] > 0 && outcome[i] < 4, faint = wanted && !wanted.has(i);
        const ink = faint ? style("--boot") : fails ? bad : steps[step[i]][1];
        if (width < 1) { // many in a pixel: as dark as the pixel is full, in the colour of the last
          if (Math.floor(left) !== pixel) { flush(); pixel = Math.floor(left); }
          cover += Math.max(lengths[i] * scale, .05); if (paint !== bad || cover === 0) paint = ink;
          continue;
        }
        flush();
        pen.fillStyle = ink; pen.fillRect(left, py, Math.max(width - (width > 4 ? .7 : 0), 1), tall);
        if (one > 12 && width > 46 && !faint) { pen.fillStyle = "#fff"; pen.save(); pen.beginPath(); pen.rect(left, py, width - 3, tall); pen.clip(); pen.fillText(ids[i], left + 4, py + tall / 2 + 4); pen.restore(); }
      }
      flush();
    }
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    wide = box.clientWidth;
    canvas.width = wide * ratio; canvas.height = HEIGHT * ratio; canvas.style.height = HEIGHT + "px";
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    pen.clearRect(0, 0, wide, HEIGHT);
    axis(); levels();
    pen.save(); pen.beginPath(); pen.rect(0, TOP + AXIS, wide, HEIGHT); pen.clip(); lanes(); bars(); pen.restore();
  }

  function look(next) {
    const end = Math.max(1, data.length), most = Math.max(1, data.rows);
    const width = Math.min(end, Math.max(4, next.to - next.from)), high = Math.min(most, Math.max(1, next.bottom - next.top));
    const from = Math.min(Math.max(0, next.from), end - width), top = Math.min(Math.max(0, next.top), most - high);
    view = { from, to: from + width, top, bottom: top + high };
    requestAnimationFrame(draw);
  }
  const zoom = (factor, at = .5) => { const span = view.to - view.from, t = view.from + span * at; look({ ...view, from: t - span * factor * at, to: t + span * factor * (1 - at) }); };

  function under(px, py) {
    const r = Math.floor(rowAt(py)), t = timeAt(px), near = (view.to - view.from) / (wide - LEFT) * 1.5;
    if (r < 0 || r >= data.rows || px < LEFT) return -1;
    let best = -1;
    for (const i of byRow[r]) { if (starts[i] - near > t) break; if (t <= starts[i] + lengths[i] + near) best = i; }
    return best;
  }

  let drag = null;
  canvas.addEventListener("mousedown", e => { drag = { x: e.offsetX, y: e.offsetY, view, pan: e.shiftKey || e.offsetY < TOP + AXIS }; });
  canvas.addEventListener("mousemove", e => {
    if (drag && drag.pan) {
      const dt = (drag.x - e.offsetX) / (wide - LEFT) * (view.to - view.from), dr = (drag.y - e.offsetY) / body * (view.bottom - view.top);
      look({ from: drag.view.from + dt, to: drag.view.to + dt, top: drag.view.top + dr, bottom: drag.view.bottom + dr });
      return;
    }
    if (drag) {
      Object.assign(band.style, { display: "block", left: Math.min(drag.x, e.offsetX) + "px", width: Math.abs(e.offsetX - drag.x) + "px", top: Math.min(drag.y, e.offsetY) + "px", height: Math.abs(e.offsetY - drag.y) + "px" });
      return;
    }
    const i = under(e.offsetX, e.offsetY);
    if (i < 0) { tip.style.display = "none"; return; }
    const host = machines.find(m => row[i] >= m[5] && row[i] < m[5] + m[6]);
    tip.textContent = ids[i] + (attempt.length && attempt[i] > 1 ? " (attempt " + attempt[i] + ")" : "") + "\n" + steps[step[i]][0] + " on " + host[0] + "\nfrom " + say(starts[i]) + " for " + say(lengths[i]) + "\n" + data.outcomes[outcome[i]];
    Object.assign(tip.style, { display: "block", left: Math.min(e.offsetX + 14, wide - 240) + "px", top: Math.min(e.offsetY + 12, HEIGHT - 78) + "px" });
  });
  canvas.addEventListener("mouseleave", () => { tip.style.display = "none"; });
  window.addEventListener("mouseup", e => {
    if (!drag) return;
    const was = drag; drag = null; band.style.display = "none";
    if (was.pan || e.target !== canvas || Math.abs(e.offsetX - was.x) < 5) return;
    const next = { ...view, from: timeAt(Math.min(was.x, e.offsetX)), to: timeAt(Math.max(was.x, e.offsetX)) };
    if (Math.abs(e.offsetY - was.y) > 24) { next.top = rowAt(Math.min(was.y, e.offsetY)); next.bottom = rowAt(Math.max(was.y, e.offsetY)); }
    look(next);
  });
  canvas.addEventListener("dblclick", () => look(all()));
  canvas.addEventListener("wheel", e => {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : .8, Math.max(0, (e.offsetX - LEFT) / (wide - LEFT)));
  }, { passive: false });
  for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => { const f = +button.dataset.zoom; if (f) zoom(f); else look(all()); });
  find.addEventListener("input", () => {
    const text = find.value.trim().toLowerCase();
    wanted = null;
    if (text) { wanted = new Set(); for (let i = 0; i < count; i++) if (ids[i].toLowerCase().includes(text) || steps[step[i]][0].toLowerCase().includes(text)) wanted.add(i); }
    document.getElementById("found").textContent = wanted ? wanted.size.toLocaleString() + " attempts" : "";
    draw();
  });
  window.addEventListener("resize", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
