"use strict";
(() => {
  const root = document.documentElement;
  const view = root.viewBox.baseVal;
  const find = (id) => root.querySelector("#" + id);
  const [frames, details, reset, matched, search] =
    ["frames", "details", "reset", "matched", "search"].map(find);
  const PAD = 12, CHARACTER = 6.9, EPSILON = 1e-7;
  const inner = view.width - 2 * PAD;
  const hint = details.textContent;

  const boxes = Array.from(frames.children, (g) => {
    const title = g.querySelector("title").textContent;
    return {
      g, title, name: title.split("\n")[0],
      x: +g.dataset.x, w: +g.dataset.w, level: +g.dataset.l,
      rect: g.querySelector("rect"), text: g.querySelector("text"),
    };
  });
  const byElement = new Map(boxes.map((box) => [box.g, box]));
  let shown = boxes[0];

  function fitted(name, width) {
    const room = Math.floor((width - 6) / CHARACTER);
    if (room < 3) return "";
    return name.length <= room ? name : name.slice(0, room - 1) + "…";
  }

  function place(box, x, width, isAbove) {
    box.g.classList.toggle("gone", width < 0.1);
    box.g.classList.toggle("above", isAbove);
    box.rect.setAttribute("x", x.toFixed(2));
    box.rect.setAttribute("width", (width > 2 ? width - 0.7 : width).toFixed(2));
    const label = fitted(box.name, width);
    if (label && !box.text) {
      box.text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      box.text.setAttribute("y", +box.rect.getAttribute("y") + 12.5);
      box.g.append(box.text);
    }
    if (box.text) {
      box.text.setAttribute("x", (x + 3).toFixed(1));
      box.text.textContent = label;
    }
  }

  function zoom(to) {
    shown = to;
    const end = to.x + to.w;
    for (const box of boxes) {
      const isAbove = box.level < to.level && box.x <= to.x + EPSILON && box.x + box.w >= end - EPSILON;
      if (isAbove) {
        place(box, PAD, inner, true);
      } else if (box.level >= to.level && box.x >= to.x - EPSILON && box.x + box.w <= end + EPSILON) {
        place(box, PAD + ((box.x - to.x) / to.w) * inner, (box.w / to.w) * inner, false);
      } else {
        place(box, PAD, 0, false);
      }
    }
    reset.setAttribute("visibility", to.level ? "visible" : "hidden");
    measure();
  }

  // How much of what is shown lies in frames that match: a match inside a match counts once.
  function measure() {
    if (!frames.classList.contains("searching")) {
      matched.textContent = " ";
      return;
    }
    const end = shown.x + shown.w;
    const hits = boxes.filter((box) => box.isHit && box.x < end && box.x + box.w > shown.x);
    hits.sort((a, b) => a.x - b.x || b.w - a.w);
    let share = 0, until = shown.x;
    for (const box of hits) {
      const stop = Math.min(box.x + box.w, end);
      if (stop > until) {
        share += stop - Math.max(box.x, until);
        until = stop;
      }
    }
    matched.textContent = `matched: ${((100 * share) / shown.w).toFixed(2)} %`;
  }

  function look() {
    const words = search.value.trim();
    let pattern = null;
    search.classList.remove("bad");
    if (words) {
      try {
        pattern = new RegExp(words, "i");
      } catch {
        search.classList.add("bad");
        pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
      }
    }
    frames.classList.toggle("searching", pattern !== null);
    for (const box of boxes) {
      box.isHit = pattern !== null && box.level > 0 && pattern.test(box.name);
      box.g.classList.toggle("hit", box.isHit);
    }
    measure();
  }

  const boxOf = (event) => byElement.get(event.target.closest(".f"));
  frames.addEventListener("click", (event) => {
    const box = boxOf(event);
    if (box) zoom(box);
  });
  frames.addEventListener("mouseover", (event) => {
    const box = boxOf(event);
    if (box) details.textContent = box.title.split("\n").join("  ·  ");
  });
  frames.addEventListener("mouseleave", () => { details.textContent = hint; });
  reset.addEventListener("click", () => zoom(boxes[0]));
  search.addEventListener("input", look);
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      search.value = "";
      look();
      if (boxes.length) zoom(boxes[0]);
    } else if (event.key === "/" && event.target !== search) {
      event.preventDefault();
      search.focus();
    }
  });
})();
