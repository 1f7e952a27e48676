// Tabs: one choice for each group, kept for the next page and the next visit.
(() => {
    "use strict";
    const key = (group) => `blitz-tab-${group}`;
    const read = (group) => {
        try { return localStorage.getItem(key(group)); } catch { return null; }
    };
    const keep = (group, name) => {
        try { localStorage.setItem(key(group), name); } catch { /* private mode: not kept */ }
    };

    const show = (tabs, name) => {
        const panels = [...tabs.querySelectorAll(":scope > .tab")];
        const chosen = panels.some((panel) => panel.dataset.name === name) ? name : panels[0].dataset.name;
        for (const panel of panels) panel.hidden = panel.dataset.name !== chosen;
        for (const button of tabs.querySelectorAll('[role="tab"]')) {
            const selected = button.textContent === chosen;
            button.setAttribute("aria-selected", selected);
            button.tabIndex = selected ? 0 : -1;
        }
    };

    const choose = (group, name) => {
        keep(group, name);
        for (const tabs of document.querySelectorAll(`.tabs[data-group="${group}"]`)) show(tabs, name);
    };

    document.querySelectorAll(".tabs").forEach((tabs, number) => {
        const group = tabs.dataset.group;
        const list = document.createElement("div");
        list.setAttribute("role", "tablist");
        tabs.querySelectorAll(":scope > .tab").forEach((panel, index) => {
            const button = document.createElement("button");
            button.type = "button";
            button.setAttribute("role", "tab");
            button.textContent = panel.dataset.name;
            button.id = `tab-${number}-${index}`;
            panel.id = `panel-${number}-${index}`;
            panel.setAttribute("role", "tabpanel");
            panel.setAttribute("aria-labelledby", button.id);
            button.setAttribute("aria-controls", panel.id);
            button.addEventListener("click", () => choose(group, panel.dataset.name));
            list.append(button);
        });
        list.addEventListener("keydown", (event) => {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (!step) return;
            event.preventDefault();
            // The keys belong to the tabs here, not to the pages of the book.
            event.stopPropagation();
            const buttons = [...list.children];
            const next = buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length];
            next.focus();
            next.click();
        });
        tabs.prepend(list);
        tabs.classList.add("ready");
        show(tabs, read(group));
    });
})();
