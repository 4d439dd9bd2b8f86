// SPDX-License-Identifier: MIT
// edits.js - changes of a model: copies, dropped files, removals, undo.
import {run, say} from "./activity.js";
import {count} from "./dom.js";
import {copy, copyClass, exists, put, remove} from "./http.js";

// The dragged organs, if the drag began on this page: {model, organs}.
export const dragged = {now: null};

// Split a copy into requests: all organs of a class are one request, which succeeds or fails as a
// whole.
function requests(from, organs) {
	const inClass = (all, name) => all.filter((organ) => organ.class === name);
	const known = [...from.organs.values()];
	return [...new Set(organs.map((organ) => organ.class))].flatMap((name) => {
		const taken = inClass(organs, name);
		return taken.length > 1 && taken.length === inClass(known, name).length
			? [{class: name, organs: taken}] : taken;
	});
}

// Copy organs to the slots of the same name, or a single organ to the given slot. Between models of
// one mount the copies become references, without moving a byte.
export async function copyOrgans(from, to, organs, slot = null) {
	await run({doing: `Copying into ${to.name}`, noun: "organ", done: `copied into ${to.name}`},
		requests(from, organs), (item, signal) => item.organs
			? copyClass(from.url(`${item.class}/`), to.url(`${item.class}/`), signal)
			: copy(item.url, to.url(slot ?? item.path)),
		(item) => item.organs?.length ?? 1);
	await to.reload();
}

export async function removeOrgans(model, organs) {
	await run({doing: "Removing", noun: "organ", done: "removed"}, organs,
		(organ) => remove(organ.url));
	await model.reload();
}

// Undo a graft: the base's organ comes back, and an added organ is removed.
async function undo(model, graft) {
	const base = model.url(`.base/${graft.file}`);
	return await exists(base) ? copy(base, model.url(graft.file))
		: remove(model.url(graft.file));
}

export async function undoGrafts(model, grafts) {
	await run({doing: "Undoing", noun: "change", done: "undone"}, grafts,
		(graft) => undo(model, graft));
	await model.reload();
}

// Graft files with names of slots; path, if given, is the slot for a single file.
export async function graftFiles(model, files, path = null) {
	const target = (file) => {
		const name = model.classOf(file.name);
		return path ?? (name && `${name}/${file.name}`);
	};
	await run({doing: "Grafting", noun: "file", done: "grafted"}, [...files], (file, signal) =>
		target(file) ? put(model.url(target(file)), file, signal)
			: `${file.name}: no slot has such a name`);
	await model.reload();
}

export async function assemble(model, name) {
	say("Assembling");
	const progress = setInterval(async () => {
		const now = await model.assembleStatus();
		if (now.startsWith("assembling"))
			say(now.trim());
	}, 1000);
	const answer = await fetch(model.url(".assemble"), {method: "PUT", body: name})
		.catch(() => new Response("The server does not answer.", {status: 503}));
	clearInterval(progress);
	say((await answer.text()).trim(), answer.ok);
}

export const organWords = (organs) =>
	organs.length === 1 ? organs[0].stem : count(organs.length, "organ");
