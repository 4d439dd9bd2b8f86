// SPDX-License-Identifier: MIT
// activity.js - the line at the bottom: the running action, its result, and refusals.
import {button, count, el, setText} from "./dom.js";

let running = null;	// the AbortController of what is being done

const message = el("span", {role: "status"});
// The progress, hidden from screen readers, which would read out each step.
const steps = el("span", {"aria-hidden": "true"});
const progress = el("progress", {"aria-label": "Progress", hidden: true});
const cancel = button("Cancel", () => running?.abort(), {hidden: true});
const details = el("details", {hidden: true}, el("summary", {}, "Which, and why"), el("ul"));
const dismiss = button("Close", () => {
	bar.hidden = true;
}, {className: "plain"});
const bar = el("aside", {className: "activity", hidden: true, "aria-label": "Activity"},
	el("div", {className: "row"}, el("p", {}, message, steps), progress, cancel, dismiss),
	details);
document.body.append(bar);

document.addEventListener("keydown", (event) => {
	if (event.key === "Escape" && running) {
		event.preventDefault();
		running.abort();
	}
});

// Show words, whether they are good news, and the sentences of refusals.
export function say(words, good = true, refusals = []) {
	bar.hidden = false;
	message.className = good ? "ok" : "bad";
	setText(message, words);
	steps.textContent = "";
	details.hidden = !refusals.length;
	details.open = refusals.length > 0 && refusals.length <= 3;
	details.lastChild.replaceChildren(...refusals.map((why) => el("li", {}, why)));
}

function show(words, done, all) {
	say(words);
	steps.textContent = `: ${done} of ${all}`;
	progress.max = all;
	progress.value = done;
}

function result({doing, noun, done}, {good, refusals, cancelled}, all) {
	if (cancelled)
		say(`Cancelled: ${good} of ${count(all, noun)} ${done}`, false, refusals);
	else if (refusals.length)
		say(good ? `${good} of ${count(all, noun)} ${done}, ${refusals.length} refused`
			: `${doing}: refused`, false, refusals);
	else
		say(`${count(good, noun)} ${done}`);
}

// Process items one after the other: step(item, signal) returns null, or the sentence of a
// refusal. words are {doing: "Undoing", noun: "graft", done: "undone"}; many(item) is the number
// that an item counts for. Escape, or the button, stops between two items.
export async function run(words, items, step, many = () => 1) {
	if (running) {
		say("Something else is being done; wait for its end, or cancel it.", false);
		return;
	}
	running = new AbortController();
	progress.hidden = cancel.hidden = false;
	const state = {good: 0, refusals: [], cancelled: false};
	const all = items.reduce((n, item) => n + many(item), 0);
	let begun = 0;
	for (const item of items) {
		show(words.doing, begun, all);
		begun += many(item);
		const why = await step(item, running.signal);
		state.cancelled = running.signal.aborted;
		if (why === null)
			state.good += many(item);
		else if (!state.cancelled)
			state.refusals.push(why);
		if (state.cancelled)
			break;
	}
	running = null;
	progress.hidden = cancel.hidden = true;
	result(words, state, all);
}
