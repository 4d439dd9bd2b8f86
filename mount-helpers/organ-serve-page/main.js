// SPDX-License-Identifier: MIT
// main.js - the page of organ-serve for each directory of a mount: a model, several models, two of
// them side by side, or any other directory.
import {say} from "./activity.js";
import {besideSection, modelsBeside} from "./beside.js";
import {button, count, el, lines, natural, size} from "./dom.js";
import {decode, encode, isWritable, json, list, text} from "./http.js";
import {Model} from "./model.js";
import {Pane} from "./pane.js";

const here = location.pathname;
const main = document.querySelector("main");

function table(head, rows) {
	return el("div", {className: "scroll", tabIndex: 0, role: "region", "aria-label": "List"},
		el("table", {}, el("thead", {}, el("tr", {}, ...head.map((words) =>
			words instanceof Node ? words : el("th", {scope: "col"}, words)))),
		el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells.map((cell) =>
			cell instanceof Node && /^T[HD]$/.test(cell.tagName) ? cell
				: el("td", {}, cell)))))));
}

function showPath(title) {
	const parts = here.split("/").filter((part) => part);
	const path = document.getElementById("path");
	let url = "/";
	path.replaceChildren(el("a", {href: url}, "mount"));
	for (const part of parts) {
		url += part + "/";
		path.append(" / ", el("a", {href: url}, decode(part)));
	}
	document.title = title ?? (parts.length ? decode(parts.at(-1)) : "organfs");
}

function title(words) {
	main.append(el("h1", {}, words));
	document.title = words;
}

const loaded = () => {
	document.body.dataset.state = "loaded";
};

// Show panes side by side, each with a reference to the other one.
async function showPanes(models, level) {
	const panes = models.map((model) => new Pane(model, level));
	panes.forEach((pane, i) => {
		pane.organs.other = models[1 - i] ?? null;
	});
	main.append(el("div", {className: models.length > 1 ? "panes two" : "panes"},
		...panes.map((pane) => pane.element)));
	await Promise.all(models.map((model) => model.load()));
	loaded();
}

async function showModel() {
	const model = new Model(here, decode(here.split("/").at(-2)) || "organfs");
	model.on("facts", () => {
		document.title = model.facts.name ?? model.name;
	});
	await showPanes([model], 1);
}

/* several models */

// Rows of the models, from the manifest, which measures nothing.
async function modelRows(directories) {
	const manifest = JSON.parse(await text(`${here}manifest.json`) ?? "{}");
	const known = new Map((manifest.models ?? []).map((model) => [model.directory, model]));
	const radio = (name, value, checked) => el("input", {type: "radio", name, value, checked,
		"aria-label": `${name === "left" ? "On the left" : "On the right"}: ${value}`});
	return directories.map(({name, url}, i) => {
		const model = known.get(name) ?? {};
		return [el("th", {scope: "row", className: "name"}, el("a", {href: url}, name)),
			model.architecture ?? "", `${model.tensors ?? ""}`,
			model.parameters ? `${(model.parameters / 1e6).toFixed(1)} million` : "",
			model.bits_per_weight?.toFixed(2) ?? "", model.size ? size(model.size) : "",
			...directories.length > 1 ? [radio("left", name, i === 0),
				radio("right", name, i === 1)] : []];
	});
}

function reportFold() {
	const words = el("pre", {}, "Measuring…");
	const fold = el("details", {ontoggle: async () => {
		if (fold.open)
			words.textContent = await text(`${here}.theta`) ?? "It cannot be read.";
	}}, el("summary", {}, "Measure and compare all of them"), el("div", {className: "scroll",
		tabIndex: 0, role: "region", "aria-label": "Report"}, words));
	return fold;
}

