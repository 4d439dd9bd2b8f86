// SPDX-License-Identifier: MIT
// beside.js - lists the models of --models, and mounts and unmounts them beside the served ones.
import {say} from "./activity.js";
import {button, el, newId} from "./dom.js";
import {encode, json, mountBeside, remove} from "./http.js";

const ADDRESS = "/.models";

// [{file, name, mounted}]; null where organ-serve has no --models.
export async function modelsBeside() {
	return (await json(ADDRESS))?.models ?? null;
}

const url = ({name}) => `${ADDRESS}/${encode(name)}/`;

// The buttons of a model; those that change something only if the server is writable.
function buttons(model, writable, pair, changed) {
	const change = async (doing, done, outcome) => {
		say(`${doing} ${model.name}`);
		const why = await outcome;
		say(why ?? `${model.name} is ${done}`, why === null);
		await changed();
	};
	const label = (words) => ({"aria-label": `${words} ${model.name}`});
	const mount = button("Mount", () => change("Mounting", "mounted",
		mountBeside(ADDRESS, model.file)), label("Mount"));
	const unmount = button("Unmount", () => change("Unmounting", "unmounted",
		remove(url(model))), label("Unmount"));
	const both = el("a", {className: "button", href: pair(model),
		...label("Side by side with")}, "Side by side");
	return [...model.mounted ? [both] : [],
		...writable ? [model.mounted ? unmount : mount] : []];
}

const row = (model, ...rest) => el("li", {className: "line"}, el("span", {className: "what"},
	model.mounted ? el("a", {href: url(model)}, model.name) : model.name,
	el("span", {className: "soft"}, ` ${model.file}`)),
...buttons(model, ...rest));

// A section with all models of --models, or a hidden empty one; pair(model) is the address of the
// page that shows a model beside the served one.
export async function besideSection(writable, pair) {
	const list = el("ul");
	const title = el("h2", {id: newId()}, "Other models");
	const section = el("section", {id: "beside", "aria-labelledby": title.id}, title, list);
	const show = async () => {
		const models = await modelsBeside() ?? [];
		section.hidden = !models.length;
		list.replaceChildren(...models.map((model) => row(model, writable, pair, show)));
	};
	await show();
	return section;
}
