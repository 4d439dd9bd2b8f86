// SPDX-License-Identifier: MIT
// dom.js - elements, numbers and words. Names in a model are hostile: they are only ever text.

// el("td", {className: "x"}, child...): strings become text, and nothing else. A property with a
// dash in it is an attribute.
export function el(tag, properties = {}, ...children) {
	const node = document.createElement(tag);
	for (const [name, value] of Object.entries(properties))
		if (name.includes("-") || name === "role")
			node.setAttribute(name, value);
		else
			node[name] = value;
	node.append(...children);
	return node;
}

export function svg(tag, attributes = {}, ...children) {
	const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const [name, value] of Object.entries(attributes))
		node.setAttribute(name, value);
	node.append(...children);
	return node;
}

export const button = (words, onclick, properties = {}) =>
	el("button", {type: "button", onclick, ...properties}, words);

export const lines = (s) => s.split("\n").filter((line) => line);

export const natural = new Intl.Collator("en", {numeric: true}).compare;

// 1 organ, 2 organs
export const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

export function size(bytes) {
	const units = ["B", "kB", "MB", "GB", "TB"];
	let i = 0;
	for (; bytes >= 999.5 && i < units.length - 1; i++)
		bytes /= 1000;
	return `${i && bytes < 99.5 ? bytes.toFixed(1) : Math.round(bytes)} ${units[i]}`;
}

// [0, 1, 2, 5] is "0-2, 5".
export function ranges(numbers) {
	const runs = [];
	for (const n of [...new Set(numbers)].sort((a, b) => a - b)) {
		const last = runs.at(-1);
		if (last && last[1] === n - 1)
			last[1] = n;
		else
			runs.push([n, n]);
	}
	return runs.map(([a, b]) => a === b ? `${a}` : `${a}-${b}`).join(", ");
}

// Text that is broken only between words, not behind a hyphen; each word follows a blank.
export const unbroken = (words) => words.split(" ").flatMap((word) =>
	[" ", el("span", {className: "unbroken"}, word)]);

// A long name may be broken behind its dots and underscores.
export const breakable = (name) => name.split(/(?<=[._])/).flatMap((part, i) =>
	i ? [document.createElement("wbr"), part] : [part]);

// Write the text only if it differs, so that screen readers do not read it again.
export function setText(node, text) {
	if (node.textContent !== text)
		node.textContent = text;
}

// Put rows in order, without touching rows that are in place already, so that the browser keeps its
// scroll position.
export function placeRows(parent, rows) {
	const stay = new Set(rows);
	for (const row of [...parent.children])
		if (!stay.has(row))
			row.remove();
	let at = parent.firstElementChild;
	for (const row of rows)
		if (row === at)
			at = at.nextElementSibling;
		else
			parent.insertBefore(row, at);
}

// Keep the focus while rows are moved; a row loses the focus when it is removed.
export function keepFocus(change) {
	const focused = document.activeElement;
	change();
	if (focused !== document.activeElement && focused?.isConnected)
		focused.focus({preventScroll: true});
}

let ids = 0;
export const newId = () => `id-${++ids}`;

// Ask a question with two answers; true if the user agrees.
export function ask(question, verb) {
	return new Promise((resolve) => {
		const title = el("h2", {id: newId()}, question);
		const dialog = el("dialog", {"aria-labelledby": title.id}, title,
			el("form", {method: "dialog", className: "row"},
				el("button", {className: "main", value: "yes"}, verb),
				el("button", {value: ""}, "Cancel")));
		dialog.onclose = () => {
			resolve(dialog.returnValue === "yes");
			dialog.remove();
		};
		document.body.append(dialog);
		dialog.showModal();
	});
}