async function showModels(entries) {
	const directories = entries.filter((entry) => entry.directory)
		.sort((a, b) => natural(a.name, b.name));
	title("Models");
	const head = ["Model", "Architecture", "Tensors", "Parameters", "Bits each", "Size"];
	const several = directories.length > 1;
	const form = el("form", {action: here, onsubmit: (event) => {
		event.preventDefault();
		const chosen = new FormData(form);
		open(chosen.get("left"), chosen.get("right"));
	}}, table(several ? [...head, "Left", "Right"] : head, await modelRows(directories)),
	...several ? [el("p", {className: "row"},
		el("button", {className: "main"}, "Side by side"),
		"with organs to be dragged across")] : []);
	const log = lines(await text(`${here}.log`) ?? "");
	main.append(el("section", {}, form), el("section", {}, el("h2", {}, "Report"),
		reportFold()));
	if (log.length)
		main.append(el("section", {}, el("h2", {}, "Log"), el("pre", {className: "wrap"},
			log.slice(-20).join("\n"))));
	loaded();
}

function open(left, right) {
	if (left === right)
		say("Choose two different models.", false);
	else
		location.search = new URLSearchParams({left, right});
}

const namesOf = (entries) => entries.filter((entry) => entry.directory).map(({name}) => name)
	.sort(natural);

// The models that can be shown side by side, as name in the address and shown name: those of this
// mount, or "." for its only model, and those mounted beside.
async function choices(entries, single) {
	const own = single ? [[".", (await json("/health"))?.models[0]?.name ?? "organfs"]]
		: namesOf(entries).map((name) => [name, name]);
	const beside = here === "/" ? await modelsBeside() ?? [] : [];
	return new Map([...own, ...beside.filter(({mounted}) => mounted)
		.map(({name}) => [`.models/${name}`, name])]);
}

async function showPair(known, left, right) {
	const select = (name, words, chosen) => el("select", {name, "aria-label": words,
		onchange: () => open(form.elements.left.value, form.elements.right.value)},
	...[...known].map(([key, title]) => new Option(title, key, false, key === chosen)));
	const form = el("form", {className: "row"}, select("left", "Model on the left", left),
		"and",
		select("right", "Model on the right", right),
		button("Swap", () => open(right, left)));
	const nameOf = (key) => known.get(key) ?? key;
	title(`${nameOf(left)} and ${nameOf(right)}`);
	main.querySelector("h1").className = "hidden";
	main.append(form);
	await showPanes([left, right].map((key) =>
		new Model(key === "." ? here : `${here}${encode(key)}/`, nameOf(key))), 2);
}

// At the root, show the models that can be mounted beside it, each with a link to the pair.
async function showBeside(right) {
	if (here === "/")
		main.append(await besideSection(await isWritable(here), ({name}) =>
			`/?${new URLSearchParams({left: `.models/${name}`, right})}`));
}

async function showListing(entries) {
	title(decode(here.split("/").at(-2)) || "organfs");
	entries.sort((a, b) => natural(a.name, b.name));
	main.append(el("p", {className: "soft"}, count(entries.length, "file")), el("section", {
		id: "listing"}, table(["Name",
			el("th", {scope: "col", className: "number"}, "Size")],
	entries.map((entry) => [el("td", {className: "name"},
		el("a", {href: entry.url}, entry.name)),
		el("td", {className: "number"},
			entry.directory ? "directory" : size(entry.bytes))]))));
	loaded();
}

async function start() {
	showPath();
	const entries = await list(here);
	const has = (name) => entries?.some((entry) => entry.name === name);
	const asked = new URLSearchParams(location.search);
	const pair = has("manifest.json") && asked.has("left") && asked.has("right");
	if (!entries) {
		title("This directory cannot be read");
		loaded();
	} else if (pair)
		await showPair(await choices(entries, has(".grafts")), asked.get("left"),
			asked.get("right"));
	else if (has(".grafts"))
		await Promise.all([showModel(), showBeside(".")]);
	else if (has("manifest.json")) {
		await showModels(entries);
		await showBeside(namesOf(entries)[0]);
	} else
		await showListing(entries);
}

// Keep the browser from opening a file that is dropped beside a pane.
for (const what of ["dragover", "drop"])
	document.addEventListener(what, (event) => {
		if (!event.defaultPrevented)
			event.dataTransfer.dropEffect = "none";
		event.preventDefault();
	});

// fetch() refuses addresses with a password, so drop it; the browser remembers the password.
const address = new URL(document.baseURI);
if (address.username) {
	address.username = address.password = "";
	location.replace(address);
} else
	start();
