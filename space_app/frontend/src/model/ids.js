// Names of what is drawn: "m3" module 3, "m3~1" its second call, "o7" operation 7, "r3:0" children of module 3 that are not shown
// (0 before, 1 after those that are). Pure.

export const idOf = (index) => `m${index}`;

/** The position in the document that an id is about. */
export const refOf = (id) => Number.parseInt(id.slice(1), 10);

/** Which call of a module is meant, from 0. */
export const visitOf = (id) => Number(id.split("~")[1] ?? 0);
