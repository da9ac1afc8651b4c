// All behaviour of the pages: charts when they come into view, tables that sort, the overview's filters, copying.
// Text reaches the page through textContent and never as markup. Nothing is loaded but our own files beside the page.
"use strict";
(function () {
  const PAGE_OF_ROWS = 200;
  const body = document.body;

  // ---- Charts -------------------------------------------------------------------------------------------------------
  const isColour = /^var\((--[a-z0-9-]+)\)$/;

  function coloured(value, style) {
    if (typeof value === "string") {
      const found = isColour.exec(value);
      return found ? style.getPropertyValue(found[1]).trim() || "gray" : value;
    }
    if (Array.isArray(value)) return value.map((each) => coloured(each, style));
    if (value === null || typeof value !== "object") return value;
    const copy = {};
    for (const key of Object.keys(value)) copy[key] = coloured(value[key], style);
    return copy;
  }

  // Names beside an axis must leave room for what is drawn.
  function shortened(layout, width) {
    const axis = layout.yaxis;
    if (axis && axis.ticktext && width < 560) {
      axis.ticktext = axis.ticktext.map((text) => (text.length > 18 ? text.slice(0, 17) + "\u2026" : text));
    }
  }

  function themed(figure, width) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const made = coloured(figure, style);
    const layout = made.layout || {};
    layout.paper_bgcolor = layout.plot_bgcolor = colour("--page");
    layout.font = { family: "system-ui, sans-serif", size: 13, color: colour("--ink") };
    layout.hoverlabel = { bgcolor: colour("--panel"), bordercolor: colour("--line"), font: { color: colour("--ink") } };
    layout.colorway = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => colour("--c" + number));
    layout.margin = Object.assign({ l: 64, r: 16, t: 16, b: 56 }, layout.margin);
    layout.legend = Object.assign({ orientation: "h", yanchor: "bottom", y: 1.01, xanchor: "left", x: 0 }, layout.legend);
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis/.test(name)) {
        layout[name] = Object.assign(
          { gridcolor: colour("--grid"), linecolor: colour("--line"), zerolinecolor: colour("--line"), automargin: true },
          layout[name]
        );
      }
    }
    layout.autosize = true;
    shortened(layout, width);
    return { data: made.data || [], layout: layout };
  }

  let plotly = null;
  function loadPlotly() {
    if (!plotly) {
      plotly = new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = body.dataset.plotly;
        script.addEventListener("load", () => (window.Plotly ? resolve(window.Plotly) : reject(new Error("no Plotly"))));
        script.addEventListener("error", () => reject(new Error("plotly.min.js is missing")));
        document.head.appendChild(script);
      });
    }
    return plotly;
  }

  function figureOf(canvas) {
    return JSON.parse(document.getElementById(canvas.dataset.figure).textContent);
  }

  function draw(canvas) {
    loadPlotly()
      .then((library) => {
        const figure = themed(figureOf(canvas), canvas.clientWidth);
        canvas.textContent = "";
        canvas.classList.add("drawn");
        const wanted = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] };
        return library.newPlot(canvas, figure.data, figure.layout, wanted);
      })
      .then(() => canvas.setAttribute("data-drawn", "yes"))
      .catch((error) => {
        canvas.classList.remove("drawn");
        canvas.textContent = "This chart could not be drawn (" + error.message + "); the numbers are in the tables.";
      });
  }

  function charts() {
    const all = Array.from(document.querySelectorAll("[data-figure]"));
    if (!all.length) return;
    if (!("IntersectionObserver" in window)) {
      all.forEach(draw);
      return;
    }
    const watcher = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) {
          if (entry.isIntersecting) {
            watcher.unobserve(entry.target);
            draw(entry.target);
          }
        }
      },
      { rootMargin: "200px" }
    );
    all.forEach((canvas) => watcher.observe(canvas));
    window.addEventListener("beforeprint", () => all.filter((each) => !each.dataset.drawn).forEach(draw));
    const scheme = window.matchMedia("(prefers-color-scheme: dark)");
    if (scheme.addEventListener) {
      scheme.addEventListener("change", () => {
        all.filter((each) => each.dataset.drawn).forEach((canvas) => {
          const figure = themed(figureOf(canvas), canvas.clientWidth);
          window.Plotly.react(canvas, figure.data, figure.layout);
        });
      });
    }
  }

  // ---- Tables that sort ---------------------------------------------------------------------------------------------
  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    const one = String(a), two = String(b);
    return one < two ? -1 : one > two ? 1 : 0;
  }

  // What is empty comes last, whichever way one sorts.
  function ordered(indices, valueOf, direction) {
    return indices.sort((a, b) => {
      const left = valueOf(a), right = valueOf(b);
      const noLeft = left === null || left === "", noRight = right === null || right === "";
      if (noLeft || noRight) return noLeft === noRight ? a - b : noLeft ? 1 : -1;
      return direction * compare(left, right) || a - b;
    });
  }

  function makeSortable(table, onSort) {
    const heads = Array.from(table.querySelectorAll("thead th[data-sort]"));
    heads.forEach((head) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.textContent = head.textContent;
      head.textContent = "";
      head.appendChild(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const first = head.dataset.first === "descending" ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const next = now === first ? other : first;
        heads.forEach((each) => each.setAttribute("aria-sort", each === head ? next : "none"));
        onSort(head, next === "ascending" ? 1 : -1);
      });
    });
  }

  function cellValue(row, column) {
    const cell = row.cells[column];
    const told = cell ? cell.getAttribute("data-value") : "";
    const text = told === null ? cell.textContent.trim() : told;
    const number = Number(text.replace(/,/g, ""));
    return text === "" || Number.isNaN(number) ? text : number;
  }

  function sortInPlace(table) {
    const rows = Array.from(table.tBodies[0].rows);
    makeSortable(table, (head, direction) => {
      const column = head.cellIndex;
      const order = ordered(rows.map((_, index) => index), (index) => cellValue(rows[index], column), direction);
      const part = document.createDocumentFragment();
      order.forEach((index) => part.appendChild(rows[index]));
      table.tBodies[0].appendChild(part);
    });
  }

  // ---- The overview -------------------------------------------------------------------------------------------------
  // Columns come from rows.js: {name: [value, …]} or, for texts that repeat, {name: {of: [text, …], at: [index, …]}}.
  function reader(columns) {
    return (name, row) => {
      const column = columns[name];
      return Array.isArray(column) ? column[row] : column.of[column.at[row]];
    };
  }

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined && text !== null) made.textContent = String(text);
    return made;
  }

  function svg(name, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key of Object.keys(attributes)) made.setAttribute(key, String(attributes[key]));
    return made;
  }

  function place(scale, value) {
    const share = Math.log(value / scale.low) / Math.log(scale.high / scale.low);
    return 4 + 112 * Math.min(1, Math.max(0, share));
  }

  function bar(scale, value, low, high, verdict) {
    const drawn = svg("svg", { class: "bar " + verdict, viewBox: "0 0 120 16", "aria-hidden": "true" });
    const at = (number) => place(scale, number).toFixed(1);
    drawn.appendChild(svg("line", { class: "axis", x1: 4, x2: 116, y1: 8, y2: 8 }));
    drawn.appendChild(svg("line", { class: "par", x1: at(1), x2: at(1), y1: 1, y2: 15 }));
    drawn.appendChild(svg("line", { class: "range", x1: at(low), x2: at(high), y1: 8, y2: 8 }));
    drawn.appendChild(svg("circle", { class: "point", cx: at(value), cy: 8, r: 4 }));
    return drawn;
  }

  function times(value) {
    return value >= 100 ? value.toFixed(0) : value.toFixed(2);
  }

  function micro(value) {
    const digits = value >= 100 ? 0 : value >= 1 ? 1 : 3;
    return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }) + " \u00b5s";
  }

  const isWord = /^[a-z_]{1,20}$/;
  const isPage = /^[0-9a-f]{16}$/;
  const isTask = /^[a-z][a-z0-9_]*\/[a-z][a-z0-9_]*$/;

  function rowOf(get, row, scale) {
    const line = element("tr");
    const cell = (label, className, content) => {
      const made = element("td", className);
      made.setAttribute("data-label", label);
      if (content === null || content === undefined || content === "") made.classList.add("nothing");
      else if (content instanceof Node) made.appendChild(content);
      else made.textContent = String(content);
      line.appendChild(made);
      return made;
    };
    const link = (text, address) => {
      if (!address) return element("span", "", text);
      const made = element("a", "", text);
      made.setAttribute("href", address);
      return made;
    };
    const page = get("page", row), task = get("task", row), status = get("status", row);
    const rank = get("rank", row);
    cell("rank", "num", rank === null ? "" : rank + (get("tie", row) ? " =" : ""));
    cell("submission", "text", link(get("submission", row), isPage.test(page) ? "submissions/" + page + ".html" : ""));
    cell("task", "", link(task, isTask.test(task) && task.length <= 80 ? "tasks/" + task.replace("/", "-") + ".html" : ""));
    cell("dtype", "", get("dtype", row));
    const speedup = get("speedup", row);
    if (speedup === null) {
      cell("speedup", "num", "");
      cell("interval", "", "");
    } else {
      const low = get("low", row), high = get("high", row), verdict = get("verdict", row);
      cell("speedup", "num", times(speedup) + "\u00d7 [" + times(low) + ", " + times(high) + "]");
      cell("interval", "", bar(scale, speedup, low, high, isWord.test(verdict) ? verdict : "same"));
    }
    const median = get("median", row);
    cell("median", "num", median === null ? "" : micro(median));
    const told = element("span", "badge " + (isWord.test(status) ? status : "plain"), status.replace(/_/g, " "));
    const state = cell("status", "", told);
    if (get("reason", row)) state.title = get("reason", row);
    cell("language", "", get("language", row));
    cell("author", "text", get("author", row));
    cell("device", "text", get("device", row));
    cell("standing", "text", get("standing", row));
    return line;
  }

  function overview() {
    const table = document.getElementById("ranking");
    const data = window.kbenchRows;
    const form = document.getElementById("filters");
    if (!table || !data || !form) return;
    const get = reader(data.columns), scale = data.scale;
    const told = document.getElementById("count"), more = document.getElementById("more");
    const filters = Array.from(form.querySelectorAll("select[name]"));
    const search = form.querySelector("input[name=q]");
    const everything = Array.from({ length: data.count }, (_, index) => index);
    const searched = ["submission", "task", "author", "device", "language", "reason"];
    let sort = null, found = everything, drawnRows = Math.min(PAGE_OF_ROWS, data.count);

    function matches(row, words) {
      for (const filter of filters) if (filter.value && get(filter.name, row) !== filter.value) return false;
      if (!words.length) return true;
      const text = searched.map((name) => get(name, row)).join("\n").toLowerCase();
      return words.every((word) => text.includes(word));
    }

    function tell() {
      told.textContent = found.length.toLocaleString("en-US") + " of " + data.count.toLocaleString("en-US") + " rows" +
        (drawnRows < found.length ? ", " + drawnRows + " shown" : "");
      more.hidden = drawnRows >= found.length;
    }

    function append(upTo) {
      const part = document.createDocumentFragment();
      for (; drawnRows < Math.min(upTo, found.length); drawnRows += 1) part.appendChild(rowOf(get, found[drawnRows], scale));
      table.tBodies[0].appendChild(part);
      tell();
    }

    function renew() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      found = everything.filter((row) => matches(row, words));
      if (sort) found = ordered(found, (row) => get(sort.name, row), sort.direction);
      table.tBodies[0].textContent = "";
      drawnRows = 0;
      append(PAGE_OF_ROWS);
      remember();
    }

    function remember() {
      const kept = new URLSearchParams();
      filters.forEach((filter) => filter.value && kept.set(filter.name, filter.value));
      if (search.value) kept.set("q", search.value);
      try {
        history.replaceState(null, "", kept.toString() ? "#" + kept.toString() : "#ranking");
      } catch (error) {
        // A browser may refuse this for a file; then the address tells nothing, and all the rest works.
      }
    }

    function recall() {
      const kept = new URLSearchParams(location.hash.slice(1));
      let some = false;
      filters.forEach((filter) => {
        const wanted = kept.get(filter.name);
        if (wanted && Array.from(filter.options).some((option) => option.value === wanted)) {
          filter.value = wanted;
          some = true;
        }
      });
      if (kept.get("q")) {
        search.value = kept.get("q");
        some = true;
      }
      return some;
    }

    let waiting = 0;
    search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(renew, 120);
    });
    filters.forEach((filter) => filter.addEventListener("change", renew));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(renew, 0));
    more.addEventListener("click", () => {
      const first = drawnRows;
      append(drawnRows + PAGE_OF_ROWS);
      const row = table.tBodies[0].rows[first], link = row && row.querySelector("a");
      if (link) link.focus({ preventScroll: true });
    });
    makeSortable(table, (head, direction) => {
      sort = { name: head.dataset.sort, direction: direction };
      renew();
    });
    form.hidden = false;
    if (recall()) renew();
    else tell();
  }

  // ---- Copying ------------------------------------------------------------------------------------------------------
  function copying() {
    document.querySelectorAll("[data-copy]").forEach((box) => {
      const source = document.getElementById(box.dataset.copy);
      if (!source || !navigator.clipboard) return;
      const button = element("button", "plain-button", "Copy");
      button.type = "button";
      button.addEventListener("click", () => {
        navigator.clipboard.writeText(source.textContent).then(
          () => { button.textContent = "Copied"; },
          () => { button.textContent = "Not allowed here"; }
        );
      });
      box.appendChild(button);
    });
  }

  document.querySelectorAll("table[data-sortable]").forEach(sortInPlace);
  overview();
  charts();
  copying();
})();
