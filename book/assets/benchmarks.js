// The benchmark page: filters and sorts the rows that the page contains.
(() => {
    "use strict";
    const source = document.getElementById("benchmark-rows");
    if (!source) return;
    const rows = JSON.parse(source.textContent);
    const place = document.getElementById("benchmark-page");

    const element = (name, attributes, ...children) => {
        const made = document.createElement(name);
        for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
        made.append(...children);
        return made;
    };
    const filters = [
        ["tier", "Tier"], ["peer", "Best peer"], ["machine", "Machine"], ["load", "Load"], ["verdict", "Result"],
    ];
    const columns = [
        ["row", "What"], ["ratio", "Ratio"], ["ours", "blitz-io"], ["theirs", "Best peer"], ["low", "Range"],
    ];
    const state = { sort: "ratio", descending: false, text: "" };
    for (const [field] of filters) state[field] = "";
    // Each address is a selection: /benchmarks/#tier=4: Threads&sort=row
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
        if (name in state) state[name] = name === "descending" ? value === "true" : value;
    }

    const units = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, B: 1, KiB: 1024, MiB: 1048576 };
    const size = (text) => {
        const [, figure, unit] = /([\d.,]+)\s*(\S*)$/.exec(text) ?? [null, "0", ""];
        return Number(figure.replaceAll(",", "")) * (units[unit] ?? 1);
    };
    const value = (row, field) => field === "ours" || field === "theirs" ? size(row[field]) : row[field];
    const compare = (a, b) => {
        const [left, right] = [value(a, state.sort), value(b, state.sort)];
        const order = typeof left === "string" ? left.localeCompare(right) : left - right;
        return state.descending ? -order : order;
    };

    const form = element("form", { "aria-label": "Filter" });
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const [field, title] of filters) {
        const select = element("select", { name: field }, element("option", { value: "" }, "all"));
        for (const option of [...new Set(rows.map((row) => row[field]))].sort()) {
            select.append(element("option", { value: option }, option));
        }
        select.value = state[field];
        select.addEventListener("change", () => { state[field] = select.value; draw(); });
        form.append(element("label", {}, title, select));
    }
    const text = element("input", { name: "text", type: "search", placeholder: "mutex" });
    text.value = state.text;
    text.addEventListener("input", () => { state.text = text.value; draw(); });
    // The keys of mdBook's own shortcuts are text here.
    text.addEventListener("keydown", (event) => event.stopPropagation());
    form.append(element("label", {}, "Text", text));

    // So many rows are shown at once: all of them would be the height of fifty screens.
    const PAGE = 40;
    let limit = PAGE;
    const more = element("button", { type: "button", class: "more" });
    more.addEventListener("click", () => { limit += PAGE; fill(); });

    const summary = element("p", { role: "status" });
    const head = element("tr", {});
    const body = element("tbody", {});
    for (const [field, title] of columns) {
        const button = element("button", { type: "button" }, title);
        button.addEventListener("click", () => {
            state.descending = state.sort === field && !state.descending;
            state.sort = field;
            draw();
        });
        head.append(element("th", { scope: "col", "data-field": field }, button));
    }
    const table = element("table", {}, element("thead", {}, head), body);
    place.append(form, summary, element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" }, table), more);

    const number = (digits) => element("td", { class: "number" }, digits);
    let shown = [];
    const fill = () => {
        body.replaceChildren(...shown.slice(0, limit).map((row) => element("tr", {},
            element("td", {}, row.row, row.load === "none" ? "" : ` (${row.load})`),
            number(`${row.ratio}× ${row.verdict}`),
            number(row.ours), number(`${row.theirs}, ${row.peer}`), number(`${row.low} – ${row.high}`))));
        more.hidden = shown.length <= limit;
        more.textContent = `Show more: ${limit} of ${shown.length} rows are here`;
    };
    const draw = () => {
        const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
        shown = rows
            .filter((row) => filters.every(([field]) => !state[field] || row[field] === state[field]))
            .filter((row) => words.every((word) => row.row.toLowerCase().includes(word)))
            .sort(compare);
        const count = (verdict) => shown.filter((row) => row.verdict === verdict).length;
        summary.textContent = `${shown.length} of ${rows.length} rows: ${count("won")} won, ${count("tie")} tied, ${count("lost")} lost`;
        for (const cell of head.children) {
            const sorted = cell.dataset.field === state.sort;
            cell.setAttribute("aria-sort", sorted ? (state.descending ? "descending" : "ascending") : "none");
            cell.firstChild.textContent = columns.find(([field]) => field === cell.dataset.field)[1]
                + (sorted ? (state.descending ? " ↓" : " ↑") : "");
        }
        limit = PAGE;
        fill();
        const kept = new URLSearchParams();
        for (const [name, chosen] of Object.entries(state)) if (chosen) kept.set(name, chosen);
        history.replaceState(null, "", `#${kept}`);
    };
    draw();
})();
